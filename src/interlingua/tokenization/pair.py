"""The tokenizers of the two sides: one for both, or one for each."""

from dataclasses import dataclass
from pathlib import Path

from interlingua.errors import TokenizerError
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["SHARED_NAME", "SOURCE_NAME", "TARGET_NAME", "TokenizerPair"]

SHARED_NAME = "tokenizer.json"
SOURCE_NAME = "source_tokenizer.json"
TARGET_NAME = "target_tokenizer.json"


@dataclass(frozen=True)
class TokenizerPair:
    """A tokenizer for each side; ``shared`` says that they are the same one."""

    source: Tokenizer
    target: Tokenizer
    shared: bool

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``, or ``source_tokenizer.json`` and ``target_tokenizer.json``."""
        folder = Path(folder)
        if self.shared:
            self.source.save(folder / SHARED_NAME)
            left_over = [SOURCE_NAME, TARGET_NAME]
        else:
            self.source.save(folder / SOURCE_NAME)
            self.target.save(folder / TARGET_NAME)
            left_over = [SHARED_NAME]
        # A folder that held the other form before must not hold both: nobody could tell which one counts.
        for name in left_over:
            (folder / name).unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path) -> "TokenizerPair":
        """Read what :meth:`save` wrote.

        Raises:
            TokenizerError: there is neither form, only one half, or a file is damaged.
        """
        folder = Path(folder)
        if (folder / SHARED_NAME).exists():
            tokenizer = Tokenizer.load(folder / SHARED_NAME)
            return cls(tokenizer, tokenizer, shared=True)
        if not (folder / SOURCE_NAME).exists() and not (folder / TARGET_NAME).exists():
            raise TokenizerError(
                f"{folder}: holds no {SHARED_NAME} (nor {SOURCE_NAME} and {TARGET_NAME}); "
                "give a model folder or a tokenizer folder"
            )
        source, target = Tokenizer.load(folder / SOURCE_NAME), Tokenizer.load(folder / TARGET_NAME)
        return cls(source, target, shared=False)
