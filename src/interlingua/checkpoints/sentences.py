"""``validation.jsonl``: sentences kept with a model that it was not trained on, one JSON object a line."""

import json
from collections.abc import Sequence
from pathlib import Path

from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.errors import ModelError

__all__ = [
    "MOST_SENTENCES",
    "SENTENCES",
    "read_directed_sentences",
    "read_sentences",
    "write_sentences",
]

SENTENCES = "validation.jsonl"
MOST_SENTENCES = 200
"""Enough to see whether a copy of a model in another format translates like it."""

_LONGEST_FILE = 1 << 24
"""Bytes; what is longer was not written here: of texts that are, the longest are left out."""


def write_sentences(
    path: Path, pairs: Sequence[SentencePair], directions: Sequence[Direction] = ()
) -> None:
    """Write ``pairs``, the source and the target of each, where it stood, and its direction if there are several."""
    named = [{"direction": str(each)} for each in directions] or [{}] * len(pairs)
    lines = []
    for pair, direction in zip(pairs, named, strict=True):
        told = {"source": pair.source, "target": pair.target, "line": pair.line, **direction}
        lines.append(f"{json.dumps(told, ensure_ascii=False)}\n".encode())
    whole = sum(map(len, lines))
    for place in sorted(range(len(lines)), key=lambda place: -len(lines[place])):
        if whole > _LONGEST_FILE:
            whole -= len(lines[place])
            lines[place] = b""
    path.write_bytes(b"".join(lines))


def read_sentences(path: Path, direction: Direction | None = None) -> tuple[SentencePair, ...]:
    """Read what :func:`write_sentences` wrote; a model folder without the file has no sentences.

    Args:
        path: the file.
        direction: of a model of several pairs of languages, the one that is wanted; None for all.

    Raises:
        ModelError: the file is damaged.
    """
    found = read_directed_sentences(path)
    return tuple(pair for pair, each in found if direction in (None, each))


def read_directed_sentences(path: Path) -> list[tuple[SentencePair, Direction | None]]:
    """Do the same, and tell the direction of each where one is told.

    Raises:
        ModelError: the file is damaged.
    """
    if not path.exists():
        return []
    pairs: list[tuple[SentencePair, Direction | None]] = []
    try:
        if path.stat().st_size > _LONGEST_FILE:
            raise ValueError(f"more than {_LONGEST_FILE:,} bytes")
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            found = json.loads(line)
            pair = SentencePair(found["source"], found["target"], found["line"])
            if not (isinstance(pair.source, str) and isinstance(pair.target, str)):
                raise ValueError("a sentence that is no text")
            told = found.get("direction")
            pairs.append((pair, None if told is None else Direction.read(told)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{path}: is damaged at sentence {len(pairs) + 1} ({error}); copy the folder again"
        ) from error
    return pairs
