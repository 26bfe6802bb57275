"""Freezing by name, adapters by name, and what a wrong name is told."""

from pathlib import Path

import pytest
import torch

from interlingua.batching.batch import make_batch
from interlingua.checkpoints.weights import parameters_of
from interlingua.errors import ConfigError
from interlingua.kernels.packed import can_pack
from interlingua.model.architecture import Architecture
from interlingua.model.low_rank import LowRankLinear
from interlingua.model.transformer import Transformer
from interlingua.training.adapting import (
    LORA_ON,
    adapter_tensors,
    freeze,
    merged_weights,
    put_adapters,
)
from interlingua.training.objective import batch_loss

SIZES = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=12, heads=2, dropout=0.0)


def model_of(**changes: object) -> Transformer:
    torch.manual_seed(3)  # and adapters draw theirs after it
    sizes = Architecture(**(SIZES.to_dict() | changes))
    return Transformer(sizes, source_vocabulary=11, target_vocabulary=11)


def test_frozen_are_the_parameters_whose_names_match_and_no_others() -> None:
    model = model_of()
    freeze(model, ("encoder.*", "decoder.layers.0.around_*.norm.weight"))
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    wanted = {name for name in parameters_of(model) if name.startswith("encoder.")}
    wanted |= {
        name for name in parameters_of(model) if "around_" in name and name.endswith("norm.weight")
    }
    assert frozen == wanted


def test_a_tied_table_is_frozen_by_any_of_its_names() -> None:
    model = model_of(tie="three-way")
    freeze(model, ("output.weight",))
    assert not model.source_embedding.table.weight.requires_grad


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("encoder", "encoder.*"), ("encodr.*", "encoder"), ("decoder.layer.*", "decoder.layers")],
)
def test_a_pattern_without_a_match_is_refused_with_names_that_are_close(
    pattern: str, meant: str
) -> None:
    with pytest.raises(ConfigError, match="no parameter has such a name; did you mean") as caught:
        freeze(model_of(), (pattern,))
    assert meant in str(caught.value).partition("did you mean")[2]


def test_freezing_everything_is_refused() -> None:
    with pytest.raises(ConfigError, match="nothing can be learnt"):
        freeze(model_of(), ("*",))


def test_adapters_go_on_the_matrices_of_all_layers_and_leave_the_rest_alone() -> None:
    model = model_of()
    put_adapters(model, LORA_ON, rank=2, alpha=4.0)
    adapted = [m for m in model.modules() if isinstance(m, LowRankLinear)]
    assert len(adapted) == 4 + 2 + 2 * 4 + 2
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == set(adapter_tensors(parameters_of(model)))


def test_a_rank_that_no_matrix_has_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"start.lora_rank = 9.*a rank of 8 at most"):
        put_adapters(model_of(), LORA_ON, rank=9, alpha=1.0)


def test_an_adapter_on_something_that_is_no_matrix_of_a_layer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"start.lora_on = output.weight: no parameter"):
        put_adapters(model_of(), ("output.weight",), rank=2, alpha=1.0)


def test_merged_weights_are_those_of_a_plain_model_that_says_the_same(tmp_path: Path) -> None:
    model = model_of().eval()
    put_adapters(model, ("*attention.query.*", "*inner.*"), rank=2, alpha=3.0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("lora_b"):
                parameter.normal_()
    plain = model_of().eval()
    merged = merged_weights(parameters_of(model), 1.5)
    assert merged.keys() == parameters_of(plain).keys()
    plain.load_state_dict(merged, strict=False)
    ids = torch.tensor([[4, 5, 6]])
    torch.testing.assert_close(model(ids, ids), plain(ids, ids), rtol=0, atol=1e-6)


@pytest.mark.parametrize("patterns", [("encoder.*",), ("*embedding*", "decoder.*norm*"), ()])
def test_the_kernels_give_the_gradients_of_the_plain_model(patterns: tuple[str, ...]) -> None:
    if not can_pack(model_of(), torch.device("cpu"), torch.float32):
        pytest.skip("no C++ compiler: there is only the plain way")
    batch = make_batch(
        *([[4, 5, 6], [7, 8]], [[4, 5], [6, 7, 8]], [0, 1]),
        source_pad=0,
        source_end=3,
        target_pad=0,
        target_begin=2,
        target_end=3,
    )
    gradients = []
    for plain in (True, False):
        model = model_of()
        if patterns:
            freeze(model, patterns)
        else:
            put_adapters(model, LORA_ON, rank=2, alpha=4.0)
            for name, parameter in model.named_parameters():
                if name.endswith("lora_b"):
                    torch.nn.init.normal_(parameter)
        assert can_pack(model, torch.device("cpu"), torch.float32)
        torch.manual_seed(5)
        batch_loss(model, batch, 0.1, plain=plain).backward()
        gradients.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    exact, fast = gradients
    assert exact.keys() == fast.keys()
    for name, gradient in exact.items():
        torch.testing.assert_close(fast[name], gradient, rtol=1e-4, atol=1e-5)
