"""A batch that does not fit into memory is halved until it does, in an update and in a validation."""

import torch

from interlingua.batching.batch import Batch
from interlingua.errors import TrainingError

__all__ = ["halves", "is_lack_of_memory"]


def is_lack_of_memory(error: BaseException) -> bool:
    """Recognise it: on a CPU torch raises a plain RuntimeError."""
    return isinstance(
        error, MemoryError | torch.OutOfMemoryError
    ) or "can't allocate memory" in str(error)


def halves(batch: Batch) -> tuple[Batch, Batch]:
    """Return the first and the second half of a batch's pairs.

    Raises:
        TrainingError: it is a single pair.
    """
    rows = len(batch.pair_ids)
    if rows == 1:
        raise TrainingError(
            f"pair {batch.pair_ids[0]:,} alone does not fit into memory; lower batching.max_length, "
            "or take a smaller model"
        )
    return batch.rows(slice(0, rows // 2)), batch.rows(slice(rows // 2, None))
