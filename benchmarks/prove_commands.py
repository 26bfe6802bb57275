"""Running the commands that a user types, the text they read, and writing down what came out: shared by the scripts here."""

import hashlib
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

from interlingua.checkpoints.adapter_folder import weights_sha256
from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.significance import Comparison, compare
from interlingua.evaluation.systems import SystemOutputs, TestSet, compare_systems
from interlingua.hardware import choose_dtype

__all__ = [
    "Timed",
    "cleaned",
    "compare_bleu",
    "compared_over_seeds",
    "corpora",
    "describe_commit",
    "describe_machine",
    "evaluate",
    "even_pairs",
    "first_pairs",
    "has_bfloat16",
    "held_out",
    "length_flags",
    "mean_bleu",
    "parallel_text",
    "record",
    "run",
    "run_json",
    "settings_folder",
    "spread",
    "table",
    "translated",
]

RECORD = Path(__file__).parent / "RESULTS.md"
_PREFACE = """# How fast

Written by `make bench-training`, `make bench-decoding`, `make bench-serving` and `make bench-page`: each replaces its own sections. Whoever
is compared in a section ran side by side in one run. What limits each is told in [docs/results.md](../docs/results.md).
"""


@dataclass(frozen=True)
class Timed:
    """One command: what it printed, how long it took, how much memory it held at most."""

    output: str
    seconds: float
    peak_bytes: int


def run(*arguments: str) -> Timed:
    """Run ``interlingua`` with ``arguments``; end the proof if it fails."""
    command = [str(Path(sys.executable).with_name("interlingua")), *arguments]
    # One piece with its end: several trainings may begin at once.
    print("$ interlingua " + " ".join(arguments) + "\n", end="", flush=True)
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            output = process.stdout.read()
        except KeyboardInterrupt:  # which the command has got too
            process.wait()
            print("\nstopped; the same command goes on", file=sys.stderr)
            sys.exit(128 + signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    if process.returncode != 0:
        sys.exit(f"the command ended with status {process.returncode}")
    return Timed(output, seconds, usage.ru_maxrss * 1024)


def run_json(*arguments: str) -> dict[str, Any]:
    """Run a command with ``--json`` and return what it tells; a training that is finished tells the same again."""
    told: dict[str, Any] = json.loads(run(*arguments, "--json").output)
    return told


def evaluate(model: str, source: Path, reference: Path, *flags: str) -> dict[str, Any]:
    """Evaluate ``model`` and return its report."""
    files = ("--source", str(source), "--reference", str(reference))
    return run_json("evaluate", model, *files, *flags)


def translated(model: Path, source: Path | str, output: Path, *flags: str) -> list[str]:
    """Return a model's translation of a text, from an earlier start if model, text and flags are still the same."""
    known = output.with_name(f"{output.name}.model")
    asked = hashlib.sha256(Path(source).read_bytes())
    asked.update(" ".join((weights_sha256(model), *flags)).encode())
    if not (output.exists() and known.exists() and known.read_text() == asked.hexdigest()):
        files = ("--input", str(source), "--output", str(output))
        run("translate", str(model), *files, *flags)
        known.write_text(asked.hexdigest())
    return read_lines(output)


def corpora() -> Path:
    """Return the folder of real corpora, or end with the reason."""
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        sys.exit("set INTERLINGUA_DATA to the folder of the corpora first")
    return Path(folder)


def cleaned(corpus: Path, place: Path, source: str, target: str) -> Path:
    """Clean the training part of a corpus, so that nothing of its validation and test parts is in it; return the two files but
    for their suffixes. What is cleaned already is not cleaned again."""
    if not (place / f"train.{target}").exists():
        sides = ("--source", str(corpus / f"train.{source}"))
        sides += ("--target", str(corpus / f"train.{target}"))
        others = held_out(corpus, source, target)
        print(run("clean", *sides, *others, "--output", str(place)).output)
    return place / "train"


def held_out(corpus: Path, source: str, target: str) -> list[str]:
    """Return the flags that name the validation and test parts of a corpus."""
    return [
        word
        for part in ("valid", "test")
        for side, code in (("source", source), ("target", target))
        for word in (f"--{part}-{side}", str(corpus / f"{part}.{code}"))
    ]


def first_pairs(text: Path, place: Path, number: int, langs: Sequence[str] = ("en", "de")) -> Path:
    """Write the first pairs of a text; it and ``place``, which is returned, are two files but for their suffixes."""
    for lang in langs:
        write_lines(Path(f"{place}.{lang}"), read_lines(Path(f"{text}.{lang}"))[:number])
    return place


def even_pairs(text: Path, place: Path, number: int, langs: Sequence[str] = ("en", "de")) -> Path:
    """Write pairs of a text at even distances; it and ``place``, which is returned, are two files but for their suffixes."""
    for lang in langs:
        lines = read_lines(Path(f"{text}.{lang}"))
        if len(lines) < number:
            sys.exit(f"{text} has only {len(lines):,} pairs, and {number:,} are wanted")
        write_lines(
            Path(f"{place}.{lang}"), [lines[n * len(lines) // number] for n in range(number)]
        )
    return place


def parallel_text(text: Path, valid: Path, langs: Sequence[str] = ("en", "de")) -> list[str]:
    """Return the flags that name what to train on and to validate with, each two files but for their suffixes."""
    return [
        word
        for kind, path in (("", text), ("valid-", valid))
        for side, lang in zip(("source", "target"), langs, strict=True)
        for word in (f"--{kind}{side}", f"{path}.{lang}")
    ]


def settings_folder(runs: Path, **settings: float | str | None) -> Path:
    """Name a folder by what is asked of the trainings in it, so that one of 2,000 updates is not gone on with to 6,000.

    A setting of None is left to ``train``, and not named.
    """
    said = [
        f"{name.replace('_', '-')}-{f'{value:g}' if isinstance(value, float) else value}"
        for name, value in settings.items()
        if value is not None
    ]
    return runs / "-".join(said)


def length_flags(minutes: float, updates: int | None) -> str:
    """Return the flags of a training of so many minutes, or of so many updates instead, to try a script out."""
    if updates:
        return f"--training.steps {updates} --training.validate-every {updates}"
    return f"--training.minutes {minutes}"


def compare_bleu(
    system: list[str], reference: list[str], target_lang: str, baseline: list[str] | None = None
) -> Comparison:
    """Compare a system by BLEU with another one, or with itself."""
    (found,) = compare(system, baseline or system, [reference], ("bleu",), target_lang=target_lang)
    return found


def mean_bleu(
    outputs: dict[str, list[list[str]]], reference: list[str], target_lang: str
) -> dict[str, float]:
    """Print BLEU of what each way wrote, seed by seed, and return the means."""
    means = {}
    for name, systems in outputs.items():
        values = [compare_bleu(each, reference, target_lang).system.value for each in systems]
        means[name] = statistics.fmean(values)
        spread = f" +- {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        shown = ", ".join(f"{value:.2f}" for value in values)
        print(f"{name}: BLEU {means[name]:.2f}{spread} ({shown})")
    return means


def compared_over_seeds(
    outputs: dict[str, list[list[str]]], test: TestSet, target_lang: str
) -> str:
    """Compare each way with the first, sentences and seeds drawn together, as a table in Markdown with its signatures.

    Args:
        outputs: what each way wrote of the test set, seed by seed.
    """
    systems = [
        SystemOutputs(name, tuple((tuple(lines),) for lines in seeds))
        for name, seeds in outputs.items()
    ]
    figures = compare_systems(systems, [test], ("bleu", "chrf"), target_lang=target_lang).figures
    rows = []
    for each in figures:
        values = ", ".join(f"{value:.2f}" for value in each.values)
        chance = "" if each.p_value is None else f"{each.p_value:.4f}"
        rows.append([each.system, each.metric, values, f"{each.mean:.2f}", chance])
    told = table(("way", "metric", "of each seed", "mean", "p against the first"), rows)
    signatures = sorted({f"{each.metric}: `{each.signature}`" for each in figures})
    return "\n".join([told, "", *signatures, ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown has it."""
    first, *others = ("| " + " | ".join(cells) + " |" for cells in (head, *rows))
    return "\n".join([first, "|---" * len(head) + "|", *others])


def describe_machine() -> str:
    """Say what the numbers depend on; cloud machines of one name differ in what their processors can do."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        first = cpuinfo.read_text().split("\n\n")[0].splitlines()
        said = {
            key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first)
        }
        flags = said.get("flags", "").split()
        widest = [flag for flag in ("amx_bf16", "avx512_bf16", "avx512f", "avx2") if flag in flags]
        if "model name" in said:
            family = f"family {said.get('cpu family', '?')}, model {said.get('model', '?')}"
            model = f"{said['model name']} ({', '.join([family, *widest[:1]])})"
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return f"{model}, {os.cpu_count()} cores{gpu}, Python {platform.python_version()}, torch {torch.__version__}"


def has_bfloat16() -> bool:
    """Tell whether the processor multiplies in bfloat16; without such instructions torch takes minutes for a step."""
    return choose_dtype("auto", torch.device("cpu")) is torch.bfloat16


def spread(values: list[float]) -> dict[str, float]:
    """Return the median and the extremes."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def describe_commit() -> str | None:
    """Return the commit of these files, with -dirty behind it where they were changed since; None where git knows of none.

    A change of ``RESULTS.md`` counts for nothing: the rows that were just measured are written there.
    """
    changed = ["git", "status", "--porcelain", "--untracked-files=no", ":/", f":!{RECORD.name}"]
    try:
        commit, changes = (
            subprocess.run(asked, cwd=RECORD.parent, capture_output=True, text=True).stdout.strip()
            for asked in (["git", "describe", "--always"], changed)
        )
    except FileNotFoundError:  # no git here
        return None
    return f"{commit}-dirty" if changes else commit or None


def record(title: str, command: str, table: str) -> None:
    """Put a section into ``RESULTS.md``, in place of an earlier one of that title."""
    commit = describe_commit() or "unknown"
    told = f"{date.today().isoformat()}, `{command}`, commit {commit}; {describe_machine()}."
    section = f"## {title}\n\n{told}\n\n{table.strip()}\n"
    before = RECORD.read_text(encoding="utf-8") if RECORD.exists() else _PREFACE
    _, *others = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    kept = [each.strip() + "\n" for each in others if not each.startswith(f"## {title}\n")]
    RECORD.write_text("\n".join([_PREFACE, *sorted([*kept, section])]), encoding="utf-8")
