"""The ``doctor`` command on files, as a user types it."""

import gzip
import io
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.cli.commands import COMMAND_LINE
from interlingua.cli.flags import spell_out

Capture = pytest.CaptureFixture[str]


def write(folder: Path, name: str, lines: list[str]) -> str:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_nothing_to_examine_is_said_in_one_line(capsys: Capture) -> None:
    assert main(["doctor", "--source", "only-one-side.ro"]) == 2
    told = capsys.readouterr().err
    assert "error:" in told
    assert told.count("\n") == 1


def test_a_missing_file_is_no_finding(tmp_path: Path, capsys: Capture) -> None:
    target = write(tmp_path, "a.en", ["one"])
    assert main(["doctor", "--source", str(tmp_path / "a.ro"), "--target", target]) == 3
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
@pytest.mark.parametrize("command", ["doctor", "clean"])
def test_another_encoding_is_refused_and_nothing_is_dropped_for_it(
    command: str, encoding: str, tmp_path: Path, capsys: Capture
) -> None:
    source = tmp_path / "a.fr"
    source.write_text("l'été à la mer\n" * 50, encoding=encoding)
    target = write(tmp_path, "a.en", ["summer by the sea"] * 50)
    flags = ["--output", str(tmp_path / "cleaned")] if command == "clean" else []
    assert main([command, "--source", str(source), "--target", target, *flags]) == 3
    told = capsys.readouterr().err
    assert "convert it" in told
    assert "iconv" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "cleaned").exists()


def test_a_corpus_of_which_nothing_is_left_is_told(tmp_path: Path, capsys: Capture) -> None:
    sides = write(tmp_path, "a.ro", ["unu", "doi"]), write(tmp_path, "a.en", ["", ""])
    flags = ["--source", sides[0], "--target", sides[1], "--output", str(tmp_path / "cleaned")]
    assert main(["clean", *flags]) == 0
    assert "no pair is left" in capsys.readouterr().err


def test_standard_input_is_not_named_in_a_remedy_that_reads_it_twice(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = b"\xef\xbb\xbfunu\tone\x00\n" + b"doi doi doi\tdoi doi doi\n" * 30
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table)))
    assert main(["doctor", "--pairs", "-", "--json"]) == 1
    remedies = [each["remedy"] for each in json.loads(capsys.readouterr().out)["findings"]]
    assert not any("split" in each and " - " in each for each in remedies)


def test_the_same_text_on_both_sides_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    same = write(tmp_path, "a.en", [f"the house number {n} is old" for n in range(50)])
    assert main(["doctor", "--source", same, "--target", same, "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {"copied": "error"}.items() <= {
        each["code"]: each["severity"] for each in findings
    }.items()


def test_unequal_sides_are_an_error_and_the_remedy_works(tmp_path: Path, capsys: Capture) -> None:
    source = write(tmp_path, "a.ro", ["unu", "doi", "trei"])
    target = write(tmp_path, "a.en", ["one", "two"])
    page = tmp_path / "report.html"
    asked = ["doctor", "--source", source, "--target", target, "--html", str(page), "--json"]
    assert main(asked) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    (unequal,) = [finding for finding in found if finding["code"] == "unequal-lines"]
    assert (unequal["severity"], unequal["lines"]) == ("error", [3])
    assert "unequal-lines" in page.read_text(encoding="utf-8")


def test_every_form_of_a_corpus_tells_the_same(tmp_path: Path, capsys: Capture) -> None:
    sources = [f"propoziția cu numărul {n}" for n in range(30)] + ["Da.", "&quot;x", "Da."]
    targets = [f"the sentence with number {n}" for n in range(30)] + ["Yes.", "x", "Yes."]
    source, target = write(tmp_path, "a.ro", sources), write(tmp_path, "a.en", targets)
    write(tmp_path, "a.tsv", [f"{a}\t{b}" for a, b in zip(sources, targets, strict=True)])
    for path in (source, target):
        packed = Path(f"{path}.gz")
        packed.write_bytes(gzip.compress(Path(path).read_bytes()))
    languages = ["--source-lang", "ro", "--target-lang", "en"]
    forms = [
        ["--source", source, "--target", target],
        ["--source", f"{source}.gz", "--target", f"{target}.gz"],
        ["--pairs", str(tmp_path / "a.tsv"), *languages],
        ["--pairs", str(tmp_path / "a"), *languages],
    ]
    told = []
    for form in forms:
        assert main(["doctor", *form, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["findings"]
        told.append([(each["code"], each["severity"], each["lines"]) for each in found])
    assert ("encoding", "warning", [32]) in told[0]
    assert ("duplicate", "warning", [33]) in told[0]
    assert all(each == told[0] for each in told)


def test_lines_are_those_of_the_file_that_was_named(tmp_path: Path, capsys: Capture) -> None:
    pairs = [f'{{"ro": "propoziția {n}", "en": "the sentence {n}"}}' for n in range(10, 30)]
    path = write(tmp_path, "a.jsonl", [*pairs, "", "", '{"ro": "gol", "en": ""}'])
    assert main(["doctor", "--pairs", path, "--source-lang", "ro", "--target-lang", "en", "--json"]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)["findings"]
    (empty,) = [each for each in found if each["code"] == "empty"]
    assert empty["lines"] == [23]
    assert "line 23: gol" in empty["message"]


def test_standard_input_holds_one_corpus(capsys: Capture) -> None:
    assert main(["doctor", "--pairs", "-", "--test-pairs", "-"]) == 2
    assert "holds one corpus" in capsys.readouterr().err
    assert main(["doctor", "--pairs", "a.tsv", "--source", "b"]) == 2
    assert "not both" in capsys.readouterr().err


def test_what_json_holds_and_that_the_page_asks_for_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    source = write(tmp_path, "a.ro", ["unu <b>", "doi", "trei", "\x00", "<script>"])
    target = write(tmp_path, "a.en", ["one", "two"])
    page = tmp_path / "report.html"
    assert main(["doctor", "--source", source, "--target", target, "--json", "--html", str(page)]) == 1  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["findings"]
    for finding in told["findings"]:
        assert list(finding) == ["code", "severity", "lines", "message", "remedy"]
        assert finding["severity"] in ("error", "warning", "note")
        assert all(type(line) is int for line in finding["lines"])
    html = page.read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)\s*=|url\(|@import|<script|<link|https?:", html)


def spoil(folder: Path) -> list[str]:
    """Write a corpus with every fault, and parts that leak; return the flags that name it."""
    sources = [f"propoziția mea cu numărul {n} este scurtă" for n in range(40)]
    targets = [f"my sentence with number {n} is a short one" for n in range(40)]
    faults = [
        ("gol", " "), ("la fel cu tot", "la fel cu tot"), ("Da", "yes " * 40), ("lung " * 600, "long " * 600),
        ("în 1987", "in 2024"), ("pisică", "the c\u0430t"), ("Bună ziua lume", "Добрый день всем"), ("a\x07b", "c"),
        ("&amp;", "and"), ("una\r", "one"), (sources[0], targets[0]), (sources[1].upper(), targets[1]),
        (sources[2], "another translation of it"),
    ]  # fmt: skip
    sources += [source for source, _ in faults]
    targets += [target for _, target in faults] + ["one too many"]
    source, target = write(folder, "a b.ro", sources), write(folder, "a b.en", targets)
    held_out = write(folder, "v.ro", sources[:2]), write(folder, "v.en", targets[:2])
    return ["--source", source, "--target", target, "--valid-source", held_out[0], "--valid-target", held_out[1]]  # fmt: skip


def test_every_remedy_can_be_typed(tmp_path: Path, capsys: Capture) -> None:
    main(["doctor", *spoil(tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["code"] for each in found} >= {
        *("unequal-lines", "empty", "copied", "length-ratio", "long-line", "number-mismatch", "mixed-script"),
        *("wrong-language", "encoding", "duplicate", "near-duplicate", "leakage", "repeated-source", "too-small"),
    }  # fmt: skip
    parse = COMMAND_LINE.build_app().parse_args
    for finding in found:
        for command in re.findall(r"interlingua .*", finding["remedy"]):
            parse(spell_out(shlex.split(command)[1:]), exit_on_error=False, print_error=False)
        if finding["remedy"].startswith(("sed", "head")):
            subprocess.run(["sh", "-n", "-c", finding["remedy"]], check=True)


def test_the_remedies_mend_the_corpus(tmp_path: Path, capsys: Capture) -> None:
    flags = spoil(tmp_path)
    main(["doctor", *flags, "--json"])
    (unequal,) = [
        each["remedy"]
        for each in json.loads(capsys.readouterr().out)["findings"]
        if each["code"] == "unequal-lines"
    ]
    subprocess.run(unequal, shell=True, check=True)
    os.replace(f"{flags[3]}.cut", flags[3])
    main(["doctor", *flags, "--json"])
    remedies = {
        each["code"]: each["remedy"]
        for each in json.loads(capsys.readouterr().out)["findings"]
        if each["remedy"].startswith("interlingua clean")
    }
    for code, remedy in remedies.items():
        asked = shlex.split(remedy)[1:]
        asked[asked.index("cleaned")] = str(tmp_path / code)
        assert main(asked) == 0
        sides = [str(tmp_path / code / Path(flags[place]).name) for place in (1, 3)]
        capsys.readouterr()
        main(["doctor", "--source", sides[0], "--target", sides[1], *flags[4:], "--json"])
        left = json.loads(capsys.readouterr().out)["findings"]
        assert code not in {each["code"] for each in left if "interlingua" in each["remedy"]}
