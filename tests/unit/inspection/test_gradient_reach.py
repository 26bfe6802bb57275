"""The gradient that the last written word sends to each word of the source."""

import numpy as np
import pytest
import torch

from interlingua.inspection.gradient_reach import draw_gradient_reach, gradient_reach
from interlingua.model.architecture import Architecture, RecurrentArchitecture
from interlingua.model.building import build_encoder_decoder

V, LENGTH = 12, 24


def fresh(architecture):
    torch.manual_seed(4)
    return build_encoder_decoder(architecture, source_vocabulary=V, target_vocabulary=V)


@pytest.fixture
def pairs():
    torch.manual_seed(1)
    return torch.randint(3, V, (4, LENGTH)), torch.randint(3, V, (4, 5))


def test_it_is_the_gradient_by_finite_differences(pairs):
    model = fresh(RecurrentArchitecture(kind="gru", d_model=6, dropout=0.3)).double()
    source, target = pairs[0][:1], pairs[1][:1]
    table, (place, step) = model.source_embedding.table, (20, 1e-6)
    numerical = []
    for feature in range(6):
        sides = []
        for sign in (1, -1):

            def shift(_module, _inputs, embedded, sign=sign, feature=feature):
                moved = embedded.clone()
                moved[0, place, feature] += sign * step
                return moved

            handle = model.source_embedding.register_forward_hook(shift)
            with torch.no_grad():
                logits = model.eval()(source, target[:, :-1])[0, -1]
                sides.append(float(logits.log_softmax(-1)[target[0, -1]]))
            handle.remove()
        numerical.append((sides[0] - sides[1]) / (2 * step))
    model.train()
    found = gradient_reach(model, source, target)
    assert found[place] == pytest.approx(np.linalg.norm(numerical), rel=1e-4)
    assert model.training
    assert table.weight.grad is None
    assert not model.source_embedding._forward_hooks


def test_through_a_recurrence_alone_it_vanishes_and_through_attention_it_does_not(pairs):
    sizes = {"d_model": 16, "tie": "none"}
    alone = fresh(RecurrentArchitecture(kind="rnn", attention="none", bidirectional=False, **sizes))
    with torch.no_grad():
        for recurrence in [each for each in alone.modules() if isinstance(each, torch.nn.RNN)]:
            recurrence.weight_hh_l0.mul_(0.6)
    looking = fresh(Architecture(encoder_layers=1, decoder_layers=1, d_ff=16, heads=2, **sizes))
    vanished, steady = (gradient_reach(model, *pairs) for model in (alone, looking))
    assert vanished[0] < 1e-3 * vanished[-1]
    assert steady[0] > 0.1 * steady[-1]


def test_the_picture_has_a_line_for_each_model():
    curves = {"one": np.array([0.1, 1.0]), "two": np.array([2.0, 2.0])}
    (axes,) = draw_gradient_reach(curves, "fresh").axes
    assert [line.get_label() for line in axes.lines] == ["one", "two"]
    assert axes.lines[0].get_ydata().tolist() == [1.0, 0.1]
