"""The ``tokenize`` command: find a tokenizer wherever it lives, and show how it cuts text."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from interlingua.tokenization.foreign import load_any
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["find_tokenizer", "write_tokens"]


def find_tokenizer(path: Path, side: Literal["source", "target"]) -> Tokenizer:
    """Open the tokenizer file ``path``, or the one of ``side`` in a run folder or model folder.

    Raises:
        TokenizerError: there is none, or it cannot be read.
    """
    if not path.is_dir():
        return load_any(path)
    inner = [path / name for name in ("model", "tokenizer") if (path / name).is_dir()]
    pair = TokenizerPair.load(inner[0] if inner else path)
    return pair.source if side == "source" else pair.target


def write_tokens(
    write: Callable[[str], None],
    lines: Sequence[str],
    tokenizer: Tokenizer,
    *,
    ids: bool,
    as_json: bool,
) -> None:
    """Write the tokens (or ``ids``) of each line, with spaces between; merges of subword-nmt as that tool does."""
    for line in lines:
        numbers = tokenizer.encode(line).ids
        if as_json:
            cut = {"text": line, "tokens": tokenizer.tokens(numbers), "ids": numbers}
            write(json.dumps(cut, ensure_ascii=False) + "\n")
        elif ids:
            write(" ".join(map(str, numbers)) + "\n")
        elif isinstance(tokenizer, SubwordNmtTokenizer):
            write(_one_line(tokenizer.apply(line)) + "\n")
        else:
            write(_one_line(" ".join(tokenizer.tokens(numbers))) + "\n")


def _one_line(tokens: str) -> str:
    """Replace line feeds only: CR is text to a tokenizer, and may be a token."""
    return tokens.replace("\n", " ")
