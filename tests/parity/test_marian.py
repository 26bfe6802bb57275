"""The same numbers as the Marian model of Hugging Face: forward, loss, every gradient, and the step that follows.

Marian lays its sines and cosines side by side instead of in turn, so its position table is copied; everything
else is the paper's. The peer is built from a random configuration; nothing is downloaded.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from interlingua.config import TrainingConfig
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.training.objective import label_smoothed_cross_entropy
from interlingua.training.optimizer import Adam

transformers = pytest.importorskip("transformers", reason="needs the test extra: transformers")

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


@dataclass(frozen=True)
class Case:
    """One random model in both implementations, and one random padded batch."""

    ours: Transformer
    theirs: nn.Module
    pad: int
    start: int
    source: Tensor
    target: Tensor

    @property
    def target_in(self) -> Tensor:
        first = torch.full_like(self.target[:, :1], self.start)
        return torch.cat((first, self.target[:, :-1]), dim=1)


def assert_close(ours: Tensor, theirs: Tensor, what: str) -> None:
    assert ours.shape == theirs.shape, what
    limit = TOLERANCE[theirs.dtype] * max(1.0, theirs.abs().max().item())
    difference = (ours - theirs).abs().max().item()
    assert difference <= limit, f"{what}: differs by {difference:.3g}, allowed {limit:.3g}"


def draw_case(seed: int, dtype: torch.dtype) -> Case:
    draw = random.Random(seed)
    heads = draw.randint(1, 4)
    vocabulary = draw.randint(5, 40)
    pad = draw.randrange(vocabulary)
    # OPUS-MT starts from padding; a model of one's own may start from any token.
    start = pad if draw.random() < 0.5 else draw.randrange(vocabulary)
    tied = draw.random() < 0.7
    activation = draw.choice(["relu", "gelu", "swish"])
    architecture = Architecture(
        encoder_layers=draw.randint(1, 3),
        decoder_layers=draw.randint(1, 3),
        d_model=heads * 2 * draw.randint(2, 5),
        d_ff=draw.randint(1, 24),
        heads=heads,
        dropout=0.0,
        activation=activation,
        max_positions=16,
        tie="three-way" if tied else "target",
    )
    torch.manual_seed(seed)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        theirs = build_peer(architecture, vocabulary, pad, start, tied)
        ours = Transformer(
            architecture,
            source_vocabulary=vocabulary,
            target_vocabulary=vocabulary,
            source_pad=pad,
            target_pad=pad,
        )
    finally:
        torch.set_default_dtype(before)
    with torch.no_grad():
        for mine, peer in correspondence(ours, theirs):
            if mine.dim() == 1:
                mine.add_(torch.randn_like(mine), alpha=0.3)
            peer.copy_(mine)
        places = theirs.model.encoder.embed_positions.weight
        assert torch.equal(places, theirs.model.decoder.embed_positions.weight)
        ours.source_embedding.positions.table.copy_(places)
        ours.target_embedding.positions.table.copy_(places)
    batch = draw.randint(1, 4)
    source = padded(draw, batch, draw.randint(1, 9), vocabulary, pad)
    target = padded(draw, batch, draw.randint(1, 9), vocabulary, pad)
    return Case(ours, theirs, pad, start, source, target)


def build_peer(
    architecture: Architecture, vocabulary: int, pad: int, start: int, tied: bool
) -> nn.Module:
    config = transformers.MarianConfig(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        d_model=architecture.d_model,
        encoder_layers=architecture.encoder_layers,
        decoder_layers=architecture.decoder_layers,
        encoder_attention_heads=architecture.heads,
        decoder_attention_heads=architecture.heads,
        encoder_ffn_dim=architecture.d_ff,
        decoder_ffn_dim=architecture.d_ff,
        activation_function=architecture.activation,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_position_embeddings=architecture.max_positions,
        scale_embedding=True,
        share_encoder_decoder_embeddings=tied,
        tie_word_embeddings=True,
        pad_token_id=pad,
        eos_token_id=vocabulary - 1,
        decoder_start_token_id=start,
        attn_implementation="eager",
    )
    peer = transformers.MarianMTModel(config)
    assert not peer.final_logits_bias.any()
    if start == pad:
        # Where padding is also the first target token, torch would not train it as an input; ours does.
        for module in peer.modules():
            if isinstance(module, nn.Embedding):
                module.padding_idx = None
    return peer.train()


def padded(draw: random.Random, batch: int, length: int, vocabulary: int, pad: int) -> Tensor:
    words = [word for word in range(vocabulary) if word != pad]
    rows = []
    for row in range(batch):
        real = length if row == 0 else draw.randint(1, length)
        rows.append(draw.choices(words, k=real) + [pad] * (length - real))
    return torch.tensor(rows)


def correspondence(ours: Transformer, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Every parameter of ours beside the peer's; a shared one may come up more than once."""
    peer = theirs.model
    yield ours.source_embedding.table.weight, peer.encoder.embed_tokens.weight
    yield ours.target_embedding.table.weight, peer.decoder.embed_tokens.weight
    yield ours.output.weight, theirs.lm_head.weight
    modules: list[tuple[nn.Module, nn.Module]] = []
    for mine, his in zip(ours.encoder.layers, peer.encoder.layers, strict=True):
        modules += attention(mine.self_attention, his.self_attn)
        modules += [
            (mine.feed_forward.inner, his.fc1),
            (mine.feed_forward.outer, his.fc2),
            (mine.around_attention.norm, his.self_attn_layer_norm),
            (mine.around_feed_forward.norm, his.final_layer_norm),
        ]
    for mine, his in zip(ours.decoder.layers, peer.decoder.layers, strict=True):
        modules += attention(mine.self_attention, his.self_attn)
        modules += attention(mine.cross_attention, his.encoder_attn)
        modules += [
            (mine.feed_forward.inner, his.fc1),
            (mine.feed_forward.outer, his.fc2),
            (mine.around_self.norm, his.self_attn_layer_norm),
            (mine.around_cross.norm, his.encoder_attn_layer_norm),
            (mine.around_feed_forward.norm, his.final_layer_norm),
        ]
    for mine, his in modules:
        yield mine.weight, his.weight
        yield mine.bias, his.bias


def attention(ours: nn.Module, theirs: nn.Module) -> list[tuple[nn.Module, nn.Module]]:
    return [
        (ours.query, theirs.q_proj),
        (ours.key, theirs.k_proj),
        (ours.value, theirs.v_proj),
        (ours.output, theirs.out_proj),
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("seed", range(50))
def test_logits_loss_gradients_and_step_equal_those_of_marian(
    seed: int, dtype: torch.dtype
) -> None:
    case = draw_case(seed, dtype)
    real = case.target != case.pad
    theirs = case.theirs(
        input_ids=case.source,
        attention_mask=(case.source != case.pad).long(),
        decoder_input_ids=case.target_in,
    ).logits
    ours = case.ours(case.source, case.target_in)
    assert theirs.dtype == dtype
    assert_close(ours[real], theirs[real], "logits")

    our_loss = label_smoothed_cross_entropy(ours[real], case.target[real], 0.1) / real.sum()
    their_loss = functional.cross_entropy(
        theirs.flatten(0, 1), case.target.flatten(), ignore_index=case.pad, label_smoothing=0.1
    )
    assert_close(our_loss.detach(), their_loss.detach(), "loss")

    our_loss.backward()
    their_loss.backward()
    compared = set()
    for i, (mine, peer) in enumerate(correspondence(case.ours, case.theirs)):
        assert mine.grad is not None
        assert_close(mine.grad, peer.grad, f"gradient {i}")
        # From here on both have the same gradient to the last bit.
        peer.grad.copy_(mine.grad)
        compared.add(id(mine))
    assert compared == {id(parameter) for parameter in case.ours.parameters()}

    adam = torch.optim.Adam(case.theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    optimizer = Adam(case.ours, TrainingConfig())
    optimizer.step(0.01)
    adam.step()
    for i, (mine, peer) in enumerate(correspondence(case.ours, case.theirs)):
        assert_close(mine.detach(), peer.detach(), f"parameter {i} after the step")


@pytest.mark.parametrize("seed", range(10))
def test_the_loss_that_marian_itself_reports_is_ours(seed: int) -> None:
    case = draw_case(seed, torch.float64)
    labels = case.target.masked_fill(case.target == case.pad, -100)
    theirs = case.theirs(
        input_ids=case.source, attention_mask=(case.source != case.pad).long(), labels=labels
    ).loss
    logits = case.ours(case.source, case.target_in)
    ours = functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    assert_close(ours.detach(), theirs.detach(), "loss")
