"""The loss of a batch, by the kernel and by the plain reference."""

import pytest
import torch
from torch import Tensor

from interlingua.batching.batch import make_batch
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.training import objective
from interlingua.training.objective import batch_loss, label_smoothed_cross_entropy, r_drop

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


def test_r_drop_is_half_the_cross_entropies_and_a_quarter_of_both_divergences() -> None:
    torch.manual_seed(0)
    logits, targets = torch.randn(10, 7), torch.randint(7, (5,))
    log_p, log_q = logits.log_softmax(-1).chunk(2)
    divergences = sum(
        torch.nn.functional.kl_div(a, b, reduction="sum", log_target=True)
        for a, b in ((log_p, log_q), (log_q, log_p))
    )
    both = label_smoothed_cross_entropy(logits, targets.repeat(2), 0.1)
    assert float(r_drop(logits, targets, 0.1, 3.0)) == pytest.approx(
        float(both / 2 + 3.0 / 4 * divergences), rel=1e-5
    )


def test_without_dropout_two_passes_are_one() -> None:
    model = build(Transformer).eval()
    once, twice = (float(batch_loss(model, BATCH, 0.1, alpha=a).detach()) for a in (0.0, 5.0))
    assert twice == pytest.approx(once, rel=1e-5)
