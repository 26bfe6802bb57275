"""Faults that can be seen without a reference: going round in circles, copying, leaving out."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor

from interlingua.corpus.words import is_unspaced, units_of
from interlingua.requests.translation import Translation

__all__ = ["LONGEST_PHRASE", "flag_faults", "is_copy", "is_uncovered", "repeats_itself"]

LONGEST_PHRASE = 100
"""Tokens of the longest phrase whose repetition is looked for; it takes a line of 303 tokens to hold a longer one."""

LEAST_COVERAGE = 0.1
"""Attention, summed over all steps, below which a source token counts as not looked at."""

UNCOVERED_SHARE = 0.25
"""Share of such tokens from which a source counts as uncovered."""


def repeats_itself(tokens: Sequence[str]) -> bool:
    """Whether some n-gram stands three times in a row: "a dog a dog a dog", or "no no no".

    The n-gram must hold a letter or digit, so that "..." and "!!!" are no repetition; case is ignored. A single sign of a
    script without spaces must stand five times, as a year has its zero three times ("二〇〇〇年"). The n-gram has at
    most ``LONGEST_PHRASE`` tokens, so that the time grows with the length of a line and not with its square.
    """
    folded = [token.casefold() for token in tokens]
    worded = [0, *accumulate(any(map(str.isalnum, token)) for token in folded)]
    for period in range(1, min(len(folded) // 3, LONGEST_PHRASE) + 1):
        run = 0
        for end in range(period, len(folded)):
            run = run + 1 if folded[end] == folded[end - period] else 0
            times = 4 if period == 1 and is_unspaced(folded[end]) else 2
            if run >= times * period and worded[end + 1] > worded[end + 1 - period]:
                return True
    return False


def is_copy(source: str, translation: str) -> bool:
    """Whether a translation is its source, case and spacing aside, and has a letter at all."""
    folded = " ".join(source.casefold().split())
    return any(map(str.isalpha, folded)) and folded == " ".join(translation.casefold().split())


def is_uncovered(attention: Float[Tensor, "T S"]) -> bool:
    """Whether a translation hardly looked at a good part of its source.

    Args:
        attention: of target symbol t to source symbol s, the end symbol of the source last, which may be left out.
    """
    covered = attention.sum(dim=0)[:-1]
    share = (covered < LEAST_COVERAGE).to(torch.float32).mean()
    return bool(covered.numel()) and float(share) >= UNCOVERED_SHARE


def flag_faults(
    source: str, found: Translation, attention: Float[Tensor, "T S"] | None
) -> Translation:
    """Flag a loop, a copy, and a source that was hardly looked at; None is no attention to judge the last by."""
    marks = {
        "loop": repeats_itself([unit for _, unit in units_of(found.text)]),
        "copy": is_copy(source, found.text),
        "uncovered-source": attention is not None and is_uncovered(attention),
    }
    return replace(found, flags=(*found.flags, *(mark for mark, holds in marks.items() if holds)))
