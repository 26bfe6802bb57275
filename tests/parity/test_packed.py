"""The packed step equals the plain model: loss and every gradient, dropout included, over many shapes."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from interlingua.batching.batch import Batch, make_batch
from interlingua.kernels import native
from interlingua.kernels.packed import can_pack, packed_loss
from interlingua.kernels.packing import pack
from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.dropout import Dropout
from interlingua.model.transformer import Transformer
from interlingua.training.objective import batch_loss

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++"))), reason="no C++ compiler here"
)

CPU = torch.device("cpu")
PAD, BEGIN, END = 0, 2, 3
SMALL = Architecture(
    encoder_layers=2, decoder_layers=2, d_model=32, d_ff=48, heads=4, dropout=0.0, max_positions=256
)


def test_the_kernels_are_compiled_where_there_is_a_compiler() -> None:
    assert native.is_available(), native.describe()


MANY = 110
"""Tokens of a sentence of which attention takes the queries in several blocks."""


def random_batch(chance: random.Random, vocabulary: int, *, most: int = 20) -> Batch:
    def sentence() -> list[int]:
        return [chance.randrange(4, vocabulary) for _ in range(chance.randrange(most))]

    rows = chance.randrange(1, 9)
    return make_batch(
        [sentence() for _ in range(rows)],
        [sentence() for _ in range(rows)],
        range(rows),
        source_pad=PAD,
        source_end=END,
        target_pad=PAD,
        target_begin=BEGIN,
        target_end=END,
    )


def build(architecture: Architecture, vocabulary: int = 40) -> Transformer:
    model = Transformer(
        architecture,
        source_vocabulary=vocabulary,
        target_vocabulary=vocabulary if architecture.tie == "three-way" else vocabulary + 3,
        source_pad=PAD,
        target_pad=PAD,
    )
    with torch.no_grad():  # a bias or gain that is ignored must not hide behind its first value
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def gradients(model: Transformer, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None} | {
        "loss": loss.detach().clone()
    }


def assert_equal(found: dict[str, Tensor], wanted: dict[str, Tensor], tolerance: float) -> None:
    assert found.keys() == wanted.keys()
    for name, b in wanted.items():
        assert (found[name] - b).abs().max() <= tolerance * max(1.0, float(b.abs().max())), name


def assert_as_near(
    packed: dict[str, Tensor], plain: dict[str, Tensor], truth: dict[str, Tensor]
) -> None:
    """Hold that ``packed`` is about as near to the truth as ``plain``, which is of the same arithmetic."""
    for name, b in truth.items():
        scale = b.norm() + 1e-6
        mine, theirs = (packed[name] - b).norm() / scale, (plain[name] - b).norm() / scale
        assert mine <= 2.0 * theirs + 0.02, name


@pytest.mark.parametrize("case", range(50))
def test_loss_and_gradients_are_those_of_the_plain_model(case: int) -> None:
    chance = random.Random(case)
    torch.manual_seed(case)
    heads = chance.choice([1, 2, 3, 8])
    architecture = Architecture(
        encoder_layers=chance.randrange(1, 4),
        decoder_layers=chance.randrange(1, 4),
        d_model=2
        * heads
        * chance.randrange(4, 20),  # over 2 or 4 features a norm is no sound comparison
        d_ff=chance.randrange(1, 70),
        heads=heads,
        d_k=chance.choice([None, 1, 5, 24]),
        d_v=chance.choice([None, 3, 16]),
        dropout=0.0,
        max_positions=256,
        tie=chance.choice(["three-way", "target", "none"]),
        output_bias=chance.random() < 0.3,
        norm=chance.choice(["post", "pre"]),
    )
    model = build(architecture)
    batch = random_batch(chance, 40, most=MANY if case % 5 == 0 else 20)
    epsilon = chance.choice([0.0, 0.1])
    plain = gradients(model, batch_loss(model, batch, epsilon, plain=True))
    packed = gradients(model, packed_loss(model, batch, epsilon, torch.float32))
    assert_equal(packed, plain, 1e-5)


class Given(nn.Module):
    """Dropout by the draws that the kernels would make, in the padded layout."""

    def __init__(
        self, probability: float, keys: tuple[int, int], index: Callable[[Tensor], Tensor]
    ) -> None:
        super().__init__()
        self.threshold = round(probability * 2**32)
        self.keys = keys
        self.index = index

    def forward(self, x: Tensor) -> Tensor:
        with np.errstate(over="ignore"):
            draws = self.index(x).numpy().astype(np.uint32) ^ np.uint32(self.keys[0])
            draws = _mixed(_mixed(draws) + np.uint32(self.keys[1]))
        kept = torch.from_numpy(draws >= self.threshold)
        return x * kept * (2**32 / (2**32 - self.threshold))


def _mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def given_dropouts(model: Transformer, batch: Batch) -> None:
    """Put in the place of each dropout of ``model`` one with the keys that the packed step draws for it."""
    keys = iter(torch.randint(2**32, (128,)).tolist())
    first = {
        side: torch.nn.functional.pad(lengths.cumsum(0), (1, 0))[:-1]
        for side, lengths in (("source", batch.source_lengths), ("target", batch.target_lengths))
    }

    def rows(side: str) -> Callable[[Tensor], Tensor]:
        def index(x: Tensor) -> Tensor:
            row = first[side][:, None] + torch.arange(x.size(1))
            return row[..., None] * x.size(2) + torch.arange(x.size(2))

        return index

    def weights(side: str, most_keys: int) -> Callable[[Tensor], Tensor]:
        def index(x: Tensor) -> Tensor:
            query = first[side][:, None, None] + torch.arange(x.size(2))
            head = torch.arange(x.size(1))[:, None]
            return ((query * x.size(1) + head) * most_keys)[..., None] + torch.arange(x.size(3))

        return index

    def put(owner: nn.Module, index: Callable[[Tensor], Tensor]) -> None:
        old = owner.dropout
        assert isinstance(old, Dropout)
        if old.probability:
            owner.dropout = Given(old.probability, (next(keys), next(keys)), index)

    def attention(
        part: MultiHeadAttention, around: nn.Module, side: str, keys_side: Tensor
    ) -> None:
        put(part, weights(side, keys_side.size(1)))
        put(around, rows(side))

    put(model.source_embedding, rows("source"))
    for layer in model.encoder.layers:
        attention(layer.self_attention, layer.around_attention, "source", batch.source)
        put(layer.feed_forward, rows("source"))
        put(layer.around_feed_forward, rows("source"))
    put(model.target_embedding, rows("target"))
    for layer in model.decoder.layers:
        attention(layer.self_attention, layer.around_self, "target", batch.target_in)
        attention(layer.cross_attention, layer.around_cross, "target", batch.source)
        put(layer.feed_forward, rows("target"))
        put(layer.around_feed_forward, rows("target"))


@pytest.mark.parametrize("case", range(8))
def test_with_dropout_too_when_the_plain_model_drops_the_same(case: int) -> None:
    chance = random.Random(case)
    torch.manual_seed(case)
    architecture = replace(
        SMALL,
        dropout=0.3,
        attention_dropout=chance.choice([0.0, 0.2]),
        activation_dropout=chance.choice([0.0, 0.4]),
        norm=chance.choice(["post", "pre"]),
    )
    model, batch = build(architecture), random_batch(chance, 40, most=MANY if case % 2 else 20)
    torch.manual_seed(7)
    packed = gradients(model, packed_loss(model, batch, 0.1, torch.float32))
    torch.manual_seed(7)
    given_dropouts(model, batch)
    plain = gradients(model, batch_loss(model, batch, 0.1, plain=True))
    assert_equal(packed, plain, 1e-5)


@pytest.mark.parametrize("case", range(4))
def test_a_batch_that_passes_twice_gives_the_loss_of_the_plain_way(case: int) -> None:
    torch.manual_seed(case)
    model, batch = build(replace(SMALL, dropout=0.3)), random_batch(random.Random(case), 40)
    torch.manual_seed(7)
    packed = gradients(model, packed_loss(model, batch, 0.1, torch.float32, alpha=5.0))
    torch.manual_seed(7)
    given_dropouts(model, batch.twice())
    plain = gradients(model, batch_loss(model, batch, 0.1, alpha=5.0, plain=True))
    assert_equal(packed, plain, 1e-5)


def test_dropout_drops_its_share_and_differs_from_place_to_place() -> None:
    torch.manual_seed(0)
    model = build(replace(SMALL, dropout=0.25, encoder_layers=1, decoder_layers=1))
    batch = random_batch(random.Random(3), 40)
    losses = {float(packed_loss(model, batch, 0.0, torch.float32).detach()) for _ in range(20)}
    assert len(losses) == 20
    draws = _mixed(_mixed(np.arange(10**6, dtype=np.uint32) ^ np.uint32(5)) + np.uint32(9))
    dropped = draws < 0.25 * 2**32
    assert abs(dropped.mean() - 0.25) < 0.002
    for lag in (1, 2, 16, 512):
        assert abs(np.corrcoef(dropped[lag:], dropped[:-lag])[0, 1]) < 0.004


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_in_bfloat16_gradients_are_as_near_to_the_truth_as_those_of_autocast(norm: str) -> None:
    torch.manual_seed(0)
    model = build(
        replace(SMALL, norm=norm, d_model=128, d_ff=256, encoder_layers=3, decoder_layers=3)
    )
    batch = random_batch(random.Random(1), 40)
    truth = gradients(model, batch_loss(model, batch, 0.1, plain=True))
    packed = gradients(model, packed_loss(model, batch, 0.1, torch.bfloat16))
    with torch.autocast("cpu", torch.bfloat16):
        loss = batch_loss(model, batch, 0.1, plain=True)
    plain = gradients(model, loss)
    assert_as_near(packed, plain, truth)


def test_what_a_batch_mate_or_padding_is_does_not_matter() -> None:
    torch.manual_seed(0)
    model = build(SMALL).eval()
    pairs = [([5, 6, 7], [8, 9]), ([10] * 19, [11] * 17), ([], [12])]

    def loss(chosen: list[tuple[list[int], list[int]]]) -> float:
        sources, targets = zip(*chosen, strict=True)
        batch = make_batch(
            sources,
            targets,
            range(len(chosen)),
            source_pad=PAD,
            source_end=END,
            target_pad=PAD,
            target_begin=BEGIN,
            target_end=END,
        )
        with torch.inference_mode():
            return float(packed_loss(model, batch, 0.1, torch.float32))

    assert loss(pairs) == pytest.approx(sum(loss([pair]) for pair in pairs), rel=1e-6)


def test_a_step_repeats_bit_for_bit_with_several_threads(several_threads: None) -> None:
    torch.manual_seed(0)
    model = build(replace(SMALL, dropout=0.1))
    batch = random_batch(random.Random(2), 40)
    found = []
    for _ in range(3):
        torch.manual_seed(1)
        found.append(gradients(model, packed_loss(model, batch, 0.1, torch.bfloat16)))
    for other in found[1:]:
        assert all(torch.equal(found[0][name], other[name]) for name in found[0])


@pytest.fixture
def several_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_a_nan_reaches_the_loss() -> None:
    model = build(SMALL)
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.inner.weight[0, 0] = float("nan")
    loss = packed_loss(model, random_batch(random.Random(4), 40), 0.1, torch.bfloat16)
    assert loss.isnan()


class Subclass(Transformer):
    pass


class OwnAttention(MultiHeadAttention):
    pass


def test_other_models_are_left_to_the_plain_way() -> None:
    def sizes(kind: type[Transformer], architecture: Architecture, **parts: object) -> Transformer:
        return kind(architecture, source_vocabulary=9, target_vocabulary=9, **parts)

    assert can_pack(sizes(Transformer, SMALL), CPU, torch.bfloat16)
    assert not can_pack(sizes(Subclass, SMALL), CPU, torch.float32)
    assert not can_pack(sizes(Transformer, SMALL), CPU, torch.float64)
    assert not can_pack(sizes(Transformer, SMALL).double(), CPU, torch.float32)
    assert not can_pack(sizes(Transformer, SMALL, attention=OwnAttention), CPU, torch.float32)
    assert can_pack(sizes(Transformer, replace(SMALL, norm="pre")), CPU, torch.float32)
    for change in ({"activation": "gelu"}, {"positions": "learned"}):
        assert not can_pack(sizes(Transformer, replace(SMALL, **change)), CPU, torch.float32)
    watched = sizes(Transformer, SMALL)
    handle = watched.encoder.layers[0].register_forward_hook(lambda *_: None)
    assert not can_pack(watched, CPU, torch.float32)
    handle.remove()
    without_bias = sizes(Transformer, SMALL)
    without_bias.decoder.layers[1].cross_attention.query.bias = None
    assert not can_pack(without_bias, CPU, torch.float32)
    assert can_pack(watched, CPU, torch.float32)


def test_packing_leaves_out_the_padding_only() -> None:
    packed = pack(torch.tensor([[5, 3, 0], [6, 7, 3]]), torch.tensor([2, 3]), 9)
    assert packed.ids[: packed.count].tolist() == [5, 3, 6, 7, 3]
    assert packed.places[: packed.count].tolist() == [0, 1, 0, 1, 2]
    assert packed.offsets.tolist() == [0, 2, 5]
    assert (packed.ids[packed.count :] == -1).all()
    assert len(packed.ids) % 128 == 0


def test_what_would_read_beyond_a_table_is_refused() -> None:
    ids, lengths = torch.tensor([[5, 3, 0]]), torch.tensor([2])
    with pytest.raises(IndexError, match="vocabulary of 5"):
        pack(ids, lengths, 5)
    with pytest.raises(ValueError, match="width 3"):
        pack(ids, torch.tensor([4]), 9)


def test_a_part_that_is_set_to_evaluation_drops_nothing() -> None:
    torch.manual_seed(0)
    model = build(replace(SMALL, dropout=0.5))
    batch = random_batch(random.Random(5), 40)
    model.eval()
    wanted = float(packed_loss(model, batch, 0.1, torch.float32).detach())
    model.train()
    assert float(packed_loss(model, batch, 0.1, torch.float32).detach()) != pytest.approx(wanted)
    for part in model.modules():
        if isinstance(part, Dropout):
            part.eval()
    assert float(packed_loss(model, batch, 0.1, torch.float32).detach()) == pytest.approx(wanted)
