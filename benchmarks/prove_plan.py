"""``plan`` against real runs: time within 20 %, memory within 15 %, on five configurations."""

import json
import sys
import tempfile

from prove_commands import corpora, describe_machine, run


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
        planned = json.loads(run("plan", *arguments, "--json").output)
        with tempfile.TemporaryDirectory() as scratch:
            timed = run("train", *arguments, "--json", "--run-dir", f"{scratch}/run")
        time_error = planned["seconds"] / timed.seconds - 1
        memory_error = planned["memory"] / timed.peak_bytes - 1
        fine = abs(time_error) <= 0.20 and abs(memory_error) <= 0.15
        good = good and fine
        print(
            f"{name:20} time {planned['seconds']:.0f} s planned, {timed.seconds:.0f} s real ({time_error:+.0%}); "
            f"memory {planned['memory'] / 1e6:.0f} MB planned, {timed.peak_bytes / 1e6:.0f} MB real "
            f"({memory_error:+.0%})  {'yes' if fine else 'NO'}"
        )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
