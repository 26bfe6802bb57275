"""The ``align`` command: link the words of given pairs by the attention of a model, and score the links against gold."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from interlingua.checkpoints.model_folder import read_directions
from interlingua.cli.flags import AlignFlags, MachineFlags
from interlingua.cli.streams import note, open_output, print_json, read_aligned, say
from interlingua.directions import Direction
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
from interlingua.inspection.alignment import View, choose_alone, link, list_views, some_to_choose_by
from interlingua.inspection.joint_alignment import Reading, choose_together, link_together
from interlingua.translator import Translator

__all__ = ["align_text"]

_WINDOW = 500


def align_text(
    model: Path,
    source: Path,
    target: Path,
    flags: AlignFlags,
    machine: MachineFlags,
    to: str | None = None,
) -> None:
    """Align two texts line by line and write the links, or with gold their error rate.

    Raises:
        ConfigError: a heuristic or a layer that does not exist.
        CorpusError: the texts or the gold cannot be read or do not correspond.
        ModelError: a model that cannot be read, or two that do not translate in opposite directions.
        OutputError: the links cannot be written, or would be over one of the texts.
    """
    heuristic = _read_heuristic(flags.heuristic)
    sources, (targets,) = read_aligned(source, [target], flags.output or "-")
    pairs = list(zip(sources, targets, strict=True))
    words = [(len(one.split()), len(other.split())) for one, other in pairs]
    gold = read_gold(flags.gold, words) if flags.gold else None
    with open_output(flags.output) if flags.output else nullcontext() as write:
        readings = _choose(model, flags, machine, to, pairs)
        found = _align_all(readings, pairs)
        links = _join(found, heuristic)
        if write:
            write("".join(format_links(each) + "\n" for each in links))
    scores = _score(found, gold) if gold else []
    if flags.json:
        views = [str(reading) for reading in readings]
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
    model: Path,
    flags: AlignFlags,
    machine: MachineFlags,
    to: str | None,
    pairs: Sequence[tuple[str, str]],
) -> list[Reading]:
    """Open the models and choose how each is read."""
    own = asdict(machine)
    forward = Translator.load(model, **own, to=to)
    reverse = None
    if flags.reverse_model:
        back = Direction(forward.target_lang, forward.source_lang)
        chosen = str(back) if read_directions(flags.reverse_model) else None
        reverse = Translator.load(flags.reverse_model, **own, to=chosen)
        _refuse_the_same_direction(forward, reverse)
    some = some_to_choose_by(pairs)
    if flags.layer is not None:
        translators = [forward, *([reverse] if reverse else [])]
        readings = [
            Reading(translator, {_given_view(translator, flags.layer): 1.0})
            for translator in translators
        ]
    elif reverse:
        *readings, share = choose_together(forward, reverse, some)
        note(f"the two directions agree in {share:.0%} of their links on {len(some):,} pairs")
    else:
        view, _ = choose_alone(forward, some)
        readings = [Reading(forward, {view: 1.0})]
    for reading in readings:
        note(f"{reading.translator.source_lang}-{reading.translator.target_lang}: {reading}")
    return readings


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


def _align_all(
    readings: Sequence[Reading], pairs: Sequence[tuple[str, str]]
) -> dict[str, list[Links]]:
    """Return the links of each direction as (source word, target word), of two models also of each alone."""
    found: dict[str, list[Links]] = {}
    for start in range(0, len(pairs), _WINDOW):
        window = pairs[start : start + _WINDOW]
        worth = readings[0].worth(window)
        if len(readings) == 1:
            told = {"forward": [link(each) for each in worth]}
        else:
            there = readings[1].worth([(target, source) for source, target in window])
            forward, reverse = zip(*map(link_together, worth, there), strict=True)
            told = {
                "forward alone": [link(each) for each in worth],
                "reverse alone": [transpose(link(each)) for each in there],
                "forward": list(forward),
                "reverse": list(reverse),
            }
        for name, links in told.items():
            found.setdefault(name, []).extend(links)
    return found


def _join(found: Mapping[str, list[Links]], heuristic: Heuristic) -> list[Links]:
    forward, reverse = found.get("forward", []), found.get("reverse")
    if reverse is None:
        return forward
    return [symmetrise(a, b, heuristic) for a, b in zip(forward, reverse, strict=True)]


def _score(
    found: Mapping[str, list[Links]], gold: Sequence[GoldLinks]
) -> list[dict[str, str | float]]:
    """Score each direction, and with two of them every way to make one of both."""
    joined = {each: _join(found, each) for each in HEURISTICS} if "reverse" in found else {}
    return [
        {"alignment": name, **score_alignment(links, gold).to_dict()}
        for name, links in (dict(found) | joined).items()
    ]


def _table(scores: Sequence[dict[str, str | float]]) -> str:
    lines = [f"{'alignment':<20} {'AER':>6} {'precision':>9} {'recall':>6} {'links':>7}"]
    for score in scores:
        lines.append(
            f"{score['alignment']:<20} {score['aer']:>6.2f} {score['precision']:>9.2f} "
            f"{score['recall']:>6.2f} {score['links']:>7,}"
        )
    return "\n".join(lines) + "\n"
