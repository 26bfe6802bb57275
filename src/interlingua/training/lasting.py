"""An adapter that learns corrections for good, and is kept only if nothing is lost: what exists, put together.

The corrections and a replay of old text are one corpus of two parts; ``train`` puts an adapter on the model and learns it, with the
corrections as validation text; its comparison at the end, a paired bootstrap on text that was held out, decides. Where all of the
adapter forgets something, a share of it may not: what was learnt fades more slowly than what was lost comes back.

Sources: of the replay, Robins 1995, "Catastrophic forgetting, rehearsal and pseudorehearsal"; of the share, Wortsman et al. 2022,
"Robust fine-tuning of zero-shot models".
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import ceil
from pathlib import Path

import numpy as np

from interlingua.batching.mixing import weights_of
from interlingua.checkpoints.adapter_folder import (
    load_adapter,
    refuse_what_is_no_adapter,
    save_adapter,
)
from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.config_files import load_config
from interlingua.corpus.corrections import Correction
from interlingua.corpus.formats import UNNAMED, PairReader, count_pairs
from interlingua.corpus.held_out import rank_sources
from interlingua.corpus.lines import write_lines, write_sides
from interlingua.corpus.parallel import language_of
from interlingua.directions import Direction, in_words
from interlingua.errors import ConfigError, OutputError
from interlingua.evaluation.bootstrap import FEWEST_SENTENCES
from interlingua.files import hold_folder, remove_folder
from interlingua.training.comparison import (
    OUTPUTS,
    Difference,
    compare_with_start,
)
from interlingua.training.old_text import OldText, find_old_text
from interlingua.training.run import TrainResult, train
from interlingua.training.run_folder import RunFolder
from interlingua.translator import Translator

__all__ = ["Adapted", "adapt"]

RANK = 8
_PEAK, _WIDTH = 1e-3, 256
"""The highest learning rate at this d_model; it falls with the root of it. A third of what learns a field of its own: of 200 captions a small
model learnt nearly as much so, and forgot a quarter as much (docs/results.md)."""
_SHARES = (0.75, 0.5, 0.25)
"""Of the adapter, tried one after the other."""
_DOUBT = 0.2
"""A share is not taken if a loss is this likely to be more than chance: of several that are tried, one is more often lucky than once in twenty."""
_REPLAYED = 10
"""Old pairs in an epoch to each correction."""
_FEWEST_REPLAYED = 1_000
_SHARE = 10
"""Old pairs to each repeat of a correction: one pair in eleven is a correction."""
_MOST_REPEATS = 100.0
_SHOWN, _PASSES = 44_000, 10
"""Pairs that an adapter is shown at the least, and the passes of any run on a model: where these have as many, nothing is said of the length. After
a third as many, a hundred corrections of one kind had no effect (docs/results.md)."""
_DRAWN = 20
"""Epochs of old pairs that are drawn from a large text beforehand: to prepare the rest would take long, and little of it be read."""
_KEEP = "name text of all pairs of languages with --keep-source and --keep-target"


@dataclass(frozen=True, slots=True)
class Adapted:
    """What came of it."""

    adapter: Path
    """Where the adapter is, if it was kept."""
    refused: str | None
    """Why it was not."""
    share: float
    """Of what was trained, that is kept."""
    differences: tuple[Difference, ...]
    """What changes with it."""
    result: TrainResult


@dataclass(frozen=True, slots=True)
class _Work:
    """What is adapted, where, and how."""

    model: Path
    loaded: LoadedModel
    run: Path
    device: str
    threads: int | None
    say: Callable[[str], None]


def adapt(
    model: Path,
    loaded: LoadedModel,
    corrections: Sequence[Correction],
    given: OldText,
    output: Path,
    *,
    place: Path,
    device: str,
    threads: int | None,
    say: Callable[[str], None],
) -> Adapted:
    """Train an adapter on ``corrections`` and on old text, and keep in ``output`` as much of it as forgets nothing.

    Old text is spoiled, and cut otherwise, as the run did it, and corrections with it. What has to be written out of it is gone at
    the end.

    Args:
        model: run folder or model folder.
        loaded: what it holds.
        corrections: of its languages, one at the least.
        given: what is replayed, and what decides; what is not given is found out, see :func:`find_old_text`.
        output: the adapter folder; what was there stays, unless the new one is kept.
        place: folder for the run, which begins anew each time.
        device: where to compute.
        threads: CPU threads.
        say: takes what a person should know meanwhile.

    Raises:
        ConfigError: text is neither given nor found, or none of a pair of languages that was corrected is held out.
        CorpusError: text that cannot be used.
        OutputError: a folder that cannot be written, where another one adapts, or an ``output`` that holds something else than an adapter.
        TrainingError: a loss that is not a number.
    """
    refuse_what_is_no_adapter(output)
    busy = OutputError(f"{place}: another interlingua adapt works here; wait for it, or stop it")
    with hold_folder(place / ".adapting", busy=busy, remedy="choose another --corrections"):
        work = _Work(model, loaded, place / "adaptation", device, threads, say)
        text = place / "adaptation.text"
        remove_folder(text)  # of one that was killed
        try:
            settings = _settings(work, corrections, _old_text(work, corrections, given, text), text)
            remove_folder(work.run)
            result = train(load_config(None, settings))
        finally:
            remove_folder(text)  # it may be as large as all that the run learnt from
        if result.signal is not None:
            stopped = "it was stopped before it was trained; the same command begins again"
            return Adapted(output, stopped, 1.0, result.differences, result)
        share, differences = _choose_share(work, result.differences)
        refused = _fault_of(differences)
        if refused is None:
            _keep(work, share, output)
        return Adapted(output, refused, share, differences, result)


def _old_text(
    work: _Work, corrections: Sequence[Correction], given: OldText, text: Path
) -> OldText:
    """Return what is replayed and what decides, as far as it must be written in the folder ``text``; say what nothing tests."""
    known = work.loaded.directions
    old = _without_corrected(
        find_old_text(work.model, given, text, known), corrections, text, work.say
    )
    if untested := _untested(old, corrections, known):
        work.say(
            f"no text of {in_words(untested)} is held out, so that nothing tells whether they lose something; {_KEEP}"
        )
    return old


def _without_corrected(
    old: OldText, corrections: Sequence[Correction], text: Path, say: Callable[[str], None]
) -> OldText:
    """Leave out of what decides the sentences that were corrected themselves, by :func:`rank_sources`; say how many.

    The adapter learns them, so that they would hide what others lose. Files that keep others are written into the folder ``text``.

    Raises:
        ConfigError: nothing is left.
    """
    corrected = rank_sources((each.source for each in corrections), 0)
    left: list[tuple[Path, Path]] = []
    found = dropped = 0
    for number, (source, target) in enumerate(
        zip(old.held_sources, old.held_targets, strict=True), start=1
    ):
        pairs = PairReader((source, target), UNNAMED, None)
        is_other = ~np.isin(rank_sources((each.source for each in pairs), 0), corrected)
        found += len(is_other)
        dropped += int(np.count_nonzero(~is_other))
        if is_other.all():
            left.append((source, target))
        elif is_other.any():
            sides = (
                text / f"decides.{number}.s.{language_of(source) or 'txt'}",
                text / f"decides.{number}.t.{language_of(target) or 'txt'}",
            )
            write_sides(sides, compress(pairs, is_other.tolist()))
            left.append(sides)
    if not left:
        raise ConfigError(
            f"all {found:,} sentences that are held out were corrected themselves, so that nothing could tell whether an adapter loses "
            "something; name other text with --keep-source and --keep-target"
        )
    if dropped:
        say(
            f"{dropped:,} of {found:,} sentences that are held out were corrected themselves and would hide what others lose; they do "
            "not decide"
        )
    return replace(
        old,
        held_sources=tuple(source for source, _ in left),
        held_targets=tuple(target for _, target in left),
    )


def _untested(
    old: OldText, corrections: Sequence[Correction], known: Sequence[Direction]
) -> list[Direction]:
    """Return the pairs of languages of a model of several that no text is held out of, and refuse corrections of one of them."""
    held = zip(old.held_sources, old.held_targets, strict=True)
    tested = {(language_of(source), language_of(target)) for source, target in held}
    untested = [each for each in known if (each.source, each.target) not in tested]
    corrected = {each.direction for each in corrections}
    if refused := [each for each in untested if each in corrected]:
        raise ConfigError(
            f"there are corrections of {in_words(refused)}, and no such text is held out, so that nothing could tell whether an adapter loses "
            f"something; {_KEEP}"
        )
    return untested


def _settings(
    work: _Work, corrections: Sequence[Correction], old: OldText, text: Path
) -> dict[str, str | tuple[str, ...]]:
    """Write what the run learns into the folder ``text``, and return the run's configuration."""
    own = _write_corrections(corrections, text)
    sources, targets = zip(*own.values(), strict=True)
    sizes = [count_pairs(*sides) for sides in zip(old.sources, old.targets, strict=True)]
    mixed = weights_of(sizes, old.weights, old.temperature) or (1.0,) * len(sizes)
    repeats, *others = _weights(len(corrections), sizes, mixed)
    drawn = [
        _draw(sides, size, often, text / f"drawn.{number}")
        for number, (*sides, size, often) in enumerate(
            zip(old.sources, old.targets, sizes, others, strict=True), start=1
        )
    ]
    weights = (*[repeats] * len(own), *(part.weight for part in drawn))
    replayed = sum(size * often for size, often in zip(sizes, others, strict=True))
    peak = _PEAK * (_WIDTH / work.loaded.model.architecture.d_model) ** 0.5
    return {
        "start.init_from": str(work.model),
        "start.lora_rank": str(RANK),
        "start.keep_source": tuple(map(str, old.held_sources)),
        "start.keep_target": tuple(map(str, old.held_targets)),
        "corpus.source": tuple(map(str, (*sources, *(part.source for part in drawn)))),
        "corpus.target": tuple(map(str, (*targets, *(part.target for part in drawn)))),
        "corpus.valid_source": tuple(map(str, sources)),
        "corpus.valid_target": tuple(map(str, targets)),
        "corpus.weights": ",".join(f"{weight:.6g}" for weight in weights),
        **_languages(tuple(own), old),
        **({"corpus.tags": ",".join(("",) * len(own) + old.tags)} if any(old.tags) else {}),
        **({"corpus.noise": str(old.noise)} if old.noise else {}),
        "tokenization.sampling": str(old.sampling),
        "run_dir": str(work.run),
        "training.peak_learning_rate": f"{peak:.2g}",
        **_passes(repeats * len(corrections) + replayed),
        "training.device": work.device,
        **({} if work.threads is None else {"training.threads": str(work.threads)}),
    }


def _forgets(differences: Sequence[Difference]) -> bool:
    """Whether text that was held out seems to have become worse, if there is enough of it to tell."""
    return any(
        each.is_of_kept
        and each.sentences >= FEWEST_SENTENCES
        and each.change < 0
        and each.p_value < _DOUBT
        for each in differences
    )


def _choose_share(
    work: _Work, differences: tuple[Difference, ...]
) -> tuple[float, tuple[Difference, ...]]:
    """Return how much of the adapter is kept, and what changes with it: all, or the largest share that does not seem to forget.

    Where that has learnt nothing, a larger one is taken whose loss may well be chance.
    """
    tried = [(1.0, differences)]
    for share in _SHARES:
        if not _forgets(differences):
            break
        work.say(f"{tried[-1][0]:.0%} of the adapter seems to forget; trying {share:.0%}")
        differences = _compare_share(work, share)
        tried.append((share, differences))
    good = [each for each in tried if _fault_of(each[1]) is None]
    return good[-1] if good else tried[-1]


def _compare_share(work: _Work, share: float) -> tuple[Difference, ...]:
    """Compare the model with a share of the adapter with the model without, as the run did at its end with all of it."""
    weaker = work.run / "weaker"
    _keep(work, share, weaker)
    to = str(work.loaded.directions[0]) if work.loaded.directions else None
    translator = Translator.load(
        work.model, adapter=weaker, device=work.device, threads=work.threads, to=to
    )
    outputs = RunFolder(work.run).start / OUTPUTS
    return tuple(compare_with_start(outputs, translator, lambda: False) or ())


def _keep(work: _Work, share: float, output: Path) -> None:
    """Write a share of what was trained as an adapter."""
    trained = load_adapter(work.run)
    card = (work.run / "adapter" / "README.md").read_text(encoding="utf-8")
    if share < 1:
        card += f"\n{share:.0%} of what training gave: all of it seemed to forget something.\n"
    save_adapter(output, replace(trained, alpha=share * trained.alpha), card)


def _write_corrections(
    corrections: Sequence[Correction], text: Path
) -> dict[Direction, tuple[Path, Path]]:
    """Write those of each direction into two files of their own in the folder ``text``."""
    found: dict[Direction, list[Correction]] = {}
    for each in corrections:
        found.setdefault(each.direction, []).append(each)
    files = {}
    for number, (direction, some) in enumerate(found.items(), start=1):
        files[direction] = (
            text / f"corrections.{number}.s.{direction.source}",
            text / f"corrections.{number}.t.{direction.target}",
        )
        write_lines(files[direction][0], [_one_line(each.source) for each in some])
        write_lines(files[direction][1], [_one_line(each.target) for each in some])
    return files


def _languages(own: Sequence[Direction], old: OldText) -> Mapping[str, str]:
    """Return what tells the languages: of every file where the model is of several pairs, else of all."""
    if not old.directions:
        return {"corpus.source_lang": own[0].source, "corpus.target_lang": own[0].target}
    return {
        "corpus.directions": ",".join(map(str, (*own, *old.directions))),
        "corpus.valid_directions": ",".join(map(str, own)),
    }


def _weights(corrections: int, sizes: Sequence[int], weights: Sequence[float]) -> tuple[float, ...]:
    """Return how often an epoch has each correction, and each pair of each old file, of which the run had some more often."""
    old = sum(size * weight for size, weight in zip(sizes, weights, strict=True))
    replayed = min(old, max(_FEWEST_REPLAYED, _REPLAYED * corrections))
    repeats = min(_MOST_REPEATS, max(1.0, replayed / (_SHARE * corrections)))
    return (repeats, *(weight * replayed / max(1.0, old) for weight in weights))


def _passes(pairs: float) -> dict[str, str]:
    """Return how often the run sees the ``pairs`` of an epoch, where that is not as often as any run on a model does."""
    passes = _SHOWN / pairs
    return {"training.epochs": f"{passes:.3g}"} if passes > _PASSES else {}


@dataclass(frozen=True, slots=True)
class _Part:
    """Old pairs that are replayed, and how often an epoch has each of them."""

    source: Path
    target: Path
    weight: float


def _draw(sides: Sequence[Path], size: int, weight: float, name: Path) -> _Part:
    """Return ``size`` old pairs, or of many a part that is drawn evenly and written beside ``name``, read so much the more often."""
    some = ceil(_DRAWN * weight * size)
    if some >= size:
        return _Part(sides[0], sides[1], weight)
    every = enumerate(PairReader((sides[0], sides[1]), UNNAMED, None))
    drawn = (pair for n, pair in every if (n + 1) * some // size > n * some // size)
    files = name.with_name(f"{name.name}.source.txt"), name.with_name(f"{name.name}.target.txt")
    write_sides(files, drawn)
    return _Part(*files, weight * size / some)


def _fault_of(differences: Sequence[Difference]) -> str | None:
    """Say why an adapter with which this changes is not kept; None if it is."""
    for each in differences:
        if each.is_of_kept and each.verdict == "worse":
            return (
                f"{each.metric} of the text that was held out went from {each.before:.2f} to {each.after:.2f} "
                f"(p = {each.p_value:.3f})"
            )
    own = [each for each in differences if not each.is_of_kept]
    # Of all pairs of languages together: an adapter may not unlearn of one what it learns of another.
    gains: dict[str, float] = defaultdict(float)
    for each in own:
        gains[each.metric] += each.sentences * each.change
    if not any(gain > 0 for gain in gains.values()):
        return "it learnt nothing of the corrections"
    enough = [each for each in own if each.sentences >= FEWEST_SENTENCES]
    if enough and not any(each.verdict == "better" for each in enough):
        return "what it learnt of the corrections is no more than chance explains"
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())
