"""BLEU, chrF, chrF++ and TER, computed by sacreBLEU so that the figures can stand beside other people's, and
beside them ROUGE, word error rate and exact answers, for tasks that are no translation.

A score without its signature cannot be compared (Post 2018, "A Call for Clarity in Reporting BLEU Scores"),
so every :class:`Score` carries one. sacreBLEU's figures are those of its command with its defaults.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from interlingua.corpus.language_codes import two_letters
from interlingua.errors import ConfigError, CorpusError
from interlingua.evaluation.bootstrap import NUM_RESAMPLES, Resampled, resample
from interlingua.evaluation.sequence_metrics import ErrorRate, ExactShare, Rouge

__all__ = [
    "LOWER_IS_BETTER",
    "METRIC_NAMES",
    "Score",
    "bounded",
    "build_metric",
    "check_counts",
    "check_metrics",
    "choose_tokenizer",
    "closest_length",
    "corpus_bleu",
    "corpus_chrf",
    "score",
    "score_systems",
    "sentence_bleu",
    "sentence_chrf",
    "split_into_tokens",
]

METRIC_NAMES = (
    *("bleu", "chrf", "chrf++", "ter"),
    *("rouge1", "rouge2", "rougel"),
    *("wer", "exact"),
)
LOWER_IS_BETTER = ("TER", "WER")
"""Names, as they stand in a :class:`Score`, of the figures that count faults."""

_CHINESE = {"zh", "yue"}
_WITHOUT_SPACES = {"ja", "lo", "km", "my", "bo", "th"}


@dataclass(frozen=True, slots=True)
class Score:
    """One figure and how it was made.

    ``low`` and ``high`` bound the 95 % interval that sacreBLEU estimates by resampling sentences (Koehn 2004);
    they are None when no interval was asked for, and of a single sentence.
    """

    name: str
    value: float
    signature: str
    low: float | None = None
    high: float | None = None
    is_of_program: bool = False
    """Whether another program scored; what its figures are out of is not known."""

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
    tokenize = tokenize or choose_tokenizer(target_lang)
    scores = []
    for name in check_metrics(metrics, tokenize):
        metric = build_metric(name, references, tokenize)
        if confidence:
            scores += score_systems([hypotheses], metric, num_resamples)[0]
        else:
            result = metric.corpus_score(hypotheses, None)
            scores.append(Score(result.name, float(result.score), str(metric.get_signature())))
    return scores


def score_systems(
    systems: Sequence[Sequence[str]], metric: Metric, num_resamples: int
) -> tuple[list[Score], list[Resampled]]:
    """Score several systems by one metric, with 95 % intervals from the same draws of sentences."""
    resampled = resample(metric, systems, num_resamples)
    signature = str(metric.get_signature())
    sentences = len(systems[0])
    return [bounded(each, signature, sentences) for each in resampled], resampled


def bounded(each: Resampled, signature: str, sentences: int) -> Score:
    """Return a score with its 95 % interval; every draw of a single sentence is the same, which bounds nothing."""
    low, high = each.interval if sentences > 1 else (None, None)
    return Score(each.name, each.value, signature, low, high, each.is_of_program)


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a"
) -> float:
    """Cased BLEU of Papineni et al. 2002 on detokenized text, 0 to 100; cheap enough for each validation."""
    check_counts(hypotheses, references)
    metric = build_metric("bleu", references, tokenize)
    return float(metric.corpus_score(hypotheses, None).score)


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, word_order: int = 0
) -> float:
    """ChrF of Popović 2015, 0 to 100; with ``word_order=2`` it is chrF++ (Popović 2017)."""
    check_counts(hypotheses, references)
    return float(CHRF(word_order=word_order).corpus_score(hypotheses, references).score)


def sentence_chrf(hypothesis: str, references: Sequence[str]) -> float:
    """Return the chrF2 of one sentence, 0 to 100."""
    return float(CHRF().sentence_score(hypothesis, list(references)).score)


def sentence_bleu(hypothesis: str, references: Sequence[str], *, tokenize: str = "13a") -> float:
    """Return the BLEU of one sentence, 0 to 100: of the n-grams that it is long enough to have."""
    bleu = BLEU(effective_order=True, tokenize=tokenize)
    return float(bleu.sentence_score(hypothesis, list(references)).score)


def choose_tokenizer(target_lang: str | None) -> str:
    """Name sacreBLEU's tokenization for BLEU in a language: ``zh``, ``char`` or ``13a``.

    Japanese and other scripts without spaces are compared by character: sacreBLEU's own choice for Japanese
    needs a dictionary that is rarely installed, and a figure must not depend on that. The signature says which.
    """
    code = two_letters(target_lang or "")
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


def build_metric(name: str, references: Sequence[Sequence[str]], tokenize: str) -> Metric:
    """Make the metric of a name that ``check_metrics`` gave, with the references already counted.

    The counts are large (chrF: about 50 kB a line), so keep one metric at a time.

    Raises:
        ConfigError: a tokenization that does not exist or is not installed.
    """
    match name:
        case "bleu":
            return _bleu(tokenize, references)
        case "chrf":
            return CHRF(references=references)
        case "chrf++":
            return CHRF(word_order=2, references=references)
        case "ter":
            return TER(references=references)
        case "rouge1":
            return Rouge("1", references)
        case "rouge2":
            return Rouge("2", references)
        case "rougel":
            return Rouge("L", references)
        case "wer":
            return ErrorRate(references)
        case _:
            return ExactShare(references)


def check_metrics(names: Sequence[str], tokenize: str | None = None) -> tuple[str, ...]:
    """Bring names of metrics into their written form, before a long translation rather than after it.

    Raises:
        ConfigError: a metric or tokenization that does not exist or is not installed.
    """
    wanted = tuple(dict.fromkeys(name.strip().lower() for name in names))
    if not wanted:
        raise ConfigError(f"no metric was named; choose from {', '.join(METRIC_NAMES)}")
    for name in wanted:
        if name not in METRIC_NAMES:
            raise ConfigError(_unknown("metric", name, METRIC_NAMES))
    if tokenize is not None:
        _bleu(tokenize, None)
    return wanted


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


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return f"unknown {what} {name!r}; {hint}known: {', '.join(known)}"
