"""The ``demo`` command: train on the embedded corpus, translate what was never seen, say what came out."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from interlingua.cli.results import exit_status_of
from interlingua.cli.streams import note
from interlingua.config import (
    BatchingConfig,
    CorpusConfig,
    ModelConfig,
    RunConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.corpus.embedded import write_embedded
from interlingua.corpus.lines import read_lines
from interlingua.evaluation.metrics import corpus_bleu
from interlingua.inspection.heat_map import write_heat_map
from interlingua.training.run import TrainResult, train
from interlingua.translator import Translator

__all__ = ["DemoResult", "demo_config", "run_demo"]

NUM_SHOWN = 8


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo shows at its end."""

    training: TrainResult
    sentences: int
    """Test sentences; none of them was seen in training."""
    bleu: float
    exact: float
    """Share of the translations that equal their reference, 0 to 100."""
    examples: tuple[tuple[str, str, str], ...]
    """Source, translation, reference."""
    heat_map: Path

    def to_text(self) -> str:
        """Tell it to a person, and what to do next."""
        width = max(len(source) for source, _, _ in self.examples)
        shown = [
            f"  {source:<{width}}  ->  {translation}"
            + ("" if translation == reference else f"     (reference: {reference})")
            for source, translation, reference in self.examples
        ]
        model = shlex.quote(str(self.training.run_dir))
        return "\n".join(
            [
                f"Trained for {self.training.seconds:,.0f} seconds ({self.training.steps:,} steps).",
                f"{self.sentences:,} sentences that the model has never seen: "
                f"BLEU {self.bleu:.2f}, {self.exact:.2f} % exactly right. For example:",
                "",
                *shown,
                "",
                f"Model folder:  {self.training.model_dir}",
                f"Attention:     {self.heat_map}",
                f'Try next:      interlingua translate {model} "{self.examples[0][0]}"',
                "               interlingua train --source YOUR.ro --target YOUR.en",
                f"Look inside:   interlingua serve {model}, then open http://127.0.0.1:5000",
                "",
            ]
        )

    def to_json(self) -> str:
        """Tell it to a program."""
        return (
            json.dumps(
                {
                    "run_dir": str(self.training.run_dir),
                    "model_dir": str(self.training.model_dir),
                    "seconds": self.training.seconds,
                    "steps": self.training.steps,
                    "sentences": self.sentences,
                    "bleu": self.bleu,
                    "exact": self.exact,
                    "examples": [
                        {"source": source, "translation": translation, "reference": reference}
                        for source, translation, reference in self.examples
                    ],
                    "heat_map": str(self.heat_map),
                },
                ensure_ascii=False,
            )
            + "\n"
        )


def demo_config(output: Path) -> RunConfig:
    """Return the configuration of the demo, the same as ``recipes/demo_ro_en.toml``.

    It is told twice because an installed package has no recipes; a test keeps the two equal.
    """
    return RunConfig(
        run_dir=output,
        corpus=CorpusConfig(embedded="demo-ro-en"),
        tokenization=TokenizationConfig(kind="bpe", vocabulary_size=1000, shared=True),
        batching=BatchingConfig(batch_tokens=2048),
        model=ModelConfig(preset="tiny", encoder_layers=2, decoder_layers=2, d_ff=512, dropout=0.0),
        training=TrainingConfig(
            steps=1000,
            schedule="linear",
            warmup_steps=200,
            peak_learning_rate=0.003,
            validate_every=250,
            average_last=2,
        ),
    )


def run_demo(output: Path, *, fresh: bool) -> DemoResult:
    """Train in ``output``, or continue there, and translate the test set.

    Raises:
        OutputError: ``output`` cannot be written.
        ConfigError: ``output`` holds another run.
        SystemExit: Ctrl-C or SIGTERM stopped the training, which has saved what it had.
    """
    config = demo_config(output)
    training = train(config, fresh=fresh)
    if training.signal is not None:
        note("the same command again continues from here")
        raise SystemExit(exit_status_of(training))
    files = write_embedded("demo-ro-en", output / "corpus", config.training.seed)
    sources, references = read_lines(files.test_source), read_lines(files.test_target)
    translator = Translator.load(training.model_dir)
    translations = [each.text for each in translator.translate(sources)]
    pairs = list(zip(sources, translations, references, strict=True))
    return DemoResult(
        training=training,
        sentences=len(sources),
        bleu=corpus_bleu(translations, [references]),
        exact=100 * sum(found == wanted for _, found, wanted in pairs) / len(pairs),
        examples=tuple(pairs[:: max(1, len(pairs) // NUM_SHOWN)][:NUM_SHOWN]),
        heat_map=write_heat_map(translator, sources[0], output / "attention.png"),
    )
