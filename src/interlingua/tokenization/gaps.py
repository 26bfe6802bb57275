"""Text with gaps as ids: each word that is only ``_`` becomes the one symbol that no text becomes otherwise."""

import re

from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["encode_with_gaps"]

_GAP = re.compile(r"(?<!\S)_(?!\S)")


def encode_with_gaps(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of ``text``, with ``<unk>`` for each gap, which is what a model learnt to guess from."""
    ids: list[int] = []
    for number, part in enumerate(_GAP.split(text)):
        ids += [tokenizer.unknown_id] if number else []
        ids += tokenizer.encode(part.strip()).ids
    return ids
