"""What happens to a text before it is cut: Unicode forms, lower case, and SentencePiece's own tables."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

from tokenizers import normalizers

from interlingua.errors import TokenizerError
from interlingua.tokenization.charsmap import Charsmap
from interlingua.tokenization.tokenizer import refuse_surrogates
from interlingua.tokenization.vocabulary import SPACE_MARK

__all__ = ["Form", "Normaliser", "SentencePieceNormaliser", "as_form"]

Form = Literal["nfkc", "nfc", "none"]


def as_form(name: str) -> Form:
    """Return ``name`` if it is one of the known forms, else raise a TokenizerError."""
    if name not in ("nfkc", "nfc", "none"):
        raise TokenizerError(f"{name!r} is not a Unicode normalisation; choose nfkc, nfc or none")
    return cast(Form, name)


@dataclass(frozen=True)
class Normaliser:
    """A Unicode form, then lower case if wanted. Spaces stay as they are, all of them.

    The tables are those of the ``tokenizers`` package, not of Python, so that a new Python changes nothing.
    """

    form: Form = "nfkc"
    lowercase: bool = False

    def __call__(self, text: str) -> str:
        """Return the normalised text; raise a TokenizerError for half a surrogate pair."""
        if text.isascii():
            return text.lower() if self.lowercase else text
        refuse_surrogates(text)
        return self._change(text)

    @cached_property
    def _change(self) -> Callable[[str], str]:
        if not self.steps():
            return lambda text: text
        steps = {
            "NFKC": normalizers.NFKC,
            "NFC": normalizers.NFC,
            "Lowercase": normalizers.Lowercase,
        }
        chain = normalizers.Sequence([steps[name]() for name in self.steps()])
        change: Callable[[str], str] = chain.normalize_str
        return change

    def steps(self) -> list[str]:
        """Return the names that Hugging Face gives to the steps.

        The form is taken again after lower case: J with a caron has no precomposed form, j with a caron has one.
        """
        form = [] if self.form == "none" else [self.form.upper()]
        return [*form, "Lowercase", *form] if self.lowercase else form


@dataclass(frozen=True)
class SentencePieceNormaliser:
    """What a SentencePiece model does to text: its table of replacements, then spaces."""

    charsmap: Charsmap
    collapse_spaces: bool
    """Leave no space at either end and no two in a row."""
    whole: re.Pattern[str] | None = None
    """User-defined symbols, which the table does not touch."""

    def __call__(self, text: str) -> str:
        """Return the normalised text; raise a TokenizerError for half a surrogate pair."""
        refuse_surrogates(text)
        text = self._replace(text)
        if not self.collapse_spaces:
            return text
        # At the end, and only there, SentencePiece removes the mark as well as the space.
        return re.sub(" +", " ", text).lstrip(" ").rstrip(" " + SPACE_MARK)

    def _replace(self, text: str) -> str:
        if self.whole is None:
            return self.charsmap.apply(text)
        parts, end = [], 0
        for match in self.whole.finditer(text):
            parts += [self.charsmap.apply(text[end : match.start()]), match.group()]
            end = match.end()
        return "".join([*parts, self.charsmap.apply(text[end:])])
