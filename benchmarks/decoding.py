"""Decoding speed, peers side by side in one run: ``make bench-decoding``.

Every system has the same converted weights and translates the same distinct sentences, nothing kept between them. Each
has several ways to be run (arithmetic, threads, batch size); all are tried in the first round, the near best go on.
Rounds are interleaved, so that a noisy minute hits all; a ratio is taken within a round, between the best way of each,
and the median over rounds is reported with its spread.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer_environments import TORCH, environment_of
from prove_commands import corpora, describe_machine, has_bfloat16, record, spread

HERE = Path(__file__).parent
ROOT = HERE.parent
PACKAGES = {
    "ctranslate2": ("ctranslate2==4.8.5", "tokenizers"),
    "transformers": (TORCH, "transformers==5.23.0", "sentencepiece"),
}
NEAR = 0.8
"""A way that is slower than this share of the best that it is chosen with in the first round is not run again."""
NEAR_OF_MANY = 0.95
"""The same where there are four or more to choose from."""
LIMIT_MUST = 0.30
LIMITED = "a, beam 4"
"""The row that is held to the machine's own limit."""
MOST_ALONE = {"trained": 200, "base": 100}
"""How many sentences are translated one at a time: the base model takes a tenth of a second for each."""


@dataclass(frozen=True)
class Way:
    """One way to run one system."""

    system: str
    settings: dict[str, Any]
    environment: tuple[tuple[str, str], ...] = ()

    def name(self) -> str:
        """Write it for a table."""
        words = [
            f"{value}" if key != "batch" else f"batch {value}"
            for key, value in self.settings.items()
        ]
        words += [value if key.endswith("ISA") else key.lower() for key, value in self.environment]
        return f"{self.system} {', '.join(words)}"


@dataclass(frozen=True)
class Requirement:
    """A ratio of best against best, and what it must be."""

    name: str
    ours: tuple[str, ...]
    theirs: tuple[str, tuple[str, ...]]
    must: float
    reach: float


@dataclass(frozen=True)
class Row:
    """One line of the issue: a model, a task, the ways that count, what is required."""

    name: str
    model: str
    kind: str
    beam: int
    length: int
    requirements: tuple[Requirement, ...]
    environment: tuple[tuple[str, str], ...] = ()


ANY = ("float32", "bfloat16", "int8")
CT2, HF = "CTranslate2", "transformers"
CT2_KINDS = ("float32", "int8")
"""All that it has on this kind of processor: its ``int8`` is what it also calls ``int8_float32``, its 16 bits are refused."""
LAPTOP = (
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("ONEDNN_MAX_CPU_ISA", "AVX2"),
    ("CT2_FORCE_CPU_ISA", "AVX2"),
)
ROWS = [
    Row(
        *(LIMITED, "base", "tokens", 4, 20),
        (
            Requirement("best against best of CTranslate2", ANY, (CT2, ANY), 2.0, 4.0),
            Requirement("float32 against float32", ("float32",), (CT2, ("float32",)), 1.0, 1.4),
            Requirement("best against best of transformers", ANY, (HF, ANY), 5.0, 8.0),
        ),
    ),
    Row(
        *("a, greedy", "base", "tokens", 1, 20),
        (Requirement("best against best of CTranslate2", ANY, (CT2, ANY), 1.2, 2.0),),
    ),
    Row(
        *("a, beam 4, AVX2", "base", "tokens", 4, 20),
        (Requirement("best against int8 of CTranslate2", ANY, (CT2, ("int8",)), 0.8, 1.1),),
        LAPTOP,
    ),
    Row(
        *("b, Multi30k, text to text", "trained", "text", 4, 0),
        (Requirement("best against best of CTranslate2", ANY, (CT2, ANY), 1.5, 3.0),),
    ),
    Row(
        *("c, one sentence at a time", "trained", "single", 4, 0),
        (Requirement("best against best of CTranslate2", ANY, (CT2, ANY), 1.0, 1.5),),
    ),
    Row(
        *("c, one sentence, base", "base", "single", 4, 20),
        (Requirement("best against best of CTranslate2", ANY, (CT2, ANY), 1.0, 1.5),),
    ),
    Row(
        *("d, 12+1 layers", "deep", "tokens", 4, 20),
        (Requirement("best against best of CTranslate2", ANY, (CT2, ANY), 1.0, 2.0),),
    ),
]


def main() -> None:
    """Make the models and the environments, run the rounds, record each row as soon as it is measured, and print the table."""
    arguments = _read_arguments()
    machine = describe_machine()
    print(machine, flush=True)
    rows = [row for row in ROWS if not arguments.rows or row.name in arguments.rows]
    pythons = {
        name: environment_of(name, packages, ROOT / ".benchmarks" / f"search-{name}")
        for name, packages in PACKAGES.items()
    }
    with tempfile.TemporaryDirectory() as scratch:
        models = {
            name: make_model(name, Path(scratch), arguments.trained)
            for name in sorted({row.model for row in rows})
        }
        found = []
        for row in rows:
            found.append(measure_row(row, models[row.model], pythons, arguments, Path(scratch)))
            told = f"{arguments.threads} threads, {arguments.rounds} interleaved rounds"
            table = f"{told}.\n\n{table_of(found[-1:])}"
            record(f"Decoding: {row.name}", "make bench-decoding", table)
    if arguments.json:
        print(json.dumps({"machine": machine, "rows": found}, indent=2))
    else:
        print(table_of(found))
    met = [one["met"] for row in found for one in row["requirements"]]
    sys.exit(0 if met and all(met) else 1)


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="interleaved runs of each way")
    parser.add_argument("--sentences", type=int, default=200, help="of Multi30k test 2016 (0: all)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--trained",
        type=Path,
        default=ROOT / "runs" / "multi30k-en-de",
        help="run of recipes/multi30k_en_de.toml, for rows b and c; make prove-multi30k makes it",
    )
    parser.add_argument(
        "--rows", nargs="*", choices=[row.name for row in ROWS], help="all by default"
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def make_model(name: str, scratch: Path, trained: Path) -> dict[str, Path]:
    """Return the folder of one model in the form of each system: the same weights."""
    folder = scratch / name
    ours = folder / "ours"
    if name == "trained":
        ours = trained / "model" if (trained / "model").is_dir() else trained
        if not ours.is_dir():
            sys.exit(f"{trained} is not there; run make prove-multi30k, or give --trained")
    else:
        write_random_model(ours, layers=(12, 1) if name == "deep" else (6, 6))
    folders = {"Interlingua": ours}
    for system, form in ((CT2, "ctranslate2"), (HF, "marian")):
        folders[system] = folder / form
        command = [sys.executable, "-m", "interlingua", "export", str(ours), "--format", form]
        subprocess.run([*command, "--no-verify", "--output", str(folders[system])], check=True)
    return folders


def write_random_model(folder: Path, layers: tuple[int, int]) -> None:
    """Write a base model of random weights over a vocabulary of 32,000 pieces of real text."""
    import torch

    from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
    from interlingua.checkpoints.weights import parameters_of
    from interlingua.config import DecodingConfig
    from interlingua.model.architecture import Architecture
    from interlingua.model.transformer import Transformer
    from interlingua.tokenization.pair import TokenizerPair
    from interlingua.tokenization.train import train_tokenizer

    lines = [
        line
        for path in ("news_en_de/train", "multi30k_en_de/train")
        for side in ("en", "de")
        for line in (corpora() / f"{path}.{side}").read_text(encoding="utf-8").split("\n")
    ]
    tokenizer = train_tokenizer(
        lines,
        kind="bpe",
        vocabulary_size=32_000,
        normalization="nfkc",
        lowercase=False,
        byte_level=False,
    )
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    torch.manual_seed(1)
    encoder, decoder = layers
    model = Transformer(
        Architecture(encoder_layers=encoder, decoder_layers=decoder),
        source_vocabulary=tokenizer.vocabulary_size,
        target_vocabulary=tokenizer.vocabulary_size,
        source_pad=tokenizer.pad_id,
        target_pad=tokenizer.pad_id,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    loaded = LoadedModel(model, tokenizers, "en", "de", DecodingConfig(), 256)
    save_model_folder(folder, loaded, parameters_of(model), "Random weights.\n")


def ways_of(row: Row, threads: int) -> list[Way]:
    """Return every way to be tried for one row."""
    single = row.kind == "single"
    forced = dict(row.environment)
    halves = ("bfloat16",) if has_bfloat16() else ()
    ours = [
        Way("Interlingua", {"dtype": dtype, "batch": batch})
        for dtype in ("float32", *halves, "int8")
        for batch in ((4096,) if single else (2048, 4096, 8192))
        if not (dtype == "bfloat16" and forced)
    ]
    workers = [(1, threads)] if threads == 1 else [(1, threads), (threads, 1)]
    if single:
        workers = [(1, threads), (1, 1)]
    isas = (forced.get("CT2_FORCE_CPU_ISA"),) if forced else ("AVX2", "AVX512")
    theirs = [
        Way(
            CT2,
            {"compute_type": kind, "inter_threads": inter, "intra_threads": intra, "batch": batch},
            tuple(
                [("CT2_FORCE_CPU_ISA", isa)]
                + ([("CT2_USE_EXPERIMENTAL_PACKED_GEMM", "1")] if packed else [])
            ),
        )
        for kind, (inter, intra), packed, isa, batch in itertools.product(
            CT2_KINDS,
            workers,
            (False, True),
            isas,
            (1,) if single else (16, 32, 64),
        )
    ]
    ways = ours + theirs
    if any(one.theirs[0] == HF for one in row.requirements):
        ways += [
            Way(HF, {"dtype": dtype, "batch": batch})
            for dtype in ("float32", *halves)
            for batch in (32, 100)
        ]
    return ways


def sentences_of(row: Row, system: str, ours: Path, number: int) -> list[Any]:
    """Return Multi30k's test sentences in the form that a system takes; the same for all."""
    from interlingua.checkpoints.model_folder import load_model_folder

    lines = (
        (corpora() / "multi30k_en_de" / "test_2016_flickr.en")
        .read_text(encoding="utf-8")
        .split("\n")[:-1]
    )
    lines = lines[: number or None]
    if not row.length:
        return lines
    tokenizer = load_model_folder(ours).tokenizers.source
    encoded = [list(ids) for ids in tokenizer.encode_batch(lines)]
    if system == CT2:
        return [list(tokenizer.tokens(ids)) for ids in encoded]
    return [[*ids, tokenizer.end_id] for ids in encoded]


def run(
    way: Way, row: Row, models: dict[str, Path], pythons: dict[str, Path], task: Path
) -> dict[str, Any]:
    """Run one way once and return what it measured; one that fails counts as nothing, and says why."""
    scripts = {"Interlingua": "ours", CT2: "ctranslate2", HF: "transformers"}
    script = scripts[way.system]
    python = pythons.get(script, Path(sys.executable))
    command = [
        *(str(python), str(HERE / "peers" / f"search_{script}.py"), str(task)),
        *(str(models[way.system]), json.dumps(way.settings)),
    ]
    environment = os.environ | dict(row.environment) | dict(way.environment)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"  {row.name:26} {way.name():60} failed: {last}", flush=True)
        return {"failed": last}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    outputs = found.pop("outputs")
    found["tokens"] = sum(outputs) if row.length else sum(len(each.split()) for each in outputs)
    if row.length and set(outputs) != {row.length}:
        return {"failed": f"outputs of {sorted(set(outputs))[:5]} tokens, not {row.length}"}
    found["speed"] = (
        1.0 / found["median_latency"]
        if row.kind == "single"
        else found["tokens"] / found["seconds"]
    )
    print(
        f"  {row.name:26} {way.name():60} {found['speed']:8,.1f}  {found['resident_bytes'] / 1e6:6,.0f} MB  "
        f"p99 {1e3 * found['p99_latency']:.0f} ms  start {found['start_seconds']:.1f} s",
        flush=True,
    )
    return found


def measure_row(
    row: Row,
    models: dict[str, Path],
    pythons: dict[str, Path],
    arguments: argparse.Namespace,
    scratch: Path,
) -> dict[str, Any]:
    """Try every way in a first round, and those that could be a system's best in the others."""
    tasks = {}
    for system in ("Interlingua", CT2, HF):
        number = arguments.sentences if row.kind != "text" else 0
        if row.kind == "single":
            number = min(number or MOST_ALONE[row.model], MOST_ALONE[row.model])
        task = {
            "sentences": sentences_of(row, system, models["Interlingua"], number),
            "kind": row.kind,
            "beam": row.beam,
            "length": row.length,
            "threads": arguments.threads,
            "runs": 1,
        }
        tasks[system] = scratch / f"{row.name}-{system}.json"
        tasks[system].write_text(json.dumps(task))
    keyed = {way.name(): way for way in ways_of(row, arguments.threads)}
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in keyed}
    peaks: list[float] = []
    contenders = list(keyed)
    for _ in range(arguments.rounds):
        if row.name == LIMITED and has_bfloat16():
            peaks.append(peak_of(arguments.threads))
        for name in contenders:
            way = keyed[name]
            results[name].append(run(way, row, models, pythons, tasks[way.system]))
        contenders = near_best(row, keyed, results, contenders)
    return summarise(row, keyed, results, contenders, peaks, models)


def kind_of(way: Way) -> str:
    """Name the arithmetic of a way."""
    return str(way.settings.get("dtype") or way.settings["compute_type"])


def near_best(
    row: Row,
    ways: dict[str, Way],
    results: dict[str, list[dict[str, Any]]],
    contenders: list[str],
) -> list[str]:
    """Keep the ways that come near the best of those that one of the row's comparisons chooses from."""
    sides = {("Interlingua", one.ours) for one in row.requirements}
    sides |= {one.theirs for one in row.requirements}
    if row.name == LIMITED:
        sides.add(("Interlingua", ("bfloat16",)))
    first = {name: results[name][0].get("speed", 0.0) for name in contenders}
    kept = set()
    for system, kinds in sides:
        rivals = [
            name
            for name in contenders
            if ways[name].system == system and kind_of(ways[name]) in kinds and first[name]
        ]
        best = max((first[name] for name in rivals), default=0.0)
        bar = best * (NEAR if len(rivals) < 4 else NEAR_OF_MANY)
        kept |= {name for name in rivals if first[name] >= bar}
    return [name for name in contenders if name in kept]


def peak_of(threads: int) -> float:
    """Measure the machine's best matrix products in bfloat16, in FLOP a second."""
    command = [sys.executable, str(HERE / "peers" / "peak.py"), str(threads), "bf16"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def flops_of(row: Row, ours: Path, sentences: int) -> float:
    """Count the operations of one output token of row a or d: 2 a multiply-add, over beams, source read once."""
    from interlingua.checkpoints.model_folder import load_model_folder

    loaded = load_model_folder(ours)
    a = loaded.model.architecture
    d, f, v = a.d_model, a.d_ff, loaded.tokenizers.target.vocabulary_size
    lengths = [len(each) for each in sentences_of(row, "Interlingua", ours, sentences)]
    s = statistics.mean(lengths)
    encoder = a.encoder_layers * (2 * s * (4 * d * d + 2 * d * f) + 4 * s * s * d)
    source = a.decoder_layers * 4 * s * d * d
    t = row.length
    step = a.decoder_layers * (2 * (6 * d * d + 2 * d * f) + 4 * s * d + 2 * t * d) + 2 * d * v
    return (encoder + source) / t + row.beam * step


def summarise(
    row: Row,
    ways: dict[str, Way],
    results: dict[str, list[dict[str, Any]]],
    contenders: list[str],
    peaks: list[dict[str, float]],
    models: dict[str, Path],
) -> dict[str, Any]:
    """Compare the best ways, round by round."""

    def best(system: str, kinds: tuple[str, ...]) -> str | None:
        candidates = [
            n for n in contenders if ways[n].system == system and kind_of(ways[n]) in kinds
        ]
        speeds = {
            n: statistics.median([r.get("speed", 0.0) for r in results[n]]) for n in candidates
        }
        return max(speeds, key=lambda n: speeds[n]) if speeds else None

    required = []
    for one in row.requirements:
        mine, theirs = best("Interlingua", one.ours), best(*one.theirs)
        ratios = (
            [a["speed"] / b["speed"] for a, b in zip(results[mine], results[theirs], strict=False)]
            if mine and theirs
            else [0.0]
        )
        ratio = spread(ratios)
        required.append(
            {
                "name": one.name,
                "ours": mine,
                "theirs": theirs,
                "ratio": ratio,
                "must": one.must,
                "reach": one.reach,
                "met": ratio["median"] >= one.must,
            }
        )
    if row.name == LIMITED:
        required += memory_and_limit(row, results, best, peaks, models)
    if row.name == "c, one sentence, base":
        mine = best("Interlingua", ANY)
        start = statistics.median([r["start_seconds"] for r in results[mine]]) if mine else 99.0
        required.append(
            fact(
                "start: import, load, first translation, seconds",
                mine,
                start,
                3.0,
                1.5,
                start <= 3.0,
            )
        )
    return {
        "name": row.name,
        "requirements": required,
        "ways": {
            name: {
                "speed": spread([r.get("speed", 0.0) for r in found]),
                "runs": len(found),
                "resident_bytes": found[-1].get("resident_bytes", 0),
                "p99_latency": statistics.median([r.get("p99_latency", 0.0) for r in found]),
                "failed": next((r["failed"] for r in found if "failed" in r), None),
            }
            for name, found in results.items()
        },
    }


def fact(
    name: str, ours: str | None, value: float, must: float, reach: float, met: bool
) -> dict[str, Any]:
    """Write one measured value beside what it must be."""
    return {
        "name": name,
        "ours": ours,
        "theirs": None,
        "ratio": {"median": value, "low": value, "high": value},
        "must": must,
        "reach": reach,
        "met": met,
    }


def memory_and_limit(
    row: Row, results: Any, best: Any, peaks: Any, models: Any
) -> list[dict[str, Any]]:
    """Add what row a must show beside its speed: memory, and the share of what the machine could do."""
    facts = []
    mine, theirs = best("Interlingua", ANY), best(CT2, ("float32",))
    if mine and theirs:
        ratio = results[mine][-1]["resident_bytes"] / results[theirs][-1]["resident_bytes"]
        facts.append(
            fact("resident memory against CTranslate2 float32", mine, ratio, 1.0, 0.8, ratio <= 1.0)
        )
    half = best("Interlingua", ("bfloat16",))
    if half:
        flops = flops_of(row, models["Interlingua"], 200)
        shares = [
            found["speed"] * flops / peak for found, peak in zip(results[half], peaks, strict=False)
        ]
        share = statistics.median(shares)
        facts.append(
            fact(
                "share of the limit in bfloat16", half, share, LIMIT_MUST, 0.5, share >= LIMIT_MUST
            )
        )
    return facts


def table_of(rows: list[dict[str, Any]]) -> str:
    """Write the rows as Markdown: what is required first, every way that was run after it."""
    lines = [
        "| row | what | measured (range) | must | reach | ours | theirs |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for one in row["requirements"]:
            ratio, mark = one["ratio"], "" if one["met"] else " **not met**"
            lines.append(
                f"| {row['name']} | {one['name']} | {ratio['median']:.2f} ({ratio['low']:.2f} to "
                f"{ratio['high']:.2f}){mark} | {one['must']} | {one['reach']} | {one['ours']} | {one['theirs'] or ''} |"
            )
    lines += [
        "",
        "Output tokens a second (row b: words, row c: sentences), median over the rounds; what was far from its system's best ran once.",
        "",
        "| row | way | speed (range; runs) | resident | p99 |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        for name, way in row["ways"].items():
            if way["failed"]:
                lines.append(f"| {row['name']} | {name} | failed: {way['failed']} | | |")
                continue
            speed, late = way["speed"], way["p99_latency"]
            lines.append(
                f"| {row['name']} | {name} | {speed['median']:,.1f} ({speed['low']:,.1f} to {speed['high']:,.1f}; "
                f"{way['runs']}) | {way['resident_bytes'] / 1e6:,.0f} MB | {f'{1e3 * late:.0f} ms' if late else ''} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
