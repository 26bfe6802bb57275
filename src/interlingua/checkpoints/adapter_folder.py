"""The adapter folder: what fine-tuning by low rank learnt, a small part of the model's size.

``adapter.json`` (rank, alpha, languages, the checksum of the model it belongs to), ``adapter.safetensors``,
``README.md``, ``manifest.json``. Source of the method: Hu et al. 2021.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from interlingua.checkpoints.manifest import (
    MANIFEST,
    check_manifest,
    listed_sha256,
    read_back,
    write_manifest,
)
from interlingua.checkpoints.model_folder import (
    BuildModel,
    LoadedModel,
    find_model_folder,
    load_model_folder,
    save_model_folder,
)
from interlingua.checkpoints.weights import parameters_of, read_tensors, write_tensors
from interlingua.errors import ModelError, OutputError
from interlingua.files import replace_folder
from interlingua.model.low_rank import LORA_A, LORA_B, add_low_rank

__all__ = [
    "Adapter",
    "find_adapter_folder",
    "load_adapter",
    "load_with_adapter",
    "merge_adapter",
    "refuse_what_is_no_adapter",
    "save_adapter",
    "weights_sha256",
    "write_merged",
]

_CONFIG, _TENSORS, _CARD = "adapter.json", "adapter.safetensors", "README.md"


@dataclass(frozen=True, slots=True)
class Adapter:
    """Differences of low rank for some matrices of one model: ``NAME.lora_a`` (r, in) and ``NAME.lora_b`` (out, r)."""

    rank: int
    alpha: float
    base_sha256: str
    """Of ``model.safetensors`` of the model that it was trained on."""
    source_lang: str
    target_lang: str
    tensors: Mapping[str, Tensor]

    @property
    def names(self) -> list[str]:
        """The matrices that it changes, without ``.weight``."""
        return sorted(name.removesuffix(LORA_A) for name in self.tensors if name.endswith(LORA_A))


def refuse_what_is_no_adapter(folder: Path) -> None:
    """Raise an OutputError if ``folder`` is anything but a new name, an empty folder, or an adapter, which may be replaced."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give the name of a folder")
    names = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    if others := names - {_CONFIG, _TENSORS, _CARD, MANIFEST}:
        raise OutputError(
            f"{folder}: holds {min(others)}, which is no part of an adapter and would be lost; give the adapter a folder of its own"
        )


def save_adapter(folder: Path, adapter: Adapter, card: str) -> None:
    """Write ``folder`` whole or not at all; an adapter that was there is replaced.

    Raises:
        OutputError: something else is there, the place cannot be written, or does not hold what was written to it.
    """
    refuse_what_is_no_adapter(folder)
    config = {
        "rank": adapter.rank,
        "alpha": adapter.alpha,
        "base_sha256": adapter.base_sha256,
        "source_lang": adapter.source_lang,
        "target_lang": adapter.target_lang,
    }
    with replace_folder(folder, check=read_back) as new:
        (new / _CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_tensors(new / _TENSORS, adapter.tensors)
        (new / _CARD).write_text(card, encoding="utf-8")
        write_manifest(new)


def find_adapter_folder(path: Path) -> Path:
    """Return ``path`` itself, or the ``adapter`` folder of the run that it names.

    Raises:
        ModelError: there is no adapter.
    """
    path = Path(path)
    inner = path / "adapter"
    folder = inner if inner.is_dir() else path
    if not (folder / _CONFIG).is_file() and not (folder / MANIFEST).is_file():
        what = "is not an adapter" if path.exists() else "does not exist"
        raise ModelError(
            f"{path}: {what}; give a run that was trained with --start.lora-rank, or its folder adapter"
        )
    return folder


def load_adapter(path: Path) -> Adapter:
    """Read an adapter, or the one inside a run folder, after checking that it is whole.

    Raises:
        ModelError: missing, truncated, changed, of another version, or inconsistent.
    """
    folder = find_adapter_folder(path)
    check_manifest(folder, needed=(_CONFIG, _TENSORS))
    tensors = read_tensors(folder / _TENSORS)
    try:
        config: dict[str, Any] = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        adapter = Adapter(
            rank=int(config["rank"]),
            alpha=float(config["alpha"]),
            base_sha256=str(config["base_sha256"]),
            source_lang=str(config["source_lang"]),
            target_lang=str(config["target_lang"]),
            tensors=tensors,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{folder / _CONFIG}: does not describe an adapter ({error}); copy the folder again"
        ) from error
    _check(folder / _TENSORS, adapter)
    return adapter


def merge_adapter(weights: Mapping[str, Tensor], adapter: Adapter) -> dict[str, Tensor]:
    r"""Return ``weights`` with the adapter's differences added: W + (alpha / r) B A.

    Raises:
        ModelError: the adapter changes a matrix that is not there, or has another shape.
    """
    merged = dict(weights)
    for name in adapter.names:
        a, b = adapter.tensors[name + LORA_A], adapter.tensors[name + LORA_B]
        plain, shape = merged.get(f"{name}.weight"), (b.size(0), a.size(1))
        if plain is None or plain.shape != shape:
            raise ModelError(
                f"the adapter changes {name}.weight {shape}, which this model does not have; take the model that it was trained on"
            )
        merged[f"{name}.weight"] = add_low_rank(plain, a, b, adapter.alpha / adapter.rank)
    return merged


def load_with_adapter(
    model: Path, adapter: Path, build_model: BuildModel | None = None
) -> LoadedModel:
    """Read a model and put an adapter into its weights; the folder on disk stays as it is.

    Raises:
        ModelError: either is damaged, or they do not belong together.
    """
    found = load_adapter(adapter)
    loaded = load_model_folder(model, build_model)
    if listed_sha256(find_model_folder(model), "model.safetensors") != found.base_sha256:
        raise ModelError(
            f"{adapter}: was trained on another model than {model}; take the one that its run began with"
        )
    expected = parameters_of(loaded.model)
    merged = merge_adapter(expected, found)
    with torch.no_grad():
        for name, parameter in expected.items():
            parameter.copy_(merged[name])
    return loaded


def weights_sha256(model: Path, adapter: Path | None = None) -> str:
    """Return what tells the weights of a model, with an adapter or without, from all others."""
    base = listed_sha256(find_model_folder(model), "model.safetensors")
    if adapter is None:
        return base
    folder = find_adapter_folder(adapter)
    # Two shares of what one run learnt have the same matrices: they differ in alpha, which the description holds.
    return "+".join((base, *(listed_sha256(folder, name) for name in (_TENSORS, _CONFIG))))


def write_merged(model: Path, adapter: Path, output: Path) -> None:
    """Write a model folder that holds ``model`` with ``adapter`` in its weights.

    Raises:
        ModelError: either is damaged, or they do not belong together.
        OutputError: something is at ``output`` already, or it cannot be written.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output}: is there already; give --output the name of a new folder")
    loaded = load_with_adapter(model, adapter)
    card = (find_model_folder(model) / "README.md").read_text(encoding="utf-8")
    own = (find_adapter_folder(adapter) / _CARD).read_text(encoding="utf-8")
    card += f"\n## Adapter\n\nAn adapter was merged into these weights; its card says:\n\n{own}"
    save_model_folder(output, loaded, parameters_of(loaded.model), card)


def _check(path: Path, adapter: Adapter) -> None:
    names = adapter.names
    wanted = {name + end for name in names for end in (LORA_A, LORA_B)}
    if not names or wanted != adapter.tensors.keys():
        raise ModelError(f"{path}: does not hold pairs of matrices; copy the folder again")
    for name, tensor in sorted(adapter.tensors.items()):
        side = 0 if name.endswith(LORA_A) else 1
        if tensor.dim() != 2 or tensor.size(side) != adapter.rank or adapter.rank < 1:
            raise ModelError(
                f"{path}: the tensor {name!r} has shape {tuple(tensor.shape)}, which is not of rank {adapter.rank}"
            )
        if not torch.isfinite(tensor).all():
            raise ModelError(f"{path}: the tensor {name!r} holds NaN or infinity")
