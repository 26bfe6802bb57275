"""The best k of each row, the same on every device and in every run."""

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["top_k"]


def top_k(values: Float[Tensor, "B C"], k: int) -> tuple[Float[Tensor, "B k"], Int[Tensor, "B k"]]:
    """Return the ``k`` greatest values of each row and their columns, ties to the lowest column.

    ``torch.topk`` chooses freely among equals, which would make a search depend on the machine. A row is
    fully sorted only when equals stand on both sides of the cut; ties at minus infinity are left alone, as
    such candidates are nobody's. Not-a-number counts as greatest, as in torch.
    """
    best, columns = values.topk(min(k + 1, values.size(-1)), dim=-1)
    if best.size(-1) > k:
        tied = (best[:, k - 1] == best[:, k]) & best[:, k].isfinite()
        if bool(tied.any()):
            columns[tied, :k] = values[tied].argsort(dim=-1, descending=True, stable=True)[:, :k]
    columns = columns[:, :k].sort(dim=-1).values
    order = values.gather(-1, columns).argsort(dim=-1, descending=True, stable=True)
    columns = columns.gather(-1, order)
    return values.gather(-1, columns), columns
