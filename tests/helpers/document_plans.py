"""How each page of the book is run: what its reader has, what is made shorter, and what cannot be run, and why.

A page without a plan is run as it is, in an empty folder.
"""

import gzip
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stock import Stock, corrections, tmx, typed

Make = Callable[[Stock, Path], None]

SHORTER_TRAINING = (
    "--training.steps 8 --training.validate-every 4 --training.validate-sentences 4 "
    "--training.threads 1"
)
"""What every ``interlingua train`` of a page is given besides: eight updates, and nothing else."""

NOT_TYPED = {
    "make ": "makes an environment, and what it starts then is run by CI, this test among it",
    "python3 -m venv": "an installation from a package index: tests/system/test_packaging.py",
    ".venv/bin/": "an installation from a package index: tests/system/test_packaging.py",
    "source .venv": "the environment of these tests is in use already",
    "pip install": "needs a package index; the extra that it names must exist",
    "interlingua download": "needs a network; tests/unit/corpus/test_download.py is a server for it",
    "argospm": "Argos Translate lives in an environment of its own: make prove-argos",
    "argos-translate": "the same",
    "libretranslate": "the same",
}
"""Lines of blocks that are left out, by how they begin, and why."""

NOT_RUN = {
    "docs/guides/other-formats.md: import { env": "JavaScript: tests/unit/interop/test_trained_exports.py runs it in Node.js",
    "docs/guides/replace-a-part.md: ": "tests/system/test_own_parts.py runs all blocks of the page",
    "docs/guides/many-languages.md: 1,500 training pairs": "of the model of numbers in tests/system/test_many_languages.py",
    "docs/guides/many-languages.md: $ interlingua translate runs/en-de-it": "the same model, by the same test",
    "README.md: src/interlingua/": "a picture of the folders: tests/unit/test_house.py holds it to them",
    "docs/architecture.md: src/interlingua/": "the same",
}
"""Blocks that nothing runs here, by how their names begin, and why."""

SHOWN = {
    "README.md: Trained for": "interlingua demo",
    "docs/guides/descendants.md: 2,861,056 parameters": "the block before",
    "docs/guides/fine-tune.md: chosen: ": "the block before",
    "docs/guides/predecessors.md: step 250: validation loss 0.163": "the first block",
    "docs/guides/predecessors.md: step 250: validation loss 0.137": "the first block",
}
"""Blocks that only show what was printed, and by what; their lines must still look so."""


@dataclass(frozen=True)
class Plan:
    """What a page needs."""

    owns: dict[str, Make] = field(default_factory=dict)
    """What its reader has, by the names that the page uses."""
    first: tuple[str, ...] = ()
    """Commands that its sentences tell, before the first block."""
    instead: dict[str, str] = field(default_factory=dict)
    """What is made shorter: text of a block, and what is run for it. Each must occur."""
    saved: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A program that is no script by itself, by its first line: the name to save it under, and how it is used."""
    one_program: bool = False
    """Whether the Python of the page goes on from block to block; it is then run at the end, as one."""
    says: tuple[str, ...] = ()
    """Lines that one particular model or day printed; any line may stand in their place."""


def part(name: str, start: int = 0, stop: int = 400) -> Make:
    return lambda stock, path: stock.copy(name, path, (start, stop))


def flores(language: str, start: int, stop: int) -> Make:
    return part(f"corpora/flores200/devtest.{language}", start, stop)


def whole(name: str) -> Make:
    return lambda stock, path: stock.copy(name, path, None)


def folder() -> Make:
    return lambda stock, path: path.mkdir(parents=True)


SMALL = (
    "interlingua train --model.preset tiny --model.d-model 32 --model.d-ff 64 --model.heads 2 --model.dropout 0 "
    "--tokenization.kind word --training.peak-learning-rate 0.01 --training.warmup-steps 20 "
    "--batching.batch-tokens 256 --training.threads 1"
)
"""A training on a few sentences, as a page tells it: the model learns them in seconds."""
DEMO = whole("demo/runs/demo-ro-en")
ENGLISH_GERMAN = whole("en-de/runs/en-de")
DOCTOR = {"interlingua doctor runs/ro-en": "interlingua doctor runs/old"}
"""A model of eight updates is no patient: everything is wrong with it, and the exit status says so."""
ROMANIAN = {"train.ro": part("romanian/train.ro"), "train.en": part("romanian/train.en")}
ROMANIAN_TEST = {
    "test.ro": part("romanian/test.ro", stop=20),
    "test.en": part("romanian/test.en", stop=20),
}
GERMAN = {
    "train.en": whole("en-de/train.en"),
    "train.de": whole("en-de/train.de"),
    "valid.en": whole("en-de/valid.en"),
    "valid.de": whole("en-de/valid.de"),
}
LAW = {
    "law.en": part("corpora/multi30k_en_de/train.en"),
    "law.de": part("corpora/multi30k_en_de/train.de"),
}


def _memory(stock: Stock, path: Path) -> None:
    pairs = stock.pairs("romanian/train.ro", "romanian/train.en", 4500)
    path.write_text(tmx(pairs, ("ro", "en")), encoding="utf-8")


def _german_memory(stock: Stock, path: Path) -> None:
    pairs = stock.pairs("en-de/train.en", "en-de/train.de", 400)
    path.write_bytes(gzip.compress(tmx(pairs, ("en", "de")).encode()))


def _tested(stock: Stock, path: Path) -> None:
    pairs = stock.pairs("romanian/train.ro", "romanian/train.en", 5)
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def _captions(stock: Stock, path: Path) -> None:
    path.mkdir()
    text = "corpora/multi30k_en_de/train"
    told = corrections(stock.pairs(f"{text}.en", f"{text}.de", 20), ("en", "de"))
    (path / "corrections.jsonl").write_text(told, encoding="utf-8")


def _calibrated(stock: Stock, path: Path) -> None:
    """Copy a model; the page tells that its confidence was fitted before."""
    stock.copy("en-de/runs/en-de/model", path, None)
    text = stock.folder("en-de")
    typed(
        f"interlingua calibrate {path} --source {text}/valid.en --reference {text}/valid.de "
        "--threads 1",
        path.parent,
    )


def _vectors(stock: Stock, path: Path) -> None:
    """Write vectors of frequent words in the form of GloVe."""
    text = (stock.folder("en-de") / "train.en").read_text(encoding="utf-8").lower()
    words = [word for word, _ in Counter(text.split()).most_common(200)]
    draw = random.Random(1)
    rows = [[word, *(f"{draw.gauss(0, 1):.4f}" for _ in range(100))] for word in words]
    path.write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")


def _terms(stock: Stock, path: Path) -> None:
    path.write_text("shirt\tT-Shirt\nbicycle\tRad\n", encoding="utf-8")


def _pairs_in_english(stock: Stock, path: Path) -> None:
    path.write_text(
        "A man in a red shirt is riding a bicycle.\nTwo dogs run in the snow.\n", encoding="utf-8"
    )


def _pairs_in_german(stock: Stock, path: Path) -> None:
    path.write_text(
        "Ein Mann in einem roten Hemd fährt Fahrrad.\nZwei Hunde laufen im Regen.\n",
        encoding="utf-8",
    )


def _texts(stock: Stock, path: Path) -> None:
    for number in range(2):
        stock.copy("romanian/test.ro", path / f"part-{number}.txt", (20 * number, 20 * number + 20))


def _sentences(stock: Stock, path: Path) -> None:
    """Write what animals and people do, each sentence four times."""
    from small_runs import sentences, write_text  # it imports torch, which takes seconds

    write_text(str(path), sentences(" today") * 4)


def _who(stock: Stock, path: Path) -> None:
    """Write who does something in each of these sentences."""
    from small_runs import ANIMALS, sentences, write_text

    kinds = ["animal" if each.split()[1] in ANIMALS else "person" for each in sentences()]
    write_text(str(path), kinds * 4)


def _marian(stock: Stock, path: Path) -> None:
    from marian_folders import make_marian_folder  # it imports transformers, which takes seconds

    make_marian_folder(path)


PLANS = {
    "docs/tour.md": Plan(
        owns={"runs/demo-ro-en": DEMO, **ROMANIAN_TEST},
        instead={"--training.steps 500": "", "runs/demo-ro-en/corpus/test.": "test."},
    ),
    "docs/paper.md": Plan(owns={"runs/demo-ro-en": DEMO}, one_program=True),
    "docs/faq.md": Plan(owns={"runs/ro-en": DEMO, "runs/old": DEMO, **ROMANIAN, **ROMANIAN_TEST}),
    "docs/guides/train-your-own.md": Plan(
        owns={
            "corpus.ro": part("romanian/train.ro", stop=1500),
            "corpus.en": part("romanian/train.en", stop=1500),
            "runs/old": DEMO,
        },
        instead=DOCTOR,
    ),
    "README.md": Plan(
        owns={
            "runs/demo-ro-en": DEMO,
            "runs/old": DEMO,
            **ROMANIAN,
            **ROMANIAN_TEST,
            "law.ro": part("romanian/valid.ro", stop=200),
            "law.en": part("romanian/valid.en", stop=200),
            "big.en": flores("eng_Latn", 0, 400),
            "big.de": flores("deu_Latn", 0, 400),
            "few.en": flores("eng_Latn", 400, 500),
            "few.ro": flores("ron_Latn", 400, 500),
        },
        instead=DOCTOR,
    ),
    "docs/decisions/0002-tokenizer-training.md": Plan(
        owns=GERMAN,
        instead={"8000": "1000"},
        saved={
            '"""python measure.py': (
                "measure.py",
                "python measure.py train.en train.de valid.en valid.de",
            )
        },
    ),
    "docs/guides/ablation.md": Plan(
        instead={
            "--seeds 3 --steps 200": "--seeds 1 --steps 3 --parts scaling --parts heads",
            "--seeds 1 --steps 1500": "--seeds 1 --steps 3",
        }
    ),
    "docs/guides/choices.md": Plan(
        owns={**GERMAN, "glove.6B.100d.txt": _vectors, "runs/demo-ro-en": DEMO},
        instead={"corpus/train.ro": "corpus/valid.ro"},
    ),
    "docs/guides/command-line.md": Plan(
        owns={
            **ROMANIAN,
            **ROMANIAN_TEST,
            "memory.tmx.gz": _german_memory,
            "news.ro": part("romanian/train.ro", 400, 2400),
            "news.en": part("romanian/train.en", 400, 2400),
            "news.ro.gz": part("romanian/test.ro", 20, 40),
            "a.en": part("romanian/test.en", stop=20),
            "b.en": part("romanian/test.en", stop=20),
            "runs/old": DEMO,
            "runs/seed-1": DEMO,
            "runs/seed-3": DEMO,
        },
        instead={
            "--vocabulary-size 16000": "--vocabulary-size 400",
            "--output ro.spm": "--output ro.spm --vocabulary-size 400",
        },
    ),
    "docs/guides/compare.md": Plan(
        owns={
            "runs/en-de": ENGLISH_GERMAN,
            "greedy.de": part("corpora/tatoeba_en_de/test.de", 20, 60),
            "test.en": part("corpora/tatoeba_en_de/test.en", stop=40),
            "test.de": part("corpora/tatoeba_en_de/test.de", stop=40),
        },
        saved={"import sys": ("metric.py", r"printf 'a b\tc d\tc e\n' | python metric.py")},
    ),
    "docs/guides/corpora.md": Plan(
        owns={"memory.tmx": _memory, "memory.tmx.gz": _german_memory, "test.tsv": _tested}
    ),
    "docs/guides/corrections.md": Plan(
        owns={**GERMAN, "runs/en-de": ENGLISH_GERMAN, "captions": _captions, "told": folder()},
        says=(
            "Tom ist sehr Brüse.",
            "Maria ist sehr Brüse.",
            "Maria isst für sein Leben gern Käse.",
            "Ich muss nach Hause gehen.",
        ),
    ),
    "docs/guides/decoding.md": Plan(
        owns={
            "model": _calibrated,
            "other": ENGLISH_GERMAN,
            "runs/ro-en": DEMO,
            "runs/seed-1": DEMO,
            "runs/seed-2": DEMO,
            "terms.tsv": _terms,
            "valid.en": flores("eng_Latn", 400, 500),
            "valid.de": flores("deu_Latn", 400, 500),
            "pairs.en": _pairs_in_english,
            "pairs.de": _pairs_in_german,
        },
        says=(
            "Ein Mann in einem roten Hemd fährt Fahrrad.",
            "feet leap parascheidinger Mann bereiten Fahrrad aussiehtanten.l block schwarze. onto gym Leute ins middle",
            "Ein Mann, der ein rotes Hemd trägt und ein Fahrrad fährt Krawatteügel.",
            "Ein Mann mit einem roten Hemd fährt Fahrrad.",
            "Ein Junge in einem roten Hemd fährt Fahrrad.",
            "Ein Mann fährt Radfahrer.",
            "Ein Mann in einem roten Hemd fährt auf einem Rad.",
            "Ein Mann in einem roten T-Shirt fährt Rad.",
            "Ein Mann hält ein Schild mit der türkisfarbenen Süßigkeiten, die mit Imbiss beschnalliert ist.",
            "Ein Mann hält ein Schild mit <b>{{name}}</b> darauf.",
            "Ein Mann in einem roten Hemd fährt auf einem Bike.",
            "Ein Mann in einem roten",
            "Ein Hund Hund Hund Hund Hund Hund Hund Hund Hund Hund Hund Hund Hund Hund.",
            "Hund Hund Hund Hundetze.",
            "Hund Hund Hund",
            "Hund Hund, der Hund Hunde Hunder Hundem Hund rennt, Hund mit einem Hunden Hund.",
            "Ein Mann fährt auf einem Fahrgeschäft.  Zwei Hunde laufen im Schnee.",
            "words are linked by layer 1, the mean of its heads, as it reads the word",
            "Ein Mann in einem roten Hemd fährt Fahrrad. ||| 1-1 2-0 2-2 3-3 4-4 7-6 9-5 9-7",
        ),
    ),
    "docs/guides/descendants.md": Plan(
        owns={
            "letters.txt": part("corpora/phonemes/valid.src", stop=20),
            "phonemes.txt": part("corpora/phonemes/valid.tgt", stop=20),
            "runs/en-de": ENGLISH_GERMAN,
            "train.en": flores("eng_Latn", 0, 400),
            "train.de": flores("deu_Latn", 0, 400),
            "train.ja": flores("jpn_Jpan", 0, 400),
            "news.en": flores("eng_Latn", 0, 400),
            "news.de": flores("deu_Latn", 0, 400),
            "sentences.en": _sentences,
            "reviews.txt": _sentences,
            "stars.txt": _who,
        },
        first=(
            f"{SMALL} --text sentences.en --corpus.denoise 0.3 --run-dir gaps "
            "--model.encoder-layers 1 --model.decoder-layers 1 --training.steps 300",
            f"{SMALL} --text sentences.en --model.kind decoder --run-dir writer "
            "--model.decoder-layers 1 --training.steps 150",
            f"{SMALL} --text sentences.en --model.kind encoder --run-dir reader "
            "--model.encoder-layers 1 --training.steps 250",
            f"{SMALL} --source sentences.en --target stars.txt --model.kind encoder --run-dir classes "
            "--encoder-from reader --start.freeze 'encoder.*' --training.steps 60",
        ),
        says=("the cat sees the fish today", "the girl likes the tea today"),
    ),
    "docs/guides/fine-tune.md": Plan(
        owns={
            "runs/en-de": ENGLISH_GERMAN,
            **LAW,
            "opus-mt-en-de": _marian,
            "news.en": part("en-de/valid.en", stop=30),
            "news.de": part("en-de/valid.de", stop=30),
        },
        says=(
            "chosen: model.* as in base: 4 + 4 layers, width 128, en to de",
            "chosen: training.steps = 500: 10 passes; the model knows the languages already, and longer training on a "
            "small corpus learns it by heart",
            "  the model has forgotten: mix some of the old text in (a second file, with corpus.weights, or corpus.directions where it is of "
            "other languages), lower training.peak_learning_rate, or train an adapter (start.lora_rank)",
        ),
    ),
    "docs/guides/little-data.md": Plan(
        owns={
            **GERMAN,
            "runs/en-de": ENGLISH_GERMAN,
            "train.en": part("en-de/train.en", 0, 100),
            "train.de": part("en-de/train.de", 0, 100),
            "news.en": part("corpora/tatoeba_en_de/test.en", stop=100),
            "news.de": part("corpora/tatoeba_en_de/test.de", 100, 200),
        },
        # Models of some updates write nothing that a round could learn from.
        instead={"--training.minutes 20": "--training.minutes 20 --dry-run"},
    ),
    "docs/guides/look-inside.md": Plan(owns={"runs/demo-ro-en": DEMO}),
    "docs/guides/many-files.md": Plan(
        owns={"runs/ro-en": DEMO, "texts": _texts},
        instead={"translations --ray": "by-ray --ray --ray-workers 1"},
    ),
    "docs/guides/many-languages.md": Plan(
        owns={
            "runs/en-de": ENGLISH_GERMAN,
            "news.en": flores("eng_Latn", 0, 400),
            "news.de": flores("deu_Latn", 0, 400),
            "few.en": flores("eng_Latn", 400, 500),
            "few.ro": flores("ron_Latn", 400, 500),
            "valid.en": flores("eng_Latn", 500, 520),
            "valid.de": flores("deu_Latn", 500, 520),
            "valid.ro": flores("ron_Latn", 500, 520),
            "test.en": flores("eng_Latn", 520, 530),
            "test.ro": flores("ron_Latn", 520, 530),
        }
    ),
    "docs/guides/other-formats.md": Plan(
        owns={"runs/ro-en": DEMO, "runs/demo-ro-en": DEMO, "opus-mt-en-de": _marian}
    ),
    "docs/guides/predecessors.md": Plan(owns=ROMANIAN),
    "docs/guides/serve.md": Plan(owns={"runs/ro-en": DEMO, "runs/en-de": ENGLISH_GERMAN}),
    "docs/guides/stop-and-resume.md": Plan(
        owns=ROMANIAN,
        first=(
            "interlingua train --source train.ro --target train.en --run-dir runs/few "
            "--training.steps 60 --training.validate-every 60 --training.validate-sentences 4 "
            "--training.threads 1 --model.preset tiny --model.d-model 32 --model.heads 2",
        ),
    ),
    "docs/guides/word-alignment.md": Plan(
        owns={
            "runs/ro-en": DEMO,
            "runs/en-ro": whole("en-ro/runs/en-ro"),
            "test.ro": part("corpora/align/ro_en/test.ro", stop=60),
            "test.en": part("corpora/align/ro_en/test.en", stop=60),
            "gold.talp": part("corpora/align/ro_en/gold.talp", stop=60),
        },
    ),
}
