"""Make the golden model of this format version: ``python tests/golden/models/make_golden_model.py``.

It reverses up to four digits. A model folder that was ever released must load and translate the same for ever, so
``vN/`` is made once, when format version N comes, and never again; ``vN.json`` beside it holds inputs, what came
out, and how it was made. Training takes half a minute on one core.
"""

import json
import platform
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import torch

import interlingua
from interlingua.checkpoints.manifest import FORMAT_VERSION
from interlingua.config import (
    BatchingConfig,
    CorpusConfig,
    ModelConfig,
    RunConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.training.run import train
from interlingua.translator import Translator

HERE = Path(__file__).parent
SEQUENCES = ["".join(digits) for n in range(1, 5) for digits in product("0123456789", repeat=n)]
INPUTS = [*(" ".join(sequence) for sequence in SEQUENCES[7::600]), "", "5 5 5 5 5 5"]


def write_corpus(folder: Path) -> CorpusConfig:
    """Write every sequence and its reverse; each 40th validates and is not trained on."""
    parts = {"train": [s for i, s in enumerate(SEQUENCES) if i % 40], "valid": SEQUENCES[::40]}
    files = {}
    for part, sequences in parts.items():
        for side, order in (("digits", 1), ("reverse", -1)):
            files[part, side] = folder / f"{part}.{side}"
            lines = "".join(" ".join(sequence[::order]) + "\n" for sequence in sequences)
            files[part, side].write_text(lines, encoding="utf-8")
    return CorpusConfig(
        source=(files["train", "digits"],),
        target=(files["train", "reverse"],),
        valid_source=files["valid", "digits"],
        valid_target=files["valid", "reverse"],
    )


def config(folder: Path) -> RunConfig:
    """Describe the smallest model that learns the task."""
    return RunConfig(
        run_dir=folder / "run",
        corpus=write_corpus(folder),
        tokenization=TokenizationConfig(kind="word"),
        batching=BatchingConfig(batch_tokens=1024, max_length=32),
        model=ModelConfig(
            encoder_layers=1,
            decoder_layers=1,
            d_model=16,
            d_ff=32,
            heads=2,
            dropout=0.0,
            max_positions=64,
        ),
        training=TrainingConfig(
            seed=1,
            steps=2500,
            schedule="linear",
            warmup_steps=100,
            peak_learning_rate=0.01,
            validate_every=500,
            average_last=2,
            dtype="float32",
            device="cpu",
            threads=1,
        ),
    )


def main() -> None:
    golden = HERE / f"v{FORMAT_VERSION}"
    if golden.exists():
        sys.exit(f"{golden}: is there, and a golden model is never made again")
    with tempfile.TemporaryDirectory() as folder:
        result = train(config(Path(folder)))
        shutil.copytree(result.model_dir, golden)
    translations = Translator.load(golden, device="cpu").translate(INPUTS)
    record = {
        "made_by": "python tests/golden/models/make_golden_model.py",
        "date": datetime.now(UTC).date().isoformat(),
        "interlingua": interlingua.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, 1 thread",
        "translations": [
            {"source": source, "text": t.text, "score": t.score}
            for source, t in zip(INPUTS, translations, strict=True)
        ],
    }
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    golden.with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
