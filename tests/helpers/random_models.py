"""Small random models whose every parameter matters."""

from dataclasses import replace

import torch

from interlingua.checkpoints.model_folder import LoadedModel, build
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import DecodingConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.model.architecture import Architecture, EncoderArchitecture
from interlingua.model.layer_parts import RESIDUAL_GAIN
from interlingua.model.transformer import Transformer
from interlingua.tokenization import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

SOURCES = [
    "pisica doarme în grădina noastră",
    "câinele aleargă",
    "ea a cumpărat două cărți vechi și un tablou",
    "cine ești tu",
    "nu știu",
    "x 日本 y",
]
TARGETS = [
    "the cat sleeps in our garden",
    "the dog runs",
    "she bought two old books and a painting",
    "who are you",
    "i do not know",
    "x 日本 y",
]
SHAPES: dict[str, Architecture] = {
    "tied": Architecture(
        encoder_layers=2, decoder_layers=2, d_model=16, d_ff=24, heads=2, max_positions=64
    ),
    "separate": Architecture(
        encoder_layers=1,
        decoder_layers=3,
        d_model=24,
        d_ff=16,
        heads=3,
        max_positions=64,
        activation="swish",
        tie="target",
    ),
    "untied-biased": Architecture(
        encoder_layers=3,
        decoder_layers=1,
        d_model=16,
        d_ff=32,
        heads=4,
        max_positions=64,
        activation="gelu",
        tie="none",
        output_bias=True,
    ),
    "6+6": Architecture(d_model=32, d_ff=48, heads=4, max_positions=64, output_bias=True),
    "12+1": Architecture(
        encoder_layers=12,
        decoder_layers=1,
        d_model=16,
        d_ff=24,
        heads=2,
        max_positions=64,
        activation="swish",
    ),
}


@torch.no_grad()
def restore_size(model: Transformer) -> None:
    """Give what begins small for training a say in what an untrained model writes."""
    for name, parameter in parameters_of(model).items():
        if parameter.dim() > 1 and not name.endswith(("query.weight", "key.weight")):
            parameter.div_(RESIDUAL_GAIN[model.architecture.norm])


def random_model(architecture: Architecture, *, shared: bool = True, seed: int = 0) -> LoadedModel:
    """Make a model whose norms and biases are random too, and whose translations vary with the source."""
    if shared:
        both = train_tokenizer([*SOURCES, *TARGETS], kind="bpe", vocabulary_size=340)
        tokenizers = TokenizerPair(both, both, shared=True)
    else:
        tokenizers = TokenizerPair(
            train_tokenizer(SOURCES, kind="bpe", vocabulary_size=330),
            train_tokenizer(TARGETS, kind="unigram", vocabulary_size=300),
            shared=False,
        )
    torch.manual_seed(seed)
    model = build(architecture, tokenizers)
    restore_size(model)
    with torch.no_grad():
        for parameter in parameters_of(model).values():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
            else:
                parameter.mul_(1.5)
    pairs = tuple(
        SentencePair(source, target, line)
        for line, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True), 1)
    )
    return LoadedModel(
        model.eval().requires_grad_(False),
        tokenizers,
        "ro",
        "en",
        DecodingConfig(beam_size=3),
        32,
        pairs,
    )


def random_tagger() -> LoadedModel:
    """Make a model that answers each word by itself."""
    loaded = random_model(SHAPES["separate"], shared=False)
    sizes = EncoderArchitecture(
        answers="tokens",
        encoder_layers=1,
        d_model=16,
        d_ff=24,
        heads=2,
        max_positions=64,
        tie="none",
    )
    return replace(loaded, model=build(sizes, loaded.tokenizers).eval().requires_grad_(False))
