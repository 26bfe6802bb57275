"""Cleaning drops pairs, never one side, tells what went and why, and never writes over its input."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.corpus.cleaning import CleaningJob, clean_corpus
from interlingua.corpus.plain_sides import PlainSides, plain_sides
from interlingua.corpus.repeats import RepeatFinder, Repeats
from interlingua.errors import ConfigError, CorpusError, OutputError

GOOD = [(f"propoziția cu numărul {n}", f"the sentence with number {n}") for n in range(10, 60)]


def write(folder: Path, pairs: list[tuple[str, str]], stem: str = "train") -> PlainSides:
    folder.mkdir(exist_ok=True)
    paths = folder / f"{stem}.ro", folder / f"{stem}.en"
    for path, side in zip(paths, range(2), strict=True):
        path.write_bytes(
            "".join(f"{pair[side]}\n" for pair in pairs).encode("utf-8", "surrogateescape")
        )
    return PlainSides.of(*paths)


def read(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").split("\n")[:-1]


def test_every_rule_drops_its_pair_and_both_sides_of_it(tmp_path: Path) -> None:
    faults = {
        "empty": ("gol", "  "),
        "encoding": ("fața", "the fa\ufffdce"),
        "copied": ("Vom merge mâine acolo", "Vom merge mâine acolo"),
        "length-ratio": ("Da.", "Yes, and then they all went home to eat the dinner of the day."),
        "long-line": ("a " * 400, "b " * 400),
        "mixed-script": ("pisica", "the c\u0430t"),
        "wrong-language": ("Bună ziua, lume", "Добрый день всем"),
        "duplicate": GOOD[0],
        "near-duplicate": (GOOD[1][0].upper(), GOOD[1][1] + "!"),
    }
    corpus = write(tmp_path / "in", GOOD + list(faults.values()))
    cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
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
    corpus = write(tmp_path / "in", [*GOOD, GOOD[3], ("", "x"), GOOD[3]])
    cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    again = clean_corpus(CleaningJob(PlainSides.of(*cleaned.outputs), tmp_path / "again"))
    assert again.counts == {}


DAMAGED = [
    ("vom\u00ef\u00bb\u00bf merge", "we will &quot;go&quot;\x85"),
    ("bine  ai venit ", "well\x00come\r"),
    ("g\udcffunoi", "rub&amp;bish"),
    ("pierdut\ufffd", "lost it&#33;"),
    ("&nbsp;", "nothing is left"),
]


def test_what_can_be_mended_is_and_the_rest_is_dropped(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", [*GOOD, *DAMAGED])
    cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    assert cleaned.counts == {"empty": 1, "encoding": 2}
    assert cleaned.repaired == 2
    assert cleaned.repairs == dict.fromkeys(cleaned.repairs, 1) | {"control": 2}
    sides = [read(path) for path in cleaned.outputs]
    assert list(zip(*sides, strict=True))[len(GOOD) :] == [
        ("vom merge", 'we will "go"…'),
        ("bine ai venit", "wellcome"),
    ]
    told = json.loads(cleaned.to_json())
    assert told["repair_samples"]["spaces"][0]["after"] == "bine ai venit"
    assert "source 52: bine  ai venit" in cleaned.to_text()


def test_the_lists_lead_back_to_the_corpus_as_it_was(tmp_path: Path) -> None:
    pairs = [*GOOD[:30], *DAMAGED, GOOD[2], *GOOD[30:], DAMAGED[1]]
    corpus = write(tmp_path / "in", pairs)
    cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    assert cleaned.dropped_file
    assert cleaned.repaired_file
    gone = {int(line.split("\t")[0]) for line in read(cleaned.dropped_file)[1:]}
    kept = [number for number in range(1, len(pairs) + 1) if number not in gone]
    changes = [json.loads(line) for line in read(cleaned.repaired_file)]
    for place, (side, path) in enumerate(zip(("source", "target"), cleaned.outputs, strict=True)):
        lines = dict(zip(kept, read(path), strict=True))
        for change in changes:
            if change["side"] == side:
                assert lines[change["line"]] == change["after"]
                lines[change["line"]] = change["before"]
        assert lines == {number: pairs[number - 1][place] for number in kept}


def test_without_repair_or_its_rule_no_byte_is_changed(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", [*GOOD, *DAMAGED])
    strict = clean_corpus(CleaningJob(corpus, tmp_path / "strict", repair=False))
    assert strict.counts == {"encoding": 5}
    loose = clean_corpus(CleaningJob(corpus, tmp_path / "loose", rules=("duplicate",)))
    assert (strict.repaired, loose.repaired) == (0, 0)
    assert [path.read_bytes() for path in loose.outputs] == [
        corpus.source.read_bytes(),
        corpus.target.read_bytes(),
    ]


def test_the_present_folder_may_be_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write(tmp_path / "in", [*GOOD, GOOD[0]])
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    assert clean_corpus(CleaningJob(corpus, Path())).kept == len(GOOD)
    assert read(tmp_path / "out/train.ro") == [source for source, _ in GOOD]


def test_leaks_go_by_source_and_regardless_of_case(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", GOOD)
    test = write(tmp_path / "test", [(GOOD[7][0].upper() + ".", "something else")])
    job = CleaningJob(corpus, tmp_path / "out", held_out=(test,))
    cleaned = clean_corpus(job)
    assert cleaned.counts == {"leakage": 1}
    assert cleaned.samples["leakage"][0].line == 8


def test_a_dry_run_writes_only_the_list_that_is_asked_for(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", [*GOOD, ("", "x")])
    job = CleaningJob(corpus, tmp_path / "out", dry_run=True, dropped=tmp_path / "list")
    assert clean_corpus(job).counts == {"empty": 1}
    assert not (tmp_path / "out").exists()
    assert read(tmp_path / "list") == ["line\treasons", f"{len(GOOD) + 1}\tempty"]


def test_bytes_that_are_not_utf8_go_with_their_pair_and_stay_without_the_rule(
    tmp_path: Path,
) -> None:
    corpus = write(tmp_path / "in", [*GOOD, ("bine", "g\udcffod")])
    cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    assert cleaned.counts == {"encoding": 1}
    kept = clean_corpus(CleaningJob(corpus, tmp_path / "kept", rules=("empty",)))
    assert kept.outputs[1].read_bytes() == corpus.target.read_bytes()


def test_what_cannot_be_meant_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", GOOD)
    with pytest.raises(ConfigError, match="none of empty"):
        clean_corpus(CleaningJob(corpus, tmp_path / "out", rules=("dupes",)))
    with pytest.raises(ConfigError, match="--output"):
        clean_corpus(CleaningJob(corpus, None))
    with pytest.raises(ConfigError, match="--test-source"):
        clean_corpus(CleaningJob(corpus, tmp_path / "out", rules=("leakage",)))
    with pytest.raises(OutputError, match="read from"):
        clean_corpus(CleaningJob(corpus, tmp_path / "in"))
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file: is a file"):
        clean_corpus(CleaningJob(corpus, tmp_path / "file"))
    test = write(tmp_path / "test", GOOD[:3])
    test.target.write_text("one\n")
    with pytest.raises(CorpusError, match="train\\.ro: has more lines than"):
        clean_corpus(CleaningJob(corpus, tmp_path / "out", held_out=(test,)))
    short = write(tmp_path / "short", GOOD[:-1]).target
    with pytest.raises(CorpusError, match="doctor"):
        clean_corpus(CleaningJob(PlainSides.of(corpus.source, short), tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_corpus_that_changes_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write(tmp_path / "in", GOOD)
    repeats = RepeatFinder.repeats

    def meddle(finder: RepeatFinder) -> Iterator[Repeats]:
        text = corpus.target.read_bytes()
        corpus.target.write_bytes(text[:-2] + b"X\n")
        os.utime(corpus.target, (1, 1))
        return repeats(finder)

    monkeypatch.setattr(RepeatFinder, "repeats", meddle)
    with pytest.raises(CorpusError, match="was changed while it was read"):
        clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    assert not list((tmp_path / "out").iterdir())


def test_wrong_bytes_in_a_file_with_both_sides_go_with_their_pair(tmp_path: Path) -> None:
    path = tmp_path / "memory.tsv"
    rows = [f"{one}\t{other}".encode() for one, other in GOOD]
    path.write_bytes(b"\n".join([*rows[:5], b"se\xf1or\tsir", *rows[5:], b""]))
    with plain_sides((path,)) as corpus:
        cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    assert cleaned.counts == {"encoding": 1}
    assert read(tmp_path / "out" / "dropped.tsv")[1:] == ["6\tencoding"]


def test_two_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", GOOD)
    (tmp_path / "ro").mkdir()
    (tmp_path / "en").mkdir()
    one, other = tmp_path / "ro" / "text", tmp_path / "en" / "text"
    one.write_bytes(corpus.source.read_bytes())
    other.write_bytes(corpus.target.read_bytes())
    cleaned = clean_corpus(CleaningJob(PlainSides.of(one, other), tmp_path / "out"))
    assert [path.name for path in cleaned.outputs] == ["source-text", "target-text"]


def test_several_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.corpus.survey._WORTH_PROCESSES", 10)
    monkeypatch.setattr("interlingua.corpus.survey.LINES_A_BLOCK", 7)
    corpus = write(tmp_path / "in", [*GOOD, GOOD[3], ("", "x"), GOOD[3]])
    alone = clean_corpus(CleaningJob(corpus, tmp_path / "one"), processes=1)
    together = clean_corpus(CleaningJob(corpus, tmp_path / "two"), processes=2)
    assert alone.counts == together.counts == {"empty": 1, "duplicate": 2}
    assert [path.read_bytes() for path in alone.outputs] == [
        path.read_bytes() for path in together.outputs
    ]


def test_lines_are_those_of_the_file_that_was_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl.gz"
    rows = [json.dumps({"ro": one, "en": other}) for one, other in GOOD]
    rows[3:3] = ["", "", json.dumps({"ro": "x", "en": ""}), json.dumps({"ro": " y ", "en": "z"})]
    path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))
    with plain_sides((path,), ("ro", "en")) as corpus:
        cleaned = clean_corpus(CleaningJob(corpus, tmp_path / "out"))
    assert [place.name for place in cleaned.outputs] == ["memory.ro", "memory.en"]
    assert read(tmp_path / "out" / "dropped.tsv")[1:] == ["6\tempty"]
    (changed,) = map(json.loads, read(tmp_path / "out" / "repaired.jsonl"))
    assert (changed["line"], changed["before"], changed["after"]) == (7, " y ", "y")
