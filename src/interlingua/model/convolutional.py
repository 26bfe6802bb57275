r"""A convolutional encoder-decoder: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning".

Every block, of both sides, takes ``kernel_width`` neighbours at once, gates half of what it computes by the other half,
and adds what it was given (sections 3.2 and 3.3):

.. math::
    [A; B] = W * x + b \qquad v([A; B]) = A \odot \sigma(B) \qquad y = \sqrt{0.5}\,(v([A; B]) + x)

The source's vectors add their positions, and so do the target's (3.1). A block of the decoder sees no later word, and
looks at the source with a query of its own (3.4, "multi-step attention"): with g the vector of the word before, z what
the encoder came to and e what it was given,

.. math::
    d_i = W_d h_i + b_d + g_i \qquad a_{ij} = \mathrm{softmax}_j(d_i^\top z_j) \qquad
    c_i = \sqrt{m} \sum_j a_{ij} \sqrt{0.5}\,(z_j + e_j) \qquad
    y = \sqrt{0.5}\,(\sqrt{0.5}\,(v([A; B]) + c) + x)

for m source words: the mean of m vectors is smaller by that root than one of them (3.5). Every sum of two is multiplied with the root of
one half, so that its variance stays. Two words k apart meet after
2 k / (``kernel_width`` - 1) blocks of the encoder, which looks to both sides, and half as many of the decoder, where a
recurrence takes k steps and attention one.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from interlingua.model.architecture import ConvolutionalArchitecture
from interlingua.model.dropout import Dropout
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder_decoder import EncoderDecoder, embedding_tables
from interlingua.model.masks import padding_mask
from interlingua.model.positions import LearnedPositions
from interlingua.model.source_attention import DotLook, Source

__all__ = ["ConvolutionalMemory", "ConvolutionalModel", "ConvolutionalState"]

ROOT_HALF = math.sqrt(0.5)
"""What a sum of two is multiplied with, so that its variance stays (section 3.5)."""

WORD_SIZE = 0.1
"""Standard deviation of the numbers of a word or a position at first (section 4.2)."""


@dataclass(frozen=True, slots=True)
class ConvolutionalMemory:
    """What the encoder knows of the source."""

    outputs: Float[Tensor, "B S D"]
    """z: what queries are compared with."""
    values: Float[Tensor, "B S D"]
    """The root of one half, times z + e: what is looked at."""
    mask: Bool[Tensor, "B S"]


@dataclass(frozen=True, slots=True)
class ConvolutionalState:
    """What the decoder remembers, one row a hypothesis: a few inputs of each block."""

    past: tuple[Float[Tensor, "R P D"], ...]
    """For each block its last P = ``kernel_width`` - 1 inputs; zeros before the first word."""
    source: Source
    position: int

    def reorder(self, rows: Int[Tensor, "R2"]) -> "ConvolutionalState":
        """Select, repeat or drop hypotheses."""
        past = tuple(each.index_select(0, rows) for each in self.past)
        return ConvolutionalState(past, self.source.reorder(rows), self.position)


class GatedConvolution(nn.Module):
    """Half of what a convolution gives, gated by the other half (Dauphin et al. 2017)."""

    def __init__(self, d_model: int, kernel_width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(d_model, 2 * d_model, kernel_width)

    def forward(self, x: Float[Tensor, "B W D"]) -> Float[Tensor, "B T D"]:
        """Take every window of neighbours: T = W - ``kernel_width`` + 1."""
        both = self.convolution(x.transpose(1, 2)).transpose(1, 2)
        return functional.glu(both, dim=2)

    if TYPE_CHECKING:
        __call__ = forward


class ConvolutionalEncoderLayer(nn.Module):
    """Refine every source position with its neighbours on both sides."""

    def __init__(self, d_model: int, kernel_width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.gated = GatedConvolution(d_model, kernel_width)
        self.side = kernel_width // 2

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        """Padding is zero, as is what lies beyond the ends."""
        real = self.dropout(x).masked_fill(~mask[:, :, None], 0.0)
        return ROOT_HALF * (self.gated(functional.pad(real, (0, 0, self.side, self.side))) + x)

    if TYPE_CHECKING:
        __call__ = forward


class ConvolutionalDecoderLayer(nn.Module):
    """Refine target positions with those before them, then look at the source."""

    def __init__(self, d_model: int, kernel_width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.gated = GatedConvolution(d_model, kernel_width)
        self.query = nn.Linear(d_model, d_model)
        self.cross_attention = DotLook()

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        words: Float[Tensor, "R T D"],
        past: Float[Tensor, "R P D"],
        source: Source,
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R P D"]]:
        """Read T more positions; return them refined, and the inputs that the next ones will see."""
        window = torch.cat((past, self.dropout(x)), dim=1)
        hidden = self.gated(window)
        context = self.cross_attention(self.query(hidden) + words, source)
        number = source.mask.sum(1)[:, None, None]  # m
        hidden = ROOT_HALF * (hidden + context * number.sqrt().to(context.dtype))
        return ROOT_HALF * (hidden + x), window[:, window.size(1) - past.size(1) :]

    if TYPE_CHECKING:
        __call__ = forward


class ConvolutionalModel(EncoderDecoder):
    """A convolutional encoder-decoder behind the protocol of the Transformer.

    Args:
        architecture: the sizes.
        source_vocabulary: V of the source.
        target_vocabulary: V of the target; must equal the source's for three-way tying.
        source_pad: id that pads a source.
        target_pad: id that pads a target.

    Raises:
        ValueError: three-way tying of two different vocabularies.
    """

    architecture: ConvolutionalArchitecture

    def __init__(
        self,
        architecture: ConvolutionalArchitecture,
        *,
        source_vocabulary: int,
        target_vocabulary: int,
        source_pad: int = 0,
        target_pad: int = 0,
    ) -> None:
        super().__init__()
        a = architecture
        self.architecture = a
        self.source_pad = source_pad
        self.target_pad = target_pad
        source, target = embedding_tables(a.tie, a.d_model, source_vocabulary, target_vocabulary)
        self.source_embedding = TokenEmbedding(
            source, LearnedPositions(a.max_positions, a.d_model), a.dropout
        )
        self.target_embedding = TokenEmbedding(
            target, LearnedPositions(a.max_positions, a.d_model), a.dropout
        )
        self.encoder = nn.ModuleList(
            ConvolutionalEncoderLayer(a.d_model, a.kernel_width, a.dropout)
            for _ in range(a.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            ConvolutionalDecoderLayer(a.d_model, a.kernel_width, a.dropout)
            for _ in range(a.decoder_layers)
        )
        self.dropout = Dropout(a.dropout)
        self.output = nn.Linear(a.d_model, target_vocabulary, bias=a.output_bias)
        self._initialise()
        if a.tie != "none":
            self.output.weight = self.target_embedding.table.weight

    def _initialise(self) -> None:
        """Keep the variance through every block (section 3.5); words, as they are scaled, and positions begin at 0.1.

        So small, queries and keys agree with no place more than with another, which the root of m counts on.
        """
        a = self.architecture
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=WORD_SIZE * a.d_model**-0.5)
            elif isinstance(module, nn.Conv1d):  # a gate halves: four times the usual variance
                inputs = a.kernel_width * a.d_model
                nn.init.normal_(module.weight, std=math.sqrt(4 * (1 - a.dropout) / inputs))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=a.d_model**-0.5)
            elif isinstance(module, LearnedPositions):
                nn.init.normal_(module.table, std=WORD_SIZE)
            if isinstance(module, nn.Linear | nn.Conv1d) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def encode(self, source: Int[Tensor, "B S"]) -> ConvolutionalMemory:
        """Read the source."""
        mask = padding_mask(source, self.source_pad)
        words = x = self.source_embedding(source)
        for layer in self.encoder:
            x = layer(x, mask)
        if x.requires_grad:  # every block of the decoder adds a gradient of its own (section 3.5)
            x.register_hook(lambda gradient: gradient / len(self.decoder))  # type: ignore[no-untyped-call]
        return ConvolutionalMemory(x, ROOT_HALF * (x + words), mask)

    def decode_hidden(
        self, target_in: Int[Tensor, "B T"], memory: ConvolutionalMemory
    ) -> Float[Tensor, "B T D"]:
        """Return the vectors from which the next tokens are predicted."""
        return self._read(target_in, self.start(memory))[0]

    def start(self, memory: ConvolutionalMemory) -> ConvolutionalState:
        """Stand before the first target token, one row a source."""
        rows = memory.outputs.size(0)
        width = self.architecture.kernel_width - 1
        past = tuple(
            memory.outputs.new_zeros(rows, width, memory.outputs.size(2)) for _ in self.decoder
        )
        row = torch.arange(rows, device=memory.mask.device)
        source = Source(memory.outputs, memory.values, memory.mask, row)
        return ConvolutionalState(past, source, 0)

    def step_hidden(
        self, ids: Int[Tensor, "R"], state: ConvolutionalState
    ) -> tuple[Float[Tensor, "R D"], ConvolutionalState]:
        """Read one more token a row; return the vectors from which the next is predicted."""
        hidden, after = self._read(ids[:, None], state)
        return hidden[:, 0], after

    def _read(
        self, ids: Int[Tensor, "R T"], state: ConvolutionalState
    ) -> tuple[Float[Tensor, "R T D"], ConvolutionalState]:
        words = x = self.target_embedding(ids, start=state.position)
        after = []
        for layer, past in zip(self.decoder, state.past, strict=True):
            x, past = layer(x, words, past, state.source)
            after.append(past)
        position = state.position + ids.size(1)
        return self.dropout(x), ConvolutionalState(tuple(after), state.source, position)
