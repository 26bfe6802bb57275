"""``tokenizer train`` and ``tokenizer convert``, as a user types them."""

import json
import os
from pathlib import Path

import pytest
import sentencepiece

from interlingua.cli import main
from interlingua.corpus.sample import evenly_spread
from interlingua.tokenization.foreign import load_any

LINES = [f"the cat sat on mat {number} , and the dog slept ." for number in range(300)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.en"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "word", "char"])
def test_a_tokenizer_is_trained_alone_and_gives_the_text_back(
    kind: str, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = text.with_name("tokenizer.json")
    assert (
        run(
            "tokenizer", "train", text, "--output", output, "--kind", kind, "--vocabulary-size", 400
        )
        == 0
    )
    assert "learnt from all 300 lines, all 310 different words" in capsys.readouterr().out
    tokenizer = load_any(output)
    assert tokenizer.kind == kind
    assert all(tokenizer.decode(tokenizer.encode(line).ids) == line for line in LINES)


def test_a_sample_is_told_in_the_output_and_in_the_file(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = text.with_name("tokenizer.json")
    assert run("tokenizer", "train", text, text, "--output", output, "--lines", 200, "--json") == 0
    told = capsys.readouterr()
    assert "so many lines are read, evenly spread over all 600" in told.err
    expected = {"lines": 200, "of_lines": 600, "different_words": 110, "words_used": 110}
    assert json.loads(told.out)["learnt_from"] == expected
    saved = json.loads(output.read_text("utf-8"))
    assert saved["model"]["interlingua"]["learnt_from"] == expected
    again = text.with_name("again.json")
    assert run("tokenizer", "convert", output, "--output", again) == 0
    assert again.read_bytes() == output.read_bytes()


def test_a_trained_tokenizer_becomes_a_sentencepiece_model(text: Path) -> None:
    output, model = text.with_name("tokenizer.json"), text.with_name("tokenizer.spm")
    assert run("tokenizer", "train", text, "--output", output, "--vocabulary-size", 400) == 0
    assert run("tokenizer", "convert", output, "--output", model) == 0
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(model))
    assert theirs.encode(LINES) == load_any(output).encode_batch(LINES)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("text.en", "--output", "nope/t.json"), 6, "as there is no folder nope"),
        (("text.en", "--output", "t.bin"), 2, "--output t.bin: its suffix must say"),
        (("text.en", "--output", "t.json", "--lines", "0"), 2, "--lines 0: give 1 or more"),
        (("text.en", "--output", "t.spm", "--kind", "word"), 4, "a word tokenizer cannot be"),
        (("text.en", "--output", "t.spm", "--byte-level"), 4, "a byte-level tokenizer cannot be"),
        (("gone.en", "--output", "t.json"), 3, "gone.en"),
        (("empty.en", "--output", "t.json"), 4, "there is no text"),
        (("text.en", "--output", "t.json", "--vocabulary-size", "9"), 4, "is too small"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    arguments: tuple[str, ...],
    status: int,
    message: str,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(text.parent)
    Path("empty.en").touch()
    assert run("tokenizer", "train", *arguments) == status
    assert message in capsys.readouterr().err
    assert {path.name for path in Path().iterdir()} == {"text.en", "empty.en"}


def test_a_sample_is_spread_evenly_over_all_files(tmp_path: Path) -> None:
    files = []
    for name, count in (("a", 70), ("b", 1), ("c", 29)):
        files.append(tmp_path / name)
        files[-1].write_text("".join(f"{name}{number}\n" for number in range(count)))
    assert len(list(evenly_spread(files, 100, 1000))) == 100
    taken = list(evenly_spread(files, 100, 10))
    assert len(taken) == 10
    assert sum(line.startswith("a") for line in taken) == 7


def test_a_pipe_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    assert run("tokenizer", "train", f"/dev/fd/{reading}", "--output", tmp_path / "t.json") == 3
    os.close(reading)
    assert "can be read only once, and is needed more often" in capsys.readouterr().err
