"""What can be asked about a model: the records that a page, a server or a program fills in.

Nothing here computes, or imports what does, so that whoever only passes questions on stays small.
``looker`` answers them.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from interlingua.errors import ConfigError

__all__ = [
    "LONGEST_TEXT",
    "QUESTIONS",
    "AttentionKind",
    "CheckpointQuestion",
    "EditedWeight",
    "FileQuestion",
    "HeadName",
    "Intervention",
    "LayerName",
    "ModelQuestion",
    "NeighboursQuestion",
    "Question",
    "StepsQuestion",
    "TextQuestion",
    "TraceQuestion",
    "TreeEdits",
    "TreeQuestion",
    "WalkQuestion",
]

AttentionKind = Literal["encoder", "decoder", "cross"]
"""Self-attention of the encoder, of the decoder, or the decoder's attention to the source."""

LONGEST_TEXT = 2_000
"""Characters."""
LONGEST_FILE = 64
"""Lines that are asked about at once."""
MOST_EDITS = 64
LARGEST_BEAM = 32


@dataclass(frozen=True, slots=True)
class HeadName:
    """One head of one attention."""

    kind: AttentionKind
    layer: int
    """From 1, from the input up."""
    head: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class LayerName:
    """One layer of one side."""

    side: Literal["encoder", "decoder"]
    layer: int
    """From 1, from the input up."""


@dataclass(frozen=True, slots=True)
class EditedWeight:
    """One attention weight as somebody wants it; those of its row that nobody edited keep their ratios and share what is left.

    Where the edited ones of a row are more than 1 together, each is divided by their sum.
    """

    kind: AttentionKind
    layer: int
    head: int
    row: int
    """Which position looks, from 0."""
    column: int
    """What is looked at, from 0."""
    weight: float
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """What is different from the model as it was trained; nothing is by default.

    Raises:
        ConfigError: a weight that is no share of 1, a place before the first, or more than anybody switches by hand.
    """

    heads_off: tuple[HeadName, ...] = ()
    """Heads whose weights are all zero, so that they add nothing."""
    layers_off: tuple[LayerName, ...] = ()
    """Layers that hand on what they are given."""
    mask_off: bool = False
    """Whether the decoder may look ahead in what is written; as it writes, it sees no more than there is."""
    scaling_off: bool = False
    """Whether scores are left as they are, not divided by the root of d_k."""
    positions_off: bool = False
    """Whether nothing tells one position from another."""
    hidden_source: tuple[int, ...] = ()
    """Source tokens that nobody can look at, from 0."""
    edited: tuple[EditedWeight, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no model could do, and what would take long to do."""
        if len(self.edited) > MOST_EDITS:
            raise ConfigError(f"{len(self.edited)} edited weights; {MOST_EDITS} at most")
        for edit in self.edited:
            if not (math.isfinite(edit.weight) and 0.0 <= edit.weight <= 1.0):
                raise ConfigError(f"an edited weight is {edit.weight}; it takes 0 to 1")
        places = [place for edit in self.edited for place in (edit.row, edit.column)]
        if min((*places, *self.hidden_source), default=0) < 0:
            raise ConfigError("a place is below 0; tokens are counted from 0")

    @property
    def is_nothing(self) -> bool:
        """Whether the model is left as it is."""
        return self == Intervention()


@dataclass(frozen=True, slots=True)
class TreeEdits:
    """What somebody changed in a beam tree."""

    pinned: tuple[int, ...] = ()
    """Symbols that the target begins with."""
    whole: bool = False
    """Whether the last pinned word is a whole one, so that what follows does not go on with it."""
    typed: str = ""
    """Words that stand after the pinned ones."""
    force: tuple[str, ...] = ()
    """Words or phrases that every target holds."""
    ban: tuple[str, ...] = ()
    """Words or phrases that no target holds."""
    cut: tuple[tuple[int, ...], ...] = ()
    """Branches, by their symbols from the first, that are not entered."""


def _whole(text: str) -> str:
    """A text that is too long is refused in words; half a surrogate pair, which JSON can write, is no text."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(
            f"is too long to be looked into: it has {len(text):,} characters, and at most {LONGEST_TEXT:,} are taken"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(_whole), Field(json_schema_extra={"maxLength": LONGEST_TEXT})]


class Question(BaseModel):
    """What every question has."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    model: Annotated[int, Field(ge=0)] = 0
    """Which of the models, from 0."""


class ModelQuestion(Question):
    """About the model alone."""


class NeighboursQuestion(Question):
    """About one token of the vocabulary."""

    side: Literal["source", "target"] = "source"
    id: Annotated[int, Field(ge=0)]


class TextQuestion(Question):
    """About one text."""

    text: Text


class TraceQuestion(TextQuestion):
    """About one translation of one sentence: the model's own, or a given one."""

    target: Text | None = None
    switches: Intervention = Intervention()


class StepsQuestion(TraceQuestion):
    """About each symbol of one translation, and perhaps about one word of it."""

    instead_of: Annotated[tuple[int, ...], Field(max_length=LONGEST_TEXT)] = ()
    """Symbols of the target up to the first of a word: other words in its place are told."""


class WalkQuestion(TraceQuestion):
    """About one head."""

    kind: AttentionKind = "encoder"
    layer: int = 1
    head: int = 1


class TreeQuestion(TextQuestion):
    """About one search."""

    beam_size: Annotated[int, Field(ge=1, le=LARGEST_BEAM)] | None = None
    alpha: Annotated[float, Field(ge=-5, le=5)] | None = None
    edits: TreeEdits = TreeEdits()
    switches: Intervention = Intervention()


class CheckpointQuestion(TraceQuestion):
    """About one translation as an earlier state of the run saw it."""

    step: Annotated[int, Field(ge=0)]


class FileQuestion(Question):
    """About many sentences."""

    texts: Annotated[list[Text], Field(max_length=LONGEST_FILE)]
    references: Annotated[list[Text | None], Field(max_length=LONGEST_FILE)] | None = None
    """One a text; None for a text that has none."""
    switches: Intervention = Intervention()


QUESTIONS: dict[str, type[Question]] = {
    "models": ModelQuestion,
    "about": ModelQuestion,
    "best-view": ModelQuestion,
    "translation": TraceQuestion,
    "trace": TraceQuestion,
    "steps": StepsQuestion,
    "saliency": TraceQuestion,
    "walk": WalkQuestion,
    "tree": TreeQuestion,
    "embeddings": ModelQuestion,
    "neighbours": NeighboursQuestion,
    "positions": ModelQuestion,
    "checkpoint": CheckpointQuestion,
    "file": FileQuestion,
    "nearest": TextQuestion,
}
"""What can be asked, and what it takes."""
