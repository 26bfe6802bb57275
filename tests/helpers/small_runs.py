"""Corpora that a model learns in seconds, the flags of such runs, and commands that must go well or be refused.

Shared by the tests of fine-tuning and of what came after the Transformer.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main

REPEATABLE = "--training.threads 1 --training.device cpu --training.dtype float32"
"""The same command gives the same numbers."""
SENTENCE_RUN = (
    f"{REPEATABLE} --batching.batch-tokens 256 --training.validate-every 50 --training.validate-sentences 20 "
    "--training.patience 1000"
)
SENTENCE_SIZES = (
    "--model.d-model 32 --model.d-ff 64 --model.heads 2 --model.dropout 0 --tokenization.kind word"
)
FAST = "--training.peak-learning-rate 0.01 --training.warmup-steps 20"
ANIMALS, PEOPLE = ("cat", "dog"), ("man", "girl")


def sentences(end: str = "") -> list[str]:
    """Return what animals and people do: "the cat eats the fish", 36 of them."""
    who, does, what = (*ANIMALS, *PEOPLE), ("eats", "sees", "likes"), ("fish", "bread", "tea")
    return [f"the {a} {b} the {c}{end}" for a, b, c in itertools.product(who, does, what)]


def write_text(name: str, lines: Iterable[str]) -> None:
    """Write lines where the test is."""
    Path(name).write_text("".join(f"{line}\n" for line in lines))


def write_numbers(
    place: Path, name: str, words: dict[str, str], lang: str, *, length: int, held_back: int
) -> None:
    """Write all sequences of ``length`` Romanian numbers with what they are in another language, each ``held_back``-th to validate."""
    pairs = [
        (" ".join(each), " ".join(words[word] for word in each))
        for each in itertools.product(words, repeat=length)
    ]
    valid = pairs[::held_back]
    for part, some in (
        (f"{name}-valid", valid),
        (name, [pair for pair in pairs if pair not in valid]),
    ):
        for side, index in (("ro", 0), (lang, 1)):
            (place / f"{part}.{side}").write_text("".join(f"{p[index]}\n" for p in some))


def run(command: str) -> None:
    """Run a command that must succeed."""
    assert main(command.split()) == 0


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command that must be refused in one line; return its status and that line."""
    capsys.readouterr()
    status = main(command.split())
    told = capsys.readouterr().err
    assert "Traceback" not in told
    (line,) = [each for each in told.splitlines() if each.startswith("error")]
    return status, line


def weights_of(folder: str) -> dict[str, torch.Tensor]:
    """Return the parameters of a model, by name."""
    return parameters_of(load_model_folder(Path(folder)).model)
