"""The same numbers as ``torch.nn.Transformer``: forward, loss, every gradient, and the step that follows.

The peer gets our weights, embeddings made by a formula written again here, and its own masks. It is compared
at real positions only: at padding it computes something too, which nothing reads.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from interlingua.config import TrainingConfig
from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.transformer import Transformer
from interlingua.training.objective import label_smoothed_cross_entropy
from interlingua.training.optimizer import Adam

# The peer remarks that its inference path will not be used; the fixture below switches it off anyway.
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")

PAD = 0
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


@dataclass(frozen=True)
class Case:
    """One random model and one random padded batch."""

    ours: Transformer
    theirs: nn.Transformer
    source: Tensor
    target_in: Tensor
    target_out: Tensor


def assert_close(ours: Tensor, theirs: Tensor, what: str) -> None:
    assert ours.shape == theirs.shape, what
    limit = TOLERANCE[theirs.dtype] * max(1.0, theirs.abs().max().item())
    difference = (ours - theirs).abs().max().item()
    assert difference <= limit, f"{what}: differs by {difference:.3g}, allowed {limit:.3g}"


def draw_case(seed: int, norm: str, dtype: torch.dtype) -> Case:
    draw = random.Random(f"{seed} {norm}")
    heads = draw.randint(1, 4)
    # Normalising two features is a step function, whose rounding says nothing about the layers around it.
    d_model = heads * 2 * draw.randint(2, 5)
    vocabulary = draw.randint(5, 40)
    activation = draw.choice(["relu", "gelu"])
    architecture = Architecture(
        encoder_layers=draw.randint(1, 3),
        decoder_layers=draw.randint(1, 3),
        d_model=d_model,
        d_ff=draw.randint(1, 24),
        heads=heads,
        dropout=0.0,
        activation=activation,
        norm=norm,
        max_positions=16,
        tie=draw.choice(["three-way", "target", "none"]),
    )
    torch.manual_seed(seed)
    ours = build(architecture, vocabulary, dtype)
    randomise_vectors(ours)
    theirs = nn.Transformer(
        d_model,
        heads,
        architecture.encoder_layers,
        architecture.decoder_layers,
        architecture.d_ff,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm == "pre",
        dtype=dtype,
    )
    if norm == "post":
        # nn.Transformer normalises the end of each stack once more; Figure 1 does not.
        theirs.encoder.norm = None
        theirs.decoder.norm = None
    for _, mine, peer in matched_tensors(ours, theirs, None, "data"):
        peer.copy_(mine)
    batch = draw.randint(1, 4)
    source = padded(draw, batch, draw.randint(1, 9), vocabulary)
    target = padded(draw, batch, draw.randint(2, 9), vocabulary)
    return Case(ours, theirs, source, target[:, :-1], target[:, 1:])


def build(architecture: Architecture, vocabulary: int, dtype: torch.dtype) -> Transformer:
    """Build in ``dtype`` from the start: ``.double()`` later would keep positions rounded to single."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return Transformer(architecture, source_vocabulary=vocabulary, target_vocabulary=vocabulary)
    finally:
        torch.set_default_dtype(before)


def randomise_vectors(model: nn.Module) -> None:
    """Biases of zero and gains of one would hide a bias or gain in the wrong place."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)


def padded(draw: random.Random, batch: int, length: int, vocabulary: int) -> Tensor:
    rows = []
    for row in range(batch):
        real = length if row == 0 else draw.randint(min(2, length), length)
        rows.append(
            [draw.randint(1, vocabulary - 1) for _ in range(real)] + [PAD] * (length - real)
        )
    return torch.tensor(rows)


def matched_tensors(
    ours: Transformer,
    theirs: nn.Transformer,
    tables: tuple[Tensor, Tensor, Tensor] | None,
    kind: str,
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Our values ("data") or gradients ("grad") beside the peer's; it stacks q, k and v, so a third of those."""
    for name, mine, peer, rows in correspondence(ours, theirs):
        whole = getattr(peer, kind)
        yield name, getattr(mine, kind), whole if rows is None else whole.narrow(0, *rows)
    if tables is not None:
        names = ("source table", "target table", "output table")
        for name, mine, peer in zip(names, tables_of(ours), tables, strict=True):
            yield name, getattr(mine, kind), getattr(peer, kind)


Match = tuple[str, Tensor, Tensor, tuple[int, int] | None]


def correspondence(ours: Transformer, theirs: nn.Transformer) -> Iterator[Match]:
    for i, (mine, peer) in enumerate(
        zip(ours.encoder.layers, theirs.encoder.layers, strict=True), start=1
    ):
        at = f"encoder {i}"
        yield from match_attention(f"{at} self", mine.self_attention, peer.self_attn)
        yield from match_linear(f"{at} inner", mine.feed_forward.inner, peer.linear1)
        yield from match_linear(f"{at} outer", mine.feed_forward.outer, peer.linear2)
        yield from match_linear(f"{at} norm 1", mine.around_attention.norm, peer.norm1)
        yield from match_linear(f"{at} norm 2", mine.around_feed_forward.norm, peer.norm2)
    for i, (mine, peer) in enumerate(
        zip(ours.decoder.layers, theirs.decoder.layers, strict=True), start=1
    ):
        at = f"decoder {i}"
        yield from match_attention(f"{at} self", mine.self_attention, peer.self_attn)
        yield from match_attention(f"{at} cross", mine.cross_attention, peer.multihead_attn)
        yield from match_linear(f"{at} inner", mine.feed_forward.inner, peer.linear1)
        yield from match_linear(f"{at} outer", mine.feed_forward.outer, peer.linear2)
        yield from match_linear(f"{at} norm 1", mine.around_self.norm, peer.norm1)
        yield from match_linear(f"{at} norm 2", mine.around_cross.norm, peer.norm2)
        yield from match_linear(f"{at} norm 3", mine.around_feed_forward.norm, peer.norm3)
    if ours.encoder.final_norm is not None:
        yield from match_linear("encoder norm", ours.encoder.final_norm, theirs.encoder.norm)
    if ours.decoder.final_norm is not None:
        yield from match_linear("decoder norm", ours.decoder.final_norm, theirs.decoder.norm)


def match_linear(at: str, ours: nn.Module, theirs: nn.Module) -> Iterator[Match]:
    yield f"{at} weight", ours.weight, theirs.weight, None
    yield f"{at} bias", ours.bias, theirs.bias, None


def match_attention(
    at: str, ours: MultiHeadAttention, theirs: nn.MultiheadAttention
) -> Iterator[Match]:
    width = theirs.embed_dim
    for third, (name, linear) in enumerate(
        [("query", ours.query), ("key", ours.key), ("value", ours.value)]
    ):
        rows = (third * width, width)
        yield f"{at} {name} weight", linear.weight, theirs.in_proj_weight, rows
        yield f"{at} {name} bias", linear.bias, theirs.in_proj_bias, rows
    yield from match_linear(f"{at} output", ours.output, theirs.out_proj)


def sinusoids(length: int, d_model: int) -> Tensor:
    """Section 3.5 once more, entry by entry."""
    table = torch.empty(length, d_model, dtype=torch.float64)
    for position in range(length):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            table[position, 2 * i] = math.sin(angle)
            table[position, 2 * i + 1] = math.cos(angle)
    return table


def their_logits(case: Case, tables: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    source_table, target_table, output_table = tables
    d_model = source_table.size(1)

    def embed(ids: Tensor, table: Tensor) -> Tensor:
        places = sinusoids(ids.size(1), d_model).to(table.dtype)
        return functional.embedding(ids, table) * math.sqrt(d_model) + places

    length = case.target_in.size(1)
    hidden = case.theirs(
        embed(case.source, source_table),
        embed(case.target_in, target_table),
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        src_key_padding_mask=case.source == PAD,
        memory_key_padding_mask=case.source == PAD,
    )
    return hidden @ output_table.T


def tables_of(ours: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    return (
        ours.source_embedding.table.weight,
        ours.target_embedding.table.weight,
        ours.output.weight,
    )


def copy_tables(ours: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    """Copies for the peer that are one tensor where ours are, so that gradients add up the same way."""
    copies: dict[int, Tensor] = {}
    source, target, output = (
        copies.setdefault(id(table), table.detach().clone().requires_grad_())
        for table in tables_of(ours)
    )
    return source, target, output


@pytest.fixture(autouse=True)
def plain_path_of_torch() -> Iterator[None]:
    """Keep torch on its plain path; its inference path is another implementation."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("seed", range(50))
def test_logits_loss_gradients_and_step_equal_those_of_torch(
    seed: int, norm: str, dtype: torch.dtype
) -> None:
    case = draw_case(seed, norm, dtype)
    tables = copy_tables(case.ours)
    real = case.target_out != PAD
    ours, theirs = case.ours(case.source, case.target_in), their_logits(case, tables)
    assert_close(ours[real], theirs[real], "logits")

    our_loss = label_smoothed_cross_entropy(ours[real], case.target_out[real], 0.1) / real.sum()
    their_loss = functional.cross_entropy(
        theirs.flatten(0, 1), case.target_out.flatten(), ignore_index=PAD, label_smoothing=0.1
    )
    assert_close(our_loss.detach(), their_loss.detach(), "loss")

    our_loss.backward()
    their_loss.backward()
    compared = set()
    for name, mine, peer in matched_tensors(case.ours, case.theirs, tables, "grad"):
        assert_close(mine, peer, f"gradient of {name}")
        # From here on both have the same gradient to the last bit.
        peer.copy_(mine)
        compared.add(mine.data_ptr())
    assert compared == {parameter.grad.data_ptr() for parameter in case.ours.parameters()}

    peer_parameters = [p for p in (*case.theirs.parameters(), *tables) if p.grad is not None]
    adam = torch.optim.Adam(
        {id(p): p for p in peer_parameters}.values(), lr=0.01, betas=(0.9, 0.98), eps=1e-9
    )
    optimizer = Adam(case.ours, TrainingConfig())
    before = [p.detach().clone() for p in case.ours.parameters()]
    optimizer.step(0.01)
    adam.step()
    for name, mine, peer in matched_tensors(case.ours, case.theirs, tables, "data"):
        assert_close(mine, peer, f"{name} after the step")
    assert any(not torch.equal(b, p) for b, p in zip(before, case.ours.parameters(), strict=True))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_inference_gives_the_logits_of_training_when_nothing_is_dropped(norm: str) -> None:
    case = draw_case(7, norm, torch.float64)
    case.ours.eval()
    case.theirs.eval()
    real = case.target_out != PAD
    with torch.inference_mode():
        ours = case.ours(case.source, case.target_in)
        theirs = their_logits(case, copy_tables(case.ours))
    assert_close(ours[real], theirs[real], "logits")


def test_a_final_norm_in_the_peer_would_be_noticed() -> None:
    case = draw_case(3, "post", torch.float64)
    case.theirs.encoder.norm = nn.LayerNorm(
        case.ours.architecture.d_model, elementwise_affine=False, dtype=torch.float64
    )
    real = case.target_out != PAD
    difference = case.ours(case.source, case.target_in) - their_logits(case, copy_tables(case.ours))
    assert difference[real].abs().max() > 1e-3
