"""Text to text: the one class that the command line, evaluation, training's validation and a server share."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import nn

from interlingua.batching.batch import pad_sources
from interlingua.batching.truncation import truncate
from interlingua.checkpoints.adapter_folder import load_with_adapter
from interlingua.checkpoints.model_folder import BuildModel, load_model_folder
from interlingua.config import DecodingConfig
from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.greedy import greedy_search
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.protocol import SequenceModel
from interlingua.errors import ConfigError
from interlingua.hardware import choose_device
from interlingua.tokenization.pair import TokenizerPair

__all__ = ["Translation", "Translator"]

WINDOW = 2_000
"""Lines that a stream is sorted within: enough for batches of one length, little to hold in memory."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What one text became."""

    text: str
    score: float
    """Sum of the log-probabilities divided by the length penalty; 0 for an empty source."""
    tokens: tuple[str, ...]
    """The pieces of ``text``, without the end symbol."""
    log_probabilities: tuple[float, ...]
    """One a token, and one more for the end symbol where the model wrote it."""
    stopped: str
    """``end``: the model ended it; ``max_length``: there was no more room."""
    flags: tuple[str, ...] = ()
    """``empty``: nothing to translate; ``truncated-source``; ``max-length``: cut off, not ended; ``empty-output``."""
    alternatives: tuple["Translation", ...] = ()
    """The next best, best first, when more than one was asked for."""


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
    ) -> None:
        self.device = choose_device(device)
        self.model = model.to(self.device) if isinstance(model, nn.Module) else model
        self.tokenizers = tokenizers
        self.source_lang = source_lang
        self.target_lang = target_lang
        self.decoding = decoding
        self.max_source_length = max_source_length

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        device: str = "auto",
        threads: int | None = None,
        build_model: BuildModel | None = None,
        adapter: Path | str | None = None,
    ) -> "Translator":
        """Open a model folder, or the newest model of a run folder.

        Args:
            path: the folder.
            device: see :class:`Translator`.
            threads: CPU threads for the whole process (None: leave them as they are).
            build_model: what makes the model, when it is not the plain ``Transformer``.
            adapter: an adapter folder, or a run that trained one on this very model, to be put into its weights.

        Raises:
            ModelError: the folder is missing, damaged, or of another version.
            TokenizerError: its tokenizer cannot be read.
            ConfigError: there is no such device, or a number of threads that no machine has.
        """
        if threads is not None:
            if not 1 <= threads <= 1024:
                raise ConfigError(f"threads must be at least 1 and at most 1024, not {threads}")
            torch.set_num_threads(threads)
        if adapter is None:
            loaded = load_model_folder(Path(path), build_model=build_model)
        else:
            loaded = load_with_adapter(Path(path), Path(adapter), build_model)
        return cls(
            loaded.model,
            loaded.tokenizers,
            source_lang=loaded.source_lang,
            target_lang=loaded.target_lang,
            decoding=loaded.decoding,
            device=device,
            max_source_length=loaded.max_length,
        )

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        batch_tokens: int | None = None,
    ) -> list[Translation]:
        """Translate each text on its own, in the order given; None takes what ``decoding`` says.

        A text without anything to translate gives an empty translation. A text of several lines is one text.

        Raises:
            TypeError: ``texts`` is one text, or holds something that is none.
            ConfigError: a value out of range, or more translations asked for than beams.
            ModelError: the model gives not-a-number.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("translate takes a list of texts: translator.translate([text])")
        decoding = self._choose(beam_size, length_penalty, n_best, batch_tokens)
        return self._translate(texts, decoding, n_best)

    def translate_lines(
        self,
        lines: Iterable[str],
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        batch_tokens: int | None = None,
    ) -> Iterator[Translation]:
        """Translate a stream of any length in constant memory, one translation a line, in the same order.

        Raises:
            ConfigError: at once, before a line is read; see :meth:`translate`.
            ModelError: the model gives not-a-number.
        """
        decoding = self._choose(beam_size, length_penalty, n_best, batch_tokens)

        def windows() -> Iterator[Translation]:
            remaining = iter(lines)
            while window := list(islice(remaining, WINDOW)):
                yield from self._translate(window, decoding, n_best)

        return windows()

    def _choose(
        self,
        beam_size: int | None,
        length_penalty: float | None,
        n_best: int,
        batch_tokens: int | None,
    ) -> DecodingConfig:
        asked = {
            "beam_size": beam_size,
            "length_penalty": length_penalty,
            "batch_tokens": batch_tokens,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        try:
            decoding = DecodingConfig.model_validate(self.decoding.model_dump() | given)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise ConfigError(f"{name} is {first['input']!r}: {first['msg']}") from error
        if n_best < 1:
            raise ConfigError(f"n_best is {n_best}; ask for at least one translation of each text")
        if n_best > decoding.beam_size:
            raise ConfigError(
                f"n_best is {n_best}, but a beam of {decoding.beam_size} finds no more than "
                f"{decoding.beam_size}; ask for a beam_size of at least {n_best}"
            )
        return decoding

    def _translate(
        self, texts: Sequence[str], decoding: DecodingConfig, n_best: int
    ) -> list[Translation]:
        done: list[Translation] = [_EMPTY] * len(texts)
        sources, truncated = self._read(texts)
        for batch in _batches(
            {place: len(ids) + 1 for place, ids in sources.items()},
            decoding.batch_tokens // decoding.beam_size,
        ):
            found = self._search([sources[place] for place in batch], decoding, n_best)
            for place, hypotheses in zip(batch, found, strict=True):
                flags = ("truncated-source",) if place in truncated else ()
                best, *others = [self._write(hypothesis, flags) for hypothesis in hypotheses]
                done[place] = replace(best, alternatives=tuple(others))
        return done

    def _read(self, texts: Sequence[str]) -> tuple[dict[int, Sequence[int]], set[int]]:
        """Return the source ids by place, without the texts that have none, and the places cut."""
        places = [place for place, text in enumerate(texts) if text and not text.isspace()]
        encoded = self.tokenizers.source.encode_batch([texts[place] for place in places])
        fitting = truncate(encoded, self.max_source_length)
        sources = {place: ids for place, ids in zip(places, fitting.ids, strict=True) if ids}
        return sources, {places[position] for position in fitting.cut}

    def _search(
        self, sources: list[Sequence[int]], decoding: DecodingConfig, n_best: int
    ) -> list[list[Hypothesis]]:
        source, target = self.tokenizers.source, self.tokenizers.target
        padded = pad_sources(sources, pad=source.pad_id, end=source.end_id).to(self.device)
        max_lengths = [
            int(
                min(
                    decoding.max_length_factor * (len(ids) + 1) + decoding.max_length_offset,
                    self.max_source_length,
                )
            )
            for ids in sources
        ]
        with torch.inference_mode(), _evaluating(self.model):
            if decoding.beam_size == 1:
                found = greedy_search(
                    self.model,
                    padded,
                    pad_id=target.pad_id,
                    begin_id=target.begin_id,
                    end_id=target.end_id,
                    max_lengths=max_lengths,
                    alpha=decoding.length_penalty,
                )
                return [[hypothesis] for hypothesis in found]
            return beam_search(
                self.model,
                padded,
                pad_id=target.pad_id,
                begin_id=target.begin_id,
                end_id=target.end_id,
                max_lengths=max_lengths,
                beam_size=decoding.beam_size,
                alpha=decoding.length_penalty,
                n_best=n_best,
            )

    def _write(self, hypothesis: Hypothesis, flags: tuple[str, ...]) -> Translation:
        target = self.tokenizers.target
        text = target.decode(list(hypothesis.ids))
        marks = {"max-length": hypothesis.stopped == "max_length", "empty-output": not text}
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=tuple(target.tokens(list(hypothesis.ids))),
            log_probabilities=hypothesis.log_probabilities,
            stopped=hypothesis.stopped,
            flags=(*flags, *(mark for mark, holds in marks.items() if holds)),
        )


_EMPTY = Translation("", 0.0, (), (), "end", ("empty",))


def _batches(lengths: dict[int, int], budget: int) -> Iterator[list[int]]:
    """Cut places into batches of like length, longest first; one place alone may exceed ``budget``.

    ``budget`` counts padded tokens: places times the greatest length among them. Longest first, so that a machine
    with too little memory says so at the start.
    """
    ordered = sorted(lengths, key=lambda place: -lengths[place])
    start = 0
    while start < len(ordered):
        size = max(1, budget // lengths[ordered[start]])
        yield ordered[start : start + size]
        start += size


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
