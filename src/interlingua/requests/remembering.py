"""A folder of corrections as a memory for the search: what was told becomes what the decoder had in mind.

``memory.SOURCE-TARGET.safetensors`` beside the corrections keeps what was computed, with the SHA-256 of the weights that computed it.
It is only a cache: what is missing, of another model, or damaged is computed again from the text.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from interlingua.batching.batch import batch_for
from interlingua.checkpoints.model_folder import find_model_folder
from interlingua.corpus.corrections import (
    Correction,
    FollowedCorrections,
    bare,
    corrections_file,
    every_correction,
)
from interlingua.decoding.batches import in_batches
from interlingua.decoding.neighbours import Example, NeighbourMemory
from interlingua.decoding.protocol import HiddenModel
from interlingua.directions import Direction
from interlingua.errors import ConfigError, CorpusError, InterlinguaError, OutputError
from interlingua.files import replace_file, spelled_out
from interlingua.requests.text_forms import Sources
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.truecasing import TruecasingTokenizer, plain_sources
from interlingua.tokenization.vocabulary import SPACE_MARK

__all__ = [
    "RememberedCorrections",
    "Spelled",
    "default_folder",
    "refuse_uncorrectable",
    "spell",
    "spelling_of",
    "try_to_spell",
]

BATCH_TOKENS = 4096
MOST_REMEMBERED = 20_000
"""Corrections; the latest. Each takes four bytes a number of each vector of its target: at width 512 some 30 KB."""
_STALE = 20
"""The cache is written again when one in so many is new, so that a server need not write all for each suggestion."""

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spelled:
    """A correction in ids, without end symbols."""

    source: Ids
    target: Ids


def default_folder(model: Path) -> Path:
    """Return where the corrections of a model are kept: ``corrections`` in its run, or beside a model folder.

    Raises:
        ModelError: there is no such model.
    """
    folder = spelled_out(find_model_folder(model))
    if folder.name == "model" and (folder.parent / "config.toml").is_file():
        return folder.parent / "corrections"
    return folder.with_name(f"{folder.name}-corrections")


def refuse_uncorrectable(form: Sources) -> None:
    """Refuse a model that would not follow what it is told.

    Raises:
        ConfigError: it answers each word by itself.
    """
    if not form.takes_corrections:
        raise ConfigError(
            "a model that answers each word by itself follows no corrections; train it on what is right"
        )


def spell(correction: Correction, tokenizers: TokenizerPair, longest: int) -> Spelled:
    """Cut a correction into ids that mean its text, as the model writes it: a tokenizer may write "..." for "…".

    Args:
        correction: the text.
        tokenizers: of the model that is corrected.
        longest: ids that it reads or writes at most, the end symbol included.

    Raises:
        CorpusError: a side is empty, too long, or not what the model can read or write.
    """
    sides = []
    for name, text, tokenizer in (
        ("source", bare(correction.source), tokenizers.source),
        ("target", correction.target, tokenizers.target),
    ):
        if not any(each.isprintable() and not each.isspace() for each in text):
            raise CorpusError(f"the {name} of a correction is empty; give text")
        ids = tokenizer.encode(text).ids
        if tokenizer.unknown_id in ids or not ids:
            what = "write" if name == "target" else "read"
            raise CorpusError(
                f"the {name} {_short(text)} cannot be spelled with the model's vocabulary, which would {what} "
                f"{_short(tokenizer.decode(ids))}; say it in other letters"
            )
        if len(ids) >= longest:
            raise CorpusError(
                f"the {name} {_short(text)} has {len(ids):,} tokens, and the model takes {longest - 1:,}; "
                "correct it sentence by sentence"
            )
        sides.append(tuple(ids))
    return Spelled(*sides)


def spelling_of(source: str, tokenizer: Tokenizer) -> Hashable:
    """Return what is equal of two sources that are one for the model: their ids; the text itself where it cannot read it.

    White space around a source is nothing.
    """
    source = bare(source)
    ids = tokenizer.encode(source).ids
    return source if tokenizer.unknown_id in ids or not ids else tuple(ids)


def _letters_of(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the symbols that spell what a vocabulary of whole words does not have; of other vocabularies none is only for that."""
    if tokenizer.kind != "word":
        return frozenset()
    tokens = tokenizer.tokens(list(range(tokenizer.vocabulary_size)))
    return frozenset(
        symbol
        for symbol, token in enumerate(tokens)
        if token == SPACE_MARK or (len(token) == 1 and token.isalnum())
    )


def try_to_spell(correction: Correction, tokenizers: TokenizerPair, longest: int) -> Spelled | str:
    """Return a correction in ids, or why it cannot be used; see :func:`spell`."""
    try:
        return spell(correction, tokenizers, longest)
    except InterlinguaError as error:
        return str(error)


class RememberedCorrections:
    """The corrections of a folder that are of a model's languages, kept as a memory that follows the file.

    Args:
        folder: the corrections.
        tokenizers: of the model; one that truecases its sources is told of those that were corrected, and leaves them their capitals,
            else a correction in capitals and one in small letters would be of one text.
        direction: from which language into which it translates.
        model_sha256: of its weights.
        longest: ids that it reads or writes at most, the end symbol included.

    Nothing is read before :meth:`check_languages` or :meth:`refresh`, so that what cannot be read now may be read later.
    """

    def __init__(
        self,
        folder: Path,
        tokenizers: TokenizerPair,
        direction: Direction,
        *,
        model_sha256: str,
        longest: int,
    ) -> None:
        self.folder, self.tokenizers, self.direction = Path(folder), tokenizers, direction
        self.model_sha256, self.longest = model_sha256, longest
        self.memory = NeighbourMemory(letters=_letters_of(tokenizers.target))
        self._file = FollowedCorrections(self.folder)
        self._spelled: dict[Correction, Spelled | str] = {}
        """Of each source the correction that counts, and those after it that cannot be used, with the reason; the oldest first."""
        self._forgotten = 0
        self._unspelled: tuple[str, ...] = ()
        self._texts: dict[Ids, tuple[Ids, str]] = {}
        """Of each source that was corrected: its target in ids, and as it was told."""
        self._unread: dict[Ids, Spelled] = {}
        """By its source each correction that the model has still to read, the latest last."""
        self._uncached = 0
        """How many came or went since the cache was written."""
        self._seen: tuple[int, ...] | None = None
        self._refreshing = Lock()
        self._cache = self.folder / f"memory.{direction.source}-{direction.target}.safetensors"

    @property
    def unused(self) -> tuple[str, ...]:
        """Why some corrections are not used, one reason each."""
        return (*self._file.damaged, *self._unspelled)

    def check_languages(self, directions: Sequence[Direction] = ()) -> None:
        """Refuse a folder whose corrections are all of other languages than the model's.

        Args:
            directions: of a model of several pairs all of them; corrections of the others have no say here, and are none of another model.

        Raises:
            CorpusError: it is one, there is no such folder, it holds something else, or its file cannot be read.
        """
        every, _ = every_correction(self.folder)
        if every and not any(each.direction in (self.direction, *directions) for each in every):
            raise CorpusError(
                f"{self.folder}: its corrections are from {every[0].source_lang} to {every[0].target_lang}, and the "
                f"model translates from {self.direction.source} to {self.direction.target}; give the corrections of this model"
            )

    def told(self, source: Sequence[int], target: Sequence[int] | None = None) -> str | None:
        """Return the translation that was told for a source, letter by letter; None if there is none, or if it is not ``target``."""
        found = self._texts.get(tuple(source))
        return found[1] if found and target in (None, found[0]) else None

    def refresh(
        self, model: Callable[[], Any], device: torch.device, at_most: int | None = None
    ) -> None:
        """Take in what was corrected or removed since the last time; nothing, if the file has not changed and all of it was read.

        Args:
            model: gives the model; called only if something has to be computed.
            device: where it computes.
            at_most: ids of corrections that the model reads now, the latest first, and one correction at the least; the next calls go on.
                What waits is :meth:`told` and can be :meth:`recalled <recall>` already. None: the model reads all.

        Raises:
            ConfigError: the model does not show what it predicts from.
            CorpusError: there is no such folder, it holds something else, or its file cannot be read or is gone.
            ModelError: the model cannot be had any more.

        What was known stays then. If it is for the model, nothing is tried again before the file changes: to find a model gone
        takes longer than to translate.
        """
        with self._refreshing:
            seen, is_first = self._look(), self._seen is None
            file = copy(self._file)
            told, is_all = ([], False) if seen == self._seen else file.read()
            own = self._own(told)
            try:
                if own or is_all:
                    found, self._unspelled = self._spell(own, anew=is_all)
                    self._take_in(found, model, device, at_most, is_first=is_first)
                elif self._unread:
                    computed = self._read(self._unread, model, device, at_most)
                    self._remember([*self.memory.examples, *computed])
            except InterlinguaError:
                self._seen, self._unread = seen, {}
                raise
            self._file, self._seen = file, seen

    def recall(
        self, sources: Iterable[Sequence[int]], model: Callable[[], Any], device: torch.device
    ) -> None:
        """Have the model read what was told of these very sources, where a refresh has left it for later.

        Args:
            sources: in ids.
            model: gives the model; called only if something has to be computed.
            device: where it computes.
        """
        if not self._unread:
            return
        with self._refreshing:
            asked = {tuple(source) for source in sources} & self._unread.keys()
            own = {source: self._unread.pop(source) for source in asked}
            if own:
                self._remember([*self.memory.examples, *self._read(own, model, device)])

    def _take_in(
        self,
        found: dict[Spelled, str],
        model: Callable[[], Any],
        device: torch.device,
        at_most: int | None,
        *,
        is_first: bool,
    ) -> None:
        """Remember these corrections and no others; the model reads what it has not read before."""
        known = {(each.source, each.target): each for each in self.memory.examples}
        if is_first:
            known = self._read_cache()
        wanted = {each.source: each for each in found}
        end_id = self.tokenizers.target.end_id
        names = {source: (source, (*each.target, end_id)) for source, each in wanted.items()}
        unread = {source: each for source, each in wanted.items() if names[source] not in known}
        computed = self._read(unread, model, device, at_most)
        known |= {(each.source, each.target): each for each in computed}
        examples = [known[name] for name in names.values() if name in known]
        self._uncached += len(known) - len(examples)
        self._unread = unread
        self._texts = {each.source: (each.target, text) for each, text in found.items()}
        if isinstance(self.tokenizers.source, TruecasingTokenizer):
            self.tokenizers.source.read_as_written = self._texts
            self.tokenizers.source.read_as = {
                source.upper(): source
                for each, made in self._spelled.items()
                if isinstance(made, Spelled) and not (source := bare(each.source)).isupper()
            }
        self._remember(examples)

    def _remember(self, examples: Sequence[Example]) -> None:
        """Remember these and no others, and write the cache if it has become stale and nothing is left to read."""
        self.memory = self.memory.changed_to(examples)
        if self._unread or self._uncached * _STALE < max(1, len(examples)):
            return
        self._uncached = 0
        with suppress(OutputError, OSError):  # it can be computed again
            self._write_cache(examples)

    def _read(
        self,
        unread: dict[Ids, Spelled],
        model: Callable[[], Any],
        device: torch.device,
        at_most: int | None = None,
    ) -> list[Example]:
        """Have the model read the latest, of so many ids at most, and take them out of what is unread."""
        latest = list(reversed(unread.values()))
        if at_most is not None:
            sizes = accumulate(len(each.source) + len(each.target) for each in latest)
            fitting = [each for each, size in zip(latest, sizes, strict=True) if size <= at_most]
            latest = fitting or latest[:1]
        if not latest:
            return []
        try:
            computed = self._compute(latest, model(), device)
        except InterlinguaError as error:
            self._unspelled += (str(error),) * len(unread)
            raise
        for each in latest:
            del unread[each.source]
        self._uncached += len(computed)
        return computed

    def _look(self) -> tuple[int, ...]:
        """Return what changes when the file is written."""
        path = corrections_file(self.folder)
        try:
            found = path.stat()
        except OSError as error:
            if self._seen:  # who deleted it may be about to begin anew, and is not to lose what was known before that
                raise CorpusError(f"{path}: is gone ({error.strerror or error})") from error
            return ()
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def _own(self, corrections: Sequence[Correction]) -> list[Correction]:
        return [each for each in corrections if each.direction == self.direction]

    def _spell(
        self, corrections: Sequence[Correction], *, anew: bool
    ) -> tuple[dict[Spelled, str], tuple[str, ...]]:
        """Return of each source the latest correction that can be used, the oldest first, with its text; and why others are not.

        What cannot be used is a suggestion of anybody, which must neither stop a server nor hide an earlier one. What was spelled
        before is not spelled again.

        Args:
            corrections: all that there are, or what came since the last call.
            anew: whether it is all.
        """
        if anew:
            self._forgotten = 0
        else:
            corrections = [*self._spelled, *corrections]
        tokenizers = plain_sources(self.tokenizers)
        spelled: dict[Correction, Spelled | str] = {}
        used: set[str] = set()
        for place, each in enumerate(reversed(corrections)):
            if len(used) == MOST_REMEMBERED:
                older = {every.source for every in corrections[: len(corrections) - place]}
                self._forgotten += len(older - used)
                break
            if each.source not in used:
                made = self._spelled.get(each) or try_to_spell(each, tokenizers, self.longest)
                spelled[each] = made
                if isinstance(made, Spelled):
                    used.add(each.source)
        self._spelled = dict(reversed(spelled.items()))
        found: dict[Spelled, str] = {}
        for each, made in self._spelled.items():
            if isinstance(made, Spelled):
                found.pop(made, None)  # another spelling of the same ids, told later, comes later
                found[made] = each.target
        unused = [made for made in self._spelled.values() if isinstance(made, str)]
        unused += [f"only the latest {MOST_REMEMBERED:,} are remembered"] * self._forgotten
        return found, tuple(unused)

    def _compute(
        self, spelled: Sequence[Spelled], model: Any, device: torch.device
    ) -> list[Example]:
        """Read each target once by teacher forcing."""
        if not isinstance(model, HiddenModel):
            raise ConfigError(
                f"a {type(model).__name__} does not show what it predicts from, so that it cannot remember corrections; "
                "leave --corrections out"
            )
        end_id = self.tokenizers.target.end_id
        lengths = {
            n: max(map(len, (each.source, each.target))) + 1 for n, each in enumerate(spelled)
        }
        examples = []
        with torch.inference_mode():
            for places in in_batches(lengths, BATCH_TOKENS):
                batch = batch_for(
                    self.tokenizers,
                    [spelled[n].source for n in places],
                    [spelled[n].target for n in places],
                    places,
                ).to(device)
                hidden = model.decode_hidden(batch.target_in, model.encode(batch.source))
                for n, vectors in zip(places, hidden.float().cpu(), strict=True):
                    source, target = spelled[n].source, (*spelled[n].target, end_id)
                    examples.append(Example(source, target, vectors[: len(target)].clone()))
        return examples

    def _write_cache(self, examples: Sequence[Example]) -> None:
        if not examples:
            self._cache.unlink(missing_ok=True)
            return
        tensors = {
            "keys": torch.cat([each.keys for each in examples]).contiguous(),
            "sources": torch.tensor([i for each in examples for i in each.source]),
            "targets": torch.tensor([i for each in examples for i in each.target]),
            "lengths": torch.tensor([(len(each.source), len(each.target)) for each in examples]),
        }
        with replace_file(self._cache) as file:
            file.write(save(tensors, metadata={"model_sha256": self.model_sha256}))

    def _read_cache(self) -> dict[tuple[Ids, Ids], Example]:
        """Return what was computed before by this very model, by its ids; nothing, if there is none that can be read."""
        try:
            with safe_open(self._cache, framework="pt") as file:
                if (file.metadata() or {}).get("model_sha256") != self.model_sha256:
                    return {}
                keys, sources, targets, lengths = map(
                    file.get_tensor, ("keys", "sources", "targets", "lengths")
                )
            if keys.dtype != torch.float32 or not torch.isfinite(keys).all():
                return {}
            of_sources, of_targets = lengths.T.tolist()
            rows = zip(
                sources.split(of_sources),
                targets.split(of_targets),
                keys.split(of_targets),
                strict=True,
            )
            found = [Example(tuple(s.tolist()), tuple(t.tolist()), k.clone()) for s, t, k in rows]
        except (SafetensorError, OSError, ValueError, RuntimeError, AttributeError):
            return {}
        return {(each.source, each.target): each for each in found}


def _short(text: str) -> str:
    """Quote a text for a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
