"""Training speed, peers side by side in one run: ``make bench-training``.

Every system trains on the same ids (Multi30k English-German, joint BPE of 8,000, at most 4,096 padded tokens a side),
pads its own batches in the step, and is timed by the same clock. Rounds are interleaved, so that a noisy minute hits all;
a ratio is taken within a round, and the median over rounds is reported with its spread. Beside them each round times the
step's matrix products alone, which ours cannot pass. Each row is recorded as soon as it is measured.

With --device cuda the rows of a graphics card are measured instead, with 25,000 tokens a side, and peers are those that this Python has.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from peers.harness import SIZES
from prove_commands import corpora, describe_machine, has_bfloat16, record

HERE = Path(__file__).parent
ROOT = HERE.parent
LAPTOP = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}


@dataclass(frozen=True)
class Peer:
    """Another trainer: its script, what to install for it, and the kinds of arithmetic to try."""

    script: str
    packages: tuple[str, ...]
    modes: tuple[str, ...]


PEERS = {
    "transformers MarianMTModel": Peer(
        "marian.py",
        ("transformers==5.23.0",),
        ("fp32", "fp32-compile", "bf16", "bf16-compile"),
    ),
    "torch.nn.Transformer": Peer(
        "torch_transformer.py", (), ("fp32", "fp32-compile", "bf16", "bf16-compile")
    ),
    "JoeyNMT": Peer("joey.py", ("joeynmt==2.3.0", "importlib_metadata"), ("fp32", "bf16")),
    "Eole": Peer("eole_model.py", ("eole==0.6.4", "aiohttp"), ("fp32", "bf16")),
}


@dataclass(frozen=True)
class Row:
    """One line of the table: a size, an environment, what we run, which peers count, and the ratio to reach."""

    name: str
    size: str
    ours: str
    peers: str
    """``all`` kinds of arithmetic, or ``fp32`` only."""
    must: float
    reach: float
    environment: tuple[tuple[str, str], ...] = ()
    vocabulary: int = 8_000
    tokens: int = 4_096
    """Padded tokens a side in a batch, at most."""


ROWS = [
    Row("base", "base", "bf16", "all", 2.5, 3.5),
    Row("small", "small", "bf16", "all", 2.5, 4.0),
    Row("tiny", "tiny", "bf16", "all", 3.0, 5.0, vocabulary=10_000),
    Row("base, fp32", "base", "fp32", "fp32", 1.3, 1.6),
    Row("small, AVX2", "small", "fp32", "fp32", 1.3, 1.6, tuple(LAPTOP.items())),
    Row("base, no compiler", "base", "bf16", "all", 2.0, 2.5, (("CXX", "none"),)),
]
CARD = (("BENCH_DEVICE", "cuda"),)
ROWS_OF_A_CARD = [
    Row("base, graphics card", "base", "bf16", "bf16", 2.0, 2.0, CARD, tokens=25_000),
    Row("big, graphics card", "big", "bf16", "bf16", 2.0, 2.0, CARD, tokens=25_000),
]
PROCESSES = "two processes"
LEAST_MFU, LEAST_SCALING = {"base": 0.30, "big": 0.35}, 1.8
"""What else must be met: the share of the measured peak, and two processes against one, a core each."""
SMALL_CARD = 8e9
"""Bytes of a graphics card on which base must train with 25,000 tokens an update."""


def main() -> None:
    """Make the batches and the environments, run the rounds, print and record the table."""
    arguments = _read_arguments()
    machine = describe_machine()
    tell(machine)
    if arguments.device == "cpu" and not has_bfloat16():
        tell(
            "no instructions for bfloat16: every row is measured in float32, and shares are of that peak"
        )
    with tempfile.TemporaryDirectory() as scratch:
        rows = rows_here(arguments.device)
        text = {(row.vocabulary, row.tokens) for row in rows}
        of_text = {kind: Path(scratch) / f"batches-{kind[0]}-{kind[1]}.json" for kind in text}
        for (vocabulary, tokens), path in of_text.items():
            write_batches(path, corpora() / "multi30k_en_de", vocabulary, tokens)
        pythons = {
            name: environment_of(name, peer, arguments.device) for name, peer in PEERS.items()
        }
        found, others = [], []
        for row in rows:
            if not arguments.rows or row.name in arguments.rows:
                batches = of_text[row.vocabulary, row.tokens]
                found.append(measure_row(row, batches, pythons, arguments))
                beside = requirements_of(row, found[-1], arguments.device)
                others += beside
                record_row(row.name, table_of(found[-1:], beside), arguments)
        if arguments.device == "cpu" and (not arguments.rows or PROCESSES in arguments.rows):
            others.append(measure_processes(of_text[Row.vocabulary, Row.tokens], arguments))
            record_row(PROCESSES, table_of([], others[-1:]), arguments)
    if arguments.json:
        print(json.dumps({"machine": machine, "rows": found, "others": others}, indent=2))
    else:
        print(table_of(found, others))
    met = [row["ratio"]["median"] >= row["must"] for row in found] + [one["met"] for one in others]
    sys.exit(0 if all(met) else 1)


def rows_here(device: str) -> list[Row]:
    """Return what is measured here: on a processor without bfloat16 all in float32, where base is the row of that name."""
    if device == "cuda":
        return ROWS_OF_A_CARD
    if has_bfloat16():
        return ROWS
    return [replace(row, ours="fp32", peers="fp32") for row in ROWS if row.name != "base"]


def record_row(name: str, table: str, arguments: argparse.Namespace) -> None:
    """Put one row into the record, with how it was measured."""
    how = f"{arguments.threads} threads, {arguments.rounds} interleaved rounds, {arguments.steps} updates, each timed when it is made once more"
    slow = arguments.device == "cpu" and not has_bfloat16()
    machine = " (a processor without bfloat16)" if slow else ""
    record(f"Training: {name}{machine}", "make bench-training", f"{how}.\n\n{table}")


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="interleaved runs of each system")
    parser.add_argument(
        "--steps", type=int, default=5, help="updates a run, made twice, timed once"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    again = "a peer slower than this share of the fastest in the first round is not run again: it sets no ratio"
    parser.add_argument("--near", type=float, default=0.8, help=again)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rows", nargs="*", metavar="ROW", help="all by default")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    names = [*(row.name for row in rows_here(arguments.device)), PROCESSES]
    if unknown := set(arguments.rows or ()) - set(names):
        parser.error(f"no row {min(unknown)!r}; there are {', '.join(names)}")
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


def peak_of(row: Row, threads: int) -> float:
    """Measure the machine's best matrix products in the row's environment, in FLOP a second."""
    command = [sys.executable, str(HERE / "peers" / "peak.py"), str(threads), row.ours]
    environment = os.environ | dict(row.environment)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def environment_of(name: str, peer: Peer, device: str) -> Path:
    """Return the Python of a peer's own environment, made when it is not there; on a graphics card this one, which has its torch."""
    if device == "cuda":
        return Path(sys.executable)
    folder = ROOT / ".benchmarks" / peer.script.removesuffix(".py")
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        tell(f"installing {name} ...")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "torch==2.13.0", *peer.packages]
        subprocess.run(install, check=True)
        (folder / ".ready").touch()
    return python


def run(
    python: Path, script: str, row: Row, mode: str, batches: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Run one system once and return what it measured; a system that fails counts as nothing, and says why."""
    command = [
        *(str(python), str(HERE / "peers" / script), str(batches), row.size, mode),
        *map(str, (arguments.threads, arguments.steps)),
    ]
    started = time.time()
    environment = os.environ | dict(row.environment)
    environment |= {"OMP_NUM_THREADS": str(arguments.threads), "BENCH_STARTED": str(started)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        named = (line for line in reversed(lines) if "Error" in line.partition(":")[0])
        last = next(named, lines[-1])
        tell(f"  {script} {mode}: failed: {last}")
        return {"tokens_a_second": 0.0, "failed": last}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    tell(
        f"  {row.name:12} {script:22} {mode:14} {found['tokens_a_second']:8,.0f} tokens/s  "
        f"{found['peak_bytes'] / 1e6:6,.0f} MB  loss {found['loss']:.3f}  "
        f"start {found['start_seconds']:.0f} s, warm-up {found['warmup_seconds']:.0f} s "
        f"({time.time() - started:.0f} s in all)"
    )
    return found


def measure_row(
    row: Row, batches: Path, pythons: dict[str, Path], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Run all systems of one row in a first round, and those that could be the best peer in the others."""
    systems = {
        (name, mode): (pythons[name], peer.script)
        for name, peer in PEERS.items()
        for mode in peer.modes
        if row.peers == "all" or mode.startswith(row.peers)
    }
    ours = ("Interlingua", row.ours)
    systems[ours] = (Path(sys.executable), "ours.py")
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {system: [] for system in systems}
    contenders = list(systems)
    flops = flops_of(row.size, batches, arguments.steps)
    used, products = [], []
    for _ in range(arguments.rounds):
        peak = peak_of(row, arguments.threads)
        bare = run(Path(sys.executable), "products.py", row, row.ours, batches, arguments)
        products.append(bare["tokens_a_second"])
        for system in contenders:
            python, script = systems[system]
            rounds[system].append(run(python, script, row, system[1], batches, arguments))
        seconds = rounds[ours][-1].get("seconds")
        used.append(flops / seconds / peak if seconds else 0.0)
        fastest = max(rounds[s][0]["tokens_a_second"] for s in systems if s != ours)
        contenders = [
            s
            for s in contenders
            if s == ours or rounds[s][0]["tokens_a_second"] >= arguments.near * fastest
        ]
    speeds = {s: [one["tokens_a_second"] for one in rounds[s]] for s in systems}
    best = max((s for s in contenders if s != ours), key=lambda s: statistics.median(speeds[s]))
    return {
        "name": row.name,
        "ours": " ".join(ours),
        "must": row.must,
        "reach": row.reach,
        "ratio": spread(ratios_of(speeds[ours], speeds[best])),
        "best_peer": " ".join(best) if speeds[best][0] else "none ran",
        "share_of_peak": spread(used),
        "products_alone": {
            "tokens_a_second": spread(products),
            "ratio": spread(ratios_of(products, speeds[best])),
        },
        "systems": {
            " ".join(system): {
                "tokens_a_second": spread(speeds[system]),
                "ratio": spread(ratios_of(speeds[ours][: len(speeds[system])], speeds[system])),
                "runs": len(rounds[system]),
                "peak_bytes": max(one.get("peak_bytes", 0) for one in rounds[system]),
                "version": rounds[system][0].get("version", rounds[system][0].get("torch", "")),
                "failed": next((one["failed"] for one in rounds[system] if "failed" in one), None),
                "start_seconds": rounds[system][0].get("start_seconds", 0.0),
                "warmup_seconds": rounds[system][0].get("warmup_seconds", 0.0),
            }
            for system in systems
        },
    }


def requirements_of(row: Row, found: dict[str, Any], device: str) -> list[dict[str, Any]]:
    """Return what the row of the base model, and on a graphics card each, must show beside its ratio: use of the peak, and memory."""
    if device == "cpu" and found["name"] != next(
        r.name for r in rows_here(device) if r.size == "base"
    ):
        return []
    mfu = found["share_of_peak"]["median"]
    least = LEAST_MFU[row.size]
    needed = [
        {
            "name": f"{row.size}, share of the measured peak (MFU)",
            "value": f"{mfu:.0%}",
            "must": f"{least:.0%}",
            "met": mfu >= least,
        }
    ]
    mine = found["systems"][found["ours"]]["peak_bytes"]
    if device == "cuda":
        small = {
            "name": "base with 25,000 tokens an update, memory of the card",
            "value": f"{mine / 1e6:,.0f} MB",
            "must": f"{SMALL_CARD / 1e6:,.0f} MB",
            "met": 0 < mine <= SMALL_CARD,
        }
        return [*needed, small] if row.size == "base" else needed
    theirs = min(
        (
            system["peak_bytes"]
            for name, system in found["systems"].items()
            if name != found["ours"] and system["peak_bytes"]
        ),
        default=0,
    )
    memory = {
        "name": "base, peak memory against the thriftiest peer",
        "value": f"{mine / 1e6:,.0f} MB, {theirs / 1e6:,.0f} MB ({mine / max(theirs, 1):.2f})",
        "must": "1.00",
        "met": 0 < mine <= theirs,
    }
    return [*needed, memory]


def measure_processes(batches: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare two processes under torchrun, one thread each, with one process of one thread."""
    alone = [sys.executable, str(HERE / "peers" / "ours.py")]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    pair = [sys.executable, *launcher, alone[1]]
    mode = "bf16" if has_bfloat16() else "fp32"
    ratios = []
    for _ in range(arguments.rounds):
        speeds = []
        for command in (alone, pair):
            done = subprocess.run(
                [*command, str(batches), "base", mode, "1", str(arguments.steps)],
                capture_output=True,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
            lines = done.stdout.strip().splitlines() if done.returncode == 0 else []
            speeds.append(json.loads(lines[-1])["tokens_a_second"] if lines else 0.0)
        ratios.append(speeds[1] / speeds[0] if speeds[0] else 0.0)
        tell(f"  {PROCESSES}: {speeds[0]:,.0f} alone, {speeds[1]:,.0f} together")
    found = spread(ratios)
    return {
        "name": "base, two processes of one thread against one (torchrun, gloo)",
        "value": f"{found['median']:.2f} ({found['low']:.2f} to {found['high']:.2f})",
        "must": f"{LEAST_SCALING}",
        "met": found["median"] >= LEAST_SCALING,
    }


def ratios_of(ours: list[float], theirs: list[float]) -> list[float]:
    """Return how many times the speed of the other each round saw; none where the other did not run."""
    pairs = zip(ours, theirs, strict=True)
    return [mine / other if other else 0.0 for mine, other in pairs]


def spread(values: list[float]) -> dict[str, float]:
    """Return the median and the extremes."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def table_of(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    """Write the rows as Markdown."""
    lines = []
    if rows:
        lines = [
            "| row | system | target tokens/s (median, range) | ours is so many times as fast | peak memory | start, warm-up |",
            "|---|---|---|---|---|---|",
        ]
    for row in rows:
        for name, system in row["systems"].items():
            if system["failed"]:
                lines.append(f"| {row['name']} | {name} | failed: {system['failed']} | | | |")
                continue
            speed, ratio = system["tokens_a_second"], system["ratio"]
            times = f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
            times = "" if name == row["ours"] else times
            lines.append(
                f"| {row['name']} | {name} {system['version']} | {speed['median']:,.0f} "
                f"({speed['low']:,.0f} to {speed['high']:,.0f}; {system['runs']} runs) | {times} | {system['peak_bytes'] / 1e6:,.0f} MB | "
                f"{system['start_seconds']:.0f} s, {system['warmup_seconds']:.0f} s |"
            )
    if rows:
        lines += [
            "",
            "| row | ratio to the best peer | best peer | must | reach | share of the peak (MFU) | "
            "the products alone against the best peer |",
            "|---|---|---|---|---|---|---|",
        ]
    for row in rows:
        ratio, products = row["ratio"], row["products_alone"]
        lines.append(
            f"| {row['name']} | {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) | "
            f"{row['best_peer']} | {row['must']} | {row['reach']} | "
            f"{row['share_of_peak']['median']:.0%} | "
            f"{products['ratio']['median']:.2f} ({products['ratio']['low']:.2f} to {products['ratio']['high']:.2f})"
            f"{', below what must be: the limit' if products['ratio']['median'] < row['must'] else ''} |"
        )
    if others:
        lines += ["", "| what else must be met | measured | must |", "|---|---|---|"]
    lines += [f"| {one['name']} | {one['value']} | {one['must']} |" for one in others]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
