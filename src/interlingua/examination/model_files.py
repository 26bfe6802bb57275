"""What the files of a model folder tell without running it: damage, versions, tokenizers of others, sick weights."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from interlingua.checkpoints.manifest import FORMAT_VERSION, MANIFEST
from interlingua.checkpoints.weights import read_tensors
from interlingua.corpus.findings import Finding
from interlingua.errors import InterlinguaError, ModelError
from interlingua.tokenization.pair import SHARED_NAME, SOURCE_NAME, TARGET_NAME, TokenizerPair
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["examine_manifest", "examine_model_files", "examine_weights"]

_COPY = "copy the folder again from where it was trained, or train again"
_RETAKE = "take an earlier checkpoint: interlingua average RUN --last 1, or train again with a lower peak_learning_rate"
_TOKENIZERS = (SHARED_NAME, SOURCE_NAME, TARGET_NAME)
_FOREIGN = (".pt", ".pth", ".bin", ".ckpt", ".npz", ".pkl")
_WEIGHTS = "model.safetensors"

_LARGEST_RMS, _LARGEST_NUMBER = 10.0, 1_000.0
_TIMES_THE_USUAL = 30.0
"""Trained matrices of one model differ by a factor of five at most, on every model here; a hundred comes of divergence."""


def examine_model_files(folder: Path) -> list[Finding]:
    """Return what is wrong with the files of a model folder and with the numbers in them."""
    found = examine_manifest(folder)
    if any(finding.code in ("no-manifest", "old-format", "newer-format") for finding in found):
        return found
    tokenizers, of_tokenizers = _open_tokenizers(folder)
    found += [finding for finding in of_tokenizers if not _is_told(finding, found)]
    found += _examine_configuration(folder)
    try:
        tensors = read_tensors(folder / _WEIGHTS)
    except ModelError as error:
        unreadable = _corrupt(f"{error}")
        return found if _is_told(unreadable, found) else [*found, unreadable]
    found += examine_weights(tensors)
    if tokenizers:
        found += _compare_sizes(tokenizers, tensors)
    return found


def examine_manifest(folder: Path) -> list[Finding]:
    """Compare every file of a model or a checkpoint with what was written, and name all that differ."""
    path = folder / MANIFEST
    if not path.exists():
        return [_no_manifest(folder)]
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version = manifest["format_version"]
        files = {str(name): dict(entry) for name, entry in manifest["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [
            _corrupt(f"{path} cannot be read ({error}), so nothing proves that the rest is whole.")
        ]
    if version != FORMAT_VERSION:
        return [_other_version(path, version)]
    found = [
        finding for name, entry in files.items() if (finding := _compare_file(folder / name, entry))
    ]
    for name in ("config.json", _WEIGHTS, "generation_config.json", *_TOKENIZERS):
        if name not in files and (folder / name).exists() and (folder / "config.json").exists():
            found.append(
                _corrupt(f"{folder / name} is not listed in {MANIFEST}: it was added later.")
            )
    return found


def _is_told(finding: Finding, found: list[Finding]) -> bool:
    return any(each.code in ("corrupt-file", "wrong-tokenizer") for each in found) and (
        finding.code == "corrupt-file"
    )


def _no_manifest(folder: Path) -> Finding:
    foreign = [file.name for file in folder.iterdir() if file.suffix in _FOREIGN]
    if foreign:
        return Finding(
            "old-format",
            "error",
            (),
            f"{folder} holds {foreign[0]} and no {MANIFEST}: an older format or that of another program, which this one "
            "does not read.",
            "train again, or convert the model with the program that wrote it",
        )
    return Finding(
        "no-manifest",
        "error",
        (),
        f"{folder} has no {MANIFEST}: it is not a model folder, or it was copied in part.",
        _COPY,
    )


def _other_version(path: Path, version: object) -> Finding:
    is_newer = isinstance(version, int) and version > FORMAT_VERSION
    return Finding(
        "newer-format" if is_newer else "old-format",
        "error",
        (),
        f"{path} says format version {version!r}, and this program reads version {FORMAT_VERSION}.",
        "open it with the version of interlingua that wrote it, or a newer one than this"
        if is_newer
        else "open it with the version of interlingua that wrote it, or train again",
    )


def _compare_file(file: Path, entry: dict[str, Any]) -> Finding | None:
    if file.name in {"", ".", ".."} or not file.is_file():
        return _corrupt(f"{file} is missing.")
    try:
        data = file.read_bytes()
    except OSError as error:
        return _corrupt(f"{file} cannot be read ({error.strerror or error}).")
    if len(data) == entry.get("bytes") and hashlib.sha256(data).hexdigest() == entry.get("sha256"):
        return None
    if file.name in _TOKENIZERS and _is_tokenizer(file):
        return _wrong_tokenizer(
            f"{file} is a whole tokenizer, but not the one that the model was saved with: its checksum is another. Its "
            "ids mean other pieces than the model learnt."
        )
    size = (
        ""
        if len(data) == entry.get("bytes")
        else f": {len(data):,} bytes instead of {entry.get('bytes'):,}"
    )
    return _corrupt(f"{file} was cut or changed since it was written{size}.")


def _is_tokenizer(file: Path) -> bool:
    try:
        Tokenizer.load(file)
    except InterlinguaError:
        return False
    return True


def _open_tokenizers(folder: Path) -> tuple[TokenizerPair | None, list[Finding]]:
    try:
        return TokenizerPair.load(folder), []
    except InterlinguaError as error:
        return None, [_corrupt(f"{error}")]


def _examine_configuration(folder: Path) -> list[Finding]:
    found = []
    for name in ("config.json", "generation_config.json"):
        try:
            if not isinstance(json.loads((folder / name).read_text(encoding="utf-8")), dict):
                raise ValueError("it is no JSON object")
        except FileNotFoundError:
            found.append(_corrupt(f"{folder / name} is missing."))
        except (OSError, ValueError) as error:
            found.append(_corrupt(f"{folder / name} cannot be read ({error})."))
    return found


def _compare_sizes(tokenizers: TokenizerPair, tensors: dict[str, Tensor]) -> list[Finding]:
    """Compare the entries of each vocabulary with the rows of the embeddings."""
    sizes = {
        "source_embedding.table.weight": ("source", tokenizers.source.vocabulary_size),
        "target_embedding.table.weight": ("target", tokenizers.target.vocabulary_size),
        "output.weight": ("target", tokenizers.target.vocabulary_size),
    }
    return [
        _wrong_tokenizer(
            f"The {side} tokenizer has {entries:,} entries, but the model learnt {tensors[name].size(0):,} ({name}): "
            "it belongs to another model."
        )
        for name, (side, entries) in sizes.items()
        if name in tensors and tensors[name].size(0) != entries
    ]


def examine_weights(tensors: dict[str, Tensor]) -> list[Finding]:
    """Look at every number: not-a-number, weights that have exploded, and weights that say nothing."""
    broken = [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]
    if broken:
        count = sum(int((~torch.isfinite(tensors[name])).sum()) for name in broken)
        return [
            Finding(
                "nan-weights",
                "error",
                (),
                f"{count:,} weights are NaN or infinite, in {_names(broken)}; every translation would be.",
                _RETAKE,
            )
        ]
    rms = {
        name: float(tensor.double().square().mean().sqrt())
        for name, tensor in tensors.items()
        if tensor.numel()
    }
    matrices = sorted(value for name, value in rms.items() if tensors[name].dim() >= 2)
    usual = matrices[len(matrices) // 2] if matrices else 0.0
    exploded, dead = [], []
    for name, tensor in tensors.items():
        largest = _LARGEST_RMS
        if tensor.dim() >= 2 and usual:
            largest = min(largest, _TIMES_THE_USUAL * usual)
        if rms.get(name, 0.0) > largest or float(tensor.abs().max()) > _LARGEST_NUMBER:
            exploded.append(name)
        elif _says_nothing(name, tensor):
            dead.append(name)
    return [*_exploded(exploded, rms, usual), *_dead(dead)]


def _says_nothing(name: str, tensor: Tensor) -> bool:
    """Tell whether a matrix is one number, or one row again and again, or a normalisation lets nothing through."""
    if tensor.dim() >= 2 and tensor.size(0) > 1:
        rows = tensor.double().flatten(1)
        return bool((rows - rows.mean(0)).abs().max() <= 1e-7)
    is_gain = tensor.dim() == 1 and name.endswith("norm.weight")
    return is_gain and float(tensor.abs().max()) <= 1e-7


def _exploded(names: list[str], rms: dict[str, float], usual: float) -> list[Finding]:
    if not names:
        return []
    worst = max(names, key=lambda name: rms[name])
    return [
        Finding(
            "exploding-norms",
            "error",
            (),
            f"The weights of {_names(names)} are far too large: {worst} has a root mean square of {rms[worst]:.3g}, and "
            f"the matrices of this model have {usual:.3g} in the middle. Training diverged, or the file was changed.",
            _RETAKE,
        )
    ]


def _dead(names: list[str]) -> list[Finding]:
    if not names:
        return []
    return [
        Finding(
            "dead-weights",
            "error",
            (),
            f"{_names(names)} {'are' if len(names) > 1 else 'is'} the same everywhere, so that nothing of what goes in "
            "comes out.",
            _RETAKE,
        )
    ]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more


def _corrupt(message: str) -> Finding:
    return Finding("corrupt-file", "error", (), message, _COPY)


def _wrong_tokenizer(message: str) -> Finding:
    return Finding(
        "wrong-tokenizer",
        "error",
        (),
        message,
        "put back the tokenizer that the model was trained with: RUN/tokenizer of its run folder, or copy the model again",
    )
