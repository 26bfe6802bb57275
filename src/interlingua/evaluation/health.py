"""What an average score hides: outputs that are empty, that repeat themselves, that copy, or that are exact.

A fault that a reference has too is no fault: an output may be empty, repeat or equal its source where a
reference does. Line numbers count from 1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interlingua.errors import CorpusError
from interlingua.evaluation.metrics import (
    check_counts,
    choose_tokenizer,
    closest_length,
    split_into_tokens,
)
from interlingua.requests.faults import LONGEST_PHRASE, repeats_itself

__all__ = ["LONGEST_PHRASE", "Health", "check_health", "repeats_itself"]


@dataclass(frozen=True, slots=True)
class Health:
    """Faults of one system's outputs, each as the numbers of the lines that have it."""

    sentences: int
    """Outputs that were looked at."""
    length_ratio: float
    """Tokens of the outputs to tokens of the nearest references, as in sacreBLEU's verbose score."""
    exact: int
    """Outputs equal to a reference, spaces at the ends aside."""
    empty: tuple[int, ...]
    """Outputs without a visible character where every reference has one."""
    repeating: tuple[int, ...]
    """Outputs with a phrase three times in a row, where no reference has that; see ``repeats_itself``."""
    copied: tuple[int, ...] | None
    """Outputs equal to their source, case and spacing aside, where no reference is; None without sources."""

    @property
    def exact_share(self) -> float:
        """Share of exact outputs, 0 to 1."""
        return self.exact / self.sentences

    @property
    def empty_share(self) -> float:
        """Share of empty outputs, 0 to 1."""
        return len(self.empty) / self.sentences

    @property
    def repeating_share(self) -> float:
        """Share of repeating outputs, 0 to 1."""
        return len(self.repeating) / self.sentences

    @property
    def copied_share(self) -> float | None:
        """Share of copied outputs, 0 to 1."""
        return None if self.copied is None else len(self.copied) / self.sentences


def check_health(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None = None,
    *,
    tokenize: str | None = None,
    target_lang: str | None = None,
) -> Health:
    """Count exact matches and look for faults.

    Args:
        hypotheses: one output a sentence.
        references: complete reference translations, each as long as ``hypotheses``.
        sources: what was translated; without it copies cannot be told.
        tokenize: the tokenization that lengths and repetitions are counted in (None: by ``target_lang``).
        target_lang: language code of the hypotheses.

    Raises:
        CorpusError: nothing to look at, or lists of different lengths.
        ConfigError: a tokenization that does not exist or is not installed.
    """
    check_counts(hypotheses, references)
    if sources is not None and len(sources) != len(hypotheses):
        raise CorpusError(
            f"the source has {len(sources):,} lines but the output has {len(hypotheses):,}; "
            "they must correspond line by line"
        )
    tokenize = tokenize or choose_tokenizer(target_lang)
    tokens = split_into_tokens(hypotheses, tokenize)
    reference_tokens = [split_into_tokens(reference, tokenize) for reference in references]
    alternatives = list(zip(*references, strict=True))
    return Health(
        sentences=len(hypotheses),
        length_ratio=_length_ratio(tokens, reference_tokens),
        exact=sum(
            hypothesis.strip() in [reference.strip() for reference in expected]
            for hypothesis, expected in zip(hypotheses, alternatives, strict=True)
        ),
        empty=_number_the_true(
            not hypothesis.strip() and all(reference.strip() for reference in expected)
            for hypothesis, expected in zip(hypotheses, alternatives, strict=True)
        ),
        repeating=_number_the_true(
            repeats_itself(line) and not any(map(repeats_itself, expected))
            for line, *expected in zip(tokens, *reference_tokens, strict=True)
        ),
        copied=None if sources is None else _find_copies(hypotheses, alternatives, sources),
    )


def _find_copies(
    hypotheses: Sequence[str], alternatives: Sequence[tuple[str, ...]], sources: Sequence[str]
) -> tuple[int, ...]:
    return _number_the_true(
        bool(_fold(source))
        and _fold(hypothesis) == _fold(source)
        and _fold(source) not in [_fold(reference) for reference in expected]
        for hypothesis, expected, source in zip(hypotheses, alternatives, sources, strict=True)
    )


def _fold(line: str) -> str:
    return " ".join(line.casefold().split())


def _length_ratio(
    tokens: Sequence[Sequence[str]], reference_tokens: Sequence[Sequence[Sequence[str]]]
) -> float:
    produced = expected = 0
    for line, *alternatives in zip(tokens, *reference_tokens, strict=True):
        produced += len(line)
        expected += closest_length(len(line), [len(reference) for reference in alternatives])
    return produced / expected if expected else 0.0


def _number_the_true(flags: Iterable[bool]) -> tuple[int, ...]:
    return tuple(number for number, flag in enumerate(flags, 1) if flag)
