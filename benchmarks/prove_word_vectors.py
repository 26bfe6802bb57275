"""Embeddings that begin as vectors of words, trained on or frozen, against embeddings drawn at random: 3,000 pairs of Multi30k.

gensim's word2vec learns the vectors from the text of Tatoeba, each language by itself; English is written in the binary form, German as
text. All ways have the same sizes, the same vocabularies of words and the same number of updates, with three seeds, and are compared
with `compare_systems`. Restartable.
"""

import argparse
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prove_commands import (
    compared_over_seeds,
    corpora,
    describe_machine,
    first_pairs,
    parallel_text,
    run,
    translated,
)

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.systems import TestSet
from interlingua.hardware import num_cores

WIDTH = 128
SETTINGS = (
    "--tokenization.kind word --tokenization.vocabulary-size 4000 --tokenization.shared false"
    f" --model.preset tiny --model.d-model {WIDTH} --model.encoder-layers 2 --model.decoder-layers 2"
    " --model.d-ff 512 --model.dropout 0.3 --model.tie target --batching.batch-tokens 2048"
    " --training.schedule linear --training.warmup-steps 200 --training.peak-learning-rate 0.002"
    " --training.threads 1"
)


def main() -> None:
    """Train what is missing and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/word-vectors"))
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--steps", type=int, default=600, help="updates of each training")
    parser.add_argument("--seeds", default="1,2,3")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    english, german = asked.folder / "en.bin", asked.folder / "de.txt"
    learn_vectors(corpora() / "tatoeba_en_de" / "train.en", english, is_binary=True)
    learn_vectors(corpora() / "tatoeba_en_de" / "train.de", german, is_binary=False)
    source = f"--start.source-vectors {english}"
    ways = {
        "drawn at random": "",
        "vectors of the source, trained on": source,
        "vectors of the source, frozen": f"{source} --start.freeze source_embedding.table.weight",
        "vectors of both, trained on": f"{source} --start.target-vectors {german}",
    }
    data = corpora() / "multi30k_en_de"
    text = parallel_text(
        first_pairs(data / "train", asked.folder / "train", asked.pairs), data / "valid"
    )

    def lines_of(name: str, seed: str) -> list[str]:
        run_dir = asked.folder / f"{re.sub(r'[^a-z]+', '-', name)}-{seed}"
        flags = f"{SETTINGS} {ways[name]} --training.seed {seed} --training.steps {asked.steps}"
        flags += f" --training.validate-every {asked.steps // 4} --run-dir {run_dir}"
        run("train", *text, *flags.split())
        output = run_dir / "test.out"
        return translated(run_dir, data / "test_2016_flickr.en", output, "--threads", "1")

    jobs = [(name, seed) for seed in asked.seeds.split(",") for name in ways]
    with ThreadPoolExecutor(num_cores()) as pool:
        found = list(pool.map(lambda job: lines_of(*job), jobs))
    outputs: dict[str, list[list[str]]] = {name: [] for name in ways}
    for (name, _), lines in zip(jobs, found, strict=True):
        outputs[name].append(lines)
    sides = (tuple(read_lines(data / f"test_2016_flickr.{lang}")) for lang in ("en", "de"))
    told = (
        f"{describe_machine()}; {asked.pairs:,} pairs, {asked.steps:,} updates, one thread each\n\n"
    )
    told += compared_over_seeds(outputs, TestSet("test_2016_flickr", *sides), "de")
    (asked.folder / "word-vectors.md").write_text(told, encoding="utf-8")
    print(told)


def learn_vectors(text: Path, path: Path, *, is_binary: bool) -> None:
    """Learn vectors of the words of a text, unless they are there."""
    if path.exists():
        return
    from gensim.models import Word2Vec

    words = [re.findall(r"\w+|[^\w\s]", line) for line in read_lines(text)]
    learnt = Word2Vec(words, vector_size=WIDTH, window=5, min_count=2, epochs=5, workers=1, seed=1)
    learnt.wv.save_word2vec_format(str(path), binary=is_binary)


if __name__ == "__main__":
    main()
