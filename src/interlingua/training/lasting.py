"""An adapter that learns corrections for good, and is kept only if nothing is lost: what exists, put together.

The corrections and a replay of old text are one corpus of two parts; ``train`` puts an adapter on the model and learns it, with the
corrections as validation text; its comparison at the end, a paired bootstrap on text that was held out, decides.

Source of the replay: Robins 1995, "Catastrophic forgetting, rehearsal and pseudorehearsal".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from pathlib import Path

from interlingua.batching.mixing import weights_of
from interlingua.checkpoints.adapter_folder import (
    load_adapter,
    refuse_what_is_no_adapter,
    save_adapter,
)
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.corrections import Correction
from interlingua.corpus.formats import UNNAMED, PairReader, count_pairs
from interlingua.corpus.lines import write_lines
from interlingua.corpus.packed import STANDARD_INPUT, is_packed
from interlingua.corpus.parallel import language_of
from interlingua.corpus.scan import ParallelFiles
from interlingua.directions import Direction, in_words
from interlingua.errors import ConfigError, CorpusError, OutputError
from interlingua.files import hold_folder, remove_folder, spelled_out
from interlingua.training.corpus_of_run import languages_of, read_corpus
from interlingua.training.directions_of_run import directions_of
from interlingua.training.locked_text import holds_still, locked_text
from interlingua.training.run import TrainResult, train
from interlingua.training.run_folder import RunFolder

__all__ = ["Adapted", "OldText", "adapt", "find_old_text"]

RANK = 8
_REPLAYED = 10
"""Old pairs in an epoch to each correction."""
_FEWEST_REPLAYED = 1_000
_SHARE = 4
"""Old pairs to each repeat of a correction: one pair in five is a correction."""
_MOST_REPEATS = 100.0
_DRAWN = 20
"""Epochs of old pairs that are drawn from a large text beforehand: to prepare the rest would take long, and little of it be read."""


@dataclass(frozen=True, slots=True)
class OldText:
    """What a model learnt from, and text that it was not trained on."""

    sources: tuple[Path, ...]
    targets: tuple[Path, ...]
    held_sources: tuple[Path, ...]
    held_targets: tuple[Path, ...]
    directions: tuple[Direction, ...] = ()
    """From which language into which each file goes, where the model is of several pairs; what is held out tells it by its names."""
    tags: tuple[str, ...] = ()
    """Before the sources of each file; none, or one a file."""
    weights: tuple[float, ...] = ()
    """How often an epoch of the run had the pairs of each file; none where each came once."""
    temperature: float | None = None
    """By which that followed from their sizes, if it did."""
    noise: float = 0.0
    sampling: float = 0.0
    """How the run spoiled its text, and how it cut words otherwise: what made it robust is not to be unlearnt."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """What came of it."""

    adapter: Path
    """Where the adapter is, if it was kept."""
    refused: str | None
    """Why it was not."""
    result: TrainResult


def find_old_text(
    model: Path, given: OldText, place: Path, known: Sequence[Direction] = ()
) -> OldText:
    """Fill in from the run of ``model`` what is not ``given``; what is no file of its own is written into ``place``.

    ``known`` are the directions of a model that has several.

    Raises:
        ConfigError: it is a model folder without its run, or the text of the run is not there; or the names of given files do not tell
            a direction where one must be told.
        CorpusError: the text of the run cannot be used any more, as it is another one now.
        OutputError: the place cannot be written.
    """
    there = spelled_out(model)
    is_inside = there.name == "model" and not (there / "config.toml").exists()
    run = there.parent if is_inside else there
    path = run / "config.toml"
    config = load_config(path) if path.is_file() else None
    if config is not None:
        given = replace(
            given, noise=config.corpus.noise, sampling=config.tokenization.sampling or 0.0
        )
    if known:
        given = replace(given, directions=_told_by(given.sources, given.targets, known))
        _told_by(given.held_sources, given.held_targets, known)
    if given.sources and given.held_sources:
        return given
    if config is None:
        raise ConfigError(
            f"{model}: is not a run, so that its text is not known; give some to replay, --source and --target, and some "
            "to test on, --keep-source and --keep-target"
        )
    found = _text_of(config, RunFolder(run), given, place)
    return replace(
        found if not given.sources else given,
        noise=given.noise,
        sampling=given.sampling,
        held_sources=given.held_sources or found.held_sources,
        held_targets=given.held_targets or found.held_targets,
    )


def _told_by(
    sources: Sequence[Path], targets: Sequence[Path], known: Sequence[Direction]
) -> tuple[Direction, ...]:
    """Return the directions of files by their names."""
    found = []
    for source, target in zip(sources, targets, strict=True):
        direction = Direction(language_of(source) or "", language_of(target) or "")
        if direction not in known:
            raise ConfigError(
                f"{source}, {target}: their names do not tell a pair of languages of the model, which translates {in_words(known)}; name "
                f"them by their languages, such as text.{known[0].source} and text.{known[0].target}"
            )
        found.append(direction)
    return tuple(found)


def _text_of(config: RunConfig, run: RunFolder, given: OldText, place: Path) -> OldText:
    """Return the text of a run; of what is ``given`` anyway nobody asks whether it is there."""
    corpus = config.corpus
    locked = locked_text(run, config)
    named = (*corpus.source, *corpus.target, *corpus.valid_source, *corpus.valid_target)
    is_named = corpus.source and corpus.valid_source and not corpus.pairs
    directions = directions_of(corpus)
    mixture = OldText(
        *((), (), (), ()),
        directions=directions,
        tags=corpus.tags,
        weights=corpus.weights,
        temperature=corpus.temperature,
    )
    if is_named and not directions and not any(p.is_file() and is_packed(p) for p in named):
        old = (corpus.source, corpus.target)
        held = (corpus.valid_source, corpus.valid_target)
        read = [*(() if given.sources else old), *(() if given.held_sources else held)]
        _refuse_other_text([path for side in read for path in side], locked, run)
    else:
        _refuse_other_text([path for path in locked if str(path) != STANDARD_INPUT], locked, run)
        text = read_corpus(config, run, lambda _: None, writes=False)
        own = Direction(*languages_of(corpus))
        old = _write(text.training, place, "adaptation.old", directions or own)
        held_directions = directions_of(corpus, "validation") or own
        held = _write(text.validation, place, "adaptation.held-out", held_directions)
    return replace(
        mixture, sources=old[0], targets=old[1], held_sources=held[0], held_targets=held[1]
    )


def _refuse_other_text(files: Sequence[Path], locked: Mapping[Path, str], run: RunFolder) -> None:
    """Refuse files by names of a run that are not there, or hold something else than the run learnt from."""
    instead = "run this where train was run, or give text: --source, --target, --keep-source, --keep-target"
    for file in files:
        if not file.is_file():
            raise ConfigError(f"{file}: the run learnt from it, and it is not there; {instead}")
        if not holds_still(file, locked.get(file)):
            raise CorpusError(
                f"{file}: is not the text that {run.path} was trained on, by the SHA-256 in {run.corpus_lock}; {instead}"
            )


def _write(
    text: ParallelFiles, place: Path, name: str, directions: Direction | Sequence[Direction]
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Write pairs as plain files, two for each part of the text; return the sources and the targets.

    ``directions`` are one for each part, or one for all.
    """
    pairs = text.pairs()
    files: list[tuple[Path, Path]] = []
    for index, size in enumerate(text.pairs_a_part):
        part = list(islice(pairs, size))
        direction = directions if isinstance(directions, Direction) else directions[index]
        sides = (
            place / f"{name}.{index + 1}.s.{direction.source}",
            place / f"{name}.{index + 1}.t.{direction.target}",
        )
        write_lines(sides[0], [pair.source for pair in part])
        write_lines(sides[1], [pair.target for pair in part])
        files.append(sides)
    return tuple(source for source, _ in files), tuple(target for _, target in files)


def adapt(
    model: Path,
    corrections: Sequence[Correction],
    given: OldText,
    output: Path,
    *,
    place: Path,
    known: Sequence[Direction],
    device: str,
    threads: int | None,
) -> Adapted:
    """Train an adapter on ``corrections`` and on old text, and keep it in ``output`` if nothing is lost.

    Old text is spoiled, and cut otherwise, as the run did it, and corrections with it.

    Args:
        model: run folder or model folder.
        corrections: of its languages, one at the least.
        given: what is replayed, and what decides; what is not given is found out, see :func:`find_old_text`.
        output: the adapter folder; what was there stays, unless the new one is kept.
        place: folder for the run, which begins anew each time.
        known: the directions of a model that has several.
        device: where to compute.
        threads: CPU threads.

    Raises:
        ConfigError: text is neither given nor found.
        CorpusError: text that cannot be used.
        OutputError: a folder that cannot be written, where another one adapts, or an ``output`` that holds something else than an adapter.
        TrainingError: a loss that is not a number.
    """
    refuse_what_is_no_adapter(output)
    busy = OutputError(f"{place}: another interlingua adapt works here; wait for it, or stop it")
    with hold_folder(place / ".adapting", busy=busy, remedy="choose another --corrections"):
        old = find_old_text(model, given, place, known)
        return _learn(model, corrections, old, output, place, device, threads)


def _learn(
    model: Path,
    corrections: Sequence[Correction],
    old: OldText,
    output: Path,
    place: Path,
    device: str,
    threads: int | None,
) -> Adapted:
    run = place / "adaptation"
    remove_folder(run)
    own = _write_corrections(corrections, place)
    sources, targets = zip(*own.values(), strict=True)
    sizes = [count_pairs(*sides) for sides in zip(old.sources, old.targets, strict=True)]
    mixed = weights_of(sizes, old.weights, old.temperature) or (1.0,) * len(sizes)
    repeats, *others = _weights(len(corrections), sizes, mixed)
    drawn = [
        _draw(sides, size, often, place / f"adaptation.drawn.{number}")
        for number, (*sides, size, often) in enumerate(
            zip(old.sources, old.targets, sizes, others, strict=True), start=1
        )
    ]
    weights = (*[repeats] * len(own), *(part.weight for part in drawn))
    overrides: dict[str, str | tuple[str, ...]] = {
        "start.init_from": str(model),
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
        "run_dir": str(run),
        "training.device": device,
    }
    if threads is not None:
        overrides["training.threads"] = str(threads)
    result = train(load_config(None, overrides))
    refused = _why_not(result)
    if refused is None:
        card = (run / "adapter" / "README.md").read_text(encoding="utf-8")
        save_adapter(output, load_adapter(run), card)
    return Adapted(output, refused, result)


def _write_corrections(
    corrections: Sequence[Correction], place: Path
) -> dict[Direction, tuple[Path, Path]]:
    """Write those of each direction into two files of their own."""
    found: dict[Direction, list[Correction]] = {}
    for each in corrections:
        found.setdefault(Direction(each.source_lang, each.target_lang), []).append(each)
    files = {}
    for number, (direction, some) in enumerate(found.items(), start=1):
        name = f"adaptation.{number}" if len(found) > 1 else "adaptation"
        files[direction] = (
            place / f"{name}.s.{direction.source}",
            place / f"{name}.t.{direction.target}",
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
    pairs = [pair for n, pair in every if (n + 1) * some // size > n * some // size]
    files = name.with_name(f"{name.name}.source.txt"), name.with_name(f"{name.name}.target.txt")
    write_lines(files[0], [pair.source for pair in pairs])
    write_lines(files[1], [pair.target for pair in pairs])
    return _Part(*files, weight * size / some)


def _why_not(result: TrainResult) -> str | None:
    """Say why the adapter is not kept; None if it is."""
    if result.signal is not None:
        return "it was stopped before it was trained; the same command begins again"
    for each in result.differences:
        if each.is_of_kept and each.verdict == "worse":
            return (
                f"{each.metric} of the text that was held out went from {each.before:.2f} to {each.after:.2f} "
                f"(p = {each.p_value:.3f})"
            )
    if not any(each.change > 0 for each in result.differences if not each.is_of_kept):
        return "it learnt nothing of the corrections"
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())
