"""BLEU, chrF, chrF++ and TER, computed by sacreBLEU so that the figures can stand beside other people's.

A score without its signature cannot be compared (Post 2018, "A Call for Clarity in Reporting BLEU Scores"),
so every :class:`Score` carries one. The figures are those of the ``sacrebleu`` command with its defaults.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from interlingua.errors import ConfigError, CorpusError

__all__ = [
    "METRIC_NAMES",
    "NUM_RESAMPLES",
    "Score",
    "build_metrics",
    "check_counts",
    "choose_tokenizer",
    "closest_length",
    "corpus_bleu",
    "corpus_chrf",
    "resample",
    "score",
    "split_into_tokens",
]

METRIC_NAMES = ("bleu", "chrf", "chrf++", "ter")

NUM_RESAMPLES = 1000
"""Bootstrap samples, the default of the ``sacrebleu`` command."""

_ALL_DECIMALS = 15
_CHINESE = {"zh", "zho", "chi", "cmn", "yue"}
_WITHOUT_SPACES = {"ja", "jpn", "th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod"}


@dataclass(frozen=True, slots=True)
class Score:
    """One figure and how it was made.

    ``low`` and ``high`` bound the 95 % interval that sacreBLEU estimates by resampling sentences (Koehn 2004);
    they are None when no interval was asked for.
    """

    name: str
    value: float
    signature: str
    low: float | None = None
    high: float | None = None

    @property
    def mean(self) -> float | None:
        """Centre of the interval: the mean over the resamples (``confidence_mean`` of sacreBLEU)."""
        return None if self.low is None or self.high is None else (self.low + self.high) / 2

    @property
    def margin(self) -> float | None:
        """Half the width of the interval (``confidence_var`` of sacreBLEU)."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    *,
    confidence: bool = False,
    tokenize: str | None = None,
    target_lang: str | None = None,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Score]:
    """Score ``hypotheses`` against one or more complete translations of the same text.

    Args:
        hypotheses: one output a sentence, detokenized.
        references: complete reference translations, each as long as ``hypotheses``.
        metrics: names out of :data:`METRIC_NAMES`, in the order wanted.
        confidence: also estimate the 95 % interval.
        tokenize: sacreBLEU's tokenization for BLEU (None: by ``target_lang``, see :func:`choose_tokenizer`).
        target_lang: language code of the hypotheses.
        num_resamples: bootstrap samples for the interval.

    Raises:
        ConfigError: a metric or tokenization that does not exist or is not installed.
        CorpusError: nothing to score, or a reference of another length.
    """
    check_counts(hypotheses, references)
    built = build_metrics(metrics, references, tokenize or choose_tokenizer(target_lang))
    num_resamples = num_resamples if confidence else 1
    return [_score_by(metric, hypotheses, num_resamples) for metric in built.values()]


def resample(
    systems: Sequence[Sequence[str]], metrics: Mapping[str, Metric], num_resamples: int
) -> tuple[list[list[Score]], list[dict[str, float]]]:
    """Resample sentences, the same ones for every system, and compare each system with the first.

    Returns:
        The scores of each system with 95 % intervals; and for each system after the first the p-value
        of its difference from the first, by the name of the score.
    """
    named: list[tuple[str, Sequence[str]]] = [
        (f"system {number}", system) for number, system in enumerate(systems)
    ]
    signatures, columns = PairedTest(
        named, metrics, references=None, test_type="bs", n_samples=num_resamples
    )()
    scores: list[list[Score]] = [[] for _ in systems]
    p_values: list[dict[str, float]] = [{} for _ in systems[1:]]
    for name, signature in signatures.items():
        results = [cell for cell in columns[name] if isinstance(cell, Result)]
        for number, result in enumerate(results):
            scores[number].append(_with_interval(name, result, str(signature)))
            if result.p_value is not None:
                p_values[number - 1][name] = float(result.p_value)
    return scores, p_values


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a"
) -> float:
    """Cased BLEU of Papineni et al. 2002 on detokenized text, 0 to 100; cheap enough for each validation."""
    check_counts(hypotheses, references)
    metric = build_metrics(["bleu"], references, tokenize)["bleu"]
    return float(metric.corpus_score(hypotheses, references=None).score)


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, word_order: int = 0
) -> float:
    """ChrF of Popović 2015, 0 to 100; with ``word_order=2`` it is chrF++ (Popović 2017)."""
    check_counts(hypotheses, references)
    return float(CHRF(word_order=word_order).corpus_score(hypotheses, references).score)


def choose_tokenizer(target_lang: str | None) -> str:
    """Name sacreBLEU's tokenization for BLEU in a language: ``zh``, ``char`` or ``13a``.

    Japanese and other scripts without spaces are compared by character: sacreBLEU's own choice for Japanese
    needs a dictionary that is rarely installed, and a figure must not depend on that. The signature says which.
    """
    code = (target_lang or "").replace("_", "-").split("-")[0].lower()
    if code in _CHINESE:
        return "zh"
    return "char" if code in _WITHOUT_SPACES else "13a"


def split_into_tokens(lines: Sequence[str], tokenize: str) -> list[list[str]]:
    """Split each line as BLEU does with this tokenization."""
    tokenizer = _bleu(tokenize, None).tokenizer
    return [tokenizer(line.rstrip()).split() for line in lines]


def closest_length(length: int, candidates: Sequence[int]) -> int:
    """Pick the candidate nearest to ``length``, the shorter of two that are equally near (Papineni 2002)."""
    return min(candidates, key=lambda candidate: (abs(candidate - length), candidate))


def build_metrics(
    names: Sequence[str], references: Sequence[Sequence[str]], tokenize: str
) -> dict[str, Metric]:
    """Make sacreBLEU's metric for each name, with the statistics of the references already taken.

    Raises:
        ConfigError: a metric or tokenization that does not exist or is not installed.
    """
    wanted = list(dict.fromkeys(name.strip().lower() for name in names))
    if not wanted:
        raise ConfigError(f"no metric was named; choose from {', '.join(METRIC_NAMES)}")
    for name in wanted:
        if name not in METRIC_NAMES:
            raise ConfigError(_unknown("metric", name, METRIC_NAMES))
    return {name: _build_metric(name, references, tokenize) for name in wanted}


def check_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse outputs and references that cannot be compared line by line.

    Raises:
        CorpusError: no line at all, no reference, or a reference of another length.
        TypeError: a reference given as one string instead of a list of lines.
    """
    if not references:
        raise CorpusError("there is no reference to score against; give at least one")
    if not hypotheses:
        raise CorpusError("there is nothing to score: the output has no line")
    for number, reference in enumerate(references, 1):
        if isinstance(reference, str):
            raise TypeError("references is a list of references, each of them a list of lines")
        if len(reference) != len(hypotheses):
            raise CorpusError(
                f"reference {number} has {len(reference):,} lines but the output has "
                f"{len(hypotheses):,}; they must correspond line by line"
            )


def _build_metric(name: str, references: Sequence[Sequence[str]], tokenize: str) -> Metric:
    match name:
        case "bleu":
            return _bleu(tokenize, references)
        case "chrf":
            return CHRF(references=references)
        case "chrf++":
            return CHRF(word_order=2, references=references)
        case _:
            return TER(references=references)


def _bleu(tokenize: str, references: Sequence[Sequence[str]] | None) -> BLEU:
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(_unknown("BLEU tokenization", tokenize, list(BLEU.TOKENIZERS)))
    try:
        # force only silences a warning about tokenized text; the report has its own note about that.
        return BLEU(tokenize=tokenize, force=True, references=references)
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(
            f"the BLEU tokenization {tokenize!r} cannot be used here: {reason} "
            "Install what it needs, or choose another, such as char"
        ) from error


def _score_by(metric: Metric, hypotheses: Sequence[str], num_resamples: int) -> Score:
    result = metric.corpus_score(hypotheses, references=None, n_bootstrap=num_resamples)
    signature = str(metric.get_signature())
    if num_resamples <= 1:
        return Score(result.name, float(result.score), signature)
    # The interval is public only in the JSON form, which leaves it out when every resample scores 0.
    written = json.loads(result.format(width=_ALL_DECIMALS, signature=signature, is_json=True))
    mean, margin = written.get("confidence_mean", 0.0), written.get("confidence_var", 0.0)
    return Score(result.name, float(result.score), signature, mean - margin, mean + margin)


def _with_interval(name: str, result: Result, signature: str) -> Score:
    if result.mean is None or result.ci is None:
        return Score(name, float(result.score), signature)
    low, high = result.mean - result.ci, result.mean + result.ci
    return Score(name, float(result.score), signature, float(low), float(high))


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return f"unknown {what} {name!r}; {hint}known: {', '.join(known)}"
