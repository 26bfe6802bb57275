"""Logits to log-probabilities, and which symbols may be written at all."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["never_written", "next_log_probabilities"]


def never_written(
    pad_id: int, begin_id: int, end_id: int, device: torch.device | str
) -> Int[Tensor, "X"]:
    """Return the ids that search must not write: padding and the begin symbol.

    A model whose begin symbol is also its end or padding symbol is still able to end.
    """
    return torch.tensor(sorted({pad_id, begin_id} - {end_id}), dtype=torch.long, device=device)


def next_log_probabilities(
    logits: Float[Tensor, "R V"], banned: Int[Tensor, "X"]
) -> Float[Tensor, "R V"]:
    """Return the log-softmax in at least float32, minus infinity for the ``banned`` ids.

    What is left is not renormalised: the numbers stay the model's own probabilities, so that scoring the
    result by teacher forcing gives them back.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    return logits.log_softmax(dim=-1, dtype=dtype).index_fill(-1, banned, float("-inf"))
