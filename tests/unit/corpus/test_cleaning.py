"""Cleaning drops pairs, never one side, tells what went and why, and never writes over its input."""

import json
from pathlib import Path

import pytest

from interlingua.corpus.cleaning import CleaningJob, clean_corpus
from interlingua.errors import ConfigError, CorpusError, OutputError

GOOD = [(f"propoziția cu numărul {n}", f"the sentence with number {n}") for n in range(10, 60)]


def write(folder: Path, pairs: list[tuple[str, str]], stem: str = "train") -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    paths = folder / f"{stem}.ro", folder / f"{stem}.en"
    for path, side in zip(paths, range(2), strict=True):
        path.write_bytes(
            "".join(f"{pair[side]}\n" for pair in pairs).encode("utf-8", "surrogateescape")
        )
    return paths


def read(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").split("\n")[:-1]


def test_every_rule_drops_its_pair_and_both_sides_of_it(tmp_path: Path) -> None:
    faults = {
        "empty": ("gol", "  "),
        "encoding": ("fața", "the fa\x00ce"),
        "copied": ("Vom merge mâine acolo", "Vom merge mâine acolo"),
        "length-ratio": ("Da.", "Yes, and then they all went home to eat the dinner of the day."),
        "long-line": ("a " * 400, "b " * 400),
        "mixed-script": ("pisica", "the c\u0430t"),
        "wrong-language": ("Bună ziua, lume", "Добрый день всем"),
        "duplicate": GOOD[0],
        "near-duplicate": (GOOD[1][0].upper(), GOOD[1][1] + "!"),
    }
    source, target = write(tmp_path / "in", GOOD + list(faults.values()))
    cleaned = clean_corpus(CleaningJob(source, target, tmp_path / "out"))
    assert cleaned.counts == dict.fromkeys(faults, 1)
    assert (cleaned.pairs, cleaned.kept) == (len(GOOD) + len(faults), len(GOOD))
    sides = [read(path) for path in cleaned.outputs]
    assert list(zip(*sides, strict=True)) == GOOD
    listed = read(tmp_path / "out" / "dropped.tsv")
    assert listed[0] == "line\treasons"
    told = dict(line.split("\t") for line in listed[1:])
    for number, rule in enumerate(faults, start=len(GOOD) + 1):
        assert told[str(number)].split(",")[0] == rule
    told_json = json.loads(cleaned.to_json())
    assert told_json["dropped"] == len(faults)
    assert set(told_json["samples"]) == set(faults)


def test_the_result_is_clean(tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", [*GOOD, GOOD[3], ("", "x"), GOOD[3]])
    cleaned = clean_corpus(CleaningJob(source, target, tmp_path / "out"))
    again = clean_corpus(CleaningJob(*cleaned.outputs, tmp_path / "again"))
    assert again.counts == {}


def test_leaks_go_by_source_and_regardless_of_case(tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", GOOD)
    test = write(tmp_path / "test", [(GOOD[7][0].upper() + ".", "something else")])
    job = CleaningJob(source, target, tmp_path / "out", held_out=(test,))
    cleaned = clean_corpus(job)
    assert cleaned.counts == {"leakage": 1}
    assert cleaned.samples["leakage"][0].line == 8


def test_a_dry_run_writes_only_the_list_that_is_asked_for(tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", [*GOOD, ("", "x")])
    job = CleaningJob(source, target, tmp_path / "out", dry_run=True, dropped=tmp_path / "list")
    assert clean_corpus(job).counts == {"empty": 1}
    assert not (tmp_path / "out").exists()
    assert read(tmp_path / "list") == ["line\treasons", f"{len(GOOD) + 1}\tempty"]


def test_bytes_that_are_not_utf8_go_with_their_pair_and_stay_without_the_rule(
    tmp_path: Path,
) -> None:
    source, target = write(tmp_path / "in", [*GOOD, ("bine", "g\udcffod")])
    cleaned = clean_corpus(CleaningJob(source, target, tmp_path / "out"))
    assert cleaned.counts == {"encoding": 1}
    kept = clean_corpus(CleaningJob(source, target, tmp_path / "kept", rules=("empty",)))
    assert kept.outputs[1].read_bytes() == target.read_bytes()


def test_what_cannot_be_meant_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", GOOD)
    with pytest.raises(ConfigError, match="none of empty"):
        clean_corpus(CleaningJob(source, target, tmp_path / "out", rules=("dupes",)))
    with pytest.raises(ConfigError, match="--output"):
        clean_corpus(CleaningJob(source, target, None))
    with pytest.raises(ConfigError, match="--test-source"):
        clean_corpus(CleaningJob(source, target, tmp_path / "out", rules=("leakage",)))
    with pytest.raises(OutputError, match="read from"):
        clean_corpus(CleaningJob(source, target, tmp_path / "in"))
    short = write(tmp_path / "short", GOOD[:-1])[1]
    with pytest.raises(CorpusError, match="doctor"):
        clean_corpus(CleaningJob(source, short, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_two_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", GOOD)
    (tmp_path / "ro").mkdir()
    (tmp_path / "en").mkdir()
    one, other = tmp_path / "ro" / "text", tmp_path / "en" / "text"
    one.write_bytes(source.read_bytes())
    other.write_bytes(target.read_bytes())
    cleaned = clean_corpus(CleaningJob(one, other, tmp_path / "out"))
    assert [path.name for path in cleaned.outputs] == ["source-text", "target-text"]


def test_several_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.corpus.survey._WORTH_PROCESSES", 10)
    monkeypatch.setattr("interlingua.corpus.survey.LINES_A_BLOCK", 7)
    source, target = write(tmp_path / "in", [*GOOD, GOOD[3], ("", "x"), GOOD[3]])
    alone = clean_corpus(CleaningJob(source, target, tmp_path / "one"), processes=1)
    together = clean_corpus(CleaningJob(source, target, tmp_path / "two"), processes=2)
    assert alone.counts == together.counts == {"empty": 1, "duplicate": 2}
    assert [path.read_bytes() for path in alone.outputs] == [
        path.read_bytes() for path in together.outputs
    ]
