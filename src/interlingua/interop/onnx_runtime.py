"""The exported graphs in onnxruntime, under this package's own search.

``OnnxModel`` answers to the protocol of ``decoding``: greedy and beam search, and a ``Translator``, run on it as they do
on the model that it was exported from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interlingua.errors import ModelError, how_to_install

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

__all__ = ["OnnxMemory", "OnnxModel", "OnnxState"]


@dataclass(frozen=True, slots=True)
class OnnxMemory:
    """What the encoder returned, and which positions are real (1) or padding (0)."""

    vectors: Float[Tensor, "B S D"]
    mask: Int[Tensor, "B S"]


@dataclass(frozen=True, slots=True)
class OnnxState:
    """What the decoder is to be given at the next step, by name; one row a hypothesis."""

    kept: dict[str, Tensor]
    mask: Int[Tensor, "R S"]
    vectors: Float[Tensor, "R S D"]

    def reorder(self, rows: Int[Tensor, "R2"]) -> "OnnxState":
        """Select, repeat or drop hypotheses."""
        kept = {name: value.index_select(0, rows) for name, value in self.kept.items()}
        return OnnxState(kept, self.mask.index_select(0, rows), self.vectors.index_select(0, rows))


class OnnxModel:
    """Encoder and decoder sessions of one folder.

    Args:
        folder: the one with the ``.onnx`` files, in single precision or in 8 bits.
        source_pad: id that pads a source.
        merged: one decoder for every step, as transformers.js uses it, or two, as Optimum does.
        threads: of onnxruntime.

    Raises:
        ModelError: a file is missing, or onnxruntime does not open it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        source_pad: int,
        merged: bool = True,
        threads: int = 1,
    ) -> None:
        names = (
            ["decoder_model_merged"] * 2 if merged else ["decoder_model", "decoder_with_past_model"]
        )
        suffix = "_quantized" if (Path(folder) / "encoder_model_quantized.onnx").exists() else ""
        paths = [Path(folder) / f"{name}{suffix}.onnx" for name in ("encoder_model", *names)]
        self.encoder = _open(paths[0], threads)
        self.first = _open(paths[1], threads)
        self.later = self.first if merged else _open(paths[2], threads)
        self.source_pad = source_pad
        self.merged = merged

    def encode(self, source: Int[Tensor, "B S"]) -> OnnxMemory:
        """Read the sources."""
        mask = (source != self.source_pad).long()
        given = {"input_ids": source, "attention_mask": mask}
        return OnnxMemory(_run(self.encoder, given)["last_hidden_state"], mask)

    def start(self, memory: OnnxMemory) -> OnnxState:
        """Stand before the first target token."""
        return OnnxState({}, memory.mask, memory.vectors)

    def step(
        self, ids: Int[Tensor, "R"], state: OnnxState
    ) -> tuple[Float[Tensor, "R V"], OnnxState]:
        """Read one more token a row; return the logits of the next."""
        given = {
            "input_ids": ids[:, None],
            "encoder_attention_mask": state.mask,
            "encoder_hidden_states": state.vectors,
        }
        if self.merged:
            given["use_cache_branch"] = torch.tensor([bool(state.kept)])
        past = state.kept or (self._nothing(len(ids)) if self.merged else {})
        found = _run(self.later if state.kept else self.first, given | past)
        kept = state.kept | {
            name.replace("present", "past_key_values"): value
            for name, value in found.items()
            if name.startswith("present")
        }
        return found["logits"][:, -1], OnnxState(kept, state.mask, state.vectors)

    def _nothing(self, rows: int) -> dict[str, Tensor]:
        """Make an empty past: no row of a merged decoder has one before its first step."""
        return {
            each.name: torch.empty(rows, each.shape[1], 0, each.shape[3])
            for each in self.first.get_inputs()
            if each.name.startswith("past_key_values")
        }


def _open(path: Path, threads: int) -> "InferenceSession":
    try:
        import onnxruntime
    except ImportError:
        raise ModelError(
            f"onnxruntime is not installed, which runs ONNX models; {how_to_install('export')}"
        ) from None
    if not path.is_file():
        raise ModelError(f"{path}: is missing; export the model again")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # The library raises classes of its own, one for each way to fail.
        raise ModelError(
            f"{path}: onnxruntime cannot open it ({error}); export the model again"
        ) from error


def _run(session: "InferenceSession", given: dict[str, Tensor]) -> dict[str, Tensor]:
    wanted = {each.name for each in session.get_inputs()}
    names: Sequence[str] = [each.name for each in session.get_outputs()]
    feeds = {name: value.cpu().numpy() for name, value in given.items() if name in wanted}
    found: list[Any] = session.run(names, feeds)
    device = next(iter(given.values())).device  # of who asks; it computes on the CPU
    return {
        name: torch.from_numpy(value).to(device) for name, value in zip(names, found, strict=True)
    }
