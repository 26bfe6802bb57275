"""Checkpoints are whole or absent, and the newest whole one is found."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.average import average_weights
from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.store import CheckpointStore, had_none, note_if_none
from interlingua.errors import ModelError, OutputError
from interlingua.files import replace_file, replace_folder


def save(store: CheckpointStore, step: int, value: float) -> Path:
    weights = {"w": torch.full((2, 3), value)}
    return store.save(step, weights, {"exp_avg/w": torch.zeros(2, 3)}, {"seconds": 1.5})


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=2)
    save(store, 10, 0.25)
    checkpoint = store.latest()
    assert checkpoint is not None
    assert checkpoint.step == 10
    assert torch.equal(checkpoint.weights["w"], torch.full((2, 3), 0.25))
    assert checkpoint.moments.keys() == {"exp_avg/w"}
    assert checkpoint.state == {"seconds": 1.5}


def test_only_the_newest_are_kept_and_they_are_ordered_by_number(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=2)
    for step in (9, 10, 100):
        save(store, step, float(step))
    assert store.steps() == [10, 100]


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, file: str) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    save(store, 1, 1.0)
    damaged = save(store, 2, 2.0) / file
    damaged.write_bytes(damaged.read_bytes()[:-1])
    told: list[str] = []
    checkpoint = store.latest(told.append)
    assert checkpoint is not None
    assert checkpoint.step == 1
    assert store.whole_steps() == [1]
    assert len(told) == 1
    assert "step 2 " in told[0]
    assert file in told[0]


def test_a_checkpoint_whose_manifest_forgets_a_file_is_damaged(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    path = save(store, 1, 1.0)
    state = (path / "state.json").read_bytes()
    (path / "state.json").unlink()
    write_manifest(path)
    (path / "state.json").write_bytes(state)
    with pytest.raises(ModelError, match=r"state\.json: is not listed"):
        store.load(1)


@pytest.mark.parametrize("store_knows", [True, False])
def test_damaged_checkpoints_take_no_place_from_whole_ones(
    tmp_path: Path, store_knows: bool
) -> None:
    store = CheckpointStore(tmp_path, keep=5)
    for step in (1, 2, 3):
        save(store, step, float(step))
    for step in (2, 3):
        (tmp_path / f"step-{step}" / "model.safetensors").write_bytes(b"")
    store = store if store_knows else CheckpointStore(tmp_path, keep=2)
    assert store.whole_steps() == [1]
    store.keep = 2
    save(store, 4, 4.0)
    assert store.whole_steps() == [1, 4]
    save(store, 5, 5.0)
    assert store.steps() == [4, 5]


def test_checkpoints_of_another_run_are_as_good_as_none(tmp_path: Path) -> None:
    def is_ours(path: Path, state: Mapping[str, object]) -> None:
        if state["run"] != "ours":
            raise ModelError(f"{path}: is of another run")

    def save_of(run: str, step: int) -> None:
        store.save(step, {"w": torch.zeros(2, 3)}, {}, {"step": step, "run": run})

    store = CheckpointStore(tmp_path, keep=9)
    for run, step in (("ours", 1), ("theirs", 2), ("ours", 3), ("theirs", 100), ("theirs", 110)):
        save_of(run, step)
    store = CheckpointStore(tmp_path, keep=2, check_state=is_ours)
    newest = store.latest()
    assert newest is not None
    assert newest.step == 3
    assert store.whole_steps() == [1, 3]
    save_of("ours", 4)
    assert store.steps() == [3, 4, 100, 110]
    for read in (store.load, store.weights):
        with pytest.raises(ModelError, match="step-100: is of another run"):
            read(100)


def test_a_checkpoint_cut_off_while_it_was_written_is_not_seen(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    (tmp_path / ".step-5.tmp-1").mkdir()
    assert store.steps() == []
    assert store.latest() is None


def test_the_mean_of_checkpoints_is_their_mean(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    for step, value in ((1, 1.0), (2, 2.0), (3, 6.0)):
        save(store, step, value)
    assert torch.equal(average_weights(store, [1, 2, 3])["w"], torch.full((2, 3), 3.0))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"w": torch.zeros(3, 2)}, "shape"),
        ({"w": torch.full((2, 3), float("nan"))}, "NaN"),
        ({"v": torch.zeros(2, 3)}, "lacks"),
    ],
)
def test_checkpoints_that_have_no_mean_are_named(
    tmp_path: Path, weights: dict[str, torch.Tensor], words: str
) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    save(store, 1, 1.0)
    store.save(2, weights, {}, {})
    with pytest.raises(ModelError, match=f"step-2.*{words}"):
        average_weights(store, [1, 2])


def test_a_damaged_checkpoint_has_no_weights(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    damaged = save(store, 1, 1.0) / "model.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(ModelError, match=r"step-1.*changed"):
        store.weights(1)


def test_the_same_checkpoint_is_the_same_bytes(tmp_path: Path) -> None:
    first = save(CheckpointStore(tmp_path / "a", keep=2), 1, 0.5)
    second = save(CheckpointStore(tmp_path / "b", keep=2), 1, 0.5)
    for name in ("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="step-7"):
        CheckpointStore(tmp_path, keep=2).load(7)


def test_a_file_keeps_its_old_content_when_its_writer_fails(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail_halfway() -> None:
        with replace_file(path) as file:
            file.write(b"half of the new")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_keeps_its_old_content_when_its_writer_fails(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "weights").write_text("old")

    def fail_halfway() -> None:
        with replace_folder(path) as new:
            (new / "weights").write_text("half of the new")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        fail_halfway()
    assert (path / "weights").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"), replace_file(tmp_path / "file" / "out.txt"):
        pass


def test_one_without_its_manifest_is_called_not_whole(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=3)
    save(store, 1, 1.0)
    (save(store, 2, 2.0) / "manifest.json").unlink()
    said: list[str] = []
    checkpoint = store.latest(said.append)
    assert checkpoint is not None
    assert checkpoint.step == 1
    assert "has no manifest.json, which is written last" in said[0]


def test_a_file_where_the_checkpoints_belong_is_told_at_once(tmp_path: Path) -> None:
    place = tmp_path / "checkpoints"
    place.touch()
    with pytest.raises(OutputError, match="is a file where the checkpoints belong"):
        CheckpointStore(place, keep=1)


def test_a_note_tells_checkpoints_that_never_were_from_those_that_are_gone(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoints", keep=3)
    assert not had_none(store.folder)
    note_if_none(store.folder)
    assert had_none(store.folder)
    path = save(store, 1, 1.0)
    note_if_none(store.folder)
    assert [each.name for each in store.folder.iterdir()] == ["step-1"]
    path.rename(path.with_name("step-1.old"))
    assert not had_none(store.folder)
