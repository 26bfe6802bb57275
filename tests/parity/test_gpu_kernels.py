"""The kernels of a graphics card equal the plain model: on a card, or by Triton's interpreter on any processor.

``make test-gpu`` runs them so, with TRITON_INTERPRET=1 and a Triton of its own; CUDA_VISIBLE_DEVICES=0 without it, on a card. Both want
--noconftest: its checks of shapes would stand between Triton and what it compiles.
"""

import os
import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from test_packed import (
    MANY,
    SMALL,
    assert_as_near,
    assert_equal,
    build,
    given_dropouts,
    gradients,
    random_batch,
)
from torch import Tensor

from interlingua.batching.batch import Batch
from interlingua.checkpoints.store import CheckpointStore
from interlingua.config import TrainingConfig
from interlingua.kernels import captured, devices, gpu, sublayers
from interlingua.kernels.captured import CapturedStep
from interlingua.kernels.packed import packed_loss, packed_sides
from interlingua.kernels.projected_cross_entropy import projected_cross_entropy
from interlingua.model.transformer import Transformer
from interlingua.training.loop import Trainer
from interlingua.training.objective import batch_loss, label_smoothed_cross_entropy

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
ON_CARD = torch.cuda.is_available() and not INTERPRETED
DEVICE = torch.device("cuda" if ON_CARD else "cpu")
computed = pytest.mark.skipif(
    not (ON_CARD or INTERPRETED),
    reason="no graphics card, and no TRITON_INTERPRET=1: see make test-gpu",
)


@pytest.fixture(autouse=True)
def _with_the_kernels_of_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    if INTERPRETED:
        for owner in (devices, sublayers):
            monkeypatch.setattr(owner, "function", lambda name, *_: gpu.function(name))
        monkeypatch.setattr(devices, "is_available", lambda *_: True)


@computed
@pytest.mark.parametrize("case", range(8))
def test_loss_and_gradients_are_those_of_the_plain_model(case: int) -> None:
    chance = random.Random(case)
    torch.manual_seed(case)
    heads = chance.choice([1, 2, 3])
    architecture = replace(
        SMALL,
        encoder_layers=1,
        decoder_layers=1,
        d_model=2 * heads * chance.randrange(4, 20),
        d_ff=chance.randrange(1, 70),
        heads=heads,
        d_k=chance.choice([None, 1, 5, 24]),
        d_v=chance.choice([None, 3, 16]),
        dropout=chance.choice([0.0, 0.3]),
        attention_dropout=chance.choice([0.0, 0.2]),
        activation_dropout=chance.choice([0.0, 0.4]),
        tie=chance.choice(["three-way", "target", "none"]),
        output_bias=chance.random() < 0.3,
        norm=chance.choice(["post", "pre"]),
    )
    model, batch = build(architecture), random_batch(chance, 40, most=MANY if case % 4 == 0 else 12)
    packed = on_device(model, batch, torch.float32)
    torch.manual_seed(7)
    given_dropouts(model, batch)
    plain = gradients(model, batch_loss(model, batch, 0.1, plain=True))
    assert_equal(packed, plain, 1e-5)


@computed
@pytest.mark.skipif(INTERPRETED, reason="the interpreter has no products in bfloat16")
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_in_bfloat16_gradients_are_as_near_to_the_truth_as_those_of_autocast(norm: str) -> None:
    torch.manual_seed(0)
    sizes = {"d_model": 512, "d_ff": 2048, "heads": 8, "encoder_layers": 3, "decoder_layers": 3}
    model = build(replace(SMALL, norm=norm, **sizes))
    batch = random_batch(random.Random(1), 40, most=90)
    truth = gradients(model, batch_loss(model, batch, 0.1, plain=True))
    packed = on_device(model, batch, torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        loss = batch_loss(model, batch, 0.1, plain=True)
    plain = gradients(model, loss)
    assert_as_near(packed, plain, truth)


@computed
@pytest.mark.parametrize("vocabulary", [40, 9001])
def test_a_large_vocabulary_and_no_tokens(vocabulary: int) -> None:
    torch.manual_seed(0)
    hidden, table = torch.randn(30, 16), torch.randn(vocabulary, 16)
    targets = torch.randint(vocabulary, (30,))
    targets[::5] = -1
    found = []
    for device, epsilon in ((DEVICE, 0.1), ("plain", 0.1)):
        x, words = (tensor.clone().requires_grad_() for tensor in (hidden, table))
        if device == "plain":
            loss = label_smoothed_cross_entropy(
                (x @ words.T)[targets >= 0], targets[targets >= 0], epsilon
            )
        else:
            given = (tensor.to(device) for tensor in (x, words, targets))
            loss = projected_cross_entropy(*given, epsilon)
        loss.backward()
        found.append({"loss": loss.detach().cpu(), "x": x.grad, "words": words.grad})
    assert_equal(found[0], found[1], 1e-5)


@computed
def test_runs_repeat_bit_for_bit() -> None:
    torch.manual_seed(0)
    model, batch = build(replace(SMALL, dropout=0.3)), random_batch(random.Random(5), 40)
    first, second = (on_device(model, batch, torch.float32) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


class CalledAgain:
    """What stands for a graph where there is no card: the same kernels on the same memory."""

    def __init__(self, function: Callable[[], Tensor], *_: object) -> None:
        self.replay = function


@pytest.fixture
def _with_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    if INTERPRETED:
        monkeypatch.setattr(captured, "_Graph", CalledAgain)
        monkeypatch.setattr(torch.cuda, "Stream", lambda _: None)
        monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 0))
        monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
        monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda _: None)


@computed
@pytest.mark.usefixtures("_with_graphs")
def test_a_captured_step_is_that_of_its_kernels_one_by_one() -> None:
    torch.manual_seed(0)
    chance = random.Random(3)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "dropout": 0.3, "activation_dropout": 0.2}
    model = build(replace(SMALL, **sizes)).to(DEVICE)
    step = CapturedStep(model, 0.1, torch.float32, pytest.fail)
    step.may_capture = True
    batches = [random_batch(chance, 40, most=most) for most in (3, 9, 30)]
    for seed, batch in enumerate((*batches, *batches)):
        torch.manual_seed(seed)
        wanted = gradients(model, 0.5 * packed_loss(model, batch, 0.1, torch.float32))
        if seed != 4:  # where gradients lie elsewhere, what was captured is given up
            for parameter, kept in zip(step.parameters, step.gradients, strict=False):
                parameter.grad = kept
        step.clear()
        torch.manual_seed(seed)
        loss = step.backward(batch, 0.5)
        found = {name: p.grad.clone() for name, p in model.named_parameters()} | {"loss": loss}
        assert_equal(found, wanted, 1e-5)
    assert len(step.steps) == len(
        {captured._Shape.of(*packed_sides(model, b), most=256) for b in batches[1:]}
    )


@computed
@pytest.mark.usefixtures("_with_graphs")
def test_captured_memory_is_given_back_where_it_is_short() -> None:
    torch.manual_seed(0)
    model = build(replace(SMALL, encoder_layers=1, decoder_layers=1, dropout=0.3)).to(DEVICE)
    model.encoder.layers.append(model.encoder.layers[0])  # a layer that comes twice draws twice
    step = CapturedStep(model, 0.1, torch.float32, lambda _: None)
    step.may_capture = True
    batch = random_batch(random.Random(1), 40, most=6)
    step.backward(batch, 1.0)
    step.clear()
    assert len(step.steps) == 1
    assert all(p.grad is not None and not p.grad.any() for p in step.parameters)
    assert step.forget(for_good=True)
    assert not step.forget()
    step.backward(batch, 1.0)
    assert not step.steps
    step.clear()
    assert all(p.grad is None for p in step.parameters)


@computed
@pytest.mark.usefixtures("_with_graphs")
def test_updates_that_are_captured_are_those_of_the_plain_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CapturedStep, "_has_room", lambda _: True)
    torch.manual_seed(0)
    model = build(replace(SMALL, encoder_layers=1, decoder_layers=1, d_model=16, heads=2))
    config = TrainingConfig(
        steps=9,
        warmup_steps=2,
        peak_learning_rate=0.01,
        schedule="linear",
        clip_norm=0.5,
        # The gradient of keys' biases is rounding alone, and Adam would make steps of it.
        adam_epsilon=1e-3,
    )
    data = SimpleNamespace(learns_from_text=False)

    def trainer_on(device: torch.device, config: TrainingConfig) -> Trainer:
        return Trainer(deepcopy(model), data, config, device=device, dtype=torch.float32)

    captures = trainer_on(DEVICE, config)
    captures.gradient.device = torch.device("cuda")
    plain = trainer_on(torch.device("cpu"), config.model_copy(update={"plain": True}))
    chance = random.Random(5)
    one, other = (random_batch(chance, 40, most=6) for _ in range(2))
    store = CheckpointStore(tmp_path, keep=1)
    for batches in ([one, other], [other, one], [other]):
        found, wanted = captures.update(batches), plain.update(batches)
        assert found.loss == pytest.approx(wanted.loss, rel=1e-5)
        assert found.norm == pytest.approx(wanted.norm, rel=1e-5)
        assert wanted.norm > 0.5
        weights = {name: p.detach().cpu() for name, p in captures.model.named_parameters()}
        assert_equal(
            weights, {name: p.detach() for name, p in plain.model.named_parameters()}, 1e-5
        )
        step_of_gpu = captures.gradient.captured
        assert step_of_gpu is not None
        assert step_of_gpu.others.keys() == {"clip", "update"}
        if captures.state.step == 2:
            captures.save(store)
            checkpoint = store.latest()
            assert checkpoint is not None
            captures.resume(checkpoint)
            assert not step_of_gpu.others  # they would write where the moments were before


def test_shapes_of_batches_are_few() -> None:
    sizes = {captured._up(number, 8, 128) for number in range(1, 65_536)}
    assert len(sizes) < 80
    for number in range(1, 65_536, 7):
        assert number <= captured._up(number, 8, 128) <= max(128, number * 9 / 8 + 128)


def on_device(model: Transformer, batch: Batch, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    model.to(DEVICE)
    found = gradients(model, packed_loss(model, batch, 0.1, dtype))
    model.cpu()
    return {name: tensor.cpu() for name, tensor in found.items()}
