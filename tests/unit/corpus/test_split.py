"""``interlingua split``: nothing that is tested was trained on, and nothing is lost."""

import gzip
import json
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.corpus.formats import PairReader, open_pairs
from interlingua.corpus.pair_rules import normalise
from interlingua.corpus.split import write_split
from interlingua.errors import CorpusError

Capture = pytest.CaptureFixture[str]

FORMS = ("casa {}", "Casa {}!", "  casa  {} ?")
ROWS = [(FORMS[i % 3].format(i // 3), f"the house {i}") for i in range(600)]


def read(folder: Path, part: str) -> list[tuple[str, str]]:
    sides = [(folder / f"{part}.{lang}").read_text().split("\n")[:-1] for lang in ("ro", "en")]
    return list(zip(*sides, strict=True))


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("c.tsv.gz")
    path.write_bytes(gzip.compress("".join(f"{a}\t{b}\n" for a, b in ROWS).encode()))
    return path


def split(folder: str, *words: str) -> int:
    how = ["--pairs", "c.tsv.gz", "--source-lang", "ro", "--target-lang", "en"]
    return main(["split", *how, "--output", folder, *words])


def test_parts_are_the_corpus_and_share_no_source_in_any_writing(
    corpus: Path, capsys: Capture
) -> None:
    assert split("a", "--valid", "60", "--test", "30", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == {"train": 510, "valid": 60, "test": 30}
    parts = {part: read(Path("a"), part) for part in found["pairs"]}
    assert sorted(row for rows in parts.values() for row in rows) == sorted(ROWS)
    for rows in parts.values():
        assert rows == [row for row in ROWS if row in set(rows)]
    keys = [{normalise(source) for source, _ in rows} for rows in parts.values()]
    assert len(set.union(*keys)) == sum(map(len, keys))


def test_the_seed_and_nothing_else_decides(corpus: Path) -> None:
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert split(folder, "--seed", seed) == 0
    files = {
        folder: [path.read_bytes() for path in sorted(Path(folder).iterdir())] for folder in "abc"
    }
    assert files["a"] == files["b"] != files["c"]
    Path("d.ro").write_text("".join(f"{a}\n" for a, _ in ROWS))
    Path("d.en").write_text("".join(f"{b}\n" for _, b in ROWS))
    assert main(["split", "--source", "d.ro", "--target", "d.en", "--output", "d"]) == 0
    assert [path.read_bytes() for path in sorted(Path("d").iterdir())] == files["a"]


def test_the_order_of_the_corpus_does_not_matter(corpus: Path) -> None:
    assert split("a", "--valid", "60", "--test", "30") == 0
    corpus.write_bytes(gzip.compress("".join(f"{a}\t{b}\n" for a, b in ROWS[::-1]).encode()))
    assert split("b", "--valid", "60", "--test", "30") == 0
    for part in ("train", "valid", "test"):
        assert read(Path("a"), part) == read(Path("b"), part)[::-1]


def test_a_part_may_be_left_out_and_blank_pairs_are(corpus: Path, capsys: Capture) -> None:
    corpus.write_bytes(gzip.compress("".join(f"a {i}\tb\n \tx\n" for i in range(99)).encode()))
    assert split("a", "--test", "0", "--valid", "9") == 0
    told = capsys.readouterr()
    assert "99 pairs were left out because a side is blank" in told.err
    assert sorted(path.name for path in Path("a").iterdir()) == [
        "train.en",
        "train.ro",
        "valid.en",
        "valid.ro",
    ]
    assert "a/valid.ro, .en: 9 pairs" in told.out


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--source", "c.tsv.gz"], 2, "name one corpus"),
        ([], 2, "name one corpus"),
        (["--pairs", "-"], 2, "can be read only once"),
        (["--source", ".", "--target", "."], 2, ".: is a folder; name a file in it"),
        (["--pairs", "c.tsv.gz", "--columns", "1"], 2, "--columns takes two names"),
        (["--pairs", "c.tsv.gz", "--valid", "-1"], 2, "are whole numbers from 0 on"),
        (["--pairs", "c.tsv.gz", "--valid", "500"], 3, "--valid 500: is more than half of the"),
        (["--pairs", "none.tsv"], 3, "none.tsv: no such file"),
    ],
)
def test_what_cannot_be_split_is_refused(
    corpus: Path, capsys: Capture, words: list[str], status: int, told: str
) -> None:
    assert main(["split", *words, "--output", "a"]) == status
    assert told in capsys.readouterr().err
    assert not Path("a").exists()


def test_the_corpus_is_never_written_over(corpus: Path, capsys: Capture) -> None:
    for lang, side in (("ro", 0), ("en", 1)):
        Path(f"train.{lang}").write_text("".join(f"{row[side]}\n" for row in ROWS))
    before = Path("train.ro").read_bytes()
    assert main(["split", "--source", "train.ro", "--target", "train.en", "--output", "."]) == 6
    assert (
        "train.ro: is read from as well, and would be lost; write elsewhere"
        in capsys.readouterr().err
    )
    assert Path("train.ro").read_bytes() == before
    assert not Path("valid.ro").exists()


def test_a_corpus_that_changes_between_the_readings_is_refused(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = open_pairs(corpus)
    remarks = PairReader.__iter__

    def changed(self: PairReader):  # type: ignore[no-untyped-def]
        yield from remarks(self)
        corpus.write_bytes(gzip.compress("".join(f"{b}\t{a}\n" for a, b in ROWS).encode()))

    monkeypatch.setattr(PairReader, "__iter__", changed)
    with pytest.raises(CorpusError, match="has been changed while it was read"):
        write_split(reader, Path("a"), languages=("ro", "en"), valid=9, test=9, seed=1)
    assert not list(Path("a").glob("*"))
