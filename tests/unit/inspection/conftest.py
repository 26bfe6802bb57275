"""A small model with random weights over a tokenizer that was really trained."""

from collections.abc import Callable

import pytest
import torch

from interlingua.config import DecodingConfig
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.translator import Translator

NOUNS = ("pisica", "câinele", "fata", "băiatul", "școala")
VERBS = ("vede", "aude", "știe", "cunoaște", "găsește")
SOURCE = [f"{noun} {verb} {other} mică." for noun in NOUNS for verb in VERBS for other in NOUNS[:2]]
TARGET = [
    f"the {noun} {verb} the small {other}."
    for noun in ("cat", "dog", "girl", "boy", "school")
    for verb in ("sees", "hears", "knows", "meets", "finds")
    for other in ("cat", "dog")
]


def _make_translator(architecture: Architecture, *, shared: bool = False) -> Translator:
    target = train_tokenizer(SOURCE + TARGET if shared else TARGET, kind="bpe", vocabulary_size=330)
    source = target if shared else train_tokenizer(SOURCE, kind="bpe", vocabulary_size=340)
    torch.manual_seed(1)
    model = Transformer(
        architecture,
        source_vocabulary=source.vocabulary_size,
        target_vocabulary=target.vocabulary_size,
    ).eval()
    return Translator(
        model,
        TokenizerPair(source, target, shared),
        source_lang="ro",
        target_lang="en",
        decoding=DecodingConfig(beam_size=2, max_length_factor=1.0, max_length_offset=2),
        device="cpu",
        max_source_length=48,
    )


@pytest.fixture(scope="session")
def translator() -> Translator:
    """Two vocabularies, d_v != d_k, post-norm, sinusoidal positions."""
    return _make_translator(
        Architecture(
            encoder_layers=2,
            decoder_layers=3,
            d_model=16,
            d_ff=24,
            heads=2,
            d_v=5,
            dropout=0.3,
            tie="target",
        )
    )


@pytest.fixture(scope="session")
def pre_norm_translator() -> Translator:
    """One vocabulary, pre-norm, learned positions."""
    return _make_translator(
        Architecture(
            encoder_layers=1,
            decoder_layers=1,
            d_model=12,
            d_ff=16,
            heads=3,
            norm="pre",
            positions="learned",
            max_positions=64,
        ),
        shared=True,
    )


@pytest.fixture(scope="session")
def make_translator() -> Callable[..., Translator]:
    """For a test that needs a model of its own."""
    return _make_translator
