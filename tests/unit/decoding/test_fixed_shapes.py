"""The shapes that a model computes do not depend on how many sentences stand in a batch."""

import torch

from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.fixed_shapes import SENTENCES, FixedShapes
from interlingua.decoding.options import SearchOptions
from interlingua.tokenization.tokenizer import Symbols


class Recording:
    """Writes whatever is likeliest of nothing, and records the shapes that it computes."""

    def __init__(self) -> None:
        self.widths: set[int] = set()
        self.rows: set[int] = set()

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        self.widths.add(source.size(1))
        return source

    def start(self, memory: torch.Tensor) -> "Recording":
        return self

    def reorder(self, rows: torch.Tensor) -> "Recording":
        return self

    def step(self, ids: torch.Tensor, state: "Recording") -> tuple[torch.Tensor, "Recording"]:
        self.rows.add(len(ids))
        return torch.zeros(len(ids), 9), self


def test_as_many_rows_are_computed_for_one_sentence_as_for_many() -> None:
    for beam_size in (1, 4):
        for sentences in (1, 5, SENTENCES):
            model = Recording()
            beam_search(
                FixedShapes(model, pad_id=0, longest=99),
                torch.ones(sentences, 3, dtype=torch.long),
                symbols=Symbols(0, 1, 2),
                max_lengths=[3] * sentences,
                options=SearchOptions(beam_size=beam_size),
            )
            assert model.rows == {SENTENCES * beam_size}


def test_a_source_is_padded_to_a_fixed_width_and_not_beyond_what_the_model_reads() -> None:
    for length, width in ((1, 8), (8, 8), (9, 16), (17, 20), (20, 20)):
        model = Recording()
        FixedShapes(model, pad_id=0, longest=20).encode(torch.ones(2, length, dtype=torch.long))
        assert model.widths == {width}
