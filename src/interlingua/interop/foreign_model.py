"""What a reader of another format makes: everything of a model folder except the card."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from interlingua.checkpoints.model_folder import LoadedModel, build
from interlingua.checkpoints.weights import check_tensors, parameters_of
from interlingua.config import LANGUAGE_CODE, DecodingConfig
from interlingua.directions import Direction
from interlingua.errors import ModelError
from interlingua.model.architecture import Architecture
from interlingua.tokenization import TokenizerPair

__all__ = [
    "ForeignModel",
    "apart",
    "choose_tag",
    "language_or_none",
    "sinusoids",
    "with_another_row",
]

_NEVER = -100.0
"""The bias of a symbol that is added here and that no target may hold: e^-100 of its probability is nothing, and half precision holds it."""


@dataclass(frozen=True, slots=True)
class ForeignModel:
    """A model of another program, in our terms."""

    program: str
    architecture: Architecture
    weights: Mapping[str, Tensor]
    """By our names."""
    tokenizers: TokenizerPair
    decoding: DecodingConfig
    max_length: int
    source_lang: str | None
    """None where the files do not tell."""
    target_lang: str | None
    card: str = ""
    """What the other folder's own README says."""
    remarks: tuple[str, ...] = ()

    def to_loaded(self, path: Path, source_lang: str, target_lang: str) -> LoadedModel:
        """Return what ``save_model_folder`` takes; the model in it has no numbers, which are in ``weights``.

        Raises:
            ModelError: the weights do not fit the sizes, or are not finite.
        """
        with torch.device("meta"):
            model = build(self.architecture, self.tokenizers)
        check_tensors(path, self.weights, parameters_of(model))
        direction = Direction(source_lang, target_lang)
        tells = (
            direction.tag in self.tokenizers.source.all_tokens()
        )  # one of ours, of several pairs
        return LoadedModel(
            *(model, self.tokenizers, source_lang, target_lang, self.decoding, self.max_length),
            directions=(direction,) if tells else (),
            imported=True,
        )


def language_or_none(value: object) -> str | None:
    """Return ``value`` if it can be the code of a language."""
    if not isinstance(value, str) or not 0 < len(value) <= 20 or not value.isprintable():
        return None
    return value if re.match(LANGUAGE_CODE, value) else None


def apart(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give each tensor memory of its own: other programs store equal tables once, and a model folder does not."""
    seen: set[int] = set()
    found = {}
    for name, tensor in weights.items():
        place = tensor.untyped_storage().data_ptr()
        found[name] = tensor.clone() if place in seen else tensor
        seen.add(place)
    return found


def sinusoids(table: Tensor, half: bool) -> bool:
    """Tell whether ``table`` (positions, D) holds the paper's encodings, in halves or in turn, in its precision."""
    from interlingua.interop.marian_layout import half_and_half
    from interlingua.model.positions import sinusoidal_table

    wanted = sinusoidal_table(table.size(0), table.size(1)).float()
    rounded = max(1e-4, torch.finfo(table.dtype).eps)
    return torch.allclose(table.float(), half_and_half(wanted, 1 if half else None), atol=rounded)


def choose_tag(tags: Sequence[str], wanted: str | None, path: Path) -> tuple[str, tuple[str, ...]]:
    """Return what every source is to begin with, and what to tell the user about tags.

    Raises:
        ModelError: the wanted tag is not among ``tags``.
    """
    if wanted is not None:
        tag = f">>{wanted.strip('<>')}<<"
        if tag not in tags:
            known = ", ".join(each.strip("<>") for each in tags) or "none"
            raise ModelError(f"{path}: has no tag {wanted}; it has {known[:300]}")
        return tag, ()
    if len(tags) < 2:
        return "", ()
    known = ", ".join(tags[:6]) + (", ..." if len(tags) > 6 else "")
    return "", (
        f"translates into several languages: begin each text with a tag ({known}), or import with --target-tag",
    )


def with_another_row(
    a: Architecture, weights: Mapping[str, Tensor]
) -> tuple[Architecture, dict[str, Tensor]]:
    """Add one symbol to both sides, for padding and to begin with: a row of zeros that no target may hold."""
    grown = dict(weights)
    for name in ("source_embedding.table.weight", "target_embedding.table.weight", "output.weight"):
        if name in grown:
            grown[name] = torch.cat((grown[name], grown[name].new_zeros(1, a.d_model)))
    table = grown.get("target_embedding.table.weight", grown["source_embedding.table.weight"])
    bias = weights.get("output.bias", table.new_zeros(len(table) - 1))
    grown["output.bias"] = torch.cat((bias, bias.new_full((1,), _NEVER)))
    return replace(a, output_bias=True), grown
