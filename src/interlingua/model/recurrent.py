r"""Recurrent encoder-decoders: what translated before the Transformer.

One vector remembers what has been read. Each recurrence says how a word :math:`x_t` changes it (all matrices are
learned, :math:`\sigma` is the logistic function, :math:`\odot` multiplies component by component):

``rnn`` (Elman 1990)

.. math:: h_t = \tanh(W x_t + U h_{t-1} + b)

``lstm`` (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000)

.. math::
    i_t, f_t, o_t &= \sigma(W_{i,f,o}\, x_t + U_{i,f,o}\, h_{t-1} + b_{i,f,o}) \\
    c_t &= f_t \odot c_{t-1} + i_t \odot \tanh(W_c x_t + U_c h_{t-1} + b_c) \\
    h_t &= o_t \odot \tanh(c_t)

``gru`` (Cho et al. 2014; the reset gate after the product, as in cuDNN)

.. math::
    r_t, z_t &= \sigma(W_{r,z}\, x_t + U_{r,z}\, h_{t-1} + b_{r,z}) \\
    n_t &= \tanh(W_n x_t + b_n + r_t \odot (U_n h_{t-1} + b'_n)) \\
    h_t &= (1 - z_t) \odot n_t + z_t \odot h_{t-1}

The decoder begins with the encoder's last state (Sutskever et al. 2014; Cho et al. 2014). Without attention that one
vector is all that it ever knows of the source: the bottleneck. ``additive`` (Bahdanau et al. 2015) looks at all
annotations before each word, ``dot`` (Luong et al. 2015) after it.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.model.architecture import Recurrence, RecurrentArchitecture
from interlingua.model.dropout import Dropout
from interlingua.model.encoder_decoder import EncoderDecoder, embedding_tables
from interlingua.model.masks import padding_mask
from interlingua.model.source_attention import AdditiveLook, DotLook, Source, SourceLook

__all__ = [
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentMemory",
    "RecurrentModel",
    "RecurrentState",
    "turn_around",
]

LayerState = tuple[Tensor, ...]
"""What one layer remembers, (R, D) each: h, and for an LSTM also c."""


@dataclass(frozen=True, slots=True)
class RecurrentMemory:
    """What the encoder knows of the source."""

    annotations: Float[Tensor, "B S D"]
    """One vector a source position."""
    last: Float[Tensor, "B D"]
    """The last state of each direction: the bottleneck of a model without attention."""
    mask: Bool[Tensor, "B S"]


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """What the decoder remembers, one row a hypothesis: as much after a hundred words as after one."""

    layers: tuple[LayerState, ...]
    source: Source | None
    """None without attention: the source is in ``layers``, or forgotten."""

    def reorder(self, rows: Int[Tensor, "R2"]) -> "RecurrentState":
        """Select, repeat or drop hypotheses."""
        layers = tuple(tuple(part.index_select(0, rows) for part in layer) for layer in self.layers)
        return RecurrentState(layers, self.source and self.source.reorder(rows))


class WordEmbedding(nn.Module):
    r"""Ids to vectors, :math:`\mathrm{dropout}(E_{ids} \sqrt{D})`: a recurrence knows the order by itself."""

    def __init__(self, table: nn.Embedding, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.dropout = Dropout(dropout)
        self.scale = math.sqrt(table.embedding_dim)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Embed ``ids``."""
        return self.dropout(self.table(ids) * self.scale)

    if TYPE_CHECKING:
        __call__ = forward


def make_recurrence(kind: Recurrence, width_in: int, width: int) -> nn.RNNBase:
    """Make one layer in one direction; torch computes the equations above."""
    match kind:
        case "rnn":
            return nn.RNN(width_in, width, nonlinearity="tanh", batch_first=True)
        case "lstm":
            return nn.LSTM(width_in, width, batch_first=True)
        case "gru":
            return nn.GRU(width_in, width, batch_first=True)


def recur(
    recurrence: nn.Module, x: Float[Tensor, "B S D"], before: tuple[Tensor, ...] = ()
) -> tuple[Float[Tensor, "B S E"], tuple[Tensor, ...]]:
    """Pass ``x`` through one layer from the states ``before``, none being zeros; return its outputs and the states after.

    On a graphics card in single precision, whatever autocast says: there torch takes float16 for the layers of cuDNN, also where
    bfloat16 is asked for.
    """
    on_gpu = x.device.type == "cuda" and torch.is_autocast_enabled("cuda")
    with torch.autocast("cuda", enabled=False) if on_gpu else nullcontext():
        if on_gpu:
            x, before = x.float(), tuple(part.float() for part in before)
        found, last = recurrence(x, before if len(before) > 1 else before[0] if before else None)
    return found, last if isinstance(last, tuple) else (last,)


def turn_around(x: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B S D"]:
    """Reverse the first ``lengths[b]`` positions of each row; padding stays behind them."""
    place = torch.arange(x.size(1), device=x.device)
    mirrored = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
    return x.gather(1, mirrored[:, :, None].expand_as(x))


class RecurrentEncoderLayer(nn.Module):
    """One recurrence over the source, or one in each direction, side by side (Schuster and Paliwal 1997)."""

    def __init__(self, kind: Recurrence, d_model: int, *, bidirectional: bool) -> None:
        super().__init__()
        width = d_model // 2 if bidirectional else d_model
        self.ahead = make_recurrence(kind, d_model, width)
        self.back = make_recurrence(kind, d_model, width) if bidirectional else None

    def forward(
        self, x: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]
    ) -> Float[Tensor, "B S D"]:
        """Return one annotation a position; what stands at padding means nothing."""
        ahead: Tensor = recur(self.ahead, x)[0]
        if self.back is None:
            return ahead
        back = turn_around(recur(self.back, turn_around(x, lengths))[0], lengths)
        return torch.cat((ahead, back), dim=2)

    def last(
        self, annotations: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]
    ) -> Float[Tensor, "B D"]:
        """Return the state after the last word read: at the end, and of the way back at the beginning."""
        end = (lengths - 1)[:, None, None].expand(-1, 1, annotations.size(2))
        at_end = annotations.gather(1, end)[:, 0]
        if self.back is None:
            return at_end
        half = annotations.size(2) // 2
        return torch.cat((at_end[:, :half], annotations[:, 0, half:]), dim=1)

    if TYPE_CHECKING:
        __call__ = forward


class RecurrentEncoder(nn.Module):
    """N layers, each reading the annotations of the one below."""

    def __init__(self, layers: list[RecurrentEncoderLayer], dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> RecurrentMemory:
        """Read whole sources; padding is read too, and comes to nothing."""
        lengths = mask.sum(1).clamp(min=1)
        last = x[:, 0]
        for layer in self.layers:
            assert isinstance(layer, RecurrentEncoderLayer)
            x = layer(x, lengths)
            last = layer.last(x, lengths)
            x = self.dropout(x)
        return RecurrentMemory(x, last, mask)

    if TYPE_CHECKING:
        __call__ = forward


class RecurrentDecoder(nn.Module):
    r"""M layers that write, and how they look at the source.

    With s the state of the highest layer, y the vector of the word before, and c the context:

    .. math::
        \mathrm{none}:\; s_t = f(s_{t-1}, y_t),\; \tilde s_t = s_t \qquad
        \mathrm{dot}:\; s_t = f(s_{t-1}, y_t),\; \tilde s_t = \tanh(W [s_t; c(s_t)])

        \mathrm{additive}:\; c_t = c(s_{t-1}),\; s_t = f(s_{t-1}, [y_t; c_t]),\; \tilde s_t = \tanh(W [s_t; c_t; y_t])

    and :math:`\tilde s_t` is compared with every word. What ``dot`` needs of a whole target is one call a layer;
    ``additive`` must go word by word, in training too.

    Sources: Luong et al. 2015, equation 5; Bahdanau et al. 2015, appendix A.2 (with tanh for its maxout).
    """

    def __init__(self, a: RecurrentArchitecture) -> None:
        super().__init__()
        width = a.d_model
        self.width = width
        self.is_additive = a.attention == "additive"
        below = [2 * width if self.is_additive else width, *[width] * (a.decoder_layers - 1)]
        self.layers = nn.ModuleList(make_recurrence(a.kind, each, width) for each in below)
        parts = 2 if a.kind == "lstm" else 1
        self.bridges = nn.ModuleList(nn.Linear(width, parts * width) for _ in below)
        self.dropout = Dropout(a.dropout)
        self.cross_attention: SourceLook | None = None
        self.combine: nn.Linear | None = None
        if a.attention == "additive":
            self.cross_attention = AdditiveLook(width)
            self.combine = nn.Linear(3 * width, width)
        elif a.attention == "dot":
            self.cross_attention = DotLook()
            self.combine = nn.Linear(2 * width, width)

    def start(self, memory: RecurrentMemory) -> RecurrentState:
        r"""Begin every layer with :math:`\tanh(W h_{last} + b)`, and project what will be looked at."""
        begun = (bridge(memory.last).tanh() for bridge in self.bridges)
        layers = tuple(tuple(state.unflatten(1, (-1, self.width)).unbind(1)) for state in begun)
        if self.cross_attention is None:
            return RecurrentState(layers, None)
        rows = torch.arange(memory.last.size(0), device=memory.last.device)
        keys = self.cross_attention.keys(memory.annotations)
        return RecurrentState(layers, Source(keys, memory.annotations, memory.mask, rows))

    def forward(
        self, x: Float[Tensor, "R T D"], state: RecurrentState
    ) -> tuple[Float[Tensor, "R T D"], RecurrentState]:
        """Read T more words; return what predicts the next of each, and the state after the last."""
        if state.source is None or self.cross_attention is None or self.combine is None:
            hidden, layers = self._pass(x, state.layers)
            return hidden, replace(state, layers=layers)
        if self.is_additive:
            return self._word_by_word(x, state, state.source, self.cross_attention, self.combine)
        hidden, layers = self._pass(x, state.layers)
        context = self.cross_attention(hidden, state.source)
        both = torch.cat((hidden, context), dim=2)
        return self.dropout(self.combine(both).tanh()), replace(state, layers=layers)

    def _word_by_word(
        self,
        x: Float[Tensor, "R T D"],
        state: RecurrentState,
        source: Source,
        look: SourceLook,
        combine: nn.Linear,
    ) -> tuple[Float[Tensor, "R T D"], RecurrentState]:
        layers, seen, written = state.layers, [], []
        for word in x.unbind(dim=1):
            weights = look.weigh(layers[-1][0][:, None], source)
            context = weights @ source.values
            hidden, layers = self._pass(torch.cat((word[:, None], context), dim=2), layers)
            written.append(torch.cat((hidden, context, word[:, None]), dim=2))
            seen.append(weights)
        look.seen(torch.cat(seen, dim=1)[:, None])
        hidden = combine(torch.cat(written, dim=1)).tanh()
        return self.dropout(hidden), replace(state, layers=layers)

    def _pass(
        self, x: Float[Tensor, "R T E"], layers: tuple[LayerState, ...]
    ) -> tuple[Float[Tensor, "R T D"], tuple[LayerState, ...]]:
        """Pass words through the recurrences alone."""
        after = []
        for recurrence, before in zip(self.layers, layers, strict=True):
            parts = tuple(part[None].contiguous() for part in before)
            x, last = recur(recurrence, x, parts)
            after.append(tuple(part[0] for part in last))
            x = self.dropout(x)
        return x, tuple(after)

    if TYPE_CHECKING:
        __call__ = forward


class RecurrentModel(EncoderDecoder):
    """A recurrent encoder-decoder behind the protocol of the Transformer.

    Args:
        architecture: the sizes.
        source_vocabulary: V of the source.
        target_vocabulary: V of the target; must equal the source's for three-way tying.
        source_pad: id that pads a source.
        target_pad: id that pads a target.

    Raises:
        ValueError: three-way tying of two different vocabularies.
    """

    architecture: RecurrentArchitecture

    def __init__(
        self,
        architecture: RecurrentArchitecture,
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
        self.source_embedding = WordEmbedding(source, a.dropout)
        self.target_embedding = WordEmbedding(target, a.dropout)
        self.encoder = RecurrentEncoder(
            [
                RecurrentEncoderLayer(a.kind, a.d_model, bidirectional=a.bidirectional)
                for _ in range(a.encoder_layers)
            ],
            a.dropout,
        )
        self.decoder = RecurrentDecoder(a)
        self.output = nn.Linear(a.d_model, target_vocabulary, bias=a.output_bias)
        self._initialise()
        if a.tie != "none":
            self.output.weight = self.target_embedding.table.weight

    def _initialise(self) -> None:
        """Embeddings of variance 1/D, Glorot-uniform matrices, orthogonal ones from state to state, zero biases.

        The forget gate of an LSTM begins open, with a bias of 1 (Gers et al. 2000).
        """
        for module in self.modules():
            if isinstance(module, nn.Embedding) or module is self.output:
                nn.init.normal_(module.weight, std=self.architecture.d_model**-0.5)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.RNNBase):
                _initialise_recurrence(module)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def encode(self, source: Int[Tensor, "B S"]) -> RecurrentMemory:
        """Read the source."""
        return self.encoder(self.source_embedding(source), padding_mask(source, self.source_pad))

    def decode_hidden(
        self, target_in: Int[Tensor, "B T"], memory: RecurrentMemory
    ) -> Float[Tensor, "B T D"]:
        """Return the vectors from which the next tokens are predicted."""
        return self.decoder(self.target_embedding(target_in), self.decoder.start(memory))[0]

    def start(self, memory: RecurrentMemory) -> RecurrentState:
        """Stand before the first target token, one row a source."""
        return self.decoder.start(memory)

    def step_hidden(
        self, ids: Int[Tensor, "R"], state: RecurrentState
    ) -> tuple[Float[Tensor, "R D"], RecurrentState]:
        """Read one more token a row; return the vectors from which the next is predicted."""
        hidden, after = self.decoder(self.target_embedding(ids[:, None]), state)
        return hidden[:, 0], after


def _initialise_recurrence(module: nn.RNNBase) -> None:
    width = module.hidden_size
    for name, parameter in module.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(parameter)
            continue
        for gate in parameter.view(-1, width, parameter.size(1)):
            if name.startswith("weight_hh"):
                nn.init.orthogonal_(gate)
            else:
                nn.init.xavier_uniform_(gate)
    if isinstance(module, nn.LSTM):  # input, forget, cell, output
        nn.init.ones_(module.get_parameter("bias_ih_l0")[width : 2 * width])
