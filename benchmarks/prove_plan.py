"""``plan`` against real runs: time within 20 %, memory within 15 %, on five configurations.

Both are done three times, in turn, and their medians compared: the same run takes a tenth more or less from one minute to
the next where cores are shared with other machines.
"""

import statistics
import sys
import tempfile

from prove_commands import corpora, describe_machine, run, run_json

ROUNDS = 3


def main() -> None:
    """Plan five runs, run them, and compare."""
    print(describe_machine())
    data = corpora()
    configurations = {
        "digits, tiny": ["recipes/reverse.toml", "--training.steps", "600"],
        "demo, tiny": ["recipes/demo_ro_en.toml", "--training.steps", "400"],
        "Multi30k, small": ["recipes/multi30k_en_de.toml", "--training.steps", "120"],
        "SCAN": ["recipes/scan.toml", "--training.steps", "300"],
        "RO-STS, no config": [
            *("--source", str(data / "ro_en/sts/train.ro")),
            *("--target", str(data / "ro_en/sts/train.en")),
            *("--training.steps", "200"),
        ],
    }
    good = True
    for name, arguments in configurations.items():
        planned, real, memory, peak = [], [], [], []
        for _ in range(ROUNDS):
            plan = run_json("plan", *arguments)
            with tempfile.TemporaryDirectory() as scratch:
                timed = run("train", *arguments, "--json", "--run-dir", f"{scratch}/run")
            planned.append(plan["seconds"])
            memory.append(plan["memory"] / 1e6)
            real.append(timed.seconds)
            peak.append(timed.peak_bytes / 1e6)
        time_error = statistics.median(planned) / statistics.median(real) - 1
        memory_error = statistics.median(memory) / statistics.median(peak) - 1
        fine = abs(time_error) <= 0.20 and abs(memory_error) <= 0.15
        good = good and fine
        print(
            f"{name:20} time {spread(planned)} s planned, {spread(real)} s real ({time_error:+.0%}); "
            f"memory {spread(memory)} MB planned, {spread(peak)} MB real ({memory_error:+.0%})  "
            f"{'yes' if fine else 'NO'}",
            flush=True,
        )
    sys.exit(0 if good else 1)


def spread(values: list[float]) -> str:
    """Write the median, and the least and the most."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


if __name__ == "__main__":
    main()
