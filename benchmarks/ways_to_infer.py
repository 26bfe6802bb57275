"""Four ways to write the next word, on a trained model: which translate alike, and what each costs.

    python benchmarks/ways_to_infer.py MODEL SOURCE REFERENCE [--sentences 100]

Greedy. The ways are those of ``tests/helpers/ways_to_infer.py``, and keys and values that are kept, as search does it.
"""

import argparse
import sys
import time
from pathlib import Path

import torch
from prove_commands import describe_machine

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/helpers"))

from ways_to_infer import WAYS, ReadAgain

from interlingua.evaluation.metrics import corpus_bleu
from interlingua.model.transformer import Transformer
from interlingua.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(describe_machine())
    sources, references = (
        path.read_text(encoding="utf-8").splitlines()[: asked.sentences]
        for path in (asked.source, asked.reference)
    )
    kept = Translator.load(asked.model, device="cpu", plain=True)
    assert isinstance(kept.model, Transformer)
    ways = {"keys and values kept": kept} | {
        name: kept.with_model(ReadAgain(kept.model, way)) for name, way in WAYS.items()
    }
    expected: list[str] = []
    print(f"{kept.model.architecture.decoder_layers} decoder layers, {len(sources)} sentences")
    print("| way | the same translation | BLEU | processor time |")
    print("|---|---|---|---|")
    for name, translator in ways.items():
        started = time.process_time()
        found = [each.text for each in translator.translate(sources, beam_size=1)]
        seconds = time.process_time() - started
        expected = expected or found
        same = sum(a == b for a, b in zip(found, expected, strict=True))
        bleu = corpus_bleu(found, [references])
        print(f"| {name} | {same / len(found):.0%} | {bleu:.2f} | {seconds:.1f} s |")


if __name__ == "__main__":
    main()
