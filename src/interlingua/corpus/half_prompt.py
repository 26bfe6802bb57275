"""A text cut in two, for a language model to write on from the first part."""

from dataclasses import dataclass

__all__ = ["HalfPrompt"]


@dataclass(frozen=True, slots=True)
class HalfPrompt:
    """The first half of the words as a source, the rest as its target; in a text without spaces, of the characters."""

    def apply(self, source: str, target: str, *, epoch: int, pair: int) -> tuple[str, str]:
        """Return both halves of ``target``; of a text of one word each has half of its characters, and of one character the first is empty."""
        words = target.split(" ")
        if len(words) == 1:
            return target[: len(target) // 2], target[len(target) // 2 :]
        middle = len(words) // 2
        return " ".join(words[:middle]), " ".join(words[middle:])
