"""What training minimises: Vaswani et al. 2017, section 5.4, label smoothing."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from interlingua.batching.batch import Batch
from interlingua.hardware import product_dtype
from interlingua.kernels.packed import can_pack, packed_loss
from interlingua.kernels.projected_cross_entropy import projected_cross_entropy, projected_r_drop
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.transformer import Transformer

__all__ = ["batch_loss", "label_smoothed_cross_entropy", "r_drop"]


def batch_loss(
    model: EncoderDecoder,
    batch: Batch,
    epsilon: float,
    *,
    alpha: float = 0.0,
    plain: bool = False,
    packs: bool | None = None,
) -> Float[Tensor, ""]:
    """Return the loss of one batch, summed over its target tokens; padding never reaches the output layer.

    With an ``alpha`` above 0 the batch passes twice, under different dropout: see :func:`r_drop`.

    ``plain`` computes with the model as it stands in ``model/``; otherwise kernels take over what they can, and the
    result is the same. The batch comes in main memory, wherever the model is. ``packs`` is what :func:`can_pack` said of
    this model before, as it looks at every part of it.
    """
    device = next(model.parameters()).device
    dtype = product_dtype(device)
    if not plain and (can_pack(model, device, dtype) if packs is None else packs):
        assert isinstance(model, Transformer)
        return packed_loss(model, batch, epsilon, dtype, alpha)
    batch = batch.to(device)
    targets = batch.target_out[batch.target_out != model.target_pad]
    if alpha:
        batch = batch.twice()
    real = batch.target_out != model.target_pad
    hidden = model.decode_hidden(batch.target_in, model.encode(batch.source))[real]
    words, bias = model.output.weight, model.output.bias
    if plain or type(model).project is not EncoderDecoder.project:
        logits = model.project(hidden)
        if alpha:
            return r_drop(logits, targets, epsilon, alpha)
        return label_smoothed_cross_entropy(logits, targets, epsilon)
    if alpha:
        return projected_r_drop(hidden, words, targets, epsilon, alpha, bias=bias)
    return projected_cross_entropy(hidden, words, targets, epsilon, bias=bias)


def r_drop(
    logits: Float[Tensor, "M2 V"], targets: Int[Tensor, "M"], epsilon: float, alpha: float
) -> Float[Tensor, ""]:
    r"""Return the loss of tokens that passed twice, under different dropout, summed, in nats.

    .. math:: \tfrac{1}{2}(CE_p + CE_q) + \tfrac{\alpha}{4}\left(KL(p \| q) + KL(q \| p)\right)

    Half of the paper's sum, so that with one pass or two the loss means the same.

    Source: Wu et al. 2021, "R-Drop: Regularized Dropout for Neural Networks", equations 1 to 3.
    """
    cross_entropy = label_smoothed_cross_entropy(logits, targets.repeat(2), epsilon)
    log_p, log_q = (
        (logits.float() if logits.element_size() < 4 else logits).log_softmax(-1).chunk(2)
    )
    divergences = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()
    return cross_entropy / 2 + alpha / 4 * divergences


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
