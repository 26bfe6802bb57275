"""What one text became."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.decoding.hypothesis import Hypothesis

__all__ = ["EMPTY", "Translation", "join_parts", "translation_of", "without_repeats"]


@dataclass(frozen=True, slots=True)
class Translation:
    """What one text became."""

    text: str
    score: float
    """Sum of the log-probabilities divided by the length penalty; 0 for an empty source."""
    tokens: tuple[str, ...]
    """The pieces of ``text``, without the end symbol; of a text that was put together, those of its parts."""
    log_probabilities: tuple[float, ...]
    """One a token, and one more for the end symbol where the model wrote it."""
    stopped: str
    """``end``: the model ended it; ``max_length``: there was no more room; ``repetition``: it went round in circles."""
    flags: tuple[str, ...] = ()
    """``empty``: nothing to translate; ``unchanged``: nothing but what was locked; ``truncated-source``; ``max-length``: cut
    off, not ended; ``empty-output``; ``repetition``: stopped by ``max_repeats``; ``term-missed``, ``banned-word``: there was no way to write it, or
    nothing else to write; ``constrained``: searched again for what it must hold; ``placeholders-split``: translated
    piece by piece between the placeholders; ``placeholders-lost``: not all that was locked stands in it; ``corrected``: its
    source was corrected; ``like-a-correction``: a correction of another source had a say; ``uncalibrated``: it was not searched
    in the way that its confidence was fitted to; ``float32``: computed so although the translator was opened with a shorter
    ``dtype``, which is for plain searches; ``loop``, ``copy``, ``uncovered-source``: what ``check`` looks for."""
    alternatives: tuple["Translation", ...] = ()
    """The next best, best first, when more than one was asked for."""
    confidence: float | None = None
    """Probability that it is at least as good as the median of the pairs that ``calibrate`` saw, when asked for."""
    placeholders: tuple[str, ...] = ()
    """What was locked, in the order of the source; every one stands in ``text``."""

    def to_json(self, source: str) -> str:
        """Write on one line what ``source`` became, the alternatives too."""
        found = [
            {
                "text": each.text,
                "score": each.score,
                "tokens": each.tokens,
                "log_probabilities": each.log_probabilities,
                "stopped": each.stopped,
                "flags": each.flags,
                "placeholders": each.placeholders,
                **({} if each.confidence is None else {"confidence": each.confidence}),
            }
            for each in (self, *self.alternatives)
        ]
        return json.dumps({"source": source, "translations": found}, ensure_ascii=False)


EMPTY = Translation("", 0.0, (), (), "end", ("empty",))
"""The translation of a text without anything to translate."""


def translation_of(
    hypothesis: Hypothesis, text: str, tokens: Sequence[str], flags: Sequence[str]
) -> Translation:
    """Make a translation of what the search found, which spells ``text``; ``flags`` come before its own."""
    marks = {
        "max-length": hypothesis.stopped == "max_length",
        "repetition": hypothesis.stopped == "repetition",
        "empty-output": not text,
    }
    return Translation(
        text=text,
        score=hypothesis.score,
        tokens=tuple(tokens),
        log_probabilities=hypothesis.log_probabilities,
        stopped=hypothesis.stopped,
        flags=(*flags, *(mark for mark, holds in marks.items() if holds)),
    )


def without_repeats(ranked: Sequence[Translation]) -> list[Translation]:
    """Keep the first of those with the same text, which can be cut into tokens in several ways."""
    first: dict[str, Translation] = {}
    for each in ranked:
        first.setdefault(each.text, each)
    return list(first.values())


def join_parts(text: str, parts: Sequence[Translation], *flags: str) -> Translation:
    """Make one translation of the parts that ``text`` was put together from."""
    return Translation(
        text=text,
        score=math.fsum(part.score for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        log_probabilities=tuple(p for part in parts for p in part.log_probabilities),
        stopped=next((part.stopped for part in parts if part.stopped != "end"), "end"),
        flags=(*dict.fromkeys(flag for part in parts for flag in part.flags), *flags),
        placeholders=tuple(each for part in parts for each in part.placeholders),
    )
