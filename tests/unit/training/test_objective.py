"""The loss of a batch, by the kernel and by the plain reference."""

import pytest
import torch
from torch import Tensor

from interlingua.batching.batch import make_batch
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.training import objective
from interlingua.training.objective import batch_loss

BATCH = make_batch(
    [[5, 6, 7], [8]],
    [[9, 5], [6, 7, 8, 9]],
    (0, 1),
    source_pad=0,
    source_end=3,
    target_pad=0,
    target_begin=2,
    target_end=3,
)
SIZES = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, dropout=0.0)


class Cold(Transformer):
    """A model with a projection of its own."""

    def project(self, hidden: Tensor) -> Tensor:
        return super().project(hidden) / 2.0


def build(kind: type[Transformer]) -> Transformer:
    torch.manual_seed(0)
    return kind(SIZES, source_vocabulary=11, target_vocabulary=11)


def test_plain_and_fast_give_one_loss() -> None:
    model = build(Transformer)
    fast, plain = (float(batch_loss(model, BATCH, 0.1, plain=p).detach()) for p in (False, True))
    assert fast == pytest.approx(plain, rel=1e-5)


def test_plain_never_calls_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "can_pack", lambda *_: False)
    monkeypatch.setattr(objective, "projected_cross_entropy", None)
    assert float(batch_loss(build(Transformer), BATCH, 0.1, plain=True).detach()) > 0
    with pytest.raises(TypeError):
        batch_loss(build(Transformer), BATCH, 0.1)


def test_a_projection_of_ones_own_is_used() -> None:
    assert float(batch_loss(build(Cold), BATCH, 0.0).detach()) != pytest.approx(
        float(batch_loss(build(Transformer), BATCH, 0.0).detach()), rel=1e-3
    )
