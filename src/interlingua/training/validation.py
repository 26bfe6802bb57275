"""What is measured at each validation: the loss of all pairs, and real translations of some."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from interlingua.batching.batch import Batch
from interlingua.corpus.pairs import SentencePair
from interlingua.decoding.held_model import evaluating
from interlingua.directions import Direction
from interlingua.evaluation.metrics import choose_tokenizer, corpus_bleu, corpus_chrf
from interlingua.hardware import autocast, is_lack_of_memory
from interlingua.model.attention_maps import record_attention
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.data import TrainingData
from interlingua.training.directions_of_run import pairs_by_direction
from interlingua.training.lack_of_memory import halves
from interlingua.training.objective import batch_loss
from interlingua.translator import Translator

__all__ = ["Validation", "Validator", "read_validation", "spread_by_direction", "spread_pairs"]

NUM_SAMPLES = 5
FEWEST_SENTENCES = 50
"""Of each pair of languages, if a model has several, so many are decoded at the least."""


@dataclass(frozen=True, slots=True)
class Validation:
    """One validation."""

    loss: float
    """Cross-entropy a target token, in nats, without label smoothing."""
    bleu: float
    chrf: float
    exact: float
    """Share of the decoded sentences that equal their reference, 0 to 100."""
    sentences: int
    """How many were decoded."""
    directions: dict[str, float] = field(default_factory=dict)
    """BLEU of each pair of languages, if the model has several; ``bleu`` and ``chrf`` are then means, in which every pair
    counts alike."""
    too_short_for_bleu: bool = False
    """Whether no reference has four words: the best translations have BLEU 0 then, and only useless ones, too long, have more."""

    def record(self) -> dict[str, Any]:
        """Return its figures for ``metrics.jsonl``."""
        figures = asdict(self)
        directions, too_short = figures.pop("directions"), figures.pop("too_short_for_bleu")
        # A replay compares losses to the last bit.
        found: dict[str, Any] = {
            name: value if name == "loss" else round(value, 4) for name, value in figures.items()
        }
        if directions:
            found["directions"] = {name: round(value, 4) for name, value in directions.items()}
        if too_short:
            found["too_short_for_bleu"] = True
        return found

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Validation":
        """Read the figures that :meth:`record` returned, whatever stands beside them.

        Raises:
            TypeError: some are missing.
        """
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in record.items() if name in known})

    def in_words(self) -> str:
        """Tell BLEU, where it says something, that of each pair of languages if there are several, and chrF."""
        named = ", ".join(f"{name} {value:.2f}" for name, value in self.directions.items())
        bleu = f"BLEU {self.bleu:.2f}{f' ({named})' if named else ''}, "
        return f"{'' if self.too_short_for_bleu else bleu}chrF {self.chrf:.2f}"


@dataclass(frozen=True, slots=True)
class _Share:
    """The sentences of one pair of languages, and what translates them."""

    name: str
    translator: Translator
    pairs: list[SentencePair]
    tokenize: str


def read_validation(metrics: Path, step: int) -> Validation | None:
    """Return what the records of a run tell of its validation at ``step``, if they do."""
    if not metrics.exists():
        return None
    for line in metrics.read_text(encoding="utf-8").split("\n"):
        record = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
        if record.get("kind") == "validation" and record["step"] == step:
            return Validation.of_record(record)
    return None


class Validator:
    """Measures a model on the same held-back pairs every time."""

    def __init__(
        self,
        data: TrainingData,
        translator: Translator,
        *,
        num_sentences: int,
        dtype: torch.dtype,
        interrupted: Callable[[], bool],
        plain: bool = False,
    ) -> None:
        self.data = data
        self.translator = translator
        self.shares = _shares(data, translator, num_sentences)
        self.pairs = [pair for share in self.shares for pair in share.pairs]
        self.dtype = dtype
        self.interrupted = interrupted
        self.plain = plain

    @cached_property
    def references(self) -> list[list[str]]:
        """The targets of each share as the tokenizer would give them back."""
        target = self.translator.tokenizers.target
        return [[target.normalise(pair.target) for pair in share.pairs] for share in self.shares]

    @cached_property
    def too_short_for_bleu(self) -> bool:
        """Whether no reference has four words, so that even itself has BLEU 0."""
        both = zip(self.shares, self.references, strict=True)
        return not any(corpus_bleu(told, [told], tokenize=share.tokenize) for share, told in both)

    def measure(self, model: EncoderDecoder) -> tuple[Validation, list[str]] | None:
        """Return the figures and the translations, or None if the run was told to stop meanwhile."""
        with evaluating(model):
            loss = self._loss(model)
            if loss is None:
                return None
            with autocast(self.translator.device, self.dtype):
                outputs = [self._translate(share) for share in self.shares]
        found = list(zip(self.shares, outputs, self.references, strict=True))
        bleu = [corpus_bleu(said, [told], tokenize=share.tokenize) for share, said, told in found]
        exact = sum(a == b for _, *both in found for a, b in zip(*both, strict=True))
        sentences = sum(map(len, self.references))
        several = zip(self.shares, bleu, strict=True) if len(self.shares) > 1 else ()
        validation = Validation(
            loss=loss,
            bleu=statistics.fmean(bleu),
            chrf=statistics.fmean(corpus_chrf(said, [told]) for _, said, told in found),
            exact=100.0 * exact / sentences,
            sentences=sentences,
            directions={share.name: value for share, value in several},
            too_short_for_bleu=self.too_short_for_bleu,
        )
        return validation, [text for said in outputs for text in said]

    def _translate(self, share: _Share) -> list[str]:
        texts = [pair.source for pair in share.pairs]
        found = [each.text for each in share.translator.translate(texts, beam_size=1)]
        # what a language model writes on begins with the space that parts it from its prompt
        return [text.lstrip() for text in found] if share.translator.continues else found

    def samples(self, model: EncoderDecoder, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the same five sentences with their translations and where the decoder looked.

        ``attention`` is the mean over heads of the last layer's attention to the source, one row a target token; of a model
        without attention there are no rows.
        """
        records = []
        owners = [share for share in self.shares for _ in share.pairs]
        for place in self._sample_places():
            share, pair, output = owners[place], self.pairs[place], outputs[place]
            with evaluating(model):
                source_tokens, target_tokens, weights = self._attention(
                    model, share.translator, pair.source, output
                )
            records.append(
                ({"direction": share.name} if len(self.shares) > 1 else {})
                | {
                    "source": pair.source,
                    "reference": pair.target,
                    "output": output,
                    "source_tokens": source_tokens,
                    "target_tokens": target_tokens,
                    "attention": weights,
                }
            )
        return records

    def _sample_places(self) -> list[int]:
        """Return the first places, or of several pairs of languages some of each, as far as they go."""
        number = min(NUM_SAMPLES, len(self.pairs))
        if len(self.shares) == 1:
            return list(range(number))
        return [place * len(self.pairs) // number for place in range(number)]

    def _attention(
        self, model: EncoderDecoder, translator: Translator, source: str, output: str
    ) -> tuple[list[str], list[str], list[list[float]]]:
        read, write = translator.tokenizers.source, translator.tokenizers.target
        room = self.data.max_length - 1
        source_ids = list(read.encode(source).ids)[:room]
        target_ids = list(write.encode(output).ids)[:room]
        device = translator.device
        with torch.inference_mode(), record_attention(model) as maps:
            model(
                torch.tensor([[*source_ids, read.end_id]], device=device),
                torch.tensor([[write.begin_id, *target_ids]], device=device),
            )
        looks = [calls[0] for name, calls in maps.items() if name.endswith("cross_attention")]
        weights = looks[-1][0].float().mean(0).tolist() if looks else []
        return (
            [*read.tokens(source_ids), "</s>"],
            [*write.tokens(target_ids), "</s>"],
            [[round(x, 3) for x in row] for row in weights],
        )

    def _loss(self, model: EncoderDecoder) -> float | None:
        total, tokens = 0.0, 0
        with torch.inference_mode():
            for batch in self.data.once():
                if self.interrupted():
                    return None
                total += self._loss_of(model, batch)
                tokens += batch.num_target_tokens
        return total / max(tokens, 1)

    def _loss_of(self, model: EncoderDecoder, batch: Batch) -> float:
        """Return the summed loss of a batch, of its halves if it does not fit into memory."""
        device = self.translator.device
        try:
            with autocast(device, self.dtype):
                return float(batch_loss(model, batch, 0.0, plain=self.plain))
        except (RuntimeError, MemoryError) as error:
            if not is_lack_of_memory(error):
                raise
        return sum(self._loss_of(model, half) for half in halves(batch))


def _shares(data: TrainingData, translator: Translator, num_sentences: int) -> list[_Share]:
    """Return what is decoded: of one pair of languages so many sentences, of several a share of each."""
    return [
        _Share(
            str(direction or ""),
            translator.towards(direction) if direction else translator,
            pairs,
            choose_tokenizer(direction.target if direction else translator.target_lang),
        )
        for direction, pairs in spread_by_direction(data, num_sentences, FEWEST_SENTENCES)
    ]


def spread_by_direction(
    data: TrainingData, number: int, fewest: int
) -> list[tuple[Direction | None, list[SentencePair]]]:
    """Take ``number`` validation pairs at even distances; of several pairs of languages a share of each, of ``fewest`` at least."""
    if not data.directions:
        return [(None, spread_pairs(data.shown, number))]
    by_direction = pairs_by_direction(data.shards, data.shown, data.directions)
    each = max(fewest, number // len(by_direction))
    return [(direction, spread_pairs(pairs, each)) for direction, pairs in by_direction.items()]


def spread_pairs(pairs: Sequence[SentencePair], number: int) -> list[SentencePair]:
    """Take ``number`` pairs at even distances."""
    if number >= len(pairs):
        return list(pairs)
    return [pairs[i * len(pairs) // number] for i in range(number)]
