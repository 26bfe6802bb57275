"""What a validation says of a model."""

from pathlib import Path

import pytest
import torch
from small_shards import write_shards
from torch.nn import functional

from interlingua.checkpoints.model_folder import build
from interlingua.config import DecodingConfig
from interlingua.corpus.masking import Masking
from interlingua.corpus.pairs import SentencePair
from interlingua.model.architecture import (
    AnyArchitecture,
    Architecture,
    DecoderArchitecture,
    EncoderArchitecture,
)
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.data import TrainingData
from interlingua.training.validation import Validator
from interlingua.translator import Translator

TEXTS = [" ".join(f"{i * 7919:05}"[: 1 + i % 5]) for i in range(40)]
SIZES = {"d_model": 16, "d_ff": 32, "heads": 2, "dropout": 0.3}
KINDS: dict[str, AnyArchitecture] = {
    "transformer": Architecture(encoder_layers=1, decoder_layers=1, **SIZES),  # type: ignore[arg-type]
    "encoder": EncoderArchitecture(encoder_layers=1, answers="tokens", **SIZES),  # type: ignore[arg-type]
    "decoder": DecoderArchitecture(decoder_layers=1, **SIZES),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", KINDS)
def test_its_loss_is_the_cross_entropy_of_what_is_to_be_written_and_of_nothing_else(
    kind: str, tmp_path: Path
) -> None:
    tokenizer = train_tokenizer(TEXTS, kind="word", vocabulary_size=300)
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    data = TrainingData(
        write_shards(tmp_path / "shards", ids, ids),
        [SentencePair(text, text, number) for number, text in enumerate(TEXTS, 1)],
        TokenizerPair(tokenizer, tokenizer, shared=True),
        batch_tokens=64,
        max_length=20,
        seed=5,
        masking=Masking(0.3, hidden=4, ids=(5, 10), seed=5) if kind == "encoder" else None,
        writes_on=kind == "decoder",
    )
    torch.manual_seed(1)
    model = build(KINDS[kind], data.tokenizers)
    translator = Translator(
        model,
        data.tokenizers,
        source_lang="xx",
        target_lang="yy",
        decoding=DecodingConfig(),
        device="cpu",
        max_source_length=20,
    )
    validator = Validator(
        data, translator, num_sentences=2, dtype=torch.float32, interrupted=lambda: False
    )
    measured = validator.measure(model)
    assert measured is not None
    total, tokens = 0.0, 0
    end = tokenizer.end_id
    model.eval()
    for number, row in enumerate(ids):
        read, wanted = list(row), [True] * len(row)
        if data.masking:
            read, wanted = data.masking.apply(row, epoch=0, pair=number)
        elif data.writes_on:
            read = []
        with torch.inference_mode():
            source = torch.tensor([[*read, end]])
            logits = model(source, torch.tensor([[tokenizer.begin_id, *row]]))[0]
        counted = torch.tensor([*wanted, True])
        targets = torch.tensor([*row, end])[counted]
        total += float(functional.cross_entropy(logits[counted], targets, reduction="sum"))
        tokens += len(targets)
    assert measured[0].loss == pytest.approx(total / tokens, rel=1e-5)
