"""Corpora in every form, through the real command: trained from, resumed, refused, and in constant memory."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.training.run import TrainResult, _Run

Capture = pytest.CaptureFixture[str]

NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
PAIRS = [
    (f"{a} {b} {c}", f"{NUMBERS[a]} {NUMBERS[b]} {NUMBERS[c]}")
    for a in NUMBERS
    for b in NUMBERS
    for c in NUMBERS
]
SMALL = [
    "--source-lang",
    "ro",
    "--target-lang",
    "en",
    "--model.encoder-layers",
    "1",
    "--model.decoder-layers",
    "1",
    "--model.d-model",
    "16",
    "--model.d-ff",
    "16",
    "--model.heads",
    "2",
    "--training.threads",
    "1",
    "--training.steps",
    "4",
    "--training.validate-every",
    "2",
    "--training.validate-sentences",
    "4",
]


def tmx(pairs: list[tuple[str, str]]) -> bytes:
    units = (
        f'<tu><tuv xml:lang="en-GB"><seg>{b}</seg></tuv><tuv xml:lang="ro"><seg>{a}</seg></tuv></tu>\n'
        for a, b in pairs
    )
    head = '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><body>'
    return f"{head}{''.join(units)}</body></tmx>".encode()


def tsv(pairs: list[tuple[str, str]]) -> bytes:
    return "".join(f"{a}\t{b}\n" for a, b in pairs).encode()


def jsonl(pairs: list[tuple[str, str]]) -> bytes:
    return "".join(
        json.dumps({"translation": {"ro": a, "en": b}}) + "\n" for a, b in pairs
    ).encode()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(run: str, *words: str, command: str = "train") -> int:
    return main([command, *SMALL, *words, "--run-dir", run])


def ids_of(run: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(Path(run, "shards").glob("*/*_ids"))]


def test_a_compressed_memory_is_trained_from_and_resumed(place: Path, capsys: Capture) -> None:
    path = Path("memory.tmx.gz")
    path.write_bytes(gzip.compress(tmx(PAIRS)))
    assert train("runs/x", "--pairs", str(path)) == 0
    capsys.readouterr()
    assert train("runs/x", "--pairs", str(path), "--training.steps", "6", "--json") == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 6
    lock = json.loads(Path("runs/x/corpus.lock").read_text())
    assert [entry["unpacked_from"][0]["path"] for entry in lock.values()] == ["memory.tmx.gz"] * 2
    assert "memory.tmx.gz" in Path("runs/x/model/README.md").read_text()
    assert main(["translate", "runs/x", "unu doi"]) == 0
    held = Path("runs/x/corpus/training-1.ro").read_bytes()
    assert train("runs/x", "--pairs", str(path), "--fresh") == 0
    assert Path("runs/x/corpus/training-1.ro").read_bytes() == held
    path.write_bytes(gzip.compress(tmx(PAIRS[1:])))
    assert train("runs/x", "--pairs", str(path)) == 2
    assert "was started with another text than memory.tmx.gz" in capsys.readouterr().err
    assert train("runs/x", "--pairs", str(path), "--fresh") == 0
    assert len(Path("runs/x/corpus/training-1.ro").read_text().splitlines()) == len(PAIRS) - 1
    assert len(Path("runs/x.2/corpus/training-1.ro").read_text().splitlines()) == len(PAIRS)
    assert sorted(file.name for file in Path("runs").iterdir()) == ["x", "x.1", "x.2"]


def test_nothing_lies_beside_a_run_that_trains(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    go, seen = _Run.go, list[str]()

    def look(under_way: _Run) -> TrainResult:
        seen.extend(file.name for file in Path("runs").iterdir())
        return go(under_way)

    monkeypatch.setattr(_Run, "go", look)
    path = Path("memory.tmx.gz")
    path.write_bytes(gzip.compress(tmx(PAIRS)))
    assert train("runs/x", "--pairs", str(path)) == 0
    assert seen == ["x"]
    sides = [f"runs/x/corpus/training-1.{side}" for side in ("ro", "en")]
    capsys.readouterr()
    assert train("runs/x", "--source", sides[0], "--target", sides[1], "--fresh") == 2
    assert f"{sides[0]}: lies in the folder of the run that --fresh puts" in capsys.readouterr().err
    assert [file.name for file in Path("runs").iterdir()] == ["x"]


def test_json_lines_come_through_a_pipe_and_the_run_goes_on_without_it(place: Path) -> None:
    command = [sys.executable, "-m", "interlingua", "train", "--pairs", "-", *SMALL]
    for data, steps in ((jsonl(PAIRS), 4), (b"", 6)):
        done = subprocess.run(
            [*command, "--run-dir", "x", "--training.steps", str(steps), "--json"],
            input=data,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert json.loads(done.stdout)["steps"] == steps
    assert main(["train", "x/config.toml", "--training.steps", "8"]) == 0


def test_several_forms_in_one_run_with_weights(place: Path, capsys: Capture) -> None:
    zstd = pytest.importorskip(
        "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    )
    Path("a.tsv.zst").write_bytes(zstd.compress(tsv(PAIRS[:60])))
    Path("b.jsonl").write_bytes(jsonl(PAIRS[60:]))
    Path("valid.tsv").write_bytes(tsv(PAIRS[:9]))
    files = ["--pairs", "a.tsv.zst", "b.jsonl", "--valid-pairs", "valid.tsv"]
    assert train("x", *files, "--corpus.weights", "2,0.2", "--corpus.tags", ",<bt>", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 4
    manifest = json.loads(Path("x/shards/training/manifest.json").read_text())
    assert manifest["parts"] == [60, 65]


def test_several_forms_are_split_together_by_source(place: Path) -> None:
    Path("a.tsv").write_bytes(tsv(PAIRS))
    Path("b.jsonl.gz").write_bytes(gzip.compress(jsonl([(f"{a}!", f"{b}!") for a, b in PAIRS])))
    files = ["--pairs", "a.tsv", "b.jsonl.gz", "--corpus.weights", "2,1", "--corpus.tags", ",<bt>"]
    assert train("x", *files, "--corpus.valid-size", "20", command="prepare") == 0
    parts = json.loads(Path("x/shards/training/manifest.json").read_text())["parts"]
    assert parts == [115, 115]


def test_what_is_cleaned_from_a_pipe_can_be_trained_on(place: Path) -> None:
    rows = [*PAIRS, ("unu &amp; doi", "one &amp; two"), ("", "nothing"), PAIRS[0], PAIRS[1]]
    flags = ["--source-lang", "ro", "--target-lang", "en", "--test-pairs", "test.tsv"]
    Path("test.tsv").write_bytes(tsv([("Doi unu doi.", "Two one two.")]))
    command = [sys.executable, "-m", "interlingua", "clean", "--pairs", "-", *flags]
    forms = {"a": tmx(rows).replace(b"&amp;", b"&amp;amp;"), "b": gzip.compress(jsonl(rows))}
    for output, data in forms.items():
        done = subprocess.run(
            [*command, "--output", output, "--json"], input=data, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        told = json.loads(done.stdout)
        assert told["rules"] == {"empty": 1, "leakage": 1, "duplicate": 2}
        assert told["repairs"] == {"entity": 1}
    for name in ("corpus.ro", "corpus.en", "dropped.tsv", "repaired.jsonl"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()
    assert train("x", "--pairs", "b/corpus", command="prepare") == 0
    strict = ["clean", "--pairs", "b/corpus", "--no-repair", "--dry-run"]
    assert main([*strict, "--source-lang", "ro", "--target-lang", "en"]) == 0


def test_the_same_pairs_in_any_form_are_prepared_alike(place: Path) -> None:
    for suffix, side in (("ro", 0), ("en", 1)):
        text = "".join(f"{pair[side]}\n" for pair in PAIRS).encode()
        Path(f"p.{suffix}").write_bytes(text)
        Path(f"z.{suffix}.gz").write_bytes(gzip.compress(text))
    Path("p.tsv").write_bytes(tsv(PAIRS))
    Path("p.jsonl").write_bytes(jsonl(PAIRS))
    Path("p.tmx").write_bytes(tmx(PAIRS))
    forms = [
        ["--source", "p.ro", "--target", "p.en"],
        ["--source", "z.ro.gz", "--target", "z.en.gz"],
        *(["--pairs", name] for name in ("p", "z", "p.tsv", "p.jsonl", "p.tmx")),
    ]
    for number, form in enumerate(forms):
        assert train(f"run-{number}", *form, command="prepare") == 0
        assert ids_of(f"run-{number}") == ids_of("run-0"), form


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.tmx", tmx(PAIRS)[:999], "a.tmx, line 9, column "),
        ("a.tmx", tmx(PAIRS).replace(b'"ro"', b'"fr"'), "it holds en-gb, fr: say which"),
        ("a.tmx", b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', "which is refused because"),
        ("a.tsv.gz", gzip.compress(tsv(PAIRS))[:99], "a.tsv.gz: ends in the middle of its gzip data"),
        ("a.tsv", tsv(PAIRS) + b"alone\n", "a.tsv, line 126: has 1 column, not 2"),
        ("a.jsonl", jsonl(PAIRS) + b"{\n", "a.jsonl, line 126: is not JSON"),
        ("a.jsonl", b"\xff", "a.jsonl, line 1, byte 1"),
        ("a.zip", b"PK\x03\x04", "is a zip archive; unpack it first"),
    ],
)  # fmt: skip
def test_a_bad_corpus_is_one_line_of_words_and_leaves_nothing(
    place: Path, capsys: Capture, name: str, data: bytes, words: str
) -> None:
    Path(name).write_bytes(data)
    for command in ("train", "prepare", "plan"):
        assert train("runs/x", "--pairs", name, command=command) == 3
        told = capsys.readouterr().err
        assert words in told
        assert "Traceback" not in told
    assert [path for path in place.rglob("*") if path.is_file()] == [Path(name).absolute()]


READ = """
import resource, sys
from pathlib import Path
from interlingua.config import CorpusConfig
from interlingua.training.run_folder import RunFolder
from interlingua.training.unpacking import find_plain_files
plain = find_plain_files(
    CorpusConfig(pairs=(Path(sys.argv[1]),)), ("ro", "en"), RunFolder(Path("run")), writes=True
)
print(plain.training[0][0].stat().st_size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.proof
@pytest.mark.parametrize("form", ["tmx", "tsv", "jsonl", "tsv.gz"])
def test_two_hundred_megabytes_take_no_more_memory_than_two(place: Path, form: str) -> None:
    make = {
        "tmx": tmx,
        "tsv": tsv,
        "jsonl": jsonl,
        "tsv.gz": lambda pairs: gzip.compress(tsv(pairs)),
    }
    pairs = [(f"{a} {i}", f"{b} {i}") for i in range(40) for a, b in PAIRS]
    whole = make[form](pairs)
    head, tail = (whole[: whole.index(b"<tu>")], b"</body></tmx>") if form == "tmx" else (b"", b"")
    middle = whole[len(head) : len(whole) - len(tail)]
    peaks, sizes = [], []
    for size in (2_000_000, 200_000_000):
        path = Path(f"{size}.{form}")
        unpacked = len(tsv(pairs)) if form == "tsv.gz" else len(middle)
        with path.open("wb") as file:
            file.write(head)
            for _ in range(size // unpacked + 1):
                file.write(middle)
            file.write(tail)
        done = subprocess.run(
            [sys.executable, "-c", READ, path],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        text, peak = map(int, done.stdout.split())
        sizes.append(text)
        peaks.append(peak / 1024)
        path.unlink()
    print(f"{form}: {sizes} bytes of source text, peaks of {peaks} MiB")
    assert sizes[1] > 80 * sizes[0]
    assert peaks[1] < peaks[0] + 16
