"""Which word each token of a text belongs to: words are what spaces part."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["first_tokens", "word_of_each_token"]


def word_of_each_token(tokenizer: Tokenizer, text: str) -> tuple[list[int], list[int]]:
    """Return the ids of a text, and for each of them the place of its word, counted from 0; every word has a token."""
    encoded, normal = tokenizer.encode(text), tokenizer.normalise(text)
    starts = [word.start() for word in re.finditer(r"\S+", normal)]
    words = []
    for begin, end in encoded.offsets:
        while begin < end and normal[begin].isspace():
            begin += (
                1  # the space before a word belongs to its first token, which may be nothing else
            )
        words.append(max(bisect_right(starts, begin) - 1, 0))
    return encoded.ids, words


def first_tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """Return the place of the first token of each word of a text that is known by its ids."""
    found, before = [], 0
    for place in range(len(ids)):
        words = len(tokenizer.decode(list(ids[: place + 1])).split())
        if words > before:
            found.append(place)
        before = max(words, before)
    return found
