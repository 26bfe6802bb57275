"""What ``train`` and ``prepare`` tell at their end."""

import shlex
from dataclasses import asdict

from interlingua.checkpoints.model_folder import read_directions
from interlingua.training.comparison import describe_differences
from interlingua.training.prepare import Prepared
from interlingua.training.run import TrainResult

__all__ = [
    "describe_prepared",
    "describe_training",
    "exit_status_of",
    "list_prepared",
    "list_training",
]


def exit_status_of(result: TrainResult) -> int:
    """Return 0, or what a shell expects of a process that a signal stopped: 130, 143."""
    return 0 if result.signal is None else 128 + result.signal


def describe_training(result: TrainResult) -> str:
    """Tell a person what a run came to."""
    lines = [f"{result.reason} after {result.steps:,} steps, {result.seconds:,.0f} seconds"]
    if found := result.validation:
        lines.append(
            f"validation: loss {found.loss:.3f}, {found.in_words()}, {found.exact:.1f} % exact"
        )
        if result.expected and result.signal is None:
            lines.append(result.expected.judge(found.bleu))
    if result.differences:
        lines += describe_differences(result.differences)
    lines.append(f"model: {result.model_dir}")
    targets = {each.target for each in read_directions(result.model_dir)}
    into = f" --to {min(targets)}" if len(targets) > 1 else ""
    lines.append(f'next: interlingua translate {shlex.quote(str(result.run_dir))}{into} "..."')
    if result.signal is not None:
        lines.append("the same command again continues from here (--fresh would begin anew)")
    return "\n".join(lines) + "\n"


def list_training(result: TrainResult) -> dict[str, object]:
    """Tell a program the same, with the choices that were made from the corpus."""
    told = asdict(result)
    told["chosen"] = told.pop("reasons")
    return told


def describe_prepared(prepared: Prepared) -> str:
    """Tell a person what was prepared."""
    found = list_prepared(prepared)
    return (
        f"{found['training_pairs']:,} training pairs and {found['validation_pairs']:,} for validation, "
        f"{found['source_vocabulary']:,} source and {found['target_vocabulary']:,} target tokens "
        f"in {found['run_dir']}\n"
        "next: the same command with train in place of prepare\n"
    )


def list_prepared(prepared: Prepared) -> dict[str, object]:
    """Tell a program the same, with the choices that were made from the corpus."""
    return {
        "run_dir": prepared.folder.path,
        "source_lang": prepared.source_lang,
        "target_lang": prepared.target_lang,
        "training_pairs": len(prepared.training.shards),
        "validation_pairs": len(prepared.validation.shards),
        "source_vocabulary": prepared.tokenizers.source.vocabulary_size,
        "target_vocabulary": prepared.tokenizers.target.vocabulary_size,
        "chosen": prepared.reasons,
    }
