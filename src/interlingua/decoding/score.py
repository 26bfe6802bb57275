"""What the model thinks of a target that is given: teacher forcing instead of search."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interlingua.decoding.protocol import SequenceModel, StateT, TeacherForcedModel

__all__ = ["score_pairs"]


def score_pairs(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    target_in: Int[Tensor, "B T"],
    target_out: Int[Tensor, "B T"],
    *,
    pad_id: int,
) -> Float[Tensor, "B T"]:
    """Return the log-probability of every symbol of ``target_out``, 0 where there is only padding.

    The sum of a row over its length penalty is the score that search would give the same target. A model that
    cannot read a whole target at once is read step by step.

    Args:
        model: an encoder-decoder.
        source: padded source ids.
        target_in: the begin symbol and the target, padded.
        target_out: the target and the end symbol, padded.
        pad_id: target id of padding.
    """
    memory = model.encode(source)
    if isinstance(model, TeacherForcedModel):
        logits = model.decode(target_in, memory)  # (B, T, V)
    else:
        state, columns = model.start(memory), []
        for ids in target_in.unbind(dim=1):
            column, state = model.step(ids, state)  # (B, V)
            columns.append(column)
        logits = torch.stack(columns, dim=1)
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.log_softmax(dim=-1, dtype=dtype)
    given = log_probs.gather(-1, target_out[:, :, None])[:, :, 0]  # (B, T)
    return given.masked_fill(target_out == pad_id, 0.0)
