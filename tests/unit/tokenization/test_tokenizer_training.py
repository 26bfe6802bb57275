"""What is learnt from text, and what is refused."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from interlingua.errors import TokenizerError
from interlingua.tokenization.sentencepiece_training import learn_pieces
from interlingua.tokenization.train import SMALLEST_VOCABULARY, train_tokenizer

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "mat",
    "door",
    "sat",
    "ran",
    "slept",
    "on",
    "by",
    "under",
    "big",
    "small",
    "12",
    "7",
    ",",
    ".",
    "!",
    "naïve",
    "über",
]
ROLL = random.Random(5)
CORPUS = [" ".join(ROLL.choices(WORDS, k=ROLL.randrange(1, 12))) for _ in range(300)]
KINDS = ["bpe", "unigram", "wordpiece", "word", "char"]


@pytest.mark.parametrize(
    ("kind", "byte_level"), [*((kind, False) for kind in KINDS), ("bpe", True)]
)
def test_the_same_texts_give_the_same_file(kind: str, byte_level: bool, tmp_path: Path) -> None:
    files = []
    for name, texts in (("a", CORPUS), ("b", CORPUS), ("c", CORPUS[::-1])):
        trained = train_tokenizer(
            iter(texts), kind=kind, vocabulary_size=400, byte_level=byte_level
        )
        trained.save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    assert files[0] == files[2], "the order of the lines should not matter"


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_is_never_larger_than_asked_for(kind: str) -> None:
    for size in (SMALLEST_VOCABULARY, 270, 290, 330, 4000):
        tokenizer = train_tokenizer(CORPUS, kind=kind, vocabulary_size=size)
        assert tokenizer.vocabulary_size <= size
        assert all(tokenizer.decode(tokenizer.encode(text).ids) == text for text in CORPUS[:50])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["a", "▁", "\0\t\n", "▅ ▅", "</s> </s>", "x" * 3000, "日本語"])
def test_a_tiny_corpus_is_enough(kind: str, text: str) -> None:
    tokenizer = train_tokenizer([text, text], kind=kind, vocabulary_size=400)
    assert tokenizer.decode(tokenizer.encode(text).ids) == tokenizer.normalise(text)


def test_words_and_characters_keep_the_most_frequent() -> None:
    words = train_tokenizer(["ab ab ab ba ba aa"], kind="word", vocabulary_size=265)
    assert words.tokens(range(260, 265)) == ["▁ab", "▁ba", "▁aa", "▁", "a"]
    characters = train_tokenizer(["aaa bb c"], kind="char", vocabulary_size=263)
    assert characters.tokens(range(260, 263)) == ["▁", "a", "b"]


def test_no_piece_crosses_a_space_or_mixes_letters_with_digits() -> None:
    texts = ["on 7 on 7 on7 on7 mat. mat. mat."] * 30
    for byte_level in (False, True):
        tokenizer = train_tokenizer(texts, kind="bpe", vocabulary_size=400, byte_level=byte_level)
        pieces = tokenizer.tokens(range(260, tokenizer.vocabulary_size))
        assert not any("▁" in piece[1:] or "Ġ" in piece[1:] for piece in pieces)
        assert not any("n7" in piece or "t." in piece for piece in pieces)


@pytest.mark.parametrize(
    ("kind", "byte_level"), [("bpe", False), ("unigram", False), ("bpe", True)]
)
def test_of_very_many_words_the_most_frequent_teach_in_whatever_order_they_come(
    kind: str, byte_level: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlingua.tokenization.train._MOST_WORDS", dict.fromkeys(KINDS, 10))
    rare = [f"q{first}{second}q" for first in "abcdefghij" for second in "klmnopqrst"]
    texts = [*CORPUS, *rare]
    files = []
    for number, lines in enumerate((texts, texts[::-1])):
        tokenizer = train_tokenizer(lines, kind=kind, vocabulary_size=400, byte_level=byte_level)
        tokenizer.save(tmp_path / str(number))
        files.append((tmp_path / str(number)).read_bytes())
    assert files[0] == files[1]
    pieces = tokenizer.tokens(range(260, tokenizer.vocabulary_size))
    assert not any("q" in piece and len(piece) > 1 for piece in pieces)
    assert all(tokenizer.decode(tokenizer.encode(text).ids) == text for text in texts)


@pytest.mark.parametrize("texts", [[], [""], ["", "  ", ""]])
def test_a_corpus_without_text_is_refused(texts: list[str]) -> None:
    with pytest.raises(TokenizerError, match="no text"):
        train_tokenizer(texts, kind="bpe", vocabulary_size=400)


def test_senseless_arguments_are_refused() -> None:
    with pytest.raises(TokenizerError, match="'morpheme' is not a kind"):
        train_tokenizer(CORPUS, kind="morpheme", vocabulary_size=400)
    with pytest.raises(TokenizerError, match="at the least"):
        train_tokenizer(CORPUS, kind="bpe", vocabulary_size=SMALLEST_VOCABULARY - 1)
    with pytest.raises(TokenizerError, match="'nfd' is not a Unicode normalisation"):
        train_tokenizer(CORPUS, kind="bpe", vocabulary_size=400, normalization="nfd")
    with pytest.raises(TokenizerError, match="bpe only"):
        train_tokenizer(CORPUS, kind="word", vocabulary_size=400, byte_level=True)
    with pytest.raises(TokenizerError, match="choose one of the two"):
        train_tokenizer(CORPUS, kind="bpe", vocabulary_size=400, byte_level=True, lowercase=True)


@pytest.mark.parametrize(
    ("tags", "words"),
    [(("<a>",), "and 1 is a tag"), (("<a>", "<b>", "<c>"), "and 3 are tags")],
)
def test_a_size_that_the_tags_leave_no_room_in_is_told_as_it_was_typed(
    tags: tuple[str, ...], words: str
) -> None:
    smallest = SMALLEST_VOCABULARY + len(tags)
    message = (
        f"a vocabulary of {smallest - 1} is too small: .* {words}; .* to {smallest} at the least"
    )
    with pytest.raises(TokenizerError, match=message):
        train_tokenizer(CORPUS, kind="bpe", vocabulary_size=smallest - 1, tags=tags)
    tokenizer = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=smallest, tags=tags)
    assert tokenizer.vocabulary_size == smallest


def test_a_corpus_with_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(TokenizerError, match=r"U\+DC00"):
        train_tokenizer([*CORPUS, "oops \udc00"], kind="bpe", vocabulary_size=400)


def test_tokenization_does_not_need_torch() -> None:
    code = "import sys, interlingua.tokenization.train as t; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class _Interrupted(Counter[str]):
    def items(self):
        raise KeyboardInterrupt


def test_an_interruption_while_pieces_are_learnt_stays_one():
    """SentencePiece makes an error of its own of whatever is raised while it reads."""
    with pytest.raises(KeyboardInterrupt):
        learn_pieces(_Interrupted({"a": 1}), "bpe", 10, split_classes=False)
