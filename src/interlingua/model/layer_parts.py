"""What the layers of a Transformer are made of, and what their weights begin as: the same for every model that has such layers."""

from collections.abc import Callable

from torch import nn

from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import LearnedPositions, Positions, SinusoidalPositions
from interlingua.model.residual import Residual

__all__ = ["RESIDUAL_GAIN", "initialise", "parts_of_layers", "usual_positions"]

RESIDUAL_GAIN = {"post": 1 / 3, "pre": 1.0}
"""At which part of the usual size begins what is added up along the layers: embeddings, values, outputs, feed-forward.

Post-normalization rescales the sum after every sublayer; from matrices of full size small batches at a high learning
rate do not find the way past the frequencies of words (docs/results.md, "What the initial weights are worth"). DeepNet
(Wang et al. 2022) makes the same matrices smaller, queries and keys excepted, by a factor that depends on the depth.
"""


def parts_of_layers(
    a: Architecture,
    attention: Callable[..., MultiHeadAttention] = MultiHeadAttention,
    feed_forward: Callable[..., FeedForward] = FeedForward,
) -> tuple[
    Callable[[], MultiHeadAttention],
    Callable[[], FeedForward],
    Callable[[], Residual],
    Callable[[], nn.LayerNorm | None],
]:
    """Return what makes an attention, a feed-forward sublayer, what surrounds a sublayer, and the norm behind the last layer."""

    def attend() -> MultiHeadAttention:
        return attention(a.d_model, a.heads, a.query_width, a.value_width, a.attention_dropout)

    def feed() -> FeedForward:
        return feed_forward(a.d_model, a.d_ff, a.activation, a.activation_dropout)

    def around() -> Residual:
        return Residual(a.d_model, a.dropout, a.norm)

    def last() -> nn.LayerNorm | None:
        return nn.LayerNorm(a.d_model) if a.norm == "pre" else None

    return attend, feed, around, last


def usual_positions(a: Architecture) -> Callable[[int, int], Positions]:
    """Return what makes the positions that the architecture names."""
    return SinusoidalPositions if a.positions == "sinusoidal" else LearnedPositions


def initialise(model: nn.Module, a: Architecture, output: nn.Linear) -> None:
    """Glorot-uniform matrices, zero biases, embeddings of variance 1/D; see ``RESIDUAL_GAIN``.

    A part of one's own keeps the initialisation of its own parameters; its linear layers are treated
    like all others.
    """
    gain = RESIDUAL_GAIN[a.norm]
    for module in model.modules():
        if isinstance(module, nn.Embedding) or module is output:
            nn.init.normal_(module.weight, std=gain * a.d_model**-0.5)
            if module is output and output.bias is not None:
                nn.init.zeros_(output.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for chooser in (module.query, module.key):  # they choose what is read, and add nothing
                chooser.weight.data /= gain
