"""A replay on real text: from a copy of the run folder alone, the first updates of a training on Multi30k come out again, bit for bit.

The run is killed in the middle and resumed before it is copied, so that what is compared was written by two processes.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from prove_commands import corpora, describe_machine, parallel_text, run, run_json

OPTIONS = "--batching.batch-tokens 1024 --training.validate-every 50"


def main() -> None:
    """Train, kill, resume, move and replay; end with status 1 if a loss differs."""
    flag = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flag.add_argument("--runs", type=Path, default=Path("runs/prove-replay"))
    flag.add_argument(
        "--updates", type=int, default=200, help="of the run, all of which are replayed"
    )
    flag.add_argument("--threads", type=int, default=2)
    flags = flag.parse_args()
    print(describe_machine(), flush=True)
    data = corpora() / "multi30k_en_de"
    # A replay of another day's run would prove another thing.
    shutil.rmtree(flags.runs, ignore_errors=True)
    made, moved = flags.runs / "run", flags.runs / "moved"
    settings = f"{OPTIONS} --training.threads {flags.threads} --training.steps {flags.updates}"
    command = ("train", *parallel_text(data / "train", data / "valid"), "--run-dir", str(made))
    kill_after_a_checkpoint((*command, *settings.split()), made)
    run(*command, *settings.split())
    shutil.copytree(made, moved)
    shutil.rmtree(made)
    found = run_json("replay", str(moved), "--steps", str(flags.updates))
    told = f"{len(found['losses'])} losses that were written down"
    print(f"{flags.updates} updates again, {told}: {'equal' if found['equal'] else 'NOT equal'}")
    sys.exit(0 if found["equal"] is True and found["losses"] else 1)


def kill_after_a_checkpoint(command: tuple[str, ...], folder: Path) -> None:
    """Start a training and kill it, without a word, once it has saved something."""
    program = str(Path(sys.executable).with_name("interlingua"))
    with subprocess.Popen([program, *command], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not list(folder.glob("checkpoints/step-*")):
            time.sleep(0.2)
        process.kill()


if __name__ == "__main__":
    main()
