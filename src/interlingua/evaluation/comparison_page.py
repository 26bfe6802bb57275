"""Two systems on one page: the figures, then what changed, sentence by sentence, by kind; one HTML file without a script."""

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from interlingua.evaluation.bootstrap import FEWEST_SENTENCES, TOO_FEW
from interlingua.evaluation.changes import KINDS, Change, Changes, is_without_spaces
from interlingua.evaluation.systems import Figure

__all__ = ["ComparedText", "sign_test", "write_comparison"]

MOST_SHOWN = 300
"""Sentences of one kind; those that weigh most."""

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --gone: #b3261e; --new: #1a6e2e }
@media (prefers-color-scheme: dark) { :root { --gone: #ff9d94; --new: #86d99a } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
article { border-top: 1px solid var(--line); padding: .5rem 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .8rem; margin: .3rem 0 } dt { opacity: .75 } dd { margin: 0 }
summary { cursor: pointer; font-weight: 600; padding: .3rem 0 }
del { color: var(--gone); text-decoration: line-through } ins { color: var(--new); text-decoration: underline }
small, .note { opacity: .75 }
"""


@dataclass(frozen=True, slots=True)
class ComparedText:
    """One test set: the figures of the two systems, and what changed."""

    name: str
    figures: tuple[Figure, ...]
    changes: Changes
    test: str
    """By which the figures differ or do not."""
    seeds: int
    """Over which the figures are means; what changed is told of the first."""


def write_comparison(one: str, other: str, texts: Sequence[ComparedText]) -> str:
    """Return the page that compares system ``one`` with ``other``."""
    title = f"{one} and {other}"
    body = "\n".join(line for text in texts for line in _text(one, other, text))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{_safe(title)}</h1>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def sign_test(fewer: int, more: int) -> float:
    """Return how easily chance divides so many cases as unevenly: the exact two-sided sign test (McNemar's, exact)."""
    number, least = fewer + more, min(fewer, more)
    # By logarithms: the coefficients themselves have as many digits as there are cases.
    all_ways = math.lgamma(number + 1) - number * math.log(2)
    tail = math.fsum(
        math.exp(all_ways - math.lgamma(k + 1) - math.lgamma(number - k + 1))
        for k in range(least + 1)
    )
    return min(1.0, 2 * tail)


def _text(one: str, other: str, text: ComparedText) -> Iterator[str]:
    changes = text.changes
    better = sum(each.difference > 0 for each in changes.found)
    worse = sum(each.difference < 0 for each in changes.found)
    yield f"<h2>{_safe(text.name)}</h2>"
    yield from _figures(one, other, text)
    if text.seeds > 1:
        yield (
            f'<p class="note">The figures are means over seeds, {text.seeds} at most; what follows is of the first seed of each.</p>'
        )
    yield (
        f"<p>{len(changes.found):,} of {changes.sentences:,} sentences differ. By chrF {_safe(other)} is better in "
        f"{better:,} of them and worse in {worse:,} (sign test: p {_chance(sign_test(better, worse))}).</p>"
    )
    yield from _kinds(one, other, changes)
    for kind in KINDS:
        if found := changes.of_kind(kind):
            sentences = "sentence" if len(found) == 1 else "sentences"
            yield f"<details><summary>{kind}: {len(found):,} {sentences}</summary>"
            if len(found) > MOST_SHOWN:
                yield f'<p class="note">The {MOST_SHOWN} that weigh most.</p>'
            yield from (_sentence(one, other, each) for each in found[:MOST_SHOWN])
            yield "</details>"


def _figures(one: str, other: str, text: ComparedText) -> Iterator[str]:
    figures = text.figures
    yield (
        f'<table><tr><th>Metric</th><th class="n">{_safe(one)}</th><th class="n">{_safe(other)}</th>'
        '<th class="n">Difference</th><th class="n">p</th></tr>'
    )
    for metric in dict.fromkeys(each.metric for each in figures):
        first, second = (
            next(f for f in figures if (f.system, f.metric) == (system, metric))
            for system in (one, other)
        )
        p = "equal" if second.p_value is None else _chance(second.p_value).removeprefix("= ")
        decimals = first.decimals
        cells = (first.mean, second.mean)
        shown = "".join(f'<td class="n">{each:.{decimals}f}</td>' for each in cells)
        yield (
            f"<tr><td>{_safe(metric)}</td>{shown}"
            f'<td class="n">{second.mean - first.mean:+.{decimals}f}</td><td class="n">{p}</td></tr>'
        )
    made = "<br>".join(
        f"{_safe(name)}: {_safe(signature)}"
        for name, signature in dict.fromkeys((f.metric, f.signature) for f in figures)
    )
    few = f" ({TOO_FEW})" if text.changes.sentences < FEWEST_SENTENCES else ""
    yield f"</table><p><small>p: {_safe(text.test)}{few}. {made}</small></p>"


def _kinds(one: str, other: str, changes: Changes) -> Iterator[str]:
    """Count by kind in how many sentences only one of the two has the fault."""
    yield (
        f'<table><tr><th>Kind</th><th>What counts as a fault</th><th class="n">only {_safe(one)}</th>'
        f'<th class="n">only {_safe(other)}</th><th class="n">p</th></tr>'
    )
    for kind, told in KINDS.items():
        if kind == "other":
            continue
        if kind == "negation" and not changes.negation_known:
            yield (
                f"<tr><td>{kind}</td><td>not looked at: the words that say no in this language are not known</td>"
                "<td></td><td></td><td></td></tr>"
            )
            continue
        first, second = changes.mended(kind)
        p = _chance(sign_test(first, second)).removeprefix("= ") if first + second else ""
        yield (
            f'<tr><td>{kind}</td><td>{told}</td><td class="n">{first:,}</td><td class="n">{second:,}</td>'
            f'<td class="n">{p}</td></tr>'
        )
    yield "</table>"


def _chance(p: float) -> str:
    """Write what stands behind "p"; it is never 0."""
    return f"= {p:.3f}" if p >= 0.0005 else "&lt; 0.001"


def _sentence(one: str, other: str, each: Change) -> str:
    gone, new = _mark(each.one, each.other)
    rows = (
        ("source", _safe(each.source)),
        ("reference", _safe(each.reference)),
        (_safe(one), gone),
        (_safe(other), new),
    )
    told = "".join(f'<dt>{name}</dt><dd dir="auto">{text}</dd>' for name, text in rows)
    return f"<article><small>line {each.line:,}, chrF of {_safe(other)} {each.difference:+.1f}</small><dl>{told}</dl></article>"


def _mark(one: str, other: str) -> tuple[str, str]:
    """Write two texts with the words marked that only one of them has, or the characters in a script without spaces."""
    cut, space = (list, "") if is_without_spaces(max(one, other, key=len)) else (str.split, " ")
    ours, theirs = cut(one.strip()), cut(other.strip())
    gone, new = [], []
    for kind, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            gone.append(_safe(space.join(ours[a:b])))
            new.append(_safe(space.join(theirs[c:d])))
            continue
        if a < b:
            gone.append(f"<del>{_safe(space.join(ours[a:b]))}</del>")
        if c < d:
            new.append(f"<ins>{_safe(space.join(theirs[c:d]))}</ins>")
    return space.join(gone), space.join(new)


def _safe(text: str) -> str:
    return html.escape(text)
