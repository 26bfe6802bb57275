"""What training minimises: Vaswani et al. 2017, section 5.4, label smoothing."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from interlingua.batching.batch import Batch
from interlingua.hardware import product_dtype
from interlingua.kernels.packed import can_pack, packed_loss
from interlingua.kernels.projected_cross_entropy import projected_cross_entropy
from interlingua.model.transformer import Transformer

__all__ = ["batch_loss", "label_smoothed_cross_entropy"]


def batch_loss(
    model: Transformer, batch: Batch, epsilon: float, *, plain: bool = False
) -> Float[Tensor, ""]:
    """Return the loss of one batch, summed over its target tokens; padding never reaches the output layer.

    ``plain`` computes with the model as it stands in ``model/``; otherwise kernels take over what they can, and the
    result is the same.
    """
    dtype = product_dtype(batch.source.device)
    if not plain and can_pack(model, batch.source.device, dtype):
        return packed_loss(model, batch, epsilon, dtype)
    real = batch.target_out != model.target_pad
    hidden = model.decode_hidden(batch.target_in, model.encode(batch.source))[real]
    targets = batch.target_out[real]
    if plain or type(model).project is not Transformer.project:
        return label_smoothed_cross_entropy(model.project(hidden), targets, epsilon)
    return projected_cross_entropy(hidden, model.output.weight, targets, epsilon)


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
