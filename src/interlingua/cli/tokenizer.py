"""The ``tokenizer`` commands: learn one by itself, and write one in the form of another tool."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from interlingua.cli.streams import (
    note,
    print_json,
    refuse_missing_folder,
    refuse_missing_text,
    say,
)
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["TOKENIZER_COMMANDS", "TOKENIZER_HELP"]

_SENTENCEPIECE = (".model", ".spm")

TOKENIZER_HELP = "Learn a tokenizer by itself, or convert one: tokenizer train, tokenizer convert."


def train(
    text: Path,
    *more: Path,
    output: Path,
    kind: Literal["bpe", "unigram", "wordpiece", "word", "char"] = "bpe",
    vocabulary_size: int = 8000,
    normalization: Literal["nfkc", "nfc", "none"] = "nfkc",
    lowercase: bool = False,
    byte_level: bool = False,
    lines: int = 2_000_000,
    json: bool = False,
) -> None:
    """Learn a tokenizer from text files, of one language or several, without a corpus of pairs.

    Args:
        text: file with one sentence a line, UTF-8.
        more: further files.
        output: file to write: a tokenizer.json, or a SentencePiece model if it ends in .model or .spm.
        kind: how text is cut into tokens.
        vocabulary_size: entries at most; 260 are special symbols and bytes.
        normalization: Unicode form before anything else.
        lowercase: fold case.
        byte_level: work on bytes (bpe only).
        lines: lines to learn from; of more text so many are taken, evenly spread.
        json: print the result as JSON.
    """
    write = _writer_of(output)
    if output.suffix in _SENTENCEPIECE:
        from interlingua.tokenization.sentencepiece_writing import refuse_kind

        refuse_kind(kind, byte_level=byte_level)
    if lines < 1:
        raise ConfigError(f"--lines {lines}: give 1 or more")
    from interlingua.corpus.sample import count_all_lines, evenly_spread
    from interlingua.tokenization.train import train_tokenizer

    files = (text, *more)
    for path in files:
        refuse_missing_text(path)
    total = count_all_lines(files)
    if total > lines:
        note(f"--lines {lines:,}: so many lines are read, evenly spread over all {total:,}")
    learnt = train_tokenizer(
        evenly_spread(files, total, lines),
        kind=kind,
        vocabulary_size=vocabulary_size,
        normalization=normalization,
        lowercase=lowercase,
        byte_level=byte_level,
        of_lines=total,
    )
    write(learnt, output)
    _report(learnt, output, as_json=json)


def convert(
    tokenizer: Path,
    *,
    output: Path,
    side: Literal["source", "target"] = "source",
    json: bool = False,
) -> None:
    """Write a tokenizer in another form: a SentencePiece model or a tokenizer.json, with the ids that it has.

    Args:
        tokenizer: run folder, model folder, or tokenizer file of any known kind.
        output: file to write: a tokenizer.json, or a SentencePiece model if it ends in .model or .spm.
        side: whose tokenizer, when the two sides have one each.
        json: print the result as JSON.
    """
    write = _writer_of(output)
    from interlingua.cli.tokenize import find_tokenizer

    found = find_tokenizer(tokenizer, side)
    write(found, output)
    _report(found, output, as_json=json)


TOKENIZER_COMMANDS: tuple[Callable[..., int | None], ...] = (train, convert)


def _writer_of(output: Path) -> Callable[["Tokenizer", Path], None]:
    """Return what writes a file of the suffix of ``output``; refuse a suffix that says nothing, and no folder to write in."""
    refuse_missing_folder(output)
    if output.suffix in _SENTENCEPIECE:
        from interlingua.tokenization.sentencepiece_writing import write_sentencepiece

        return write_sentencepiece
    if output.suffix == ".json":
        return lambda tokenizer, path: tokenizer.save(path)
    raise ConfigError(
        f"--output {output}: its suffix must say what to write, .json for a tokenizer.json, "
        ".model or .spm for a SentencePiece model"
    )


def _report(tokenizer: "Tokenizer", output: Path, *, as_json: bool) -> None:
    from dataclasses import asdict

    from interlingua.tokenization.piece_tokenizer import PieceTokenizer

    learnt_from = tokenizer.learnt_from if isinstance(tokenizer, PieceTokenizer) else None
    if as_json:
        told = {
            "output": output,
            "kind": tokenizer.kind,
            "vocabulary_size": tokenizer.vocabulary_size,
        }
        print_json(told | {"learnt_from": asdict(learnt_from) if learnt_from else None})
        return
    how = f", {learnt_from.to_text()}" if learnt_from else ""
    say(f"{output}: {tokenizer.vocabulary_size:,} {tokenizer.kind} tokens{how}\n")
