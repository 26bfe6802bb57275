"""An adapter folder is whole or refused, and goes into the model it was trained on and no other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.adapter_folder import (
    Adapter,
    find_adapter_folder,
    load_adapter,
    merge_adapter,
    save_adapter,
    weights_sha256,
)
from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.weights import write_tensors
from interlingua.errors import ModelError, OutputError

GOLDEN = Path(__file__).parents[2] / "golden" / "models" / "v1"
A, B = torch.full((2, 6), 0.5), torch.full((4, 2), 2.0)
ADAPTER = Adapter(2, 4.0, "abc", "ro", "en", {"x.lora_a": A, "x.lora_b": B})


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    save_adapter(tmp_path / "run" / "adapter", ADAPTER, "A card.\n")
    loaded = load_adapter(tmp_path / "run")
    assert (loaded.rank, loaded.alpha, loaded.base_sha256) == (2, 4.0, "abc")
    assert (loaded.source_lang, loaded.target_lang, loaded.names) == ("ro", "en", ["x"])
    assert torch.equal(loaded.tensors["x.lora_a"], A)
    assert torch.equal(loaded.tensors["x.lora_b"], B)


def test_two_shares_of_one_adapter_make_different_weights(tmp_path: Path) -> None:
    shares = {"whole": ADAPTER, "half": replace(ADAPTER, alpha=2.0), "again": ADAPTER}
    for name, adapter in shares.items():
        save_adapter(tmp_path / name, adapter, f"{name}\n")
    whole, half, again = (weights_sha256(GOLDEN, tmp_path / name) for name in shares)
    assert whole == again
    assert len({whole, half, weights_sha256(GOLDEN)}) == 3


def test_only_an_adapter_is_replaced_by_another(tmp_path: Path) -> None:
    save_adapter(tmp_path / "new", ADAPTER, "")
    save_adapter(tmp_path / "new", ADAPTER, "Again.\n")
    assert (tmp_path / "new" / "README.md").read_text() == "Again.\n"
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    with pytest.raises(OutputError, match="holds checkpoints, which is no part of an adapter"):
        save_adapter(run, ADAPTER, "")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file"):
        save_adapter(tmp_path / "file", ADAPTER, "")
    assert (run / "checkpoints").is_dir()


def test_merging_adds_the_scaled_product_and_leaves_the_rest() -> None:
    weights = {"x.weight": torch.ones(4, 6), "y.weight": torch.zeros(1)}
    merged = merge_adapter(weights, ADAPTER)
    assert torch.equal(merged["x.weight"], torch.full((4, 6), 1.0 + 4.0 / 2 * 2.0))
    assert merged["y.weight"] is weights["y.weight"]
    assert torch.equal(weights["x.weight"], torch.ones(4, 6))


@pytest.mark.parametrize("weights", [{}, {"x.weight": torch.ones(6, 4)}])
def test_a_model_without_the_matrix_is_refused(weights: dict[str, torch.Tensor]) -> None:
    with pytest.raises(ModelError, match=r"x\.weight \(4, 6\), which this model does not have"):
        merge_adapter(weights, ADAPTER)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"x.lora_a": A}, "pairs of matrices"),
        ({"x.lora_a": A, "x.lora_b": B, "y": A.clone()}, "pairs of matrices"),
        ({}, "pairs of matrices"),
        ({"x.lora_a": A, "x.lora_b": B.T.contiguous()}, "not of rank 2"),
        ({"x.lora_a": A, "x.lora_b": B * float("nan")}, "NaN or infinity"),
    ],
)
def test_tensors_that_are_no_adapter_are_refused(
    tensors: dict[str, torch.Tensor], words: str, tmp_path: Path
) -> None:
    save_adapter(tmp_path / "a", ADAPTER, "")
    write_tensors(tmp_path / "a" / "adapter.safetensors", tensors)
    write_manifest(tmp_path / "a")
    with pytest.raises(ModelError, match=words):
        load_adapter(tmp_path / "a")


@pytest.mark.parametrize("change", [{"rank": "two"}, {"alpha": None}, {"rank": 0}, {"rank": 3}])
def test_a_description_that_is_none_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    save_adapter(tmp_path / "a", ADAPTER, "")
    path = tmp_path / "a" / "adapter.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    write_manifest(tmp_path / "a")
    with pytest.raises(ModelError, match=r"does not describe an adapter|not of rank"):
        load_adapter(tmp_path / "a")


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    save_adapter(tmp_path / "a", ADAPTER, "")
    with (tmp_path / "a" / "adapter.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")
    with pytest.raises(ModelError, match="was changed since it was written"):
        load_adapter(tmp_path / "a")


def test_a_folder_that_is_no_adapter_is_told_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is not an adapter; give a run .*--start.lora-rank"):
        find_adapter_folder(tmp_path)
