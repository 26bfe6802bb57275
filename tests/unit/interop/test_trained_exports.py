"""Exports of a trained model in the programs that they are for.

transformers.js under Node.js, the page in Chromium, the package in Argos Translate and a LibreTranslate server.

The model has learnt to count for some seconds: enough that what it writes depends on what it reads, so little that its
decisions are close ones, which arithmetic that is not quite ours would take the other way.
"""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import opened_page, run_in_node, translate_in_page

from interlingua.cli import main
from interlingua.translator import Translator

pytestmark = [pytest.mark.slow, pytest.mark.runtime]

RO = ["unu", "două", "trei", "patru", "cinci", "șase", "șapte", "opt", "nouă", "zece"]
EN = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
NUMBERS = dict(zip(RO, EN, strict=True))
TRAIN = (
    "train --source train.ro --target train.en --run-dir run --tokenization.kind bpe "
    "--tokenization.vocabulary-size 340 --model.preset tiny --model.d-model 32 "
    "--model.d-ff 64 --model.dropout 0 --batching.batch-tokens 512 --training.steps 200 "
    "--training.validate-every 200 --training.validate-sentences 20 --training.schedule linear "
    "--training.warmup-steps 40 --training.peak-learning-rate 0.005 --training.threads 1"
)
NUM_SENTENCES = 60


def count(seed: int, sentences: int) -> list[list[str]]:
    """Say one to six numbers at random, in Romanian."""
    chosen = random.Random(seed)
    return [chosen.choices(RO, k=chosen.randint(1, 6)) for _ in range(sentences)]


@pytest.fixture(scope="module")
def trained(made_once: Callable[..., Path]) -> Path:
    """A run folder."""

    def train(folder: Path) -> None:
        folder.mkdir()
        said = count(1, 2000)
        there = [[NUMBERS[word] for word in words] for words in said]
        for name, lines in (("train.ro", said), ("train.en", there)):
            text = "".join(" ".join(words) + "\n" for words in lines)
            (folder / name).write_text(text, encoding="utf-8")
        # A process of its own: in this one every shape is checked, which training pays for a million times.
        command = [sys.executable, "-m", "interlingua", *TRAIN.split()]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    return made_once("trained", train) / "run"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Sentences like those of the training text, and some that are like nothing in it."""
    strange = ["x 日本 <b>y</b>", "„Unu!”, a zis (5) ½", "DOUĂ  trei", "n\u0103noua noua"]
    return [*(" ".join(words) for words in count(2, NUM_SENTENCES)), *strange]


def test_transformers_js_writes_the_same_text(
    trained: Path, texts: list[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    assert main(["export", str(trained), "--format", "onnx", "--output", out]) == 0
    ours = Translator.load(trained).translate(texts, beam_size=1)
    assert len({each.text for each in ours}) > NUM_SENTENCES / 2
    asked = [[text, len(each.log_probabilities)] for text, each in zip(texts, ours, strict=True)]
    theirs = run_in_node("transformers_js.mjs", out, "fp32", asked=asked)
    assert theirs == [each.text for each in ours]


def test_the_page_writes_the_same_text_in_chromium(
    trained: Path, texts: list[str], browser: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["export", str(trained), "--format", "html", "--quantization", "float32"]
    assert main([*words, "--output", str(out)]) == 0
    path = out / "index.html"
    assert path.stat().st_size < 8_000_000
    translator, asked = Translator.load(trained), texts[-24:]
    with opened_page(browser, path) as page:
        for beam_size in (1, 4):
            ours = translator.translate(asked, beam_size=beam_size)
            theirs = translate_in_page(page, "\n".join(asked), beam_size)
            assert theirs == [each.text for each in ours]
        cells = page.locator("#heat-map tbody td")
        colours = cells.evaluate_all(
            "cells => cells.map(cell => getComputedStyle(cell).backgroundColor)"
        )
        assert len(set(colours)) > 10
        assert page.requests == [path.as_uri()]
        assert page.complaints == []


def test_argos_translate_and_a_libretranslate_server_write_the_same_text(
    trained: Path, tmp_path: Path
) -> None:
    root = Path(__file__).parents[3]
    python = root / ".venv-libretranslate/bin/python"
    if not python.exists():
        pytest.skip("LibreTranslate is not there; make runtimes")
    sentences = tmp_path / "sentences"
    sentences.write_text(
        "".join(" ".join(words) + "\n" for words in count(3, 100)), encoding="utf-8"
    )
    script = root / "benchmarks/prove_argos.py"
    done = subprocess.run(
        [sys.executable, str(script), str(trained), str(sentences), "--python", str(python)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Argos Translate, beam 1: 100 of 100 the same text" in done.stdout
    assert "LibreTranslate, beam 4: " in done.stdout
