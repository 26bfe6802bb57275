"""What the corpus room hands on: sentence pairs, and the files of a corpus in three parts."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["CorpusFiles", "SentencePair"]


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


@dataclass(frozen=True, slots=True)
class CorpusFiles:
    """The six files of a corpus that has train, validation and test parts, and its two languages."""

    train_source: Path
    train_target: Path
    valid_source: Path
    valid_target: Path
    test_source: Path
    test_target: Path
    source_lang: str
    target_lang: str

    @classmethod
    def in_folder(cls, folder: Path, source_lang: str, target_lang: str) -> "CorpusFiles":
        """Name the six files ``train.ro``, ``train.en``, ``valid.ro`` and so on in ``folder``."""
        folder = Path(folder)
        return cls(
            train_source=folder / f"train.{source_lang}",
            train_target=folder / f"train.{target_lang}",
            valid_source=folder / f"valid.{source_lang}",
            valid_target=folder / f"valid.{target_lang}",
            test_source=folder / f"test.{source_lang}",
            test_target=folder / f"test.{target_lang}",
            source_lang=source_lang,
            target_lang=target_lang,
        )

    @property
    def parts(self) -> tuple[tuple[Path, Path], tuple[Path, Path], tuple[Path, Path]]:
        """Source and target of train, validation and test."""
        return (
            (self.train_source, self.train_target),
            (self.valid_source, self.valid_target),
            (self.test_source, self.test_target),
        )
