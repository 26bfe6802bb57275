"""A batch that does not fit into memory is halved until it does, in an update and in a validation."""

from interlingua.batching.batch import Batch
from interlingua.errors import TrainingError

__all__ = ["halves"]


def halves(batch: Batch) -> tuple[Batch, Batch]:
    """Return the first and the second half of a batch's pairs.

    Raises:
        TrainingError: it is a single pair.
    """
    rows = len(batch.pair_ids)
    if rows == 1:
        raise TrainingError(
            f"pair {batch.pair_ids[0]:,} alone does not fit into memory; lower batching.max_length, "
            "or take a smaller model, with --fresh, as the run has begun"
        )
    return batch.rows(slice(0, rows // 2)), batch.rows(slice(rows // 2, None))
