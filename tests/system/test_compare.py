"""Comparing systems through the real command: what is refused, the table, the LaTeX, the page, other programs' metrics."""

import errno
import html
import json
import os
import re
import shutil
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

from interlingua.checkpoints.manifest import write_manifest
from interlingua.cli import main
from interlingua.translator import Translator

GOLDEN = Path(__file__).parents[1] / "golden" / "models" / "v1"
Capture = pytest.CaptureFixture[str]
ANIMALS = "abcdefghijklmnop"
SOURCES = [f"The {animal} saw {number} of Tom's birds." for number in (3, 7) for animal in ANIMALS]
REFERENCES = [
    f"Das Tier {animal} sah {number} von Toms Vögeln." for number in (3, 7) for animal in ANIMALS
]
WORSE = [line.replace("sah", "sah nicht").replace("7", "9") for line in REFERENCES]
BETTER = [line.replace("Tier", "Wesen") if n % 3 else line for n, line in enumerate(REFERENCES)]


def write(name: str, lines: list[str]) -> str:
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("t.en", SOURCES)
    write("t.de", REFERENCES)
    write("worse", WORSE)
    write("better", BETTER)
    write("again", [line.replace("Wesen", "Biest") for line in BETTER])
    return tmp_path


TEST = ("--source", "t.en", "--reference", "t.de")


def run(capsys: Capture, *words: str) -> str:
    capsys.readouterr()
    status = main(["compare", *words])
    told = capsys.readouterr()
    assert status == 0, told.err
    return told.out


@pytest.mark.parametrize(
    ("status", "told", "words"),
    [
        (2, "give two systems", ["worse"]),
        (2, "nowhere: does not exist", ["worse", "nowhere"]),
        (2, "two systems are called worse", ["worse", "worse"]),
        (2, "worse: is given twice for one system", ["x=worse,a/../worse", "better"]),
        (2, "'bluu' is none of", ["worse", "better", "--metrics", "bluu"]),
        (2, "comet-score is not installed", ["worse", "better", "--metrics", "bleu,comet"]),
        (2, "there is no program", ["worse", "better", "--metric-command", "x=no-such-program -v"]),
        (2, "No closing quotation", ["worse", "better", "--metric-command", "x='"]),
        (2, "names no program", ["worse", "better", "--metric-command", "x="]),
        (6, "there is no folder", ["worse", "better", "--output", "no/page.html"]),
        (3, "short: has 31 lines, and t.en has 32", ["worse", "short"]),
        (2, "given twice", ["worse", "better", *TEST]),
        (2, "of one test set", ["worse", "better", "--source", "u.en", "--reference", "t.de"]),
        (
            2,
            "two metrics are called true",
            ["worse", "better", "--metric-command", "true", "--metric-command", "true"],
        ),
        (
            2,
            "two metrics are called chrF2",
            ["worse", "better", "--metric-command", "chrF2=true"],
        ),
        (
            2,
            "wer is called as an error rate",
            ["worse", "better", "--metric-command", "wer=true"],
        ),
        (2, "is for the metric comet", ["worse", "better", "--comet=--gpus 0"]),
        (2, "2 sources and 1 references", ["worse", "better", "--source", "u.en"]),
        (2, "write the systems first", ["worse", "--source", "u.en", "b=better"]),
    ],
)
def test_what_cannot_be_compared_is_refused(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, status: int, told: str, words: list[str]
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    write("short", WORSE[:-1])
    write("u.en", SOURCES)
    Path("a").mkdir()
    capsys.readouterr()
    assert main(["compare", *words, *TEST, "--latex", "t.tex"]) == status
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert told in printed.err
    assert not Path("t.tex").exists()


def test_a_flag_takes_every_test_set_that_follows(capsys: Capture) -> None:
    write("u.en", SOURCES[:16])
    write("u.de", REFERENCES[:16])
    several = ["--source", "t.en", "u.en", "--reference", "t.de", "u.de"]
    assert main(["compare", "worse", "better", *several]) == 2
    assert "of one test set" in capsys.readouterr().err  # files are; no file was taken for a system


def test_the_table_says_what_is_more_than_chance(capsys: Capture) -> None:
    out = run(capsys, "worse", "better", "same=worse", *TEST)
    rows = {line.split()[0]: line for line in out.splitlines()[1:4]}
    assert rows["better"].count("‡") == 1
    assert "‡" not in rows["worse"]
    assert "†" not in rows["same"] + rows["worse"]
    assert "BLEU  nrefs:1|bs:1000" in out
    figures = json.loads(run(capsys, "worse", "better", "same=worse", *TEST, "--json"))["figures"]
    assert [each["p_value"] for each in figures if each["system"] == "same"] == [None, None]


def test_a_few_sentences_get_no_mark_and_it_says_why(capsys: Capture) -> None:
    told = "fewer than 30 sentences are too few to tell"
    assert told not in run(capsys, "worse", "better", *TEST)
    for name in ("t.en", "t.de", "worse", "better"):
        write(name, Path(name).read_text().splitlines()[:1])
    words = ("worse", "better", *TEST, "--latex", "t.tex", "--output", "page.html")
    (row,) = [line for line in run(capsys, *words).splitlines() if line.startswith("better")]
    assert row.split() == ["better", "100.00", "100.00"]
    assert "ddagger" not in Path("t.tex").read_text()
    for shown in (run(capsys, *words), Path("t.tex").read_text(), Path("page.html").read_text()):
        assert told in shown


def test_with_one_seed_the_p_value_is_that_of_evaluation(capsys: Capture) -> None:
    from interlingua.evaluation.significance import compare

    figures = json.loads(run(capsys, "worse", "better", *TEST, "--json"))["figures"]
    found = compare(BETTER, WORSE, [REFERENCES], ["bleu", "chrf"], target_lang="de")
    told = [each["p_value"] for each in figures if each["system"] == "better"]
    assert told == [each.p_value for each in found]


def test_latex_has_means_deviations_and_marks(capsys: Capture) -> None:
    words = ("base=worse,again", "a_b=better,again", *TEST, "--latex", "t.tex")
    run(capsys, *words)
    text = Path("t.tex").read_text()
    assert r"\begin{tabular}{lrr}" in text
    assert r"a\_b & " in text
    assert text.count(r"$\pm$") == 4
    assert text.count(r"\textbf{") == 2
    assert "mean ± deviation over seeds (2)" in text
    run(capsys, "worse", "better", *TEST, "--latex", "t.tex")
    assert Path("t.tex").read_text().count(r"$^{\ddagger}$") == 1


def test_a_name_that_latex_would_take_for_an_argument_is_printed(capsys: Capture) -> None:
    run(capsys, "[ours]=worse", "*best=better", *TEST, "--latex", "t.tex")
    text = Path("t.tex").read_text()
    assert "{[}ours{]} & " in text
    assert "{*}best & " in text


@pytest.mark.parametrize("flag", ["--output", "--latex"])
def test_a_place_that_cannot_be_written_is_found_before_anything_is_translated(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    shutil.copytree(GOLDEN, "model")
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    assert main(["compare", "worse", "model", *TEST, flag, "model"]) == 6
    assert "model: is a folder" in capsys.readouterr().err


def test_the_table_goes_to_standard_output_as_well(capsys: Capture) -> None:
    out = run(capsys, "worse", "better", *TEST, "--latex", "/dev/stdout", "--output", "/dev/null")
    assert r"\begin{tabular}" in out
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_copies_are_no_further_seeds(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, digits: list[str]
) -> None:
    shutil.copytree(GOLDEN, "model")
    shutil.copytree(GOLDEN, "copy")
    shutil.copy("better", "twin")
    capsys.readouterr()
    assert main(["compare", "worse", "x=better,again,twin", *TEST]) == 0
    told = capsys.readouterr().err
    assert told.startswith("twin: says what better says, line by line")
    assert told.count("\n") == 1
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    assert main(["compare", "a=model", "b=model,copy", *digits[2:]]) == 2
    assert "copy: has the weights of model, and both are one seed of b" in capsys.readouterr().err


def test_systems_may_be_pipes_and_many_files(capsys: Capture) -> None:
    seeds = [write(f"seed{seed:02}.test_2016_flickr", BETTER) for seed in range(1, 13)]
    reading, writing = os.pipe()
    os.write(writing, Path("worse").read_bytes())
    os.close(writing)
    out = run(capsys, f"base=/dev/fd/{reading}", f"new={','.join(seeds)}", *TEST)
    os.close(reading)
    assert "new" in out


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("t.de: is read from as well", ["--latex", "t.de"]),
        ("t.en: is read from as well", ["--output", "./t.en"]),
        ("linked: is read from as well", ["--output", "linked"]),
        ("a/../one: is to be written twice", ["--output", "one", "--latex", "a/../one"]),
    ],
)
def test_no_input_is_written_over(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, told: str, words: list[str]
) -> None:
    Path("linked").symlink_to("worse")
    Path("a").mkdir()
    shutil.copytree(GOLDEN, "model")
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    capsys.readouterr()
    assert main(["compare", "worse", "model", *TEST, *words]) == 6
    assert told in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


class Checked(HTMLParser):
    """Every tag is closed; remembers what refers to something outside."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "onclick")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_shows_what_changed_by_kind(capsys: Capture) -> None:
    write("other", [line.replace("Toms", "<b>Ians</b>") for line in BETTER])
    run(capsys, "worse", "other", *TEST, "--output", "page.html")
    page = Path("page.html").read_text()
    checked = Checked()
    checked.feed(page)
    assert not checked.open
    assert not checked.outside
    assert "script" not in page.replace("without a script", "")
    assert "&lt;b&gt;Ians" in page
    assert "<b>Ians" not in page
    rows = dict(
        re.findall(
            r"<tr><td>(\w[\w ]*)</td>.*?</td><td class=\"n\">(\d+</td><td class=\"n\">\d+)", page
        )
    )
    counts = {kind: tuple(map(int, re.findall(r"\d+", found))) for kind, found in rows.items()}
    assert counts["negation"] == (32, 0)
    assert counts["numbers"] == (16, 0)
    assert counts["length"] == (0, 0)
    assert "32 of 32 sentences differ" in page
    assert "p: paired bootstrap." in page
    told = run(capsys, "worse", "other", "two=better,again", *TEST, "--output", "page.html")
    assert "paired bootstrap where both have one seed, elsewhere Welch's t" in told
    assert "p: paired bootstrap." in Path("page.html").read_text()
    run(capsys, "base=worse,again", "changed=other,better", *TEST, "--output", "page.html")
    page = Path("page.html").read_text()
    assert "p: Welch's t over seeds and a paired bootstrap of sentences." in html.unescape(page)
    assert "means over seeds, 2 at most; what follows is of the first seed of each" in page


def program(name: str, text: str) -> str:
    path = Path(name)
    path.write_text(f"#!/usr/bin/env python3\nimport sys\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path.resolve())


EXACT = """
for line in sys.stdin:
    source, output, reference = line.rstrip("\\n").split("\\t")
    print(float(output == reference))
"""


def test_a_metric_of_another_program_stands_beside_ours(capsys: Capture) -> None:
    command = f"exact={program('exact.py', EXACT)}"
    told = run(capsys, "worse", "better", *TEST, "--metric-command", command, "--json")
    exact = [each for each in json.loads(told)["figures"] if each["metric"] == "exact"]
    assert [each["mean"] for each in exact] == [0.0, pytest.approx(11 / 32)]
    assert exact[1]["p_value"] < 0.05


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("print(1)", "gave 1 lines for 32 sentences"),
        ("for _ in sys.stdin: print('x')", "gave 'x' where a number"),
        ("for _ in sys.stdin: print('nan')", "gave 'nan' where a number"),
        ("sys.exit(3)", "ended with status 3"),
    ],
)
def test_a_program_that_gives_something_else_is_refused(
    capsys: Capture, text: str, told: str
) -> None:
    capsys.readouterr()
    command = program("p.py", text)
    assert main(["compare", "worse", "better", *TEST, "--metric-command", command]) == 2
    assert told in capsys.readouterr().err


LOST = """
lines = list(sys.stdin)
if len(lines) > 1:
    sys.exit(3)
print(1)
"""


def test_a_program_that_fails_later_takes_no_other_figure_with_it(
    capsys: Capture, digits: list[str]
) -> None:
    write("one.en", SOURCES[:1])
    write("one.de", REFERENCES[:1])
    shutil.copytree(GOLDEN, "model")
    failing = ("--metric-command", f"lost={program('lost.py', LOST)}")
    also = ("--metric-command", f"exact={program('exact.py', EXACT)}")
    words = ["worse", "better", *TEST, *failing, *also, "--output", "page.html", "--latex", "t.tex"]
    two_sets = ["--source", "one.en", *TEST[:2], "--reference", "one.de", *TEST[2:]]
    for command in (
        ["compare", *words],
        ["compare", "x=model", "y=model", *two_sets, *failing, *also],
        [*digits, *failing, *also],
        [digits[0], str(GOLDEN), *digits[1:], *failing, *also],
    ):
        capsys.readouterr()
        assert main(command) == 2
        printed = capsys.readouterr()
        assert "BLEU" in printed.out
        assert "exact" in printed.out
        assert "lost" not in printed.out
        assert printed.err.splitlines()[-1].endswith("stands above; lost is left out")
    assert "exact" in Path("page.html").read_text()
    assert "exact" in Path("t.tex").read_text()


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (("x/y/t.en", "x/z/t.en"), ["y/t", "z/t"]),
        (("t.en", "x/t.en", "u.en"), ["t", "x/t", "u"]),
        (("t.en", "t.txt"), ["t.en", "t.txt"]),
    ],
)
def test_test_sets_of_one_name_are_told_apart_by_their_folders(
    sources: tuple[str, ...], names: list[str], capsys: Capture
) -> None:
    shutil.copytree(GOLDEN, "model")
    asked = []
    for name in sources:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write(name, SOURCES[:2])
        asked += ["--source", name, "--reference", "t.de"]
    write("t.de", REFERENCES[:2])
    assert main(["compare", "one=model", "other=model", *asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["figures"]
    assert list(dict.fromkeys(each["test_set"] for each in told)) == names


def test_the_table_is_told_where_the_page_cannot_take_its_place(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    capsys.readouterr()
    assert main(["compare", "worse", "better", *TEST, "--output", "page.html"]) == 6
    assert "better" in capsys.readouterr().out


def test_a_program_that_fails_does_so_before_anything_is_translated(capsys: Capture) -> None:
    capsys.readouterr()
    command = program("p.py", "sys.exit(3)")
    shutil.copytree(GOLDEN, "model")
    words = ["compare", "worse", "model", *TEST, "--metric-command", command]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
        assert main(words) == 2
    assert "ended with status 3" in capsys.readouterr().err


def test_a_model_that_cannot_be_opened_is_found_before_another_one_translates(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, digits: list[str]
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    shutil.copytree(GOLDEN, "damaged")
    Path("damaged/model.safetensors").write_bytes(b"cut")
    Path("begun").mkdir()
    Path("begun/config.toml").touch()
    golden, *test = digits[1:]
    for other, status, told in (
        ("damaged", 5, "has 3 bytes instead of"),
        ("begun", 5, "begun: this run has no model yet"),
    ):
        for command in (
            ["compare", golden, other, *test],
            ["evaluate", golden, other, *test],
            ["evaluate", golden, "--against", other, *test],
        ):
            capsys.readouterr()
            assert main(command) == status
            assert told in capsys.readouterr().err
    for words in (["compare", f"a={golden}", f"b={golden}"], ["evaluate", golden, golden]):
        assert main([*words, *test, "--to", "reverse-digits"]) == 2
        assert "does not know reverse-digits" in capsys.readouterr().err


def test_a_file_of_another_length_is_found_before_anything_is_translated(capsys: Capture) -> None:
    capsys.readouterr()
    write("short", WORSE[:-1])
    shutil.copytree(GOLDEN, "model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
        assert main(["compare", "model", "two=worse,short", *TEST]) == 3
    assert "short: has 31 lines, and t.en has 32" in capsys.readouterr().err


def test_a_seed_that_is_none_is_found_before_anything_is_translated(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(GOLDEN, "model")
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    monkeypatch.setenv("SACREBLEU_SEED", "seven")
    capsys.readouterr()
    assert main(["compare", "model", "worse", *TEST]) == 2
    assert "SACREBLEU_SEED is 'seven'; set it to a whole number" in capsys.readouterr().err


def test_a_system_from_windows_is_remarked_on(capsys: Capture) -> None:
    Path("windows").write_bytes(Path("better").read_bytes().replace(b"\n", b"\r\n"))
    capsys.readouterr()
    assert main(["compare", "better", "windows", *TEST]) == 0
    assert "windows: every line ends in CR, which is read as text" in capsys.readouterr().err


def test_the_language_is_that_which_a_model_writes(capsys: Capture) -> None:
    shutil.copytree(GOLDEN, "model")
    told = json.loads(Path("model/config.json").read_text())
    Path("model/config.json").write_text(json.dumps(told | {"target_lang": "zh"}))
    write_manifest(Path("model"))
    write("digits.txt", ["1 2 3", "4 5"])
    write("reverse.txt", ["3 2 1", "5 4"])
    write("said", ["3 2 1", "4 5"])
    test = ("--source", "digits.txt", "--reference", "reverse.txt")
    assert "tok:zh" in run(capsys, "said", "model", *test)
    assert "tok:13a" in run(capsys, "said", "other=said", *test)


def test_comet_is_run_by_its_own_command(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """A program that prints what comet-score prints; COMET itself is not here."""
    folder = place / "bin"
    folder.mkdir()
    text = """
names = dict(zip(sys.argv[1::2], sys.argv[2::2]))
open("asked", "w").write(str(sys.argv))
outputs = open(names["-t"]).read().splitlines()
references = open(names["-r"]).read().splitlines()
for n, (a, b) in enumerate(zip(outputs, references)):
    print(f"{names['-t']}\\tSegment {n}\\tscore: {0.25 + (a == b) / 2:.4f}")
print(f"{names['-t']}\\tscore: 0.5000")
"""
    program("bin/comet-score", text)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    asked = ("--metrics", "bleu,comet", "--comet=--model 'some where' --gpus 0")
    told = run(capsys, "worse", "better", *TEST, *asked, "--json")
    comet = [each for each in json.loads(told)["figures"] if each["metric"] == "COMET"]
    assert [each["mean"] for each in comet] == [0.25, pytest.approx(0.25 + 11 / 64)]
    assert comet[0]["signature"] == "comet-score --model 'some where' --gpus 0"
    assert "--gpus', '0'" in Path("asked").read_text()


@pytest.fixture
def digits() -> list[str]:
    """The words with which the model that reverses digits is evaluated."""
    write("digits.txt", ["1 2 3", "4 5", "2 2 9 1"])
    write("reverse.txt", ["3 2 1", "9 9", "1 9 2 2"])
    return ["evaluate", str(GOLDEN), "--source", "digits.txt", "--reference", "reverse.txt"]


def test_a_single_model_is_scored_by_other_programs_too(capsys: Capture, digits: list[str]) -> None:
    command = f"same={program('exact.py', EXACT)}"
    words = [*digits, "--metric-command", command, "--threads", "1"]
    capsys.readouterr()
    assert main([*words, "--output", "said", "--against", str(GOLDEN), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    pairs = zip(Path("said").read_text().splitlines(), ["3 2 1", "9 9", "1 9 2 2"], strict=True)
    expected = sum(said == reference for said, reference in pairs) / 3
    score = told["scores"][-1]
    assert (score["name"], score["value"]) == ("same", pytest.approx(expected))
    assert score["low"] <= expected <= score["high"]
    assert told["comparisons"][-1]["difference"] == 0
    assert main([words[0], str(GOLDEN), *words[1:]]) == 0  # two models
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("same"))
    assert row.split()[1:3] == [f"{expected:.4f}", "0.0000"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("'bluu' is none of", ["--metrics", "bluu"]),
        ("comet-score is not installed", ["--metrics", "bleu,comet"]),
        ("there is no program", ["--metric-command", "x=no-such-program"]),
        ("ended with status 1", ["--metric-command", "false"]),
        ("takes one reference, and 2 are given", ["--metric-command", "true", "--reference", "t"]),
    ],
)
def test_what_cannot_score_a_model_is_refused_before_it_is_opened(
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    digits: list[str],
    told: str,
    words: list[str],
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    shutil.copy("reverse.txt", "t")
    capsys.readouterr()
    assert main([*digits, *words]) == 2
    assert told in capsys.readouterr().err


def test_no_text_of_an_evaluation_is_written_over(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, digits: list[str]
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_, **__: pytest.fail("a model was opened"))
    for name in ("digits.txt", "reverse.txt"):
        before = Path(name).read_bytes()
        capsys.readouterr()
        assert main([*digits, "--output", name]) == 6
        assert f"{name}: is read from as well" in capsys.readouterr().err
        assert Path(name).read_bytes() == before


def test_references_of_any_name_do_where_a_model_knows_its_language(capsys: Capture) -> None:
    write("digits.src", ["1 2 3", "4 5 6"])
    names = [write(name, ["3 2 1", "6 5 4"]) for name in ("digits.tgt", "digits.txt")]
    files = [word for name in names for word in ("--source", "digits.src", "--reference", name)]
    files[5] = write("more.src", ["7 8 9", "1 5 9"])
    write("digits.txt", ["9 8 7", "9 5 1"])
    told = run(capsys, f"one={GOLDEN}", f"two={GOLDEN}", *files, "--threads", "1")
    assert "two" in told
