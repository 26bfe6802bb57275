"""The embedded Romanian-English corpus: which sentences are trained on, and which are held out.

The grammar (``demo_lexicon``, ``demo_phrases``, ``demo_clauses``, ``demo_sentences``) was written for this project.
About a sixth of its (noun, adjective) pairs, at least one for each noun, is held out: in no training or
validation sentence do that noun and that adjective stand together, neither as attribute (casa veche) nor as predicate
(casa este veche). Every test sentence has such a pair, so none of its held-out (noun, adjective, verb) triples was
ever seen. Every word form of a test sentence occurs in training, on both sides.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.demo_lexicon import NOUNS
from interlingua.corpus.demo_sentences import DemoSentence, draw_sentence, fitting_adjectives
from interlingua.corpus.dice import Dice
from interlingua.corpus.lines import write_lines
from interlingua.corpus.pairs import CorpusFiles

__all__ = [
    "TEST_SIZE",
    "TRAIN_SIZE",
    "VALID_SIZE",
    "DemoCorpus",
    "build_demo_corpus",
    "held_out_pairs",
    "write_demo_corpus",
]

TRAIN_SIZE, VALID_SIZE, TEST_SIZE = 24_000, 500, 1_500
_HELD_OUT_SHARE = 1 / 6
_MIN_WORDS, _MAX_WORDS = 3, 10


@dataclass(frozen=True, slots=True)
class DemoCorpus:
    """The three parts of the demo corpus; no sentence is in it twice."""

    train: tuple[DemoSentence, ...]
    valid: tuple[DemoSentence, ...]
    test: tuple[DemoSentence, ...]


def write_demo_corpus(folder: Path, seed: int = 1) -> CorpusFiles:
    """Write train, valid and test of the demo corpus into ``folder`` as ``.ro`` and ``.en`` files.

    The bytes are a function of ``seed`` alone.

    Raises:
        OutputError: the folder cannot be written.
    """
    corpus = build_demo_corpus(seed)
    files = CorpusFiles.in_folder(folder, "ro", "en")
    for (source, target), sentences in zip(
        files.parts, (corpus.train, corpus.valid, corpus.test), strict=True
    ):
        write_lines(source, (sentence.romanian for sentence in sentences))
        write_lines(target, (sentence.english for sentence in sentences))
    return files


def build_demo_corpus(seed: int) -> DemoCorpus:
    """Draw the sentences of the demo corpus, 3 to 10 Romanian words each."""
    dice = Dice(seed)
    held_out = held_out_pairs(dice)
    seen: set[str] = set()
    familiar = _draw(
        dice, TRAIN_SIZE + VALID_SIZE, seen, lambda sentence: not sentence.pairs & held_out
    )
    train, valid = familiar[:TRAIN_SIZE], familiar[TRAIN_SIZE:]
    romanian_forms = _forms(sentence.romanian for sentence in train)
    english_forms = _forms(sentence.english for sentence in train)
    test = _draw(
        dice,
        TEST_SIZE,
        seen,
        lambda sentence: (
            bool(sentence.pairs & held_out)
            and romanian_forms.issuperset(sentence.romanian.split())
            and english_forms.issuperset(sentence.english.split())
        ),
    )
    return DemoCorpus(tuple(train), tuple(valid), tuple(test))


def held_out_pairs(dice: Dice) -> frozenset[tuple[str, str]]:
    """Choose the (noun, adjective) pairs that training never shows together.

    The adjectives are taken in turn, so that none of them loses many more of its nouns than another.
    """
    losses: dict[str, int] = {}
    pairs: set[tuple[str, str]] = set()
    for noun in dice.shuffled(NOUNS):
        fitting = [adjective.masculine for adjective in dice.shuffled(fitting_adjectives(noun))]
        for _ in range(max(1, round(len(fitting) * _HELD_OUT_SHARE))):
            adjective = min(fitting, key=lambda adjective: losses.get(adjective, 0))
            fitting.remove(adjective)
            losses[adjective] = losses.get(adjective, 0) + 1
            pairs.add((noun.bare, adjective))
    return frozenset(pairs)


def _draw(
    dice: Dice, size: int, seen: set[str], wanted: Callable[[DemoSentence], bool]
) -> list[DemoSentence]:
    """Draw ``size`` sentences that are wanted and not yet in ``seen``, and add them to it."""
    sentences: list[DemoSentence] = []
    while len(sentences) < size:
        sentence = draw_sentence(dice)
        length = sentence.romanian.count(" ") + 1
        if (
            _MIN_WORDS <= length <= _MAX_WORDS
            and sentence.romanian not in seen
            and wanted(sentence)
        ):
            seen.add(sentence.romanian)
            sentences.append(sentence)
    return sentences


def _forms(sentences: Iterable[str]) -> set[str]:
    return {form for sentence in sentences for form in sentence.split()}
