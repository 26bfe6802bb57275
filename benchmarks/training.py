"""Training speed, peers side by side in one run: ``make bench-training``, with FLAGS="--rows small" for some of it.

Every system trains on the same ids (Multi30k English-German, joint BPE of 8,000, at most 4,096 padded tokens a side),
pads its own batches in the step, and is timed by the same clock. Rounds are interleaved, so that a noisy minute hits all;
a ratio is taken within a round, and the median over rounds is reported with its spread. Beside them each round times the
step's matrix products alone, which ours cannot pass. Each row is recorded as soon as it is measured.

With --device cuda the rows of a graphics card are measured instead, with 25,000 tokens a side, and the peer is transformers as this Python has it. Each
system is started once there, and waits while another one is measured; on a processor each round starts it anew.
Ours trains base once more there with the memory of a small card.

Ends with status 0 if every "must" was measured and met; with --rows, if those of these rows were. A row is not met where ours or the best peer failed in any
round, or a peer in every kind of arithmetic.
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from peer_environments import TORCH, environment_of, environment_of_wheel
from peers.harness import SIZES
from prove_commands import corpora, describe_machine, has_bfloat16, record
from training_rows import (
    NEEDS_BFLOAT16,
    PEERS,
    PROCESSES,
    ROWS,
    ROWS_OF_A_GPU,
    SMALL_GPU,
    Row,
)
from training_systems import System, SystemFailed
from training_verdict import (
    OURS,
    Rounds,
    all_met,
    near_best,
    requirement_of_processes,
    requirements_of,
    summarise,
    table_of,
)

from interlingua.kernels.matrix_products import has_integers

HERE = Path(__file__).parent
ROOT = HERE.parent
WHEEL = ROOT / ".benchmarks" / "wheel"


def main() -> None:
    """Make the batches and the environments, run the rounds, print and record the table."""
    arguments = _read_arguments()
    machine = describe_machine()
    tell(machine)
    if arguments.device == "cpu" and not has_bfloat16():
        tell(
            "no instructions for bfloat16: every row is measured in float32, and shares are of that peak"
        )
    asked = arguments.rows or names_here(arguments.device)
    found, others = measure(asked, arguments)
    missing = [name for name in names_of(arguments.device) if name not in asked]
    tell_missing(missing, is_chosen=bool(arguments.rows))
    is_met = all_met(found, others, [] if arguments.rows else missing)
    if arguments.json:
        told = {"machine": machine, "command": command_of(sys.argv[1:]), "met": is_met}
        told |= {"rows": found, "others": others, "not_measured": missing}
        print(json.dumps(told, indent=2))
    else:
        print(table_of(found, others))
    sys.exit(0 if is_met else 1)


def measure(
    asked: list[str], arguments: argparse.Namespace
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure and record what is asked for; return the rows, and what else must be met."""
    every = rows_here(arguments.device)
    rows = [row for row in every if row.name in asked]
    base = next(row for row in every if row.size == "base")
    found, others = [], []
    with tempfile.TemporaryDirectory() as scratch:
        text = {(row.vocabulary, row.tokens) for row in rows}
        if PROCESSES in asked:
            text.add((base.vocabulary, base.tokens))
        of_text = {kind: Path(scratch) / f"batches-{kind[0]}-{kind[1]}.json" for kind in text}
        for (vocabulary, tokens), path in of_text.items():
            write_batches(path, corpora() / "multi30k_en_de", vocabulary, tokens)
        pythons = pythons_of_peers(arguments.device) if rows else {}
        # Before all rows: what cannot be built shall not stop them after hours.
        if any(row.is_from_wheel for row in rows):
            environment_of_wheel(ROOT, WHEEL)
        for row in rows:
            batches = of_text[row.vocabulary, row.tokens]
            found.append(measure_row(row, batches, pythons, arguments))
            beside = (
                requirements_of(row, found[-1], arguments.device)
                if arguments.device == "cuda" or row is base
                else []
            )
            others += beside
            record_row(row.name, how_rows(arguments), table_of(found[-1:], beside), arguments)
        if PROCESSES in asked:
            others.append(measure_processes(of_text[base.vocabulary, base.tokens], arguments))
            record_row(PROCESSES, how_processes(arguments), table_of([], others[-1:]), arguments)
    return found, others


def names_of(device: str) -> list[str]:
    """Return the name of everything that is to be measured on such a device."""
    if device == "cuda":
        return [row.name for row in ROWS_OF_A_GPU]
    return [*(row.name for row in ROWS), PROCESSES]


def names_here(device: str) -> list[str]:
    """Return the name of everything that can be measured on this machine."""
    here = {row.name for row in rows_here(device)} | {PROCESSES}
    return [name for name in names_of(device) if name in here]


def rows_here(device: str) -> list[Row]:
    """Return what is measured here: on a processor without bfloat16 all in float32, where base is the row of that name."""
    if device == "cuda":
        return ROWS_OF_A_GPU
    if has_bfloat16():
        if has_integers():
            return ROWS
        return [replace(row, ours=row.default or row.ours, default=None) for row in ROWS]
    return [
        replace(row, ours="fp32", peers="fp32", default=None)
        for row in ROWS
        if row.name != NEEDS_BFLOAT16
    ]


def tell_missing(missing: list[str], is_chosen: bool) -> None:
    """Say what was not measured: with ``--rows`` that was wanted, otherwise this machine cannot."""
    if missing and is_chosen:
        tell(f"not measured, and not in the exit status: {'; '.join(missing)}")
    elif missing:
        tell(
            f"not met, as this processor has no instructions for bfloat16: row {'; '.join(missing)}"
        )


def command_of(flags: list[str]) -> str:
    """Return the command that was given, from the top of the repository."""
    return shlex.join(["benchmarks/training.py", *flags]) if flags else "make bench-training"


def how_rows(arguments: argparse.Namespace) -> str:
    """Say how the systems of a row were run."""
    processes = "kept from round to round" if arguments.device == "cuda" else "new in each round"
    return (
        f"{arguments.threads} threads, {arguments.rounds} interleaved rounds, processes {processes}, {arguments.steps} updates, each timed when it is made once more; "
        f"a peer that came to less than {arguments.near:.0%} of the fastest one in the first round ran once"
    )


def how_processes(arguments: argparse.Namespace) -> str:
    """Say how the two processes were run."""
    return f"{arguments.rounds} interleaved rounds, {arguments.steps} updates, each timed when it is made once more; processes were bound to no core"


def record_row(name: str, how: str, table: str, arguments: argparse.Namespace) -> None:
    """Put one row into the record, with how it was measured."""
    slow = arguments.device == "cpu" and not has_bfloat16()
    machine = " (a processor without bfloat16)" if slow else ""
    command = command_of(sys.argv[1:])
    record(f"Training: {name}{machine}", command, f"{how}.\n\n{table}")


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="interleaved runs of each system")
    parser.add_argument(
        "--steps", type=int, default=3, help="updates a run, made twice, timed once"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    again = "a peer slower than this share of the fastest in the first round is not run again: it sets no ratio"
    parser.add_argument("--near", type=float, default=0.9, help=again)
    patience = "seconds that a run of a system may take, start and compilation included; one that takes longer is stopped and counts as failed"
    parser.add_argument("--patience", type=float, default=180.0, help=patience)
    names = "; ".join(f"'{name}'" for name in names_of("cpu"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rows", nargs="*", metavar="ROW", help=f"all by default; {names}")
    parser.add_argument(
        "--json", action="store_true", help="print what was found as JSON, not as a table"
    )
    arguments = parser.parse_args()
    for flag in ("rounds", "steps", "threads"):
        if getattr(arguments, flag) < 1:
            parser.error(f"--{flag} must be at least 1")
    known, here = names_of(arguments.device), names_here(arguments.device)
    for name in arguments.rows or ():
        if name not in known:
            parser.error(
                f"no row {name!r} with --device {arguments.device}; there are {'; '.join(here)}"
            )
        if name not in here:
            parser.error(
                f"the row {name!r} needs a processor with instructions for bfloat16; here are {'; '.join(here)}"
            )
    return arguments


def tell(words: str) -> None:
    """Print what is not the result, which stands alone on standard output."""
    print(words, file=sys.stderr, flush=True)


def write_batches(path: Path, corpus: Path, vocabulary: int, tokens: int, number: int = 40) -> None:
    """Cut Multi30k into ids with a joint BPE, and the ids into batches of at most so many tokens a side."""
    import numpy as np

    from interlingua.batching.order import epoch_order
    from interlingua.corpus.parallel import read_parallel
    from interlingua.tokenization.train import train_tokenizer

    pairs = read_parallel([corpus / "train.en"], [corpus / "train.de"])
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenizer = train_tokenizer(
        sources + targets,
        kind="bpe",
        vocabulary_size=vocabulary,
        normalization="nfkc",
        lowercase=False,
        byte_level=False,
    )
    ids = [[list(row) for row in tokenizer.encode_batch(side)] for side in (sources, targets)]
    lengths = [np.array([len(row) + 1 for row in side]) for side in ids]  # and the end symbol
    order = epoch_order(*lengths, batch_tokens=tokens, seed=1, epoch=0)[:number]
    batches = [
        {"source": [ids[0][i] for i in batch], "target": [ids[1][i] for i in batch]}
        for batch in order
    ]
    path.write_text(json.dumps({"vocabulary": tokenizer.vocabulary_size, "batches": batches}))


def flops_of(size: str, batches: Path, steps: int) -> float:
    """Count the operations of the timed updates: real tokens only, three times the forward pass, 2 a multiply-add."""
    d, f, layers = (SIZES[size][name] for name in ("d_model", "d_ff", "layers"))
    data = json.loads(batches.read_text())
    total = 0.0
    for batch in data["batches"][:steps]:
        for source, target in zip(batch["source"], batch["target"], strict=True):
            s, t = len(source) + 1, len(target) + 1
            encoder = 2 * s * (4 * d * d + 2 * d * f) + 4 * s * s * d
            decoder = (
                2 * t * (6 * d * d + 2 * d * f) + 4 * s * d * d + 4 * t * t * d + 4 * t * s * d
            )
            total += layers * (encoder + decoder) + 2 * t * d * data["vocabulary"]
    return 3 * total


def pythons_of_peers(device: str) -> dict[str, Path]:
    """Return the Python of each peer: of an environment of its own, or on a graphics card this one, which has its torch."""
    if device == "cuda":
        here = Path(sys.executable)
        return {name: here for name, peer in PEERS.items() if peer.computes_on_gpu}
    place = ROOT / ".benchmarks"
    return {
        name: environment_of(name, (TORCH, *peer.packages), place / Path(peer.script).stem)
        for name, peer in PEERS.items()
    }


def system_of(
    python: Path, script: str, row: Row, mode: str, batches: Path, arguments: argparse.Namespace
) -> System:
    """Return one system of a row, which is not started yet."""
    command = [
        *(str(python), str(HERE / "peers" / script), str(batches), row.size, mode),
        *map(str, (arguments.threads, arguments.steps)),
    ]
    return started_by(command, row, arguments)


def peak_of(row: Row, arguments: argparse.Namespace) -> System:
    """Return what measures the machine's best matrix products in the row's environment, in FLOP a second."""
    script = HERE / "peers" / "peak.py"
    return started_by(
        [sys.executable, str(script), str(arguments.threads), row.default or row.ours],
        row,
        arguments,
    )


def started_by(command: list[str], row: Row, arguments: argparse.Namespace) -> System:
    """Return what a command starts in the row's environment, and once for all rounds on a graphics card."""
    environment = dict(row.environment) | {"OMP_NUM_THREADS": str(arguments.threads)}
    return System(command, environment, arguments.patience, is_kept=arguments.device == "cuda")


def run(name: str, row: Row, mode: str, system: System) -> dict[str, Any]:
    """Have one system measure once and return what it found; one that fails counts as nothing, and says why."""
    started = time.time()
    try:
        found: dict[str, Any] = system.measure()
    except SystemFailed as failure:
        tell(f"  {name} {mode}: failed: {failure}")
        return {"tokens_a_second": 0.0, "failed": str(failure)}
    tell(
        f"  {row.name:12} {name:28} {mode:14} {found['tokens_a_second']:8,.0f} tokens/s  "
        f"{found['peak_bytes'] / 1e6:6,.0f} MB  loss {found['loss']:.3f}  "
        f"start {found['start_seconds']:.0f} s, warm-up {found['warmup_seconds']:.0f} s "
        f"({time.time() - started:.0f} s in all)"
        + (f", {found['graphs']} graphs" if "graphs" in found else "")
    )
    return found


def peak_in_round(row: Row, peak: System) -> float:
    """Return what the machine's best products come to, in FLOP a second; nothing where they failed, which is told."""
    try:
        most: float = peak.measure()
    except SystemFailed as failure:
        tell(f"  {row.name:12} large products: failed: {failure}")
        return 0.0
    tell(f"  {row.name:12} large products: {most / 1e12:,.3f} TFLOP/s")
    return most


def measure_row(
    row: Row, batches: Path, pythons: dict[str, Path], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Run all systems of one row in a first round, and those that could be the best peer in the others."""
    mine = Path(sys.executable)
    ours, default = (OURS, row.ours), (OURS, row.default or row.ours)
    scripts = {ours: (mine, "ours.py"), default: (mine, "ours.py")} | {
        (name, mode): (python, PEERS[name].script)
        for name, python in pythons.items()
        for mode in PEERS[name].modes
        if row.peers == "all" or mode.startswith(row.peers)
    }
    of_ours = row
    if row.is_from_wheel:
        wheel = environment_of_wheel(ROOT, WHEEL)
        of_ours = replace(row, environment=(*row.environment, *wheel))
    systems = {
        (name, mode): system_of(*script, of_ours if name == OURS else row, mode, batches, arguments)
        for (name, mode), script in scripts.items()
    }
    peak = peak_of(row, arguments)
    products = system_of(mine, "products.py", of_ours, row.ours, batches, arguments)
    rounds: Rounds = {system: [] for system in systems}
    contenders = list(systems)
    flops = flops_of(row.size, batches, arguments.steps)
    used, alone = [], []
    with ExitStack() as kept:
        for system in (peak, products, *systems.values()):
            kept.callback(system.end)
        for _ in range(arguments.rounds):
            most = peak_in_round(row, peak)
            alone.append(run("products alone", row, row.ours, products))
            for name, mode in contenders:
                rounds[name, mode].append(run(name, row, mode, systems[name, mode]))
            seconds = rounds[default][-1].get("seconds")
            used.append(flops / seconds / most if seconds and most else 0.0)
            contenders = near_best(rounds, arguments.near)
            for other in systems.keys() - contenders:
                systems[other].end()
    found = summarise(row, rounds, alone, used, arguments.near)
    if arguments.device == "cuda" and row.size == "base":
        held = replace(row, environment=(*row.environment, ("BENCH_GPU_BYTES", f"{SMALL_GPU:.0f}")))
        small = system_of(mine, "ours.py", held, row.ours, batches, arguments)
        found["small_gpu"] = run("Interlingua, a small card", held, row.ours, small)
        small.end()
    for failure in found["failures"]:
        tell(f"  not met: {row.name}: {failure}")
    return found


def measure_processes(batches: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare two processes under torchrun, one thread each, with one process of one thread.

    None is bound to a core: the system places each, as it does for a user.
    """
    script = str(HERE / "peers" / "ours.py")
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    ratios, failures = [], []
    for _ in range(arguments.rounds):
        speeds = []
        for command in ((script,), (*launcher, script)):
            mode = "bf16" if has_bfloat16() else "fp32"
            flags = [str(batches), "base", mode, "1", str(arguments.steps)]
            threads = {"OMP_NUM_THREADS": "1"}
            system = System(
                [sys.executable, *command, *flags], threads, arguments.patience, is_kept=False
            )
            try:
                speeds.append(system.measure()["tokens_a_second"])
            except SystemFailed as failure:
                speeds.append(0.0)
                failures.append(str(failure))
                tell(f"  {PROCESSES}: failed: {failure}")
        ratios.append(speeds[1] / speeds[0] if speeds[0] else 0.0)
        tell(f"  {PROCESSES}: {speeds[0]:,.0f} alone, {speeds[1]:,.0f} together")
    return requirement_of_processes(ratios, failures)


if __name__ == "__main__":
    main()
