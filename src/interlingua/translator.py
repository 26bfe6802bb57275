"""Text to text: the one class that the command line, evaluation, training's validation and a server share."""

import asyncio
from collections.abc import Generator, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import islice
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import nn

from interlingua.batching.batch import pad_sources
from interlingua.checkpoints.adapter_folder import load_with_adapter, weights_sha256
from interlingua.checkpoints.model_folder import (
    BuildModel,
    find_model_folder,
    load_model_folder,
    read_directions,
)
from interlingua.config import DecodingConfig
from interlingua.corpus.corrections import bare, read_corrections
from interlingua.corpus.placeholders import are_placeholders_alone
from interlingua.decoding.batches import WORTH_A_THREAD, in_batches, side_by_side
from interlingua.decoding.compiled_search import compiled_beam_search, is_plain
from interlingua.decoding.constraints import Constraint
from interlingua.decoding.cross_attention import looks_at_source
from interlingua.decoding.ensemble import Ensemble
from interlingua.decoding.fixed_shapes import FixedShapes, uniform_batches
from interlingua.decoding.forced import ForcedPhrases
from interlingua.decoding.held_model import HeldModel, Precision, evaluating, pack
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.neighbours import RememberingModel
from interlingua.decoding.options import Wishes
from interlingua.decoding.protocol import HiddenModel, SequenceModel
from interlingua.decoding.search import search
from interlingua.decoding.stream import stream_search
from interlingua.decoding.words import BannedPhrases, Lexicon
from interlingua.directions import Direction, in_words
from interlingua.errors import ConfigError, TokenizerError
from interlingua.hardware import choose_device
from interlingua.kernels.search import CompiledSearch
from interlingua.requests.bayes_risk import rank_by_consensus
from interlingua.requests.confidence import CALIBRATION, Calibration, searches_as_usual
from interlingua.requests.faults import flag_faults
from interlingua.requests.holding import Spelling, flag_banned, hold
from interlingua.requests.remembering import RememberedCorrections, refuse_uncorrectable
from interlingua.requests.request import Place, Request, TranslateOptions, read_request
from interlingua.requests.scoring import PairScore, attention_between, score_texts
from interlingua.requests.sentences import by_sentence
from interlingua.requests.text_forms import Prompts, Questions, Sources, text_form_of
from interlingua.requests.translation import (
    EMPTY,
    Translation,
    translation_of,
    without_repeats,
)
from interlingua.requests.wishes import refuse_what_cannot_be_written, wishes_of
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tagged import tag_sources
from interlingua.tokenization.tokenizer import refuse_surrogates
from interlingua.tokenization.truecasing import plain_sources, truecase_sources

__all__ = ["Translator"]

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
        self._held = HeldModel(model, self.device, compiled)
        self._form = text_form_of(model, tokenizers, max_source_length, source_lang)
        self.source_lang = source_lang
        self.target_lang = target_lang
        self.decoding = decoding
        self.calibration = calibration
        self.corrections: RememberedCorrections | None = None
        self.directions: tuple[Direction, ...] = ()
        """The pairs that a model of several pairs of languages was trained on. ``source_lang`` to ``target_lang`` may be none of
        them, and is then zero-shot."""

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
                the same numbers; whatever is more than a plain search is computed in float32 all the same, and flagged
                so: see docs/guides/command-line.md.
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
                be had here, languages that the model does not know, or none told where there are several; corrections
                of a model that follows none.
        """
        _refuse_other_arguments(path, threads, to)
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
        is_calibrated = (
            adapter is None and calibration.is_file()
        )  # with an adapter it is another model
        translator = cls(
            loaded.model,
            loaded.tokenizers,
            source_lang=loaded.source_lang,
            target_lang=loaded.target_lang,
            decoding=loaded.decoding,
            device=device,
            max_source_length=loaded.max_length,
            compiled=pack(loaded.model, choose_device(device), dtype, plain=plain),
            calibration=Calibration.read(calibration) if is_calibrated else None,
        )
        translator.directions = loaded.directions
        del loaded  # or the model would live as long as this call
        if corrections is not None:
            sha256 = weights_sha256(Path(path), Path(adapter) if adapter is not None else None)
            read_corrections(Path(corrections))  # names a damaged line, which a server passes over
            remembered = translator.remember(Path(corrections), sha256)
            remembered.check_languages(translator.directions)
            translator.refresh_corrections()
        if translator.compiled is not None and adapter is None:
            translator._held.let_go(
                lambda: load_model_folder(Path(path), build_model=build_model).model, path
            )
        return translator

    def towards(self, direction: Direction) -> "Translator":
        """Return a translator for one pair of languages of a model of several, which shares every weight with this one.

        It follows no corrections; those are of one pair.

        Raises:
            TokenizerError: the model is of one pair only.
        """
        other = copy(self)
        tagged = tag_sources(plain_sources(self.tokenizers), direction.tag)
        other._form = replace(self._form, tokenizers=truecase_sources(tagged, direction.source))
        other.source_lang, other.target_lang = direction.source, direction.target
        other.corrections = None
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
            ConfigError: the model answers each word by itself, and follows none.
        """
        refuse_uncorrectable(self._form)
        self.corrections = RememberedCorrections(
            folder,
            self.tokenizers,
            Direction(self.source_lang, self.target_lang),
            model_sha256=model_sha256,
            longest=self.max_source_length,
        )
        return self.corrections

    def refresh_corrections(self, at_most: int | None = None) -> None:
        """Take in what was corrected since the model was opened, or since the last call.

        Args:
            at_most: tokens of new corrections that the model reads now, the latest first; the next calls go on. A repeat is right all the
                same, and text that is like a correction follows it once that was read. None: it reads all.

        Raises:
            CorpusError: the corrections cannot be read; those that were known stay. A damaged line is passed over.
        """
        if self.corrections is not None:
            self.corrections.refresh(lambda: self.model, self.device, at_most)

    def _have_at_hand(self, sources: Iterable[Sequence[int]]) -> None:
        """Have at hand what was told of these very sources."""
        if self.corrections is not None:
            self.corrections.recall(sources, lambda: self.model, self.device)

    @property
    def model(self) -> SequenceModel[Any]:
        """The model itself; one that was packed is read from its folder when more than a plain search is asked for.

        Raises:
            ModelError: the folder is gone, or holds another model by now.
        """
        return self._held.model

    @property
    def compiled(self) -> CompiledSearch | None:
        """The same model packed for plain searches, where that can be."""
        return self._held.compiled

    @property
    def continues(self) -> bool:
        """Whether it writes on where a text stops, so that a translation is what follows, space and all."""
        return isinstance(self._form, Prompts)

    @property
    def takes_corrections(self) -> bool:
        """Whether it can be corrected: not if it answers each word by itself."""
        return self._form.takes_corrections

    @property
    def takes_sentences(self) -> bool:
        """Whether a longer text is translated sentence by sentence; a prompt, a question or a text to summarise is one whole."""
        return type(self._form) is Sources and self.source_lang != self.target_lang

    @classmethod
    def load_ensemble(
        cls,
        paths: Sequence[Path | str],
        *,
        device: str = "auto",
        threads: int | None = None,
        to: str | None = None,
    ) -> "Translator":
        """Open several models with the same vocabularies and languages as one: the mean of their probabilities.

        The way of searching is that of the first.

        Raises:
            ConfigError: no model, or vocabularies, languages or kinds that differ; see also :meth:`load`.
        """
        if isinstance(paths, str | Path):
            raise TypeError(
                f"load_ensemble takes a list of folders: load_ensemble([{str(paths)!r}])"
            )
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
            if set(member.known) != set(first.known):
                raise ConfigError(
                    f"{path}: translates {in_words(member.known)}, and {paths[0]} {in_words(first.known)}; only models of the "
                    "same languages can write together"
                )
            form = replace(
                member._form, tokenizers=first.tokenizers, longest=first.max_source_length
            )
            if form != first._form:
                raise ConfigError(
                    f"{path}: is another kind of model than {paths[0]}, which makes something else of a text; only models of one kind "
                    "can write together"
                )
        if len(members) == 1:
            return first
        together = first.with_model(
            Ensemble([member.model for member in members if isinstance(member.model, nn.Module)])
        )
        shortest = min(member.max_source_length for member in members)
        together._form = replace(first._form, longest=shortest)
        together.calibration = None  # it was fitted to one of them
        return together

    def with_model(self, model: SequenceModel[Any]) -> "Translator":
        """Return a translator that differs in the model alone, which has the same vocabularies and sizes. It follows no corrections."""
        other = copy(self)
        other._held = HeldModel(model, self.device, None)
        other.corrections = None
        return other

    @property
    def tokenizers(self) -> TokenizerPair:
        """Of the source and of the target; that of the source may truecase, and put a language's tag before."""
        return self._form.tokenizers

    @property
    def max_source_length(self) -> int:
        """Tokens that a source or a target has at most, the end symbol included."""
        return self._form.longest

    @property
    def known(self) -> tuple[Direction, ...]:
        """The pairs of languages that the model was trained on, one or several, in its own order."""
        return self.directions or (Direction(self.source_lang, self.target_lang),)

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
            TokenizerError: a text holds half a surrogate pair, which is no character.
            ConfigError: a value out of range, or values that do not go together.
            ModelError: the model gives not-a-number.
        """
        if isinstance(texts, str) or not isinstance(texts, Sequence):
            raise TypeError(
                "translate takes a list of texts: translator.translate([text]); translate_iter takes any iterable"
            )
        _refuse_other_than_text(texts, 0)
        return self._translate(texts, self._read(options), range(len(texts)))

    def translate_iter(
        self, texts: Iterable[str], **options: Unpack[TranslateOptions]
    ) -> Iterator[Translation]:
        """Translate a stream of any length, endless too, in constant memory and in the same order.

        It reads :data:`WINDOW` texts before it gives the first translation.

        Raises:
            TypeError: at once where ``texts`` is one text; later where it gives something that is none.
            ConfigError: at once, before a text is read; see :meth:`translate`.
            ModelError: the model gives not-a-number.
        """
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise TypeError(
                f"translate_iter takes texts, such as translator.translate_iter([text]), not {texts!r}"
            )
        request = self._read(options)

        def windows() -> Iterator[Translation]:
            remaining, first = iter(texts), 0
            while window := list(islice(remaining, WINDOW)):
                _refuse_other_than_text(window, first)
                yield from self._translate(window, request, range(first, first + len(window)))
                first += len(window)

        return windows()

    def _read(self, options: TranslateOptions) -> Request:
        """Check what is asked for, as far as that can be done before a text is read."""
        request = read_request(self.decoding, options)
        if request.force:
            refuse_what_cannot_be_written(
                request,
                self.lexicon.within,
                self.max_source_length,
                self.tokenizers.target.unknown_id,
            )
        return request

    async def translate_async(
        self, texts: Sequence[str], **options: Unpack[TranslateOptions]
    ) -> list[Translation]:
        """Do what :meth:`translate` does in a thread of its own, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.translate, texts, **options)

    def stream(
        self, text: str, *, place: int = 0, **options: Unpack[TranslateOptions]
    ) -> Generator[str, None, Translation]:
        """Yield the translation of one text piece by piece, as soon as no later step can change it any more.

        The pieces joined are the text of the translation, which the generator returns (``yield from``). Greedy search
        gives a token at a time; a beam what all its hypotheses begin with. A sample is that of the text at ``place`` of a
        call to :meth:`translate`, up to rounding: with ``batch_invariant`` to the last bit.

        Raises:
            TypeError: ``text`` is none.
            ConfigError: at once: a value out of range, or an option that only a finished translation can have.
        """
        if not isinstance(text, str):
            raise TypeError(f"stream takes one text, not {text!r}")
        request = read_request(self.decoding, options)
        plain = read_request(self.decoding, {})
        whole = ("force", "glossary", "lock", "mbr", "check", "split", "confidence", "n_best")
        for name in whole:
            if getattr(request, name) != getattr(plain, name):
                raise ConfigError(f"a streamed translation cannot have {name}; leave it out")
        if request.search.coverage_penalty:
            raise ConfigError("a streamed translation cannot have coverage_penalty; leave it out")
        return self._grow(text, request, place)

    def _grow(self, text: str, request: Request, place: int) -> Generator[str, None, Translation]:
        sources, truncated = self._sources_of([text])
        if not sources:
            return EMPTY
        self._have_at_hand([sources[0]])
        source, target = self.tokenizers.source, self.tokenizers.target
        padded = pad_sources([sources[0]], pad=source.pad_id, end=source.end_id).to(self.device)
        shown, is_told = "", self._is_corrected(sources[0])
        model = self._remembering() if self._recalls(sources[0]) else self.model
        if request.batch_invariant:
            model = FixedShapes(model, source.pad_id, self.max_source_length)
        wish = self.wish(sources[0], place, request)
        steps = stream_search(
            model,
            padded,
            wish,
            request.search,
            symbols=target.symbols,
            constraints=[*self._form.constraints(sources.values()), *self.rules(request, [wish])],
        )
        while True:
            try:
                ids = next(steps)
            except StopIteration as end:
                flags = self._marks(sources[0], bool(truncated), self._is_rounded)
                found = self._write(end.value, flags, sources[0])
                found = flag_banned(found, request, self._spelling)
                if found.text.startswith(shown) and len(found.text) > len(shown):
                    yield found.text[len(shown) :]
                return found
            grown = self._form.write(ids, sources[0]).rstrip(
                "\ufffd"
            )  # half a character waits for the rest
            if is_told:
                continue  # its letters may be others than the tokenizer writes
            if grown.startswith(shown) and len(grown) > len(shown):
                yield grown[len(shown) :]
                shown = grown

    def score(
        self, pairs: Iterable[tuple[str, str]], *, batch_tokens: int = 4096
    ) -> list[PairScore]:
        """Return what the model thinks of each given (source, target), by teacher forcing.

        Raises:
            TypeError: something that is no pair of texts.
            ConfigError: ``batch_tokens`` out of range, or a model that answers each token or word by itself.
            ModelError: the model gives not-a-number.
        """
        read_request(self.decoding, {"batch_tokens": batch_tokens})
        if isinstance(self._form, Questions) and self._form.answers == "tokens":
            raise ConfigError(
                "a model that answers each word by itself scores no pairs of texts; its answers have their log-probabilities (--json)"
            )
        if isinstance(pairs, str) or not isinstance(pairs, Iterable):
            raise TypeError(f"score takes pairs of texts: score([(source, target)]), not {pairs!r}")
        pairs = list(pairs)
        for place, pair in enumerate(pairs):
            if not (isinstance(pair, tuple | list) and [type(side) for side in pair] == [str, str]):
                raise TypeError(f"score takes pairs of texts, and number {place} is {pair!r}")
        with torch.inference_mode(), evaluating(self.model):
            return score_texts(
                self.model,
                self._form,
                pairs,
                batch_tokens=batch_tokens,
                device=self.device,
            )

    def _translate(
        self, texts: Sequence[str], request: Request, places: Sequence[Place]
    ) -> list[Translation]:
        """Translate the texts, which stand at ``places``."""
        if request.confidence and self.calibration is None:
            raise ConfigError(
                "the model has no calibration, so that it cannot tell a confidence; make one from pairs that it was "
                "not trained on: interlingua calibrate MODEL --source valid.ro --reference valid.en (with an adapter none counts)"
            )
        if request.split:
            plain = replace(request, split=False)
            joined = by_sentence(
                texts,
                places,
                self.source_lang,
                lambda sentences, inside: self._translate(sentences, plain, inside),
            )
            return [
                replace(each, confidence=1.0)
                if request.confidence and "empty" in each.flags
                else each
                for each in joined
            ]
        done = hold(
            texts,
            request,
            places,
            attempt=self._attempt,
            spelling=self._spelling,
            left_alone=lambda text: request.lock and self._is_left_alone(text),
        )
        if request.confidence and self.calibration is not None:
            done = self._with_confidence(self.calibration, texts, done, request)
        if request.check:
            done = [self._check(text, each) for text, each in zip(texts, done, strict=True)]
        others = request.n_best - 1
        return [
            replace(each, alternatives=each.alternatives[:others])
            if len(each.alternatives) > others
            else each
            for each in done
        ]

    def _is_left_alone(self, text: str) -> bool:
        """Tell whether a text has nothing to translate where placeholders are locked, and nobody corrected it."""
        if type(self._form) is not Sources or not are_placeholders_alone(text):
            return False
        sources, _ = self._sources_of([text])
        return not any(map(self._is_corrected, sources.values()))

    def _with_confidence(
        self,
        calibration: Calibration,
        texts: Sequence[str],
        done: Sequence[Translation],
        request: Request,
    ) -> list[Translation]:
        """Say how sure one may be of each."""
        is_usual = searches_as_usual(request, self.decoding)
        lengths = map(len, self.tokenizers.source.encode_batch(list(texts)))
        return [
            calibration.judge(found, length, is_usual)
            for found, length in zip(done, lengths, strict=True)
        ]

    def _check(self, text: str, found: Translation) -> Translation:
        """Flag a loop, a copy, or a source that was hardly looked at, which a model may not do at all."""
        if "unchanged" in found.flags:
            return found
        attention = None
        if text.strip() and found.text and looks_at_source(self.model):
            with evaluating(self.model):
                attention = attention_between(
                    self.model,
                    self.tokenizers,
                    text,
                    found.text,
                    longest=self.max_source_length,
                    device=self.device,
                )
        return flag_faults(text, found, attention)

    @property
    def _spelling(self) -> Spelling:
        """How a phrase is written; the lexicon, which takes a while, is made when one is."""
        target = self.tokenizers.target
        return Spelling(
            lambda phrase: self.lexicon.within(phrase), target.normalise, target.unknown_id
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the target's vocabulary."""
        return Lexicon(self.tokenizers.target)

    def _attempt(
        self,
        texts: Sequence[str],
        request: Request,
        where: Sequence[Place],
        forced: Sequence[Sequence[tuple[int, ...]]] | None = None,
    ) -> list[Translation]:
        """Translate the texts once, which stand at ``where``; ``forced`` are the phrases that each translation must hold."""
        done: list[Translation] = [EMPTY] * len(texts)
        sources, truncated = self._sources_of(texts)
        self._have_at_hand(sources.values())
        wishes = {
            place: self.wish(
                ids, where[place], request, sum(map(len, forced[place])) if forced else 0
            )
            for place, ids in sources.items()
        }
        workers, least = 1, 1
        if self.compiled is not None:
            workers = torch.get_num_threads()
            least = 1 + WORTH_A_THREAD // (self.compiled.weights * request.search.beam_size)
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
                else in_batches(some, budget, workers, least=least)
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
            is_exact = self._is_rounded and not self._is_plain(
                [sources[place] for place in batch],
                [wishes[place] for place in batch],
                request,
                is_forced=bool(forced),
            )
            for place, hypotheses in zip(batch, found, strict=True):
                flags = self._marks(sources[place], place in truncated, is_exact)
                ranked = [self._write(each, flags, sources[place]) for each in hypotheses]
                if request.mbr and not self._is_corrected(sources[place]):
                    order = rank_by_consensus([each.text for each in ranked])
                    ranked = [ranked[number] for number in order]
                best, *others = ranked if request.search.sample else without_repeats(ranked)
                done[place] = replace(best, alternatives=tuple(others)) if others else best
        return done

    def wish(
        self, source: Sequence[int], place: Place, request: Request, demanded: int = 0
    ) -> Wishes:
        """Say in ids what one sentence asks for, whose target has to hold ``demanded`` symbols of phrases."""
        corrected = self.corrections.memory.room_for(tuple(source)) if self.corrections else 0
        return wishes_of(
            request,
            source,
            place,
            tokenizer=self.tokenizers.target,
            longest=self.max_source_length,
            least_room=max(2 * demanded, corrected),
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
        if self.compiled is not None and self._is_plain(
            sources, wishes, request, is_forced=bool(forced)
        ):
            return compiled_beam_search(
                self.compiled,
                [[*ids, source.end_id] for ids in sources],
                symbols=target.symbols,
                max_lengths=[wish.max_length for wish in wishes],
                options=request.search,
            )
        padded = pad_sources(sources, pad=source.pad_id, end=source.end_id).to(self.device)
        model, options = self.model, request.search
        if recalls:  # what is remembered says itself what of the source is to be said
            model, options = self._remembering(), replace(options, coverage_penalty=0.0)
        if request.batch_invariant:
            model = FixedShapes(model, source.pad_id, self.max_source_length)
        phrases = None
        if forced:
            lengths = [wish.max_length for wish in wishes]
            lexicon = self.lexicon
            phrases = ForcedPhrases(
                forced, lengths, lexicon.continues, lexicon.is_cut, target.end_id
            )
        with torch.inference_mode(), evaluating(self.model):
            return search(
                model,
                padded,
                wishes,
                options,
                symbols=target.symbols,
                constraints=[*self._form.constraints(sources), *self.rules(request, wishes)],
                forced=phrases,
            )

    def _is_plain(
        self,
        sources: Sequence[Sequence[int]],
        wishes: Sequence[Wishes],
        request: Request,
        *,
        is_forced: bool,
    ) -> bool:
        """Tell whether a packed model can do all that is asked for."""
        recalls = any(map(self._recalls, sources))
        free = not (is_forced or request.ban or request.batch_invariant or recalls)
        return free and is_plain(request.search, wishes)

    @property
    def _is_rounded(self) -> bool:
        """Whether plain searches are computed in less than float32."""
        return self.compiled is not None and self.compiled.precision != "float32"

    def _marks(
        self, source: Sequence[int], is_truncated: bool, is_exact: bool = False
    ) -> tuple[str, ...]:
        """Return the flags that a translation has for its source, and for being computed in float32 where less was wished."""
        flags: tuple[str, ...] = ("truncated-source",) if is_truncated else ()
        flags += ("float32",) if is_exact else ()
        if not self._recalls(source):
            return flags
        return (*flags, "corrected" if self._is_corrected(source) else "like-a-correction")

    def _recalls(self, source: Sequence[int]) -> bool:
        """Tell whether a source is like one that was corrected."""
        return bool(self.corrections and self.corrections.memory.related(tuple(source)))

    def corrected(self, text: str) -> str | None:
        """Return what was told to be the translation of a text that is the same to the model, but for white space around it, None if nothing was; see :meth:`remember`."""
        sources, cut = self._form.read([bare(text)])
        return self._told(sources[0]) if sources and not cut else None

    def _sources_of(self, texts: Sequence[str]) -> tuple[dict[int, Sequence[int]], set[int]]:
        """Cut texts into ids as their form does; white space around one that was corrected is nothing."""
        if self.corrections is not None:
            texts = [
                core if (core := bare(text)) != text and self.corrected(core) is not None else text
                for text in texts
            ]
        return self._form.read(texts)

    def _told(self, source: Sequence[int], target: Sequence[int] | None = None) -> str | None:
        """Return the correction of a source as it was told, if it has one (which is ``target``)."""
        if self.corrections is None:
            return None
        return self.corrections.told(source, None if target is None else tuple(target))

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

    def hold_model(self) -> None:
        """Keep the model itself in memory from now on, beside what is packed of it.

        Raises:
            ModelError: its folder is gone, or holds another model by now.
        """
        _ = self.model

    def rules(self, request: Request, wishes: Sequence[Wishes]) -> list[Constraint]:
        """Return what a request forbids to be written."""
        if not request.ban:
            return []
        return [BannedPhrases(request.ban, self.lexicon, [wish.max_length for wish in wishes])]

    def _write(
        self, hypothesis: Hypothesis, flags: tuple[str, ...], source: Sequence[int]
    ) -> Translation:
        text = self._told(source, hypothesis.ids) or self._form.write(hypothesis.ids, source)
        tokens = self.tokenizers.target.tokens(list(hypothesis.ids))
        return translation_of(hypothesis, text, tokens, flags)


def _refuse_other_arguments(path: object, threads: object, to: object) -> None:
    if not isinstance(path, str | PathLike):
        raise TypeError(f"a model is opened by the name of its folder, not {path!r}")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, Integral)):
        raise TypeError(f"threads takes a whole number, not {threads!r}")
    if to is not None and not isinstance(to, str):
        raise TypeError(f"to takes the code of a language, or two as en-ro, not {to!r}")


def _refuse_other_than_text(texts: Sequence[object], first: int) -> None:
    for place, text in enumerate(texts, start=first):
        if not isinstance(text, str):
            raise TypeError(f"only text can be translated, and number {place} is {text!r}")
        try:
            refuse_surrogates(text)
        except TokenizerError as error:
            raise TokenizerError(f"number {place} of the texts: {error}") from None
