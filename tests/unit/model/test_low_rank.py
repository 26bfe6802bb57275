"""An adapted linear map begins as what it was, and learns nothing but its two small matrices."""

import torch
from torch import nn

from interlingua.model.low_rank import LowRankLinear


def test_it_begins_as_the_plain_map_bit_for_bit() -> None:
    torch.manual_seed(1)
    plain = nn.Linear(6, 4)
    x = torch.randn(3, 6)
    expected = plain(x)
    assert torch.equal(LowRankLinear(plain, rank=2, alpha=4.0)(x), expected)


def test_its_weight_is_equation_3_of_the_paper() -> None:
    torch.manual_seed(1)
    part = LowRankLinear(nn.Linear(6, 4), rank=2, alpha=3.0)
    nn.init.normal_(part.lora_b)
    expected = part.frozen + 3.0 / 2 * part.lora_b @ part.lora_a
    torch.testing.assert_close(part.weight, expected)


def test_only_the_two_small_matrices_learn() -> None:
    part = LowRankLinear(nn.Linear(6, 4), rank=2, alpha=2.0)
    nn.init.normal_(part.lora_b)
    part(torch.randn(3, 6)).sum().backward()
    learnt = {name for name, p in part.named_parameters() if p.grad is not None}
    assert learnt == {"lora_a", "lora_b"}


def test_autocast_does_not_round_the_sum_of_matrices() -> None:
    part = LowRankLinear(nn.Linear(6, 4), rank=2, alpha=2.0)
    nn.init.normal_(part.lora_b)
    exact = part.weight
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(part.weight, exact)
