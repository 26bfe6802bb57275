"""Text to text: the one class that the command line, evaluation, training's validation and a server share."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Unpack

import torch
from torch import nn

from interlingua.batching.batch import pad_sources
from interlingua.batching.truncation import truncate
from interlingua.checkpoints.adapter_folder import load_with_adapter, weights_sha256
from interlingua.checkpoints.model_folder import (
    BuildModel,
    find_model_folder,
    load_model_folder,
    read_directions,
)
from interlingua.config import DecodingConfig
from interlingua.decoding.batches import in_batches, side_by_side
from interlingua.decoding.compiled_search import compiled_beam_search, is_plain
from interlingua.decoding.constraints import Constraint, TargetForm
from interlingua.decoding.ensemble import Ensemble
from interlingua.decoding.fixed_shapes import FixedShapes, uniform_batches
from interlingua.decoding.forced import ForcedPhrases
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.neighbours import RememberingModel
from interlingua.decoding.options import Wishes
from interlingua.decoding.protocol import HiddenModel, SequenceModel
from interlingua.decoding.search import search
from interlingua.decoding.stream import stream_search
from interlingua.decoding.words import BannedPhrases, Lexicon
from interlingua.directions import Direction
from interlingua.errors import ConfigError, ModelError
from interlingua.hardware import choose_device, release_freed_memory
from interlingua.kernels.search import CompiledSearch, can_search, precisions
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.labeller import Labeller
from interlingua.model.language_model import LanguageModel
from interlingua.model.transformer import Transformer
from interlingua.requests.bayes_risk import rank_by_consensus
from interlingua.requests.confidence import CALIBRATION, Calibration, features_of
from interlingua.requests.faults import is_copy, is_uncovered, repeats_itself
from interlingua.requests.holding import hold
from interlingua.requests.remembering import RememberedCorrections
from interlingua.requests.request import Request, TranslateOptions, read_request
from interlingua.requests.scoring import PairScore, attention_between, score_texts
from interlingua.requests.sentences import split_sentences
from interlingua.requests.translation import EMPTY, Translation, join_parts
from interlingua.tokenization.gaps import encode_with_gaps
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tagged import tag_sources

__all__ = ["Precision", "Translation", "Translator"]

Precision = Literal["auto", "float32", "bfloat16", "int8"]

WINDOW = 2_000
"""Lines that a stream is sorted within: enough for batches of one length, little to hold in memory."""


class Translator:
    """A model with its tokenizers and its way of searching.

    Args:
        model: an encoder-decoder; moved to ``device``.
        tokenizers: of the source and of the target.
        source_lang: language code, for whoever asks.
        target_lang: language code.
        decoding: how to search, unless a call says otherwise.
        device: where to compute: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        max_source_length: longer sources are cut to this many tokens, the end symbol included; no target gets
            longer either, as the model has never seen one that was.
        compiled: the same model, packed for search; None searches with ``model`` itself.
        calibration: what turns a translation into a confidence, if the model has one.

    A translator may be used by many threads at once.
    """

    def __init__(
        self,
        model: SequenceModel[Any],
        tokenizers: TokenizerPair,
        *,
        source_lang: str,
        target_lang: str,
        decoding: DecodingConfig,
        device: str | torch.device = "auto",
        max_source_length: int,
        compiled: CompiledSearch | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self.device = choose_device(device)
        self.compiled = compiled
        self._model = model.to(self.device) if isinstance(model, nn.Module) else model
        self._read_again: Callable[[], EncoderDecoder] | None = None
        self._reading = Lock()
        self.continues = isinstance(model, LanguageModel)
        """A language model writes on where a text stops, so that a translation is what follows it, space and all."""
        self.answers = model.architecture.answers if isinstance(model, Labeller) else None
        """What an encoder alone answers with."""
        self.guesses = self.answers == "tokens" and tokenizers.shared
        """One that learnt hidden words guesses each word of a source that is only "_"."""
        self.tokenizers = tokenizers
        self.source_lang = source_lang
        self.target_lang = target_lang
        self.decoding = decoding
        self.max_source_length = max_source_length
        self.calibration = calibration
        self.corrections: RememberedCorrections | None = None
        self.directions: tuple[Direction, ...] = ()
        """The pairs that a model of several pairs of languages was trained on. ``source_lang`` to ``target_lang`` may be none of
        them, and is then zero-shot."""
        self._root: Translator | None = None  # whose model this one shares, see towards

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        device: str = "auto",
        dtype: Precision = "auto",
        threads: int | None = None,
        build_model: BuildModel | None = None,
        plain: bool = False,
        adapter: Path | str | None = None,
        corrections: Path | str | None = None,
        to: str | None = None,
    ) -> "Translator":
        """Open a model folder, or the newest model of a run folder.

        Args:
            path: the folder.
            device: see :class:`Translator`.
            dtype: of the matrix products. ``auto`` is float32; ``bfloat16`` and ``int8`` are faster on a CPU, and not
                the same numbers: see docs/guides/command-line.md.
            threads: CPU threads for the whole process (None: leave them as they are).
            build_model: what makes the model, when it is none of this package's own models.
            plain: search with the readable reference, without compiled kernels.
            adapter: an adapter folder, or a run that trained one on this very model, to be put into its weights.
            corrections: a folder of corrections, which are followed from now on: see docs/guides/corrections.md.
            to: of a model of several pairs of languages, the one to translate into, ``ro``, or both languages, ``en-ro``:
                see docs/guides/many-languages.md.

        Raises:
            ModelError: the folder is missing, damaged, or of another version.
            CorpusError: there is no such folder of corrections, it is damaged, or of other languages.
            TokenizerError: its tokenizer cannot be read.
            ConfigError: there is no such device, a number of threads that no machine has, a ``dtype`` that cannot
                be had here, languages that the model does not know, or none told where there are several.
        """
        if threads is not None:
            if not 1 <= threads <= 1024:
                raise ConfigError(f"threads must be at least 1 and at most 1024, not {threads}")
            torch.set_num_threads(threads)
        if adapter is None:
            loaded = load_model_folder(Path(path), build_model=build_model)
        else:
            loaded = load_with_adapter(Path(path), Path(adapter), build_model)
        loaded = loaded.chosen(Path(path), to)
        calibration = find_model_folder(Path(path)) / CALIBRATION
        translator = cls(
            loaded.model,
            loaded.tokenizers,
            source_lang=loaded.source_lang,
            target_lang=loaded.target_lang,
            decoding=loaded.decoding,
            device=device,
            max_source_length=loaded.max_length,
            compiled=_compile(loaded.model, choose_device(device), dtype, plain=plain),
            calibration=Calibration.read(calibration) if calibration.is_file() else None,
        )
        translator.directions = loaded.directions
        del loaded  # or the model would live as long as this call
        if corrections is not None:
            sha256 = weights_sha256(Path(path), Path(adapter) if adapter is not None else None)
            translator.remember(Path(corrections), sha256).check_languages()
            translator.refresh_corrections()
        if translator.compiled is not None and adapter is None:
            translator._let_go(Path(path), build_model)
        return translator

    def towards(self, direction: Direction) -> "Translator":
        """Return a translator for one pair of languages of a model of several, which shares every weight with this one.

        It follows no corrections; those are of one pair.

        Raises:
            TokenizerError: the model is of one pair only.
        """
        other = copy(self)
        other.tokenizers = tag_sources(self.tokenizers, direction.tag)
        other.source_lang, other.target_lang = direction.source, direction.target
        other.corrections = None
        other._root = self._root or self
        return other

    @property
    def direction(self) -> Direction | None:
        """Of a model of several pairs of languages, which one this is; else None."""
        return Direction(self.source_lang, self.target_lang) if self.directions else None

    @property
    def is_zero_shot(self) -> bool:
        """Whether a model of several pairs of languages never met these two in training."""
        return self.direction not in (None, *self.directions)

    @classmethod
    def load_every(
        cls,
        path: Path | str,
        *,
        device: str = "auto",
        dtype: Precision = "auto",
        threads: int | None = None,
        build_model: BuildModel | None = None,
    ) -> "list[Translator]":
        """Open a model for each pair of languages that it was trained on; they share every weight.

        Raises:
            ModelError: see :meth:`load`; also ``TokenizerError``, ``ConfigError``.
        """
        directions = read_directions(Path(path))
        one = cls.load(
            path,
            device=device,
            dtype=dtype,
            threads=threads,
            build_model=build_model,
            to=str(directions[0]) if directions else None,
        )
        return [one.towards(each) for each in one.directions] or [one]

    def remember(self, folder: Path, model_sha256: str) -> RememberedCorrections:
        """Follow a folder of corrections, as far as they are of these languages, from the next refresh on.

        Args:
            folder: the corrections.
            model_sha256: of the weights, see ``weights_sha256``.

        Raises:
            CorpusError: there is no such folder, or it holds something else.
        """
        self.corrections = RememberedCorrections(
            folder,
            self.tokenizers,
            (self.source_lang, self.target_lang),
            model_sha256=model_sha256,
            longest=self.max_source_length,
        )
        return self.corrections

    def refresh_corrections(self) -> None:
        """Take in what was corrected since the model was opened, or since the last call.

        Raises:
            CorpusError: the file of corrections is damaged; those that were known stay.
        """
        if self.corrections is not None:
            self.corrections.refresh(lambda: self.model, self.device)

    @property
    def model(self) -> SequenceModel[Any]:
        """The model itself; one that was packed is read from its folder when more than a plain search is asked for.

        Raises:
            ModelError: the folder is gone, or holds another model by now.
        """
        root = self._root or self
        with root._reading:
            if root._read_again is not None:
                root._model, root._read_again = root._read_again(), None
            return root._model

    def _let_go(self, folder: Path, build_model: BuildModel | None) -> None:
        """Keep only what is packed: a second copy of the weights is most of what a translator would take."""
        compiled = self.compiled
        assert compiled is not None
        del self._model

        def read_again() -> EncoderDecoder:
            # Whoever asks next may want gradients, even if a search asks first.
            with torch.inference_mode(False):
                model = load_model_folder(folder, build_model=build_model).model
            if not isinstance(model, Transformer) or not compiled.is_of(model):
                raise ModelError(
                    f"{folder}: holds another model than when it was opened; open it again"
                )
            return model

        self._read_again = read_again
        release_freed_memory()

    @classmethod
    def load_ensemble(
        cls,
        paths: Sequence[Path | str],
        *,
        device: str = "auto",
        threads: int | None = None,
        to: str | None = None,
    ) -> "Translator":
        """Open several models with the same vocabularies as one: the mean of their probabilities.

        Languages and the way of searching are those of the first.

        Raises:
            ConfigError: no model, or vocabularies that differ; see also :meth:`load`.
        """
        if not paths:
            raise ConfigError("no model is given; name a run folder or a model folder")
        members = [
            cls.load(
                path,
                device=device,
                threads=threads,
                to=to,
            )
            for path in paths
        ]
        first = members[0]
        for path, member in zip(paths, members, strict=True):
            if member._vocabularies() != first._vocabularies():
                raise ConfigError(
                    f"{path}: its vocabulary is not that of {paths[0]}; only models that were trained with the same "
                    "tokenizer can write together"
                )
        if len(members) == 1:
            return first
        together = cls(
            Ensemble([member.model for member in members if isinstance(member.model, nn.Module)]),
            first.tokenizers,
            source_lang=first.source_lang,
            target_lang=first.target_lang,
            decoding=first.decoding,
            device=device,
            max_source_length=min(member.max_source_length for member in members),
        )
        together.directions = first.directions
        return together

    def with_model(self, model: SequenceModel[Any]) -> "Translator":
        """Return a translator that differs in the model alone, which has the same vocabularies and sizes."""
        other = Translator(
            model,
            self.tokenizers,
            source_lang=self.source_lang,
            target_lang=self.target_lang,
            decoding=self.decoding,
            device=self.device,
            max_source_length=self.max_source_length,
            calibration=self.calibration,
        )
        other.directions = self.directions
        return other

    def _vocabularies(self) -> list[list[str]]:
        pair = (self.tokenizers.source, self.tokenizers.target)
        return [each.all_tokens() for each in pair]

    def translate(
        self, texts: Sequence[str], **options: Unpack[TranslateOptions]
    ) -> list[Translation]:
        """Translate each text on its own, in the order given; see :class:`TranslateOptions` for what can be asked.

        A text without anything to translate gives an empty translation. A text of several lines is one text.

        Raises:
            TypeError: ``texts`` is one text, or holds something that is none; an option that does not exist.
            ConfigError: a value out of range, or values that do not go together.
            ModelError: the model gives not-a-number.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("translate takes a list of texts: translator.translate([text])")
        return self._translate(texts, read_request(self.decoding, options))

    def translate_iter(
        self, texts: Iterable[str], **options: Unpack[TranslateOptions]
    ) -> Iterator[Translation]:
        """Translate a stream of any length, endless too, in constant memory and in the same order.

        Raises:
            ConfigError: at once, before a text is read; see :meth:`translate`.
            ModelError: the model gives not-a-number.
        """
        request = read_request(self.decoding, options)

        def windows() -> Iterator[Translation]:
            remaining, first = iter(texts), 0
            while window := list(islice(remaining, WINDOW)):
                yield from self._translate(window, request, first)
                first += len(window)

        return windows()

    async def translate_async(
        self, texts: Sequence[str], **options: Unpack[TranslateOptions]
    ) -> list[Translation]:
        """Do what :meth:`translate` does in a thread of its own, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.translate, texts, **options)

    def stream(self, text: str, **options: Unpack[TranslateOptions]) -> Iterator[str]:
        """Yield the translation of one text piece by piece, as soon as no later step can change it any more.

        The pieces joined are the translation. Greedy search gives a token at a time; a beam what all its hypotheses
        begin with.

        Raises:
            ConfigError: at once: a value out of range, or an option that only a finished translation can have.
        """
        request = read_request(self.decoding, options)
        plain = read_request(self.decoding, {})
        whole = ("force", "glossary", "lock", "mbr", "check", "split", "confidence", "n_best")
        for name in whole:
            if getattr(request, name) != getattr(plain, name):
                raise ConfigError(f"a streamed translation cannot have {name}; leave it out")
        if request.search.coverage_penalty:
            raise ConfigError("a streamed translation cannot have coverage_penalty; leave it out")
        return self._grow(text, request)

    def _grow(self, text: str, request: Request) -> Iterator[str]:
        sources, _ = self._read([text])
        if not sources:
            return
        source, target = self.tokenizers.source, self.tokenizers.target
        padded = pad_sources([sources[0]], pad=source.pad_id, end=source.end_id).to(self.device)
        shown = ""
        steps = stream_search(
            self._remembering() if self._recalls(sources[0]) else self.model,
            padded,
            self.wish(sources[0], 0, request),
            request.search,
            symbols=(target.pad_id, target.begin_id, target.end_id),
            constraints=[*self._forms(sources.values()), *self.rules(request)],
        )
        for ids in steps:
            grown = self._text_of(ids, sources[0]).rstrip(
                "\ufffd"
            )  # half a character waits for the rest
            if grown.startswith(shown) and len(grown) > len(shown):
                yield grown[len(shown) :]
                shown = grown

    def score(
        self, pairs: Sequence[tuple[str, str]], *, batch_tokens: int = 4096
    ) -> list[PairScore]:
        """Return what the model thinks of each given (source, target), by teacher forcing.

        Raises:
            ModelError: the model gives not-a-number.
        """
        with torch.inference_mode(), _evaluating(self.model):
            return score_texts(
                self.model,
                self.tokenizers,
                pairs,
                longest=self.max_source_length,
                batch_tokens=batch_tokens,
                device=self.device,
            )

    def _translate(
        self, texts: Sequence[str], request: Request, first: int = 0
    ) -> list[Translation]:
        """Translate the texts, whose places are counted from ``first``."""
        if request.confidence and self.calibration is None:
            raise ConfigError(
                "the model has no calibration, so that it cannot tell a confidence; make one from pairs that it was "
                "not trained on: interlingua calibrate MODEL --source valid.ro --reference valid.en"
            )
        if request.split:
            return self._by_sentence(texts, request, first)
        done = hold(
            texts, request, first, attempt=self._attempt, within=lambda p: self.lexicon.within(p)
        )
        if request.confidence and self.calibration is not None:
            lengths = map(len, self.tokenizers.source.encode_batch(list(texts)))
            for place, length in enumerate(lengths):
                sure = self.calibration.confidence(features_of(done[place], length))
                done[place] = replace(done[place], confidence=sure)
        if request.check:
            done = self._check(texts, done)
        return [replace(t, alternatives=t.alternatives[: request.n_best - 1]) for t in done]

    def _by_sentence(self, texts: Sequence[str], request: Request, first: int) -> list[Translation]:
        """Translate each sentence on its own, and put the white space back."""
        cut = [split_sentences(text, self.source_lang) for text in texts]
        every = [sentence.text for sentences in cut for sentence in sentences]
        found = iter(self._translate(every, replace(request, split=False), first))
        joined = []
        for sentences in cut:
            parts = [(sentence, next(found)) for sentence in sentences]
            text = "".join(f"{s.before}{part.text}{s.after}" for s, part in parts)
            filled = [part for sentence, part in parts if sentence.text]
            sure = [part.confidence for part in filled if part.confidence is not None]
            whole = join_parts(text, filled) if filled else replace(EMPTY, text=text)
            joined.append(replace(whole, confidence=min(sure, default=None)))
        return joined

    def _check(self, texts: Sequence[str], done: list[Translation]) -> list[Translation]:
        """Flag loops, copies, and sources that were hardly looked at."""
        checked = []
        for text, found in zip(texts, done, strict=True):
            marks = {"loop": repeats_itself(found.text.split()), "copy": is_copy(text, found.text)}
            if text.strip() and found.text:
                with _evaluating(self.model):
                    attention = attention_between(
                        self.model,
                        self.tokenizers,
                        text,
                        found.text,
                        longest=self.max_source_length,
                        device=self.device,
                    )
                marks["uncovered-source"] = is_uncovered(attention)
            flags = (*found.flags, *(mark for mark, holds in marks.items() if holds))
            checked.append(replace(found, flags=flags))
        return checked

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the target's vocabulary."""
        return Lexicon(self.tokenizers.target)

    def _attempt(
        self,
        texts: Sequence[str],
        request: Request,
        first: int = 0,
        forced: Sequence[Sequence[tuple[int, ...]]] | None = None,
    ) -> list[Translation]:
        """Translate the texts once; ``forced`` are the phrases that each translation must hold."""
        done: list[Translation] = [EMPTY] * len(texts)
        sources, truncated = self._read(texts)
        wishes = {place: self.wish(ids, first + place, request) for place, ids in sources.items()}
        workers = torch.get_num_threads() if self.compiled is not None else 1
        lengths = {place: len(ids) + 1 for place, ids in sources.items()}
        budget = request.decoding.batch_tokens // request.search.beam_size
        reminded = {place: n for place, n in lengths.items() if self._recalls(sources[place])}
        unreminded = {place: n for place, n in lengths.items() if place not in reminded}
        batches = [
            batch
            for some in (unreminded, reminded)
            for batch in (
                uniform_batches(some)
                if request.batch_invariant
                else in_batches(some, budget, workers)
            )
        ]

        def search_batch(batch: list[int]) -> list[list[Hypothesis]]:
            return self._search(
                [sources[place] for place in batch],
                [wishes[place] for place in batch],
                request,
                [forced[place] for place in batch] if forced else None,
            )

        for batch, found in zip(batches, side_by_side(search_batch, batches, workers), strict=True):
            for place, hypotheses in zip(batch, found, strict=True):
                flags = ("truncated-source",) if place in truncated else ()
                if place in reminded:
                    exact = self._is_corrected(sources[place])
                    flags = (*flags, "corrected" if exact else "like-a-correction")
                ranked = [self._write(each, flags, sources[place]) for each in hypotheses]
                if request.mbr and not self._is_corrected(sources[place]):
                    order = rank_by_consensus([each.text for each in ranked])
                    ranked = [ranked[number] for number in order]
                best, *others = ranked
                done[place] = replace(best, alternatives=tuple(others))
        return done

    def _read(self, texts: Sequence[str]) -> tuple[dict[int, Sequence[int]], set[int]]:
        """Return the source ids by place, without the texts that have none, and the places cut."""
        if self.continues:
            prompts = self.tokenizers.source.encode_batch(list(texts))
            room = self.max_source_length - 1
            cut = {place for place, ids in enumerate(prompts) if len(ids) > room}
            return {place: tuple(ids[-room:]) for place, ids in enumerate(prompts)}, cut
        places = [place for place, text in enumerate(texts) if text and not text.isspace()]
        if self.guesses:
            encoded = [encode_with_gaps(self.tokenizers.source, texts[place]) for place in places]
        else:
            encoded = self.tokenizers.source.encode_batch([texts[place] for place in places])
        fitting = truncate(encoded, self.max_source_length)
        sources = {place: ids for place, ids in zip(places, fitting.ids, strict=True) if ids}
        return sources, {places[position] for position in fitting.cut}

    def wish(self, source: Sequence[int], place: int, request: Request) -> Wishes:
        """Say in ids what one sentence asks for."""
        prefix: tuple[int, ...] = ()
        if request.prefix:
            prefix = tuple(self.tokenizers.target.encode(request.prefix).ids)
        if len(prefix) >= self.max_source_length:
            raise ConfigError(
                f"the prefix has {len(prefix):,} tokens and leaves no room: the model writes "
                f"{self.max_source_length:,} at most"
            )
        decoding = request.decoding
        room = decoding.max_length_factor * (len(source) + 1) + decoding.max_length_offset
        if self.corrections is not None:
            room = max(room, self.corrections.memory.room_for(tuple(source)))
        wanted = request.search.max_length or max(room, request.search.min_length + 1)
        return Wishes(
            max_length=int(max(min(wanted, self.max_source_length), len(prefix) + 1)),
            source_length=len(source) + 1,
            prefix=prefix,
            key=_key(request.search.seed, source, place) if request.search.sample else 0,
        )

    def _search(
        self,
        sources: list[Sequence[int]],
        wishes: list[Wishes],
        request: Request,
        forced: Sequence[Sequence[tuple[int, ...]]] | None,
    ) -> list[list[Hypothesis]]:
        source, target = self.tokenizers.source, self.tokenizers.target
        recalls = any(map(self._recalls, sources))
        free = not (forced or request.ban or request.batch_invariant or recalls)
        if free and self.compiled is not None and is_plain(request.search, wishes):
            return compiled_beam_search(
                self.compiled,
                [[*ids, source.end_id] for ids in sources],
                symbols=(target.pad_id, target.begin_id, target.end_id),
                max_lengths=[wish.max_length for wish in wishes],
                options=request.search,
            )
        padded = pad_sources(sources, pad=source.pad_id, end=source.end_id).to(self.device)
        model, options = self.model, request.search
        if recalls:  # what is remembered says itself what of the source is to be said
            model, options = self._remembering(), replace(options, coverage_penalty=0.0)
        if request.batch_invariant:
            model = FixedShapes(model, source.pad_id)
        phrases = None
        if forced:
            lengths = [wish.max_length for wish in wishes]
            phrases = ForcedPhrases(forced, lengths, self.lexicon.continues, target.end_id)
        with torch.inference_mode(), _evaluating(self.model):
            return search(
                model,
                padded,
                wishes,
                options,
                symbols=(target.pad_id, target.begin_id, target.end_id),
                constraints=[*self._forms(sources), *self.rules(request)],
                forced=phrases,
            )

    def _recalls(self, source: Sequence[int]) -> bool:
        """Tell whether a source is like one that was corrected."""
        return bool(self.corrections and self.corrections.memory.related(tuple(source)))

    def _is_corrected(self, source: Sequence[int]) -> bool:
        return bool(self.corrections and self.corrections.memory.has(tuple(source)))

    def _remembering(self) -> SequenceModel[Any]:
        """Return the model with its memory of corrections."""
        assert self.corrections is not None
        model = self.model
        assert isinstance(model, HiddenModel)  # or nothing would be remembered
        return RememberingModel(
            model, self.corrections.memory, source_pad=self.tokenizers.source.pad_id
        )

    def _forms(self, sources: Iterable[Sequence[int]]) -> list[Constraint]:
        """Ask an encoder alone for as many answers as it gives; what it does not guess is the source itself."""
        if self.answers is None:
            return []
        unknown = self.tokenizers.source.unknown_id
        forms: list[tuple[int | None, ...]] = [
            tuple(id if self.guesses and id != unknown else None for id in ids)
            if self.answers == "tokens"
            else (None,)
            for ids in sources
        ]
        return [TargetForm(forms, self.tokenizers.target.end_id)]

    def rules(self, request: Request) -> list[Constraint]:
        """Return what a request forbids to be written."""
        return [BannedPhrases(request.ban, self.lexicon)] if request.ban else []

    def _text_of(self, ids: Sequence[int], source: Sequence[int]) -> str:
        """Turn what was written into text: behind its prompt, if it goes on with it."""
        target = self.tokenizers.target
        if not self.continues:
            return target.decode(list(ids))
        before, whole = target.decode(list(source)), target.decode([*source, *ids])
        return whole.removeprefix(before)

    def _write(
        self, hypothesis: Hypothesis, flags: tuple[str, ...], source: Sequence[int]
    ) -> Translation:
        target = self.tokenizers.target
        text = self._text_of(hypothesis.ids, source)
        marks = {
            "max-length": hypothesis.stopped == "max_length",
            "repetition": hypothesis.stopped == "repetition",
            "empty-output": not text,
        }
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=tuple(target.tokens(list(hypothesis.ids))),
            log_probabilities=hypothesis.log_probabilities,
            stopped=hypothesis.stopped,
            flags=(*flags, *(mark for mark, holds in marks.items() if holds)),
        )


def _key(seed: int, source: Sequence[int], place: int) -> int:
    """Make one number of what a sample may depend on."""
    told = repr((seed, tuple(source), place)).encode()
    return int.from_bytes(hashlib.sha256(told).digest()[:8], "big")


def _compile(
    model: nn.Module, device: torch.device, dtype: Precision, *, plain: bool
) -> CompiledSearch | None:
    """Pack a model as ``dtype`` asks; None where only the model itself can be searched.

    Raises:
        ConfigError: it cannot be had.
    """
    wanted = "float32" if dtype == "auto" else dtype
    possible = not plain and device.type == "cpu" and can_search(model)
    if possible and isinstance(model, Transformer) and wanted in precisions():
        return CompiledSearch(model, wanted)
    if wanted == "float32":
        return None
    if not possible:
        raise ConfigError(
            f"dtype {wanted} is for a model of the usual parts on a CPU, not searched plainly; leave it out"
        )
    here = ", ".join(precisions()) or "none: there is no C++ compiler (c++ or g++)"
    raise ConfigError(f"this machine has no kernels for {wanted} (it has {here}); leave dtype out")


@contextmanager
def _evaluating(model: object) -> Iterator[None]:
    """Switch dropout off, and back on for a model that is in training."""
    if isinstance(model, nn.Module) and model.training:
        model.eval()
        try:
            yield
        finally:
            model.train()
    else:
        yield
