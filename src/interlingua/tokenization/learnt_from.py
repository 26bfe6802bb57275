"""What a tokenizer was learnt from, so that a file says how much of the text it has seen."""

from dataclasses import dataclass

__all__ = ["LearntFrom"]


@dataclass(frozen=True, slots=True)
class LearntFrom:
    """Counts that are saved with a tokenizer."""

    lines: int
    """Lines that were read."""
    of_lines: int
    """Lines that there were; more than were read, if a sample was taken."""
    different_words: int
    """Different words in the lines that were read."""
    words_used: int
    """The most frequent of them, which the pieces were learnt from."""

    def to_text(self) -> str:
        """Say it in a sentence."""
        lines = f"all {self.lines:,} lines"
        if self.lines < self.of_lines:
            lines = f"{self.lines:,} lines, evenly spread over all {self.of_lines:,}"
        words = f"all {self.different_words:,} different words"
        if self.words_used < self.different_words:
            words = (
                f"the {self.words_used:,} most frequent of {self.different_words:,} different words"
            )
        return f"learnt from {lines}, {words}"
