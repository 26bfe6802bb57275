"""What the corpus room hands on: one source sentence with its translation."""

from dataclasses import dataclass

__all__ = ["SentencePair"]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A source sentence, its translation, and the line where both were found.

    Attributes:
        source: the source text, without its line end.
        target: the target text, without its line end.
        line: 1 for the first line; counted on through the files when there are several.
    """

    source: str
    target: str
    line: int
