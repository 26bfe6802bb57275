"""How fast to learn, when: Vaswani et al. 2017, section 5.3."""

import math
from typing import Literal

__all__ = ["learning_rate", "paper_peak"]


def paper_peak(d_model: int, warmup_steps: int) -> float:
    r"""Return the learning rate at the end of the warm-up, :math:`D^{-0.5} \, warmup^{-0.5}`."""
    return float(d_model**-0.5 * warmup_steps**-0.5)


def learning_rate(
    step: int,
    *,
    peak: float,
    warmup_steps: int,
    schedule: Literal["inverse-sqrt", "linear", "cosine"] = "inverse-sqrt",
    progress: float = 0.0,
) -> float:
    r"""Return the learning rate of update ``step``, counted from 1.

    Linear warm-up to ``peak``, then the paper's inverse square root,

    .. math:: D^{-0.5} \min(step^{-0.5}, step \cdot warmup^{-1.5})

    or a fall to zero over ``progress``, the share of the training that is done (0 to 1).

    Source: section 5.3, equation 3.
    """
    warmup = min(1.0, step / warmup_steps)
    if schedule == "inverse-sqrt":
        return peak * min(warmup, math.sqrt(warmup_steps / step))
    left = min(max(1.0 - progress, 0.0), 1.0)
    if schedule == "linear":
        return peak * warmup * left
    return peak * warmup * 0.5 * (1.0 - math.cos(math.pi * left))
