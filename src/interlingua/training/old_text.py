"""What a model learnt from, found again, so that it is not forgotten while the model learns something else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.lines import write_sides
from interlingua.corpus.packed import STANDARD_INPUT, is_packed
from interlingua.corpus.parallel import language_of
from interlingua.corpus.scan import ParallelFiles
from interlingua.directions import Direction, in_words
from interlingua.errors import ConfigError, CorpusError
from interlingua.files import spelled_out
from interlingua.training.corpus_of_run import languages_of, read_corpus
from interlingua.training.directions_of_run import directions_of
from interlingua.training.locked_text import holds_still, locked_text
from interlingua.training.run_folder import RunFolder

__all__ = ["OldText", "find_old_text"]


@dataclass(frozen=True, slots=True)
class OldText:
    """What a model learnt from, and text that it was not trained on."""

    sources: tuple[Path, ...] = ()
    targets: tuple[Path, ...] = ()
    held_sources: tuple[Path, ...] = ()
    held_targets: tuple[Path, ...] = ()
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
        old = _write(text.training, place, "old", directions or own)
        held_directions = directions_of(corpus, "validation") or own
        held = _write(text.validation, place, "held-out", held_directions)
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
        direction = directions if isinstance(directions, Direction) else directions[index]
        sides = (
            place / f"{name}.{index + 1}.s.{direction.source}",
            place / f"{name}.{index + 1}.t.{direction.target}",
        )
        write_sides(sides, islice(pairs, size))
        files.append(sides)
    return tuple(source for source, _ in files), tuple(target for _, target in files)
