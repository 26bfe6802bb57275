"""Everything that is known about one system's outputs, in the form that a reader wants it.

The JSON form has full precision and a format number; text, Markdown and LaTeX are for people.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.evaluation.bootstrap import FEWEST_SENTENCES, TOO_FEW
from interlingua.evaluation.health import Health, check_health
from interlingua.evaluation.legacy import legacy_scores
from interlingua.evaluation.metrics import Score, choose_tokenizer, score
from interlingua.evaluation.significance import Comparison, compare
from interlingua.evaluation.tables import Table, decimals_of, escape_latex

__all__ = ["EvaluationReport", "evaluate_outputs"]

FORMAT_VERSION = 1

_LINES_NAMED = 5
_TOKENIZED_SHARE = 0.1
_FEW = f"{TOO_FEW} what the figures would be on other sentences"


@dataclass(frozen=True)
class EvaluationReport:
    """Scores, comparison with another system, legacy scores and health of one set of outputs."""

    sentences: int
    num_references: int
    scores: tuple[Score, ...]
    comparisons: tuple[Comparison, ...]
    legacy: tuple[Score, ...]
    health: Health
    notes: tuple[str, ...]
    direction: str | None = None
    """From which language into which, of a model of several pairs."""
    is_zero_shot: bool = False
    """Whether such a model never met this pair in training."""

    def to_text(self, decimals: int = 2) -> str:
        """Write aligned tables for a terminal."""
        parts = [self._heading()]
        for title, table in self._tables(decimals):
            parts.append(f"{title}\n{table.to_text()}")
        parts.append("Signatures\n" + "\n".join(f"{name}  {made}" for name, made in self._made()))
        if self.notes:
            parts.append("Notes\n" + "\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def to_markdown(self, decimals: int = 2) -> str:
        """Write GitHub tables, one section a table."""
        parts = [f"{self._heading()}."]
        for title, table in self._tables(decimals):
            parts.append(f"### {title}\n\n{table.to_markdown()}")
        made = "\n".join(f"- {name}: `{signature}`" for name, signature in self._made())
        parts.append(f"### Signatures\n\n{made}")
        if self.notes:
            parts.append("### Notes\n\n" + "\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def to_latex(self, decimals: int = 2) -> str:
        """Write booktabs tables, each with its title above; the signatures follow."""
        parts = [f"% {self._heading()}; needs \\usepackage{{booktabs}}"]
        for title, table in self._tables(decimals):
            parts.append(f"\\paragraph{{{escape_latex(title)}}}\n\n{table.to_latex()}")
        made = (
            f"{escape_latex(name)}: \\texttt{{{escape_latex(signature)}}}"
            for name, signature in self._made()
        )
        parts.append("\\paragraph{Signatures}\n\n" + " \\\\\n".join(made))
        parts.extend(escape_latex(note) for note in self.notes)
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> str:
        """Write everything with full precision."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def to_dict(self) -> dict[str, object]:
        """Build what ``to_json`` writes."""
        health = self.health
        return {
            "format": "interlingua-evaluation",
            "version": FORMAT_VERSION,
            **self._direction(),
            "sentences": self.sentences,
            "references": self.num_references,
            "scores": [_score_to_dict(each) for each in self.scores],
            "comparisons": [
                {
                    "name": each.system.name,
                    "system": _score_to_dict(each.system),
                    "baseline": _score_to_dict(each.baseline),
                    "difference": each.difference,
                    "p_value": each.p_value if each.difference else None,
                }
                for each in self.comparisons
            ],
            "legacy": [_score_to_dict(each) for each in self.legacy],
            "health": {
                "length_ratio": health.length_ratio,
                "exact": health.exact_share,
                "empty": health.empty_share,
                "repeating": health.repeating_share,
                "copied": health.copied_share,
                "empty_lines": health.empty,
                "repeating_lines": health.repeating,
                "copied_lines": health.copied,
            },
            "notes": self.notes,
        }

    def _direction(self) -> dict[str, object]:
        if self.direction is None:
            return {}
        return {"direction": self.direction, "zero_shot": self.is_zero_shot}

    def _heading(self) -> str:
        references = "reference" if self.num_references == 1 else "references"
        sentences = "sentence" if self.sentences == 1 else "sentences"
        zero_shot = " (zero-shot: never trained on)" if self.is_zero_shot else ""
        direction = f"{self.direction}{zero_shot}: " if self.direction else ""
        return f"{direction}{self.sentences:,} {sentences}, {self.num_references} {references}"

    def _tables(self, decimals: int) -> list[tuple[str, Table]]:
        tables = [("Scores", _score_table(self.scores, decimals))]
        if self.comparisons:
            tables.append(
                ("Against the other system", _comparison_table(self.comparisons, decimals))
            )
        tables.append(("Health of the outputs", _health_table(self.health)))
        title = "Legacy figures, comparable only with papers that report the same"
        tables.append((title, _score_table(self.legacy, decimals)))
        return tables

    def _made(self) -> list[tuple[str, str]]:
        return [(each.name, each.signature) for each in (*self.scores, *self.legacy)]


def evaluate_outputs(
    sources: Sequence[str] | None,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    against: Sequence[str] | None = None,
    confidence: bool = True,
    tokenize: str | None = None,
    target_lang: str | None = None,
) -> EvaluationReport:
    """Score one system's outputs and look for faults in them.

    Args:
        sources: what was translated; without it copied outputs cannot be counted.
        hypotheses: one output a sentence, detokenized.
        references: complete reference translations, each as long as ``hypotheses``.
        metrics: names out of ``METRIC_NAMES``.
        against: another system's outputs for the same sentences, to compare with by paired bootstrap.
        confidence: estimate 95 % intervals, of two sentences or more; a comparison always does.
        tokenize: sacreBLEU's tokenization for BLEU (None: by ``target_lang``).
        target_lang: language code of the hypotheses.

    Raises:
        ConfigError: a metric or tokenization that does not exist or is not installed.
        CorpusError: nothing to score, or lists of different lengths.
    """
    tokenize = tokenize or choose_tokenizer(target_lang)
    health = check_health(hypotheses, references, sources, tokenize=tokenize)
    comparisons: list[Comparison] = []
    if against is None:
        scores = score(hypotheses, references, metrics, confidence=confidence, tokenize=tokenize)
    else:
        comparisons = compare(hypotheses, against, references, metrics, tokenize=tokenize)
        scores = [each.system for each in comparisons]
    return EvaluationReport(
        sentences=len(hypotheses),
        num_references=len(references),
        scores=tuple(scores),
        comparisons=tuple(comparisons),
        legacy=tuple(legacy_scores(hypotheses, references, tokenize=tokenize)),
        health=health,
        notes=(
            *_write_notes(hypotheses, scores, health, tokenize),
            *([_FEW] if (confidence or against) and len(hypotheses) < FEWEST_SENTENCES else []),
        ),
    )


def _write_notes(
    hypotheses: Sequence[str], scores: Sequence[Score], health: Health, tokenize: str
) -> list[str]:
    notes = []
    faults = {"empty": health.empty, "repeating": health.repeating, "copied": health.copied or ()}
    for fault, lines in faults.items():
        if lines:
            named = ", ".join(map(str, lines[:_LINES_NAMED]))
            more = ", ..." if len(lines) > _LINES_NAMED else ""
            notes.append(
                f"{len(lines):,} {fault}: {'lines' if lines[1:] else 'line'} {named}{more}"
            )
    if sum(line.endswith(" .") for line in hypotheses) > _TOKENIZED_SHARE * len(hypotheses):
        notes.append(
            "the outputs look tokenized; sacreBLEU's figures compare only on detokenized text"
        )
    spaced = [each.name for each in scores if each.name in ("TER", "WER")]
    if tokenize in ("char", "zh") and spaced:
        counts = f"{' and '.join(spaced)} count{'' if spaced[1:] else 's'}"
        notes.append(f"{counts} words between spaces, which this language lacks: prefer chrF")
    return notes


def _score_table(scores: Sequence[Score], decimals: int) -> Table:
    if all(each.margin is None for each in scores):
        rows = [(each.name, f"{each.value:.{_decimals(decimals, each)}f}") for each in scores]
        return Table(("Metric", "Score"), tuple(rows))
    return Table(
        ("Metric", "Score", "95 % interval"),
        tuple(_with_interval(each, _decimals(decimals, each)) for each in scores),
    )


def _decimals(decimals: int, *scores: Score) -> int:
    """Return with how many decimals scores of one metric are written."""
    is_of_program = any(each.is_of_program for each in scores)
    return decimals_of([each.value for each in scores], decimals, is_of_program=is_of_program)


def _with_interval(each: Score, decimals: int) -> tuple[str, ...]:
    is_bounded = each.mean is not None and each.margin is not None
    interval = f"{each.mean:.{decimals}f} ± {each.margin:.{decimals}f}" if is_bounded else ""
    return each.name, f"{each.value:.{decimals}f}", interval


def _comparison_table(comparisons: Sequence[Comparison], decimals: int) -> Table:
    rows = []
    for each in comparisons:
        own = _decimals(decimals, each.system, each.baseline)
        figures = (f"{score.value:.{own}f}" for score in (each.system, each.baseline))
        chance = f"{each.p_value:.4f}" if each.difference else ""
        rows.append(
            (each.system.name, *figures, f"{each.difference:+.{own}f}", chance, _verdict(each))
        )
    return Table(("Metric", "This", "Other", "Difference", "p", "At the 5 % level"), tuple(rows))


def _verdict(each: Comparison) -> str:
    if each.difference == 0:
        return "equal"
    if each.sentences < FEWEST_SENTENCES:
        return TOO_FEW
    return "real" if each.significant else "may be chance"


def _health_table(health: Health) -> Table:
    shares = [
        ("exact matches", health.exact_share),
        ("empty", health.empty_share),
        ("repeating", health.repeating_share),
        ("copied from the source", health.copied_share),
    ]
    rows = [("length ratio", f"{health.length_ratio:.3f}")]
    rows += [(name, f"{100 * share:.2f} %") for name, share in shares if share is not None]
    return Table(("Outputs", "Share"), tuple(rows))


def _score_to_dict(each: Score) -> dict[str, object]:
    return {
        "name": each.name,
        "value": each.value,
        "signature": each.signature,
        "low": each.low,
        "high": each.high,
    }
