"""A decoder alone, which writes on where a text stops: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training".

It answers what every model here is asked. Its source is a prompt: what was written before, by whoever asks. Nothing is encoded apart;
prompt and target are one text, of which every position sees those before it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.model.architecture import DecoderArchitecture
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import EncoderLayer
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.layer_parts import initialise, parts_of_layers, usual_positions

__all__ = ["LanguageModel", "PastLayer", "Prompt", "WrittenState"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was written before, and is not read yet."""

    ids: Int[Tensor, "R S"]
    """With the end symbol that every source has, and padding behind it."""
    lengths: Int[Tensor, "R"]
    """Without either."""


@dataclass(frozen=True, slots=True)
class PastLayer:
    """Keys and values of one layer, of all that was read so far."""

    key: Float[Tensor, "R H L K"]
    value: Float[Tensor, "R H L Kv"]


@dataclass(frozen=True, slots=True)
class WrittenState:
    """What the model has read so far, one row a hypothesis."""

    prompt: Prompt | None
    """To be read behind the begin symbol, at the first step; None once it is."""
    past: tuple[PastLayer, ...]
    mask: Bool[Tensor, "R L"]
    """True where there is a token: the prompts of a batch have different lengths."""
    position: Int[Tensor, "R"]
    """Where the next token stands."""

    def reorder(self, rows: Int[Tensor, "R2"]) -> "WrittenState":
        """Select, repeat or drop hypotheses."""
        prompt = self.prompt and Prompt(self.prompt.ids[rows], self.prompt.lengths[rows])
        past = tuple(PastLayer(each.key[rows], each.value[rows]) for each in self.past)
        return WrittenState(prompt, past, self.mask[rows], self.position[rows])


class LanguageModel(EncoderDecoder):
    """A stack of masked self-attention and feed-forward layers.

    Args:
        architecture: the sizes.
        source_vocabulary: V of the prompt.
        target_vocabulary: V of what is written; the same.
        source_pad: id that pads a prompt.
        target_pad: id that pads a target; the same.

    Raises:
        ValueError: two vocabularies; prompt and target are one text.
    """

    architecture: DecoderArchitecture

    def __init__(
        self,
        architecture: DecoderArchitecture,
        *,
        source_vocabulary: int,
        target_vocabulary: int,
        source_pad: int = 0,
        target_pad: int = 0,
    ) -> None:
        super().__init__()
        if source_vocabulary != target_vocabulary or source_pad != target_pad:
            raise ValueError(
                f"a language model has one vocabulary, not {source_vocabulary} source and {target_vocabulary} target "
                "entries; share it"
            )
        a = architecture.stack()
        self.architecture = architecture
        self.source_pad = source_pad
        self.target_pad = target_pad
        attend, feed, around, last = parts_of_layers(a)
        table = nn.Embedding(target_vocabulary, a.d_model)
        positions = usual_positions(a)(a.max_positions, a.d_model)
        self.embedding = TokenEmbedding(table, positions, a.dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(attend(), feed(), around(), around()) for _ in range(a.decoder_layers)
        )
        self.final_norm = last()
        self.output = nn.Linear(a.d_model, target_vocabulary, bias=a.output_bias)
        initialise(self, a, self.output)
        if a.tie != "none":
            self.output.weight = table.weight

    def encode(self, source: Int[Tensor, "B S"]) -> Prompt:
        """Keep the prompt; its end symbol is no part of it, as it has not ended."""
        return Prompt(source, (source != self.source_pad).sum(1) - 1)

    def decode_hidden(
        self, target_in: Int[Tensor, "B T"], memory: Prompt
    ) -> Float[Tensor, "B T D"]:
        """Return the vectors from which the next tokens are predicted."""
        opening, state = self._open(target_in[:, 0], memory)
        following, _ = self._read(target_in[:, 1:], state)
        return torch.cat((opening[:, None], following), dim=1)

    def start(self, memory: Prompt) -> WrittenState:
        """Stand before the prompt, which is read with the begin symbol at the first step."""
        rows, device = memory.ids.size(0), memory.ids.device
        return WrittenState(
            prompt=memory,
            past=(),
            mask=torch.ones(rows, 0, dtype=torch.bool, device=device),
            position=torch.zeros(rows, dtype=torch.long, device=device),
        )

    def step_hidden(
        self, ids: Int[Tensor, "R"], state: WrittenState
    ) -> tuple[Float[Tensor, "R D"], WrittenState]:
        """Read one more token a row; return the vectors from which the next is predicted."""
        if state.prompt is not None:
            return self._open(ids, state.prompt)
        hidden, after = self._read(ids[:, None], state)
        return hidden[:, 0], after

    def _open(
        self, begin: Int[Tensor, "R"], prompt: Prompt
    ) -> tuple[Float[Tensor, "R D"], WrittenState]:
        """Read the begin symbol and the prompt; return what the first token is predicted from."""
        ids = torch.cat(
            (begin[:, None], prompt.ids[:, :-1]), dim=1
        )  # R S: the longest has no end symbol
        is_real = torch.arange(ids.size(1), device=ids.device) <= prompt.lengths[:, None]
        hidden, state = self._read(ids, self.start(prompt), is_real)
        rows = torch.arange(ids.size(0), device=ids.device)
        after = WrittenState(None, state.past, state.mask, prompt.lengths + 1)
        return hidden[rows, prompt.lengths], after

    def _read(
        self,
        ids: Int[Tensor, "R T"],
        state: WrittenState,
        is_real: Bool[Tensor, "R T"] | None = None,
    ) -> tuple[Float[Tensor, "R T D"], WrittenState]:
        """Read tokens that follow what was read; without ``is_real`` all of them are tokens."""
        length, before = ids.size(1), state.mask.size(1)
        real = torch.ones_like(ids, dtype=torch.bool) if is_real is None else is_real
        seen = torch.cat((state.mask, real), dim=1)  # R L+T
        ahead = torch.ones(length, before + length, dtype=torch.bool, device=ids.device).tril(
            before
        )
        mask = seen[:, None, None] & ahead
        places = state.position[:, None] + torch.arange(length, device=ids.device)
        x, past = self.embedding.at(ids, places), []
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, EncoderLayer)
            x, new = _read_layer(layer, x, state.past[number] if state.past else None, mask)
            past.append(new)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return x, WrittenState(None, tuple(past), seen, state.position + length)


def _read_layer(
    layer: EncoderLayer,
    x: Float[Tensor, "R T D"],
    past: PastLayer | None,
    mask: Bool[Tensor, "R 1 T L2"],
) -> tuple[Float[Tensor, "R T D"], PastLayer]:
    """Refine new positions by all before them; return them and what the next will look at."""
    looked_at: list[PastLayer] = []

    def look_back(y: Tensor) -> Tensor:
        key, value = layer.self_attention.keys_and_values(y)
        if past is not None:
            key, value = torch.cat((past.key, key), dim=2), torch.cat((past.value, value), dim=2)
        looked_at.append(PastLayer(key, value))
        return layer.self_attention.attend(y, key, value, mask)

    x = layer.around_attention(x, look_back)
    return layer.around_feed_forward(x, layer.feed_forward), looked_at[0]
