"""A save that is killed, refused by the disk, or short of room costs no checkpoint, whichever call it was at."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

STRACE = Path(__file__).with_name("faulty_saves.py")

FILL = """
import json, pathlib, sys
import torch
from interlingua.checkpoints.store import CheckpointStore
from interlingua.errors import OutputError

store = CheckpointStore(pathlib.Path(sys.argv[1], "checkpoints"), keep=2)
for step in range(1, 100):
    numbers = {"w": torch.full((step, 10_000), float(step))}
    try:
        store.save(step, numbers, numbers, {"step": step})
    except OutputError as error:
        newest = store.latest()
        whole = (newest.weights["w"] == float(newest.step)).all().item()
        names = sorted(path.name for path in store.folder.iterdir())
        print(json.dumps([step, str(error), newest.step, whole, names]))
        break
"""


def skip_without(program: str) -> None:
    """Skip a test where a program is not installed; in CI, which installs it and sets INTERLINGUA_REQUIRE_RUNTIMES, it fails instead."""
    if shutil.which(program):
        return
    if os.environ.get("INTERLINGUA_REQUIRE_RUNTIMES"):
        pytest.fail(f"INTERLINGUA_REQUIRE_RUNTIMES is set, and {program} is not installed")
    pytest.skip(f"{program} is not installed")


def spoil(stride: int) -> dict[str, dict[str, int]]:
    """Spoil every ``stride``-th case of a save; skip where strace is missing or may not be used."""
    skip_without("strace")
    done = subprocess.run(
        [sys.executable, str(STRACE), "--stride", str(stride)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "strace cannot be used here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_save_may_be_killed_or_fail_at_any_of_its_system_calls() -> None:
    tally = spoil(stride=29)
    assert sum(tally["cases"].values()) > 40
    assert min(tally["ends"].values()) > 5


@pytest.mark.slow
def test_a_save_may_be_killed_or_fail_at_a_quarter_of_its_system_calls() -> None:
    """At each of them: make prove-resume."""
    tally = spoil(stride=4)
    assert sum(tally["cases"].values()) > 250
    assert "bug" not in tally["ends"]


def test_a_disk_that_is_full_keeps_the_checkpoint_before(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    words = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1"'
    if (
        not shutil.which("unshare")
        or subprocess.run(
            [*mount, 'mount -t tmpfs none "$1"', "sh", str(disk)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("this machine does not let its users mount a small disk (unshare, tmpfs)")
    done = subprocess.run(
        [*mount, words, "sh", str(disk), sys.executable, FILL],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    step, told, newest, is_whole, names = json.loads(done.stdout)
    assert step > 3
    assert "No space left on device" in told
    assert (newest, is_whole) == (step - 1, True)
    assert names == [f"step-{step - 2}", f"step-{step - 1}"]
