"""What is measured at each validation: the loss of all pairs, and real translations of some."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from interlingua.corpus.pairs import SentencePair
from interlingua.evaluation.metrics import choose_tokenizer, corpus_bleu, corpus_chrf
from interlingua.hardware import autocast
from interlingua.model.attention_maps import record_attention
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.data import TrainingData
from interlingua.training.objective import batch_loss
from interlingua.translator import Translator

__all__ = ["Validation", "Validator", "read_validation", "spread_pairs"]

NUM_SAMPLES = 5


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


def read_validation(metrics: Path, step: int) -> Validation | None:
    """Return what the records of a run tell of its validation at ``step``, if they do."""
    if not metrics.exists():
        return None
    for line in metrics.read_text(encoding="utf-8").split("\n"):
        record = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
        if record.get("kind") == "validation" and record["step"] == step:
            return Validation(**{field.name: record[field.name] for field in fields(Validation)})
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
        self.pairs = spread_pairs(data.pairs, num_sentences)
        self.dtype = dtype
        self.interrupted = interrupted
        self.plain = plain
        self.tokenize = choose_tokenizer(translator.target_lang)

    def measure(self, model: EncoderDecoder) -> tuple[Validation, list[str]] | None:
        """Return the figures and the translations, or None if the run was told to stop meanwhile."""
        model.eval()
        try:
            loss = self._loss(model)
            if loss is None:
                return None
            with autocast(self.translator.device, self.dtype):
                results = self.translator.translate(
                    [pair.source for pair in self.pairs], beam_size=1
                )
        finally:
            model.train()
        outputs = [result.text for result in results]
        target = self.translator.tokenizers.target
        references = [target.normalise(pair.target) for pair in self.pairs]
        exact = sum(a == b for a, b in zip(outputs, references, strict=True))
        validation = Validation(
            loss=loss,
            bleu=corpus_bleu(outputs, [references], tokenize=self.tokenize),
            chrf=corpus_chrf(outputs, [references]),
            exact=100.0 * exact / len(references),
            sentences=len(references),
        )
        return validation, outputs

    def samples(self, model: EncoderDecoder, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the same five sentences with their translations and where the decoder looked.

        ``attention`` is the mean over heads of the last layer's attention to the source, one row a target token; of a model
        without attention there are no rows.
        """
        records = []
        model.eval()
        for pair, output in list(zip(self.pairs, outputs, strict=True))[:NUM_SAMPLES]:
            source_tokens, target_tokens, weights = self._attention(model, pair.source, output)
            records.append(
                {
                    "source": pair.source,
                    "reference": pair.target,
                    "output": output,
                    "source_tokens": source_tokens,
                    "target_tokens": target_tokens,
                    "attention": weights,
                }
            )
        model.train()
        return records

    def _attention(
        self, model: EncoderDecoder, source: str, output: str
    ) -> tuple[list[str], list[str], list[list[float]]]:
        read, write = self.translator.tokenizers.source, self.translator.tokenizers.target
        room = self.data.max_length - 1
        source_ids = list(read.encode(source).ids)[:room]
        target_ids = list(write.encode(output).ids)[:room]
        device = self.translator.device
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
        device = self.translator.device
        with torch.inference_mode():
            for batch in self.data.once():
                if self.interrupted():
                    return None
                with autocast(device, self.dtype):
                    total += float(batch_loss(model, batch.to(device), 0.0, plain=self.plain))
                tokens += batch.num_target_tokens
        return total / max(tokens, 1)


def spread_pairs(pairs: Sequence[SentencePair], number: int) -> list[SentencePair]:
    """Take ``number`` pairs at even distances."""
    if number >= len(pairs):
        return list(pairs)
    return [pairs[i * len(pairs) // number] for i in range(number)]
