"""What training minimises: Vaswani et al. 2017, section 5.4, label smoothing."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

__all__ = ["label_smoothed_cross_entropy"]


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "M V"], targets: Int[Tensor, "M"], epsilon: float
) -> Float[Tensor, ""]:
    r"""Return the sum over M tokens of the cross-entropy with a softened target, in nats.

    .. math:: -\sum_v q_v \log p_v \qquad q_v = (1 - \epsilon)\,[v = y] + \epsilon / V

    Epsilon is spread over all V entries, the true one included, as in Szegedy et al. 2016 and in torch.
    The caller leaves padding out, and divides by the number of tokens.

    Source: section 5.4.
    """
    return functional.cross_entropy(
        logits.float() if logits.element_size() < 4 else logits,
        targets,
        reduction="sum",
        label_smoothing=epsilon,
    )
