"""No damage to a checkpoint goes unnoticed, and no save that fails costs one."""

import errno
import io
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from interlingua import files
from interlingua.checkpoints import manifest
from interlingua.checkpoints.store import CheckpointStore
from interlingua.errors import ModelError, OutputError

FILES = ("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json")
CALLS = ("open", "close", "fsync", "mkdir", "rename", "unlink", "rmdir", "scandir", "listdir")


def save(store: CheckpointStore, step: int, *, validated: int | None = None) -> None:
    weights = {"w": torch.full((20, 9), float(step))}
    moments = {"exp_avg/w": torch.full((20, 9), -float(step))}
    state = {"step": step, "validated": step if validated is None else validated}
    store.save(step, weights, moments, state)


def newest_value(store: CheckpointStore) -> float:
    checkpoint = store.latest()
    assert checkpoint is not None
    value = float(checkpoint.weights["w"][0, 0])
    assert (checkpoint.weights["w"] == value).all()
    assert (checkpoint.moments["exp_avg/w"] == -value).all()
    assert checkpoint.step == value
    return value


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    """Checkpoints of steps 1 and 2."""
    store = CheckpointStore(tmp_path / "checkpoints", keep=2)
    save(store, 1)
    save(store, 2)
    return store


def check_that_it_is_noticed(store: CheckpointStore, file: Path, content: bytes) -> None:
    whole = file.read_bytes()
    file.write_bytes(content)
    with pytest.raises(ModelError):
        store.load(2)
    said: list[str] = []
    checkpoint = store.latest(said.append)
    assert checkpoint is not None
    assert checkpoint.step == 1
    assert len(said) == 1
    assert "step 2 " in said[0]
    file.write_bytes(whole)


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_bit_is_noticed(store: CheckpointStore, name: str) -> None:
    file = store.path(2) / name
    whole, dice = file.read_bytes(), random.Random(name)
    for bit in dice.sample(range(8 * len(whole)), 100):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        check_that_it_is_noticed(store, file, bytes(content))


@pytest.mark.parametrize("name", FILES)
def test_every_cut_is_noticed(store: CheckpointStore, name: str) -> None:
    file = store.path(2) / name
    whole, dice = file.read_bytes(), random.Random(name)
    # without its last byte, a line end, the manifest says the same
    last = len(whole) - (1 if name == "manifest.json" else 0)
    for length in {0, 1, last - 1, *dice.sample(range(last), min(50, last))}:
        check_that_it_is_noticed(store, file, whole[:length])


def test_two_files_that_changed_places_are_noticed(store: CheckpointStore) -> None:
    weights, moments = (store.path(2) / name for name in FILES[:2])
    weights.rename(store.path(2) / "third")
    moments.rename(weights)
    (store.path(2) / "third").rename(moments)
    with pytest.raises(ModelError, match="copy the folder again"):
        store.load(2)


def test_a_checkpoint_under_another_name_is_noticed(store: CheckpointStore) -> None:
    store.path(2).rename(store.path(20))
    said: list[str] = []
    checkpoint = store.latest(said.append)
    assert checkpoint is not None
    assert checkpoint.step == 1
    assert "holds step 2" in said[0]


def test_what_does_not_read_back_replaces_nothing(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(file: Path) -> None:
        """Stand in for a disk that holds something else than what it was given."""
        if file.name == "optimizer.safetensors":
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            file.write_bytes(content)

    monkeypatch.setattr(manifest, "_forget_cached", spoil)
    for step in (2, 3):
        with pytest.raises(OutputError, match="does not read back"):
            save(store, step)
        assert newest_value(store) == 2
        assert sorted(path.name for path in store.folder.iterdir()) == ["step-1", "step-2"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux what was flushed")
def test_all_of_a_save_is_on_the_disk_and_read_from_it_before_it_has_its_name(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []

    def noted(what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(first: int | Path, *more: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else first
            done.append((what, Path(path).name))
            return call(first, *more)

        return instead

    for owner, name in ((os, "fsync"), (os, "posix_fadvise"), (files, "_swap")):
        monkeypatch.setattr(owner, name, noted(name, getattr(owner, name)))
    save(store, 3)
    new, parent = f".step-3.tmp-{os.getpid()}", store.folder.name
    assert sorted(done[:4]) == sorted(("fsync", name) for name in FILES)
    assert done[4] == ("fsync", new)
    assert sorted(done[5:9]) == sorted(("posix_fadvise", name) for name in FILES)
    assert done[9:] == [("_swap", new), ("fsync", parent)]


def test_a_stop_between_two_validations_costs_no_checkpoint_of_a_validation(
    store: CheckpointStore,
) -> None:
    save(store, 3, validated=2)
    save(store, 4, validated=2)
    assert store.steps() == [1, 2, 4]
    assert newest_value(store) == 4
    save(store, 5)
    assert store.steps() == [2, 5]


def test_a_stop_reads_no_other_checkpoint(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = CheckpointStore(store.folder, keep=2)
    monkeypatch.setattr(later, "_check", lambda step: pytest.fail(f"step {step} is read"))
    save(later, 3, validated=2)
    save(later, 4, validated=2)
    assert later.steps() == [1, 2, 4]


def test_a_copy_under_a_higher_number_takes_no_place_from_what_is_saved(
    store: CheckpointStore,
) -> None:
    shutil.copytree(store.path(2), store.path(9))
    later = CheckpointStore(store.folder, keep=2)
    assert newest_value(later) == 2
    assert later.whole_steps() == [1, 2]
    save(later, 3, validated=2)
    assert later.steps() == [1, 2, 3, 9]
    save(later, 4)
    assert later.steps() == [2, 4, 9]


@contextmanager
def failing(nth: int, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the ``nth`` call for the system fail; yield the names of those that were made."""
    made: list[str] = []

    def spoilt(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **options: Any) -> Any:
            made.append(name)
            if len(made) == nth:
                raise OSError(number, os.strerror(number))
            return call(*args, **options)

        return instead

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, spoilt(name, getattr(os, name)))
        patch.setattr(io, "open", spoilt("io.open", io.open))
        yield made


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["full", "failing"])
@pytest.mark.parametrize("step", [2, 3], ids=["again", "new"])
def test_whichever_call_of_a_save_fails_no_checkpoint_is_lost(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch, step: int, number: int
) -> None:
    before = store.folder.with_name("before")
    shutil.copytree(store.folder, before)
    nth, refusals, struck = 0, [], True
    while struck:
        nth += 1
        shutil.rmtree(store.folder)
        shutil.copytree(before, store.folder)
        known = CheckpointStore(store.folder, keep=2)
        with failing(nth, number, monkeypatch) as made:
            try:
                save(known, step)
                is_saved = True
            except OutputError as error:
                is_saved = False
                refusals.append(str(error))
        struck = len(made) >= nth
        assert newest_value(store) in ((step,) if is_saved else (2, step)), made[nth - 1]
        assert 2 in store.whole_steps()
    assert len(refusals) > 15
    assert all(os.strerror(number) in told for told in refusals)
    assert {"open", "io.open", "fsync", "mkdir"} <= set(made)
