"""What a translation would be without a part of the model: a head, a layer, the mask, the scaling, the positions, a word.

An :class:`~interlingua.inspection.questions.Intervention` says what is different, and :func:`intervene` gives a translator that computes so. It shares
every weight with the translator that it was made from, which stays as it is: no hook and no patch, so that other threads
go on undisturbed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.errors import ConfigError, ModelError
from interlingua.inspection.questions import (
    AttentionKind,
    EditedWeight,
    HeadName,
    Intervention,
    LayerName,
)
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import Decoder, DecoderLayer
from interlingua.model.dropout import Dropout
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import Encoder, EncoderLayer
from interlingua.model.transformer import Memory, Transformer
from interlingua.translator import Translator

__all__ = ["SwitchedTransformer", "intervene"]


def intervene(translator: Translator, intervention: Intervention) -> Translator:
    """Return a translator that computes with ``intervention``; the same one if that is nothing.

    Raises:
        ConfigError: a head or layer that the model does not have.
        ModelError: the model is not made of the usual layers.
    """
    if intervention.is_nothing:
        return translator
    model = translator.model
    if not isinstance(model, Transformer):
        raise ModelError(f"a {type(model).__name__} has no parts that can be switched off here")
    _refuse_unknown(model, intervention)
    return translator.with_model(SwitchedTransformer(model, intervention))


class SwitchedAttention(MultiHeadAttention):
    """An attention that shares its projections with another, and computes with an intervention."""

    def __init__(
        self, plain: MultiHeadAttention, kind: AttentionKind, layer: int, what: Intervention
    ) -> None:
        nn.Module.__init__(self)
        self.heads = plain.heads
        self.query, self.key, self.value = plain.query, plain.key, plain.value
        self.output = plain.output
        self.dropout = Dropout(0.0)  # its own: who records the plain one sees nothing of this one
        self.compare = plain.weigh
        self.off = [
            head.head - 1 for head in what.heads_off if (head.kind, head.layer) == (kind, layer)
        ]
        self.edits: dict[tuple[int, int], dict[int, float]] = {}  # of one row of one head together
        for edit in what.edited:
            if (edit.kind, edit.layer) == (kind, layer):
                own = self.edits.setdefault((edit.head - 1, edit.row), {})
                own[edit.column] = edit.weight
        self.hidden = () if kind == "decoder" else what.hidden_source
        self.looks_ahead = what.mask_off and kind == "decoder"
        self.unscaled = what.scaling_off

    def weigh(
        self,
        query: Float[Tensor, "B H T K"],
        key: Float[Tensor, "B H S K"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B H T S"]:
        """Compare as the plain one does, but for what is switched off or edited."""
        if self.unscaled:  # what is multiplied here is divided there
            query = query * math.sqrt(query.size(-1))
        weights = self.compare(query, key, self.mask_of(key, mask))
        for (head, row), edits in self.edits.items():
            weights = _edit(weights, head, row, edits)
        if self.off:
            weights = weights.index_fill(1, torch.tensor(self.off, device=weights.device), 0.0)
        return weights

    def mask_of(
        self, key: Float[Tensor, "B H S K"], mask: Bool[Tensor, "#B #H #T S"] | None
    ) -> Bool[Tensor, "#B #H #T S"] | None:
        """Return where a query may look, of where it might in the plain one."""
        if self.looks_ahead:
            mask = None
        hidden = [place for place in self.hidden if place < key.size(2)]
        if not hidden:
            return mask
        seen = torch.ones(key.size(2), dtype=torch.bool, device=key.device)
        seen[hidden] = False
        return seen[None, None, None] if mask is None else mask & seen


def _edit(
    weights: Float[Tensor, "B H T S"], head: int, row: int, edits: Mapping[int, float]
) -> Float[Tensor, "B H T S"]:
    """Set the weights of some columns of one row; a row or column that is not there yet is left alone."""
    columns = [column for column in edits if column < weights.size(3)]
    if row >= weights.size(2) or not columns:
        return weights
    weights = weights.clone()
    given = weights.new_tensor([edits[column] for column in columns])
    given = given / given.sum().clamp_min(1)
    own = weights[:, head, row]  # (B, S), a view
    own[:, columns] = 0.0
    others = own.sum(-1, keepdim=True)
    left = (1 - given.sum()).clamp_min(0)
    own *= torch.where(others > 0, left / others.clamp_min(1e-30), 0.0)
    own[:, columns] = given
    return weights


class _SkippedEncoderLayer(EncoderLayer):
    """An encoder layer that hands on what it is given."""

    def __init__(self) -> None:
        nn.Module.__init__(self)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "B S D"]:
        return x


class _SkippedDecoderLayer(DecoderLayer):
    """A decoder layer that hands on what it is given."""

    def __init__(self) -> None:
        nn.Module.__init__(self)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        target_mask: Bool[Tensor, "#B 1 T T"],
        source_mask: Bool[Tensor, "B 1 1 S"],
    ) -> Float[Tensor, "B T D"]:
        return x


class _NoPositions(nn.Module):
    """Positions that say nothing."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self._table = table

    def forward(self, start: int, length: int) -> Float[Tensor, "T D"]:
        return torch.zeros_like(self._table.weight[:1]).expand(length, -1)


@dataclass(frozen=True, slots=True)
class Rereading:
    """What a search that keeps no keys and values remembers: the source, and the target so far."""

    memory: Memory
    written: Int[Tensor, "R T"]

    def reorder(self, rows: Int[Tensor, "R2"]) -> "Rereading":
        """Select, repeat or drop hypotheses."""
        memory = Memory(self.memory.vectors[rows], self.memory.mask[rows])
        return Rereading(memory, self.written[rows])


class SwitchedTransformer(Transformer):
    """A Transformer that shares its weights with another, and computes with an intervention.

    Search reads the whole target anew at every step: without the look-ahead mask earlier positions change when a token
    is added, and an edited weight belongs to one row.
    """

    def __init__(self, plain: Transformer, what: Intervention) -> None:
        nn.Module.__init__(self)
        self.training = plain.training
        self.architecture = plain.architecture
        self.source_pad, self.target_pad = plain.source_pad, plain.target_pad
        self.source_embedding = _embedding(plain.source_embedding, what)
        self.target_embedding = _embedding(plain.target_embedding, what)
        self.encoder = Encoder(list(_encoder_layers(plain, what)), plain.encoder.final_norm)
        self.decoder = Decoder(list(_decoder_layers(plain, what)), plain.decoder.final_norm)
        self.output = plain.output

    def start(self, memory: Memory) -> Rereading:  # type: ignore[override]  # no cache can be kept
        """Stand before the first target token, one row a source."""
        rows = memory.vectors.size(0)
        return Rereading(memory, torch.empty(rows, 0, dtype=torch.long, device=memory.mask.device))

    def step(
        self, ids: Int[Tensor, "R"], state: Rereading
    ) -> tuple[Float[Tensor, "R V"], Rereading]:
        """Read the target so far and one more token a row; return the logits of the next."""
        written = torch.cat((state.written, ids[:, None]), dim=1)
        hidden = self.decode_hidden(written, state.memory)
        return self.project(hidden[:, -1]), Rereading(state.memory, written)


def _embedding(plain: TokenEmbedding, what: Intervention) -> TokenEmbedding:
    positions = _NoPositions(plain.table) if what.positions_off else plain.positions
    return TokenEmbedding(plain.table, positions, 0.0)


def _encoder_layers(plain: Transformer, what: Intervention) -> Iterator[EncoderLayer]:
    for number, layer in enumerate(plain.encoder.layers, start=1):
        assert isinstance(layer, EncoderLayer)
        if LayerName("encoder", number) in what.layers_off:
            yield _SkippedEncoderLayer()
            continue
        yield EncoderLayer(
            SwitchedAttention(layer.self_attention, "encoder", number, what),
            layer.feed_forward,
            layer.around_attention,
            layer.around_feed_forward,
        )


def _decoder_layers(plain: Transformer, what: Intervention) -> Iterator[DecoderLayer]:
    for number, layer in enumerate(plain.decoder.layers, start=1):
        assert isinstance(layer, DecoderLayer)
        if LayerName("decoder", number) in what.layers_off:
            yield _SkippedDecoderLayer()
            continue
        yield DecoderLayer(
            SwitchedAttention(layer.self_attention, "decoder", number, what),
            SwitchedAttention(layer.cross_attention, "cross", number, what),
            layer.feed_forward,
            (layer.around_self, layer.around_cross, layer.around_feed_forward),
        )


def _refuse_unknown(model: Transformer, what: Intervention) -> None:
    """Say which head or layer the model does not have."""
    sizes = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    sizes["cross"] = sizes["decoder"]
    named: Sequence[HeadName | EditedWeight] = (*what.heads_off, *what.edited)
    for layer in what.layers_off:
        if not 1 <= layer.layer <= sizes[layer.side]:
            raise ConfigError(
                f"there is no layer {layer.layer} in the {layer.side}: it has {sizes[layer.side]}"
            )
    for head in named:
        heads = model.architecture.heads
        if not (1 <= head.layer <= sizes[head.kind] and 1 <= head.head <= heads):
            raise ConfigError(
                f"there is no head {head.head} in layer {head.layer} of the {head.kind} attention: "
                f"it has {sizes[head.kind]} layers of {heads} heads"
            )
