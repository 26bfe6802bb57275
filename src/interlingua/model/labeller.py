"""An encoder alone, with a head that says what it read: Devlin et al. 2019, "BERT".

It answers what every model here is asked. What it writes does not depend on what it wrote before: each answer is read from one position
of the source, so that a whole target is one look, and a search finds the likeliest answers and how likely they are.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from interlingua.model.architecture import EncoderArchitecture
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import Encoder, EncoderLayer
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.layer_parts import initialise, parts_of_layers, usual_positions
from interlingua.model.masks import padding_mask

__all__ = ["Labeller", "ReadState", "ReadText"]


@dataclass(frozen=True, slots=True)
class ReadText:
    """What the encoder knows of each source, and how long each is, its end symbol included."""

    vectors: Float[Tensor, "B S D"]
    lengths: Int[Tensor, "B"]


@dataclass(frozen=True, slots=True)
class ReadState:
    """What the encoder knows, one row a hypothesis, and how many answers were given."""

    text: ReadText
    position: int

    def reorder(self, rows: Int[Tensor, "R2"]) -> "ReadState":
        """Select, repeat or drop hypotheses."""
        text = ReadText(self.text.vectors[rows], self.text.lengths[rows])
        return ReadState(text, self.position)


class Labeller(EncoderDecoder):
    """An encoder and a head: hidden words, a tag for each token, or a class for the whole text.

    With ``answers`` = ``tokens`` answer t is read at token t, the end symbol at that of the source. With ``sequence`` there is one answer,
    read at the end symbol of the source, which takes the place of BERT's first symbol; what follows is always the end.

    Args:
        architecture: the sizes, and the head.
        source_vocabulary: V of the source.
        target_vocabulary: V of the answers.
        source_pad: id that pads a source.
        target_pad: id that pads answers, and stands where none is asked for.

    Raises:
        ValueError: three-way tying of two different vocabularies.
    """

    architecture: EncoderArchitecture

    def __init__(
        self,
        architecture: EncoderArchitecture,
        *,
        source_vocabulary: int,
        target_vocabulary: int,
        source_pad: int = 0,
        target_pad: int = 0,
    ) -> None:
        super().__init__()
        a = architecture.stack()
        if a.tie == "three-way" and source_vocabulary != target_vocabulary:
            raise ValueError(
                f"three-way tying needs one vocabulary, not {source_vocabulary} source and {target_vocabulary} target "
                "entries; share the vocabulary or tie the target only"
            )
        self.architecture = architecture
        self.source_pad = source_pad
        self.target_pad = target_pad
        attend, feed, around, last = parts_of_layers(a)
        table = nn.Embedding(source_vocabulary, a.d_model)
        positions = usual_positions(a)(a.max_positions, a.d_model)
        self.source_embedding = TokenEmbedding(table, positions, a.dropout)
        self.encoder = Encoder(
            [EncoderLayer(attend(), feed(), around(), around()) for _ in range(a.encoder_layers)],
            last(),
        )
        self.head = nn.Sequential(
            nn.Linear(a.d_model, a.d_model), nn.GELU(), nn.LayerNorm(a.d_model)
        )
        is_one = architecture.answers == "sequence"
        self.ended = nn.Parameter(torch.zeros(a.d_model)) if is_one else None
        """From what the end behind the only answer is predicted."""
        self.output = nn.Linear(a.d_model, target_vocabulary, bias=a.output_bias)
        initialise(self, a, self.output)
        if self.ended is not None:
            nn.init.normal_(self.ended, std=a.d_model**-0.5)
        if a.tie == "three-way":
            self.output.weight = table.weight

    def encode(self, source: Int[Tensor, "B S"]) -> ReadText:
        """Read the source."""
        mask = padding_mask(source, self.source_pad)
        return ReadText(
            self.encoder(self.source_embedding(source), mask[:, None, None]), mask.sum(1)
        )

    def decode_hidden(
        self, target_in: Int[Tensor, "B T"], memory: ReadText
    ) -> Float[Tensor, "B T D"]:
        """Return the vectors from which the answers are predicted; of ``target_in`` only the length counts."""
        return self._answers(memory, torch.arange(target_in.size(1), device=target_in.device))

    def start(self, memory: ReadText) -> ReadState:
        """Stand before the first answer, one row a source."""
        return ReadState(memory, 0)

    def step_hidden(
        self, ids: Int[Tensor, "R"], state: ReadState
    ) -> tuple[Float[Tensor, "R D"], ReadState]:
        """Return the vectors from which the next answer is predicted; what was answered before does not count."""
        place = torch.tensor([state.position], device=ids.device)
        return self._answers(state.text, place)[:, 0], ReadState(state.text, state.position + 1)

    def _answers(self, text: ReadText, places: Int[Tensor, "T"]) -> Float[Tensor, "R T D"]:
        """Return the vectors of some answers, which are counted from 0."""
        rows = torch.arange(text.lengths.size(0), device=places.device)[:, None]
        last = text.lengths[:, None] - 1
        if self.ended is None:
            return self.head(text.vectors[rows, torch.minimum(places[None], last)])
        whole = self.head(text.vectors[rows, last])  # R 1 D
        return torch.where((places == 0)[:, None], whole, self.ended)
