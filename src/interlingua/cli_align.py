"""The ``align`` command: link the words of given pairs by the attention of a model, and score the links against gold."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from interlingua.cli_flags import AlignFlags, MachineFlags
from interlingua.cli_streams import note, open_output, print_json, read_aligned, say
from interlingua.errors import ConfigError
from interlingua.evaluation.alignment import (
    HEURISTICS,
    GoldLinks,
    Heuristic,
    Links,
    format_links,
    read_gold,
    score_alignment,
    symmetrise,
    transpose,
)
from interlingua.inspection.alignment import (
    View,
    align,
    choose_alone,
    choose_together,
    list_views,
)
from interlingua.translator import Translator

__all__ = ["align_text"]

_PAIRS_TO_CHOOSE = 500
_WINDOW = 2_000


@dataclass(frozen=True, slots=True)
class _Aligner:
    """A model, and the view of its attention that is read."""

    translator: Translator
    view: View

    def links(self, pairs: Sequence[tuple[str, str]]) -> list[Links]:
        return [links for (links,) in align(self.translator, pairs, [self.view])]


def align_text(
    model: Path, source: Path, target: Path, flags: AlignFlags, machine: MachineFlags
) -> None:
    """Align two texts line by line and write the links, or with gold their error rate.

    Raises:
        ConfigError: a heuristic or a layer that does not exist.
        CorpusError: the texts or the gold cannot be read or do not correspond.
        ModelError: a model that cannot be read, or two that do not translate in opposite directions.
        OutputError: the links cannot be written.
    """
    heuristic = _read_heuristic(flags.heuristic)
    sources, (targets,) = read_aligned(source, [target])
    pairs = list(zip(sources, targets, strict=True))
    words = [(len(one.split()), len(other.split())) for one, other in pairs]
    gold = read_gold(flags.gold, words) if flags.gold else None
    with open_output(flags.output) if flags.output else nullcontext() as write:
        aligners = _choose(model, flags, machine, pairs)
        directions = _align_all(aligners, pairs)
        links = _join(directions, heuristic)
        if write:
            write("".join(format_links(each) + "\n" for each in links))
    scores = _score(directions, gold) if gold else []
    if flags.json:
        views = [str(aligner.view) for aligner in aligners]
        shown = {} if flags.output else {"links": [format_links(each) for each in links]}
        print_json({"views": views} | shown | {"scores": scores})
    elif scores:
        say(_table(scores))
    elif not flags.output:
        say("".join(format_links(each) + "\n" for each in links))


def _read_heuristic(name: str) -> Heuristic:
    for known in HEURISTICS:
        if name == known:
            return known
    raise ConfigError(f"flag --heuristic: {name!r} is none of {', '.join(HEURISTICS)}")


def _choose(
    model: Path, flags: AlignFlags, machine: MachineFlags, pairs: Sequence[tuple[str, str]]
) -> list[_Aligner]:
    """Open the models and choose a view of each."""
    forward = Translator.load(model, device=machine.device, threads=machine.threads)
    reverse = flags.reverse_model and Translator.load(
        flags.reverse_model, device=machine.device, threads=machine.threads
    )
    if reverse:
        _refuse_the_same_direction(forward, reverse)
    some = [pair for pair in pairs if pair[0].strip() and pair[1].strip()][:_PAIRS_TO_CHOOSE]
    translators = [forward, *([reverse] if reverse else [])]
    if flags.layer is not None:
        views = [_given_view(translator, flags.layer) for translator in translators]
    elif reverse:
        here, there, share = choose_together(forward, reverse, some)
        views = [here, there]
        note(f"the two directions agree in {share:.0%} of their links on {len(some):,} pairs")
    else:
        view, _ = choose_alone(forward, some)
        views = [view]
    aligners = [_Aligner(*both) for both in zip(translators, views, strict=True)]
    for aligner in aligners:
        langs = f"{aligner.translator.source_lang}-{aligner.translator.target_lang}"
        note(f"{langs}: {aligner.view}")
    return aligners


def _given_view(translator: Translator, layer: int) -> View:
    views = list_views(translator)
    layers = max(view.layer for view in views)
    if not 1 <= layer <= layers:
        raise ConfigError(
            f"flag --layer: {layer} is none of the layers of the decoder, 1 to {layers}"
        )
    return View(layer, None, "reading")


def _refuse_the_same_direction(forward: Translator, reverse: Translator) -> None:
    if (forward.source_lang, forward.target_lang) != (reverse.target_lang, reverse.source_lang):
        raise ConfigError(
            f"flag --reverse-model: translates {reverse.source_lang} to {reverse.target_lang}, "
            f"but the other model {forward.source_lang} to {forward.target_lang}; give one of the opposite direction"
        )


def _align_all(aligners: Sequence[_Aligner], pairs: Sequence[tuple[str, str]]) -> list[list[Links]]:
    """Return the links of each direction, both as (source word, target word)."""
    directions: list[list[Links]] = [[] for _ in aligners]
    for start in range(0, len(pairs), _WINDOW):
        window = pairs[start : start + _WINDOW]
        directions[0] += aligners[0].links(window)
        if len(aligners) > 1:
            turned = aligners[1].links([(target, source) for source, target in window])
            directions[1] += map(transpose, turned)
    return directions


def _join(directions: Sequence[list[Links]], heuristic: Heuristic) -> list[Links]:
    if len(directions) == 1:
        return directions[0]
    return [symmetrise(a, b, heuristic) for a, b in zip(*directions, strict=True)]


def _score(
    directions: Sequence[list[Links]], gold: Sequence[GoldLinks]
) -> list[dict[str, str | float]]:
    """Score each direction, and with two of them every way to make one of both."""
    named = dict(zip(("forward", "reverse"), directions, strict=False))
    if len(directions) > 1:
        named |= {heuristic: _join(directions, heuristic) for heuristic in HEURISTICS}
    return [
        {"alignment": name, **score_alignment(links, gold).to_dict()}
        for name, links in named.items()
    ]


def _table(scores: Sequence[dict[str, str | float]]) -> str:
    lines = [f"{'alignment':<20} {'AER':>6} {'precision':>9} {'recall':>6} {'links':>7}"]
    for score in scores:
        lines.append(
            f"{score['alignment']:<20} {score['aer']:>6.2f} {score['precision']:>9.2f} "
            f"{score['recall']:>6.2f} {score['links']:>7,}"
        )
    return "\n".join(lines) + "\n"
