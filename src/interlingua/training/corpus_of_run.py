"""The text that a run reads: which files, which languages, whether it is still the same.

A corpus is counted, and read from end to end to check it. What that found (``shards/corpus.json``) is kept with the run, so
that a later start of the same corpus need not read it again; ``corpus.lock`` says what the files held.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from interlingua.batching.mixing import weights_of
from interlingua.config import CorpusConfig, RunConfig
from interlingua.corpus.embedded import write_embedded
from interlingua.corpus.fingerprint import (
    FileFingerprint,
    FileState,
    remember,
    remembered_or_read,
)
from interlingua.corpus.formats import UNNAMED
from interlingua.corpus.held_out import choose_held_out, rank_sources
from interlingua.corpus.pairs import CorpusFiles
from interlingua.corpus.parallel import language_of
from interlingua.corpus.scan import ParallelFiles, scan_parallel
from interlingua.corpus.statistics import CorpusStatistics, familiarity, measure_corpus
from interlingua.errors import ConfigError, CorpusError
from interlingua.files import write_text
from interlingua.training.directions_of_run import directions_of, doubts_about_directions
from interlingua.training.expected_bleu import MOST_PAIRS
from interlingua.training.run_folder import RunFolder
from interlingua.training.unpacking import (
    Origin,
    PlainFiles,
    find_plain_files,
    tell_if_input_is_awaited,
)

__all__ = [
    "SEEN",
    "RunCorpus",
    "changed_since",
    "is_locked_to",
    "kept_identity",
    "languages_of",
    "lock_corpus",
    "read_corpus",
    "takes_files_otherwise",
]

Say = Callable[[str], None]
Prints = Mapping[str, FileFingerprint]

_VERSION = 1
_SAME_SOURCE = "letters, marks and digits"
"""What two sources have in common that are held back together."""
_WITHOUT_MARKS = "letters and digits"
"""The same in earlier versions. A run that began so goes on so: it has learnt what would be held back now."""
_SETTINGS_OF_SPLIT = 3
"""What earlier versions kept of a split, which was one of all directions together; a run that began so goes on so, too."""

_NAME = "corpus.json"
SEEN = "seen.json"
"""When and where the files were seen, apart from what they hold, so that equal corpora make equal files."""

_EMBEDDED_LANGUAGES = {
    "demo-ro-en": ("ro", "en"),
    "copy": ("digits", "copy"),
    "reverse": ("digits", "reverse"),
}


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a corpus, and what decides how they are split; equal ones with equal text give equal pairs."""

    source: tuple[Path, ...]
    target: tuple[Path, ...]
    valid_source: tuple[Path, ...]
    valid_target: tuple[Path, ...]
    valid_size: int | None
    seed: int
    directions: tuple[str, ...] = ()
    """From which language into which each training file goes, if pairs are split off of each direction; none if of all together."""
    same_source: str = _SAME_SOURCE

    def moved(self, places: Mapping[Path, Path]) -> "_Files":
        """Return the same after some of them were moved."""

        def now(paths: tuple[Path, ...]) -> tuple[Path, ...]:
            return tuple(places.get(path, path) for path in paths)

        return replace(
            self,
            source=now(self.source),
            target=now(self.target),
            valid_source=now(self.valid_source),
            valid_target=now(self.valid_target),
        )

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.source, *self.target, *self.valid_source, *self.valid_target)

    @property
    def has_validation(self) -> bool:
        return bool(self.valid_source or self.valid_target)

    def identity(self, prints: Prints) -> dict[str, Any]:
        """Say what the pairs follow from, wherever the files lie."""
        return {
            "source": [prints[path.as_posix()]["sha256"] for path in self.source],
            "target": [prints[path.as_posix()]["sha256"] for path in self.target],
            "valid_source": [prints[path.as_posix()]["sha256"] for path in self.valid_source],
            "valid_target": [prints[path.as_posix()]["sha256"] for path in self.valid_target],
            "split": None if self.has_validation else self._split,
        }

    @property
    def _split(self) -> list[Any]:
        by_direction = [list(self.directions)] if self.directions else []
        return [self.valid_size, self.seed, self.same_source, *by_direction]


@dataclass(frozen=True, slots=True)
class _Text:
    """Both parts of a corpus, after it was read."""

    training: ParallelFiles
    validation: ParallelFiles

    @property
    def prints(self) -> dict[str, FileFingerprint]:
        return self.training.prints | self.validation.prints

    @property
    def states(self) -> dict[str, FileState]:
        return self.training.states | self.validation.states


@dataclass(frozen=True, slots=True)
class _Known:
    """What a run keeps of a corpus that it has read before."""

    parts: tuple[int, ...]
    num_validation: int
    report: str | None
    sample: int
    statistics: CorpusStatistics
    states: dict[str, FileState]
    prints: dict[str, FileFingerprint]


class RunCorpus:
    """Pairs for training and for validation; their text is read when somebody asks for it.

    Attributes:
        files: where they come from: training sources, targets, validation sources, targets.
        named: the files that the user named, in their order; other than ``files`` if they had to be unpacked.
        prints: what the files hold.
        identity: what the pairs follow from, ready for JSON.
    """

    def __init__(self, files: _Files, known: _Known | None, plain: PlainFiles | None) -> None:
        self._files = files
        self._plain = plain
        self._known = known
        self._scanned = None if known else _scan(files)
        found = known or self._text
        self.files = files.paths
        self.named = plain.named if plain else files.paths
        self.prints: dict[str, FileFingerprint] = found.prints
        self._states: dict[str, FileState] = found.states
        self.identity = files.identity(self.prints)

    @property
    def _text(self) -> _Text:
        if self._scanned is None:
            self._scanned = _scan(self._files)
            if self._files.identity(self._scanned.prints) != self.identity:
                raise CorpusError(
                    f"{self.files[0]} or one of its companions has been changed while it was read; "
                    "run the same command again"
                )
        return self._scanned

    @property
    def training(self) -> ParallelFiles:
        """The pairs to train on."""
        return self._text.training

    @property
    def validation(self) -> ParallelFiles:
        """The pairs that were held back."""
        return self._text.validation

    @property
    def _parts(self) -> tuple[int, ...]:
        """How many pairs each file has to train on."""
        return self._known.parts if self._known else self.training.pairs_a_part

    @property
    def num_training(self) -> int:
        """How many pairs there are to train on."""
        return sum(self._parts)

    @property
    def num_validation(self) -> int:
        """How many pairs were held back."""
        return self._known.num_validation if self._known else len(self.validation)

    @property
    def report(self) -> str | None:
        """What a user should know about the files."""
        if self._known:
            return self._known.report
        places = self._plain.places if self._plain else {}
        unpacked = self._plain.remarks if self._plain else ()
        report = self._text.training.moved(places).report()
        return "\n".join([*unpacked, *([report] if report else [])]) or None

    def statistics(self, sample: int) -> CorpusStatistics:
        """Return what the choices look at, from ``sample`` training pairs at most."""
        if self._known and self._known.sample == sample:
            return self._known.statistics
        found = measure_corpus(self.training.pairs(sample), len(self.training))
        if found.pairs > MOST_PAIRS:
            return found
        familiar = familiarity(self.training.pairs(), self.validation.pairs())
        return replace(found, familiarity=familiar)

    def in_an_epoch(
        self, config: CorpusConfig, statistics: CorpusStatistics, say: Say
    ) -> CorpusStatistics:
        """Return the statistics with as many pairs as an epoch has, each counted once: of a file whose weight is below 1 a part.

        The length of training is counted in such epochs; so must be what else follows from how much text there is.
        """
        weights = weights_of(self._parts, config.weights, config.temperature)
        if all(weight >= 1 for weight in weights):
            return statistics
        parts = zip(self._parts, weights, strict=True)
        pairs = max(1, round(sum(size * min(1.0, weight) for size, weight in parts)))
        say(
            f"an epoch has {pairs:,} of the {statistics.pairs:,} pairs, by corpus.weights; what is chosen follows from these"
        )
        return replace(statistics, pairs=pairs)

    def check_unchanged(self) -> None:
        """Raise a CorpusError if a file was written to since it was read here."""
        if self._scanned:
            self._scanned.training.check_unchanged()
            self._scanned.validation.check_unchanged()

    def settle(self, folder: RunFolder) -> None:
        """Move what had to be unpacked into the run, which this process holds.

        Raises:
            OutputError: the run cannot be written.
        """
        places = self._plain.settle(folder) if self._plain else {}
        if not places:
            return
        names = {old.as_posix(): new.as_posix() for old, new in places.items()}
        self._files = self._files.moved(places)
        self.files = self._files.paths
        self.prints = {names.get(name, name): found for name, found in self.prints.items()}
        found = {name: FileState.of(Path(name)) for name in names.values()}
        self._states = {names.get(name, name): at for name, at in self._states.items()} | found
        if self._scanned:
            training, validation = self._scanned.training, self._scanned.validation
            self._scanned = _Text(training.moved(places, found), validation.moved(places, found))

    def lock(self, folder: RunFolder) -> None:
        """Write what identifies the files of the run, and what they were unpacked from."""
        lock_corpus(folder, self.files, self.prints, self._plain.origins if self._plain else {})

    def save(self, folder: RunFolder, statistics: CorpusStatistics, sample: int) -> None:
        """Keep in the run what need not be found out again."""
        content = {
            "version": _VERSION,
            "identity": self.identity,
            "parts": self._parts,
            "validation": self.num_validation,
            "report": self.report,
            "sample": sample,
            "statistics": asdict(statistics),
        }
        seen = remember(self._states, self.prints)
        write_text(folder.shards / _NAME, json.dumps(content, indent=2) + "\n")
        write_text(folder.shards / SEEN, json.dumps(seen, indent=2) + "\n")


def languages_of(corpus: CorpusConfig) -> tuple[str, str]:
    """Return the languages that were given, or that the file names tell, or just "source" and "target".

    Of several pairs of languages it is the first.
    """
    if corpus.directions:
        first = directions_of(corpus)[0]
        return first.source, first.target
    if corpus.embedded:
        source, target = _EMBEDDED_LANGUAGES[corpus.embedded]
    elif corpus.text:
        found = {language_of(path) for path in corpus.text}
        source, target = (found.pop() or UNNAMED[0],) * 2 if len(found) == 1 else UNNAMED
    else:
        source = (language_of(corpus.source[0]) if corpus.source else None) or UNNAMED[0]
        target = (language_of(corpus.target[0]) if corpus.target else None) or UNNAMED[1]
        if source == target:  # a suffix such as .txt tells no language
            source, target = UNNAMED
    return corpus.source_lang or source, corpus.target_lang or target


def read_corpus(
    config: RunConfig,
    folder: RunFolder,
    say: Say,
    *,
    writes: bool = True,
    fresh: bool = False,
) -> RunCorpus:
    """Find the pairs of a run; write the embedded corpus first, if that is what it reads and ``writes`` allows it.

    Files that the run in ``folder`` has read before, and that have not changed, are not read again. With ``fresh`` that run is going to
    be moved away, so that what it unpacked cannot be used.

    Raises:
        ConfigError: an embedded corpus and files are both asked for.
        CorpusError: text that cannot be used.
        OutputError: the embedded corpus cannot be written, or there is no room to unpack one.
        TrainingError: a corpus has to be unpacked, and ``writes`` does not allow it.
    """
    if not fresh:
        tell_if_input_is_awaited(config.corpus, folder, say)
    files, plain = _files_of(config, folder, writes=writes, fresh=fresh)
    if not fresh and (before := _split_before(folder)):
        without = _WITHOUT_MARKS in before
        files = replace(
            files,
            same_source=_WITHOUT_MARKS if without else files.same_source,
            directions=files.directions if len(before) > _SETTINGS_OF_SPLIT else (),
        )
    corpus = RunCorpus(files, _recall(folder, files), plain)
    for doubt in doubts_about_directions(config.corpus):
        say(doubt)
    if corpus.report:
        say(corpus.report)
    if files.has_validation:
        say(f"{corpus.num_training:,} training pairs, {corpus.num_validation:,} validation pairs")
    else:
        say(
            f"{corpus.num_training:,} training pairs; {corpus.num_validation:,} more held back for "
            "validation, because no validation files were given"
        )
    return corpus


def _files_of(
    config: RunConfig, folder: RunFolder, *, writes: bool, fresh: bool
) -> tuple[_Files, PlainFiles | None]:
    corpus, seed = config.corpus, config.training.seed
    if not corpus.embedded:
        plain = find_plain_files(corpus, languages_of(corpus), folder, writes=writes, fresh=fresh)
        names = tuple(map(str, directions_of(corpus)))
        files = _Files(
            tuple(source for source, _ in plain.training),
            tuple(target for _, target in plain.training),
            tuple(source for source, _ in plain.validation),
            tuple(target for _, target in plain.validation),
            corpus.valid_size,
            seed,
            names if len(set(names)) > 1 else (),
        )
        return files, plain
    if corpus.directions:
        raise ConfigError(
            f'corpus.embedded = "{corpus.embedded}" has one pair of languages; leave out corpus.directions'
        )
    if corpus.source or corpus.target or corpus.pairs:
        other = "source" if corpus.source or corpus.target else "pairs"
        raise ConfigError(
            f'corpus.embedded = "{corpus.embedded}" and corpus.{other} are both given; take one'
        )
    if writes:
        written = write_embedded(corpus.embedded, folder.corpus, seed)
    else:
        written = CorpusFiles.in_folder(folder.corpus, *_EMBEDDED_LANGUAGES[corpus.embedded])
    training, valid, _ = written.parts
    return _Files(training[:1], training[1:], valid[:1], valid[1:], None, seed), None


def _scan(files: _Files) -> _Text:
    """Read every file from end to end."""
    ranks: list[np.ndarray] = []

    def rank(sources: list[str]) -> None:
        with_marks = files.same_source == _SAME_SOURCE
        ranks.append(rank_sources(sources, files.seed, with_marks=with_marks))

    if files.has_validation:
        text = scan_parallel(files.source, files.target)
        held_back = scan_parallel(files.valid_source, files.valid_target)
        return _Text(text, held_back)
    text = scan_parallel(files.source, files.target, watch=rank)
    names = sorted(set(files.directions))
    numbers = np.array([names.index(name) for name in files.directions], dtype=np.uint16)
    groups = np.repeat(numbers, text.pairs_a_part) if names else None
    held = choose_held_out(np.concatenate(ranks), files.valid_size, groups)
    return _Text(text.keep(~held), text.keep(held))


def _recall(folder: RunFolder, files: _Files) -> _Known | None:
    """Return what the run keeps of the very same text, or None if the text has to be read."""
    try:
        known = json.loads((folder.shards / _NAME).read_text(encoding="utf-8"))
        seen = json.loads((folder.shards / SEEN).read_text(encoding="utf-8"))
        if known["version"] != _VERSION or not files.source:
            return None
        sizes = {os.path.abspath(path): path.stat().st_size for path in files.paths}
        before = [entry["fingerprint"]["size"] for entry in seen.values()]
        if sorted(sizes.values()) != sorted(before):
            return None  # another corpus, or a changed one: no need to compute a checksum
        states, prints = remembered_or_read(files.paths, seen)
        if files.identity(prints) != known["identity"]:
            return None
        return _Known(
            parts=tuple(known["parts"]),
            num_validation=known["validation"],
            report=known["report"],
            sample=known["sample"],
            statistics=CorpusStatistics(**known["statistics"]),
            states=states,
            prints=prints,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def kept_identity(folder: RunFolder) -> dict[str, Any]:
    """Return what the pairs of a run follow from, as it was when they were read.

    Raises:
        CorpusError: the run does not tell, as its preparation was not finished or its folder is damaged.
    """
    path = folder.shards / _NAME
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        identity: dict[str, Any] = dict(known["identity"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{path}: cannot be read ({error}); the command that trained the run writes it anew"
        ) from error
    return identity


def _split_before(folder: RunFolder) -> list[Any] | None:
    """Return how a run that has begun split its pairs off, if it did and tells."""
    if not folder.has_checkpoints():
        return None
    try:
        split = kept_identity(folder).get("split")
    except CorpusError:
        return None
    return split if isinstance(split, list) else None


def takes_files_otherwise(folder: RunFolder, identity: Mapping[str, Any]) -> bool:
    """Tell whether a run took its files in other numbers, or others of them for training and validation; False if it does not tell.

    How pairs are split off is no matter of files: settings decide it, and earlier versions did it otherwise.
    """
    try:
        before = kept_identity(folder)
    except CorpusError:
        return False
    return any(before.get(part, now) != now for part, now in identity.items() if part != "split")


def lock_corpus(
    folder: RunFolder,
    files: Sequence[Path],
    prints: Prints,
    origins: Mapping[Path, Origin] | None = None,
) -> None:
    """Write what identifies the files of a run, and what those were unpacked from that had to be."""
    entries: dict[str, Any] = {**_in_order(files, prints)}
    for path, origin in (origins or {}).items():
        name = path.as_posix()
        entries[name] = {**entries[name], "unpacked_from": origin.to_json()}
    write_text(folder.corpus_lock, json.dumps(entries, indent=2) + "\n")


def is_locked_to(folder: RunFolder, files: Sequence[Path], prints: Prints) -> bool:
    """Tell whether a run was made from these files, wherever they lie now: what they hold decides; False if it does not tell."""
    try:
        return changed_since(folder, files, prints) == ()
    except CorpusError:
        return False


def changed_since(
    folder: RunFolder, files: Sequence[Path], prints: Prints
) -> tuple[Path, ...] | None:
    """Return which of these files hold something else than those that a run was made from; None: it had not so many.

    Where ``corpus.lock`` is gone, because somebody took it for what a dead process left, ``shards/corpus.json`` tells the same.

    Raises:
        CorpusError: neither can be read.
    """
    try:
        locked = json.loads(folder.corpus_lock.read_text(encoding="utf-8"))
        before = [entry["sha256"] for entry in locked.values()]
        files = tuple(dict.fromkeys(files))  # it has one entry of a file that is taken twice
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        before = _checksums_kept(folder, error)
    if len(before) != len(files):
        return None
    pairs = zip(files, before, strict=True)
    return tuple(path for path, was in pairs if was != prints[path.as_posix()]["sha256"])


def _checksums_kept(folder: RunFolder, why: Exception) -> list[str]:
    """Return the SHA-256 of each file of a run whose ``corpus.lock`` cannot be read, in the order that they are taken in."""
    try:
        kept = kept_identity(folder)
        parts = ("source", "target", "valid_source", "valid_target")
        return [sha256 for part in parts for sha256 in kept[part]]
    except (CorpusError, KeyError, TypeError):
        raise CorpusError(
            f"{folder.corpus_lock}: cannot be read ({why}), nor can {folder.shards / _NAME}, so that nothing tells whether this is the "
            "text of the run; put either back from a copy, use --fresh to start anew, or another --run-dir"
        ) from why


def _in_order(files: Sequence[Path], prints: Prints) -> dict[str, FileFingerprint]:
    return {path.as_posix(): prints[path.as_posix()] for path in files}
