"""Tokenized BLEU as papers before sacreBLEU report it, for comparison with those papers and nothing else.

These figures depend on the tokenization that somebody chose: the same output scored 28.6 by sacreBLEU and
29.3 with compounds split (Ott et al. 2018). They are therefore labelled and never stand alone.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.evaluation.metrics import (
    Score,
    check_counts,
    closest_length,
    split_into_tokens,
)

__all__ = ["TokenizedBleu", "legacy_scores", "split_compounds", "tokenized_bleu"]

MAX_ORDER = 4

_HYPHEN_INSIDE_A_WORD = re.compile(r"(\S)-(\S)")


@dataclass(frozen=True, slots=True)
class TokenizedBleu:
    """BLEU, 0 to 100, and what it is made of."""

    value: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int


def tokenized_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False
) -> TokenizedBleu:
    r"""Compute BLEU on text that is already tokenized, with single spaces between the tokens.

    .. math:: \min(1, e^{1 - r/c}) \cdot \left(\prod_{n=1}^{4} p_n\right)^{1/4}

    ``p_n`` is the share of the hypotheses' n-grams that a reference has too, each at most as often as in one
    reference; ``c`` counts the tokens of the hypotheses and ``r`` those of the closest reference of each. There
    is no smoothing: if no 4-gram matches, BLEU is 0. Only U+0020 separates tokens; a no-break space stays
    inside its token. An empty line counts as one empty token, as in tensorflow/nmt, whose figure this
    reproduces; ``multi-bleu.perl`` of Moses counts none there, and agrees wherever no line is empty.

    Source: Papineni et al. 2002, section 2.3.
    """
    check_counts(hypotheses, references)
    matches, totals = [0] * MAX_ORDER, [0] * MAX_ORDER
    hypothesis_length = reference_length = 0
    for hypothesis, *alternatives in zip(hypotheses, *references, strict=True):
        tokens = _split_at_spaces(hypothesis, lowercase)
        reference_tokens = [_split_at_spaces(line, lowercase) for line in alternatives]
        hypothesis_length += len(tokens)
        reference_length += closest_length(len(tokens), [len(line) for line in reference_tokens])
        for order in range(1, MAX_ORDER + 1):
            counts = _count_ngrams(tokens, order)
            limits: Counter[tuple[str, ...]] = Counter()
            for line in reference_tokens:
                limits |= _count_ngrams(line, order)
            matches[order - 1] += (counts & limits).total()
            totals[order - 1] += counts.total()
    precisions = tuple(
        match / total if total else 0.0 for match, total in zip(matches, totals, strict=True)
    )
    if min(precisions) == 0.0:
        return TokenizedBleu(0.0, precisions, 0.0, hypothesis_length, reference_length)
    brevity_penalty = math.exp(min(0.0, 1 - reference_length / hypothesis_length))
    geometric_mean = math.exp(sum(map(math.log, precisions)) / MAX_ORDER)
    return TokenizedBleu(
        100 * brevity_penalty * geometric_mean,
        precisions,
        brevity_penalty,
        hypothesis_length,
        reference_length,
    )


def split_compounds(line: str) -> str:
    """Make three tokens of each hyphenated word: ``rich-text`` becomes ``rich ##AT##-##AT## text``.

    Source: ``get_ende_bleu.sh`` of tensor2tensor, the scorer behind "Attention Is All You Need", table 2.
    Matches do not overlap, as there, so that ``a-b-c`` is split at its first hyphen only.
    """
    return _HYPHEN_INSIDE_A_WORD.sub(r"\1 ##AT##-##AT## \2", line)


def legacy_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a"
) -> list[Score]:
    """Compute the two figures that papers quote: lower-cased tokenized BLEU, and cased BLEU with compounds split.

    Args:
        hypotheses: one output a sentence.
        references: complete reference translations, each as long as ``hypotheses``.
        tokenize: ``none`` if the text is already tokenized as the paper did it; otherwise a tokenization of
            sacreBLEU that stands in for the paper's, and the signature says so.
    """
    check_counts(hypotheses, references)
    tokens, *reference_tokens = (
        list(lines) if tokenize == "none" else _retokenize(lines, tokenize)
        for lines in (hypotheses, *references)
    )
    lowered = tokenized_bleu(tokens, reference_tokens, lowercase=True)
    split, *reference_split = (
        [split_compounds(line) for line in lines] for lines in (tokens, *reference_tokens)
    )
    compounds = tokenized_bleu(split, reference_split)
    made = f"nrefs:{len(references)}|case:{{}}|tok:{tokenize}|smooth:none|split:{{}}|legacy"
    return [
        Score("BLEU, tokenized, lower-cased", lowered.value, made.format("lc", "no")),
        Score("BLEU, tokenized, compounds split", compounds.value, made.format("mixed", "yes")),
    ]


def _retokenize(lines: Sequence[str], tokenize: str) -> list[str]:
    return [" ".join(tokens) for tokens in split_into_tokens(lines, tokenize)]


def _split_at_spaces(line: str, lowercase: bool) -> list[str]:
    line = line.strip()
    tokens = [token for token in (line.lower() if lowercase else line).split(" ") if token]
    return tokens or [""]


def _count_ngrams(tokens: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))
