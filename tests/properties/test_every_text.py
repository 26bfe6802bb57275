"""Texts by the thousand: what no example and no shrinking would look for."""

import os
import random
import secrets
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from interlingua.tokenization.foreign import load_any, load_wordpiece
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

CORPUS = [
    "the cat sat on the mat , and the dog sat by the door .",
    "ein Hund läuft über die Straße und die Katze schläft.",
    "猫が マットの 上に 座った 。",
    "кошка сидит на коврике",
] * 6
KINDS = ["bpe", "unigram", "wordpiece", "word", "char", "byte level"]
TRAPS = [
    *("<pad>", "</s>", "<s>", "<unk>", "<0x41>", "\u2581", "@@", "##", "</w>", "[UNK]", "Ġ"),
    *("\u0301", "👩\u200d👧", "\u202e", "\u2066", "\ufdd0", "\U0010ffff", "\ue000", "\U000f0000"),
    *("\0", "\x85", "\u2028", "\ufeff", "\r", "\n", "\t", " ", "  ", "\u3000", "e\u0323\u0301"),
]


@cache
def trained(kind: str) -> Tokenizer:
    byte_level = kind == "byte level"
    name = "bpe" if byte_level else kind
    return train_tokenizer(CORPUS, kind=name, vocabulary_size=450, byte_level=byte_level)


def random_texts(number: int, seed: int) -> Iterator[str]:
    roll = random.Random(seed)
    for _ in range(number):
        text = []
        for _ in range(roll.randrange(1, 12)):
            code = roll.randrange(roll.choice((0x80, 0x250, 0x3100, 0xFFFF, 0x20000, 0x10FFFF)))
            is_trap = roll.random() < 0.3 or 0xD800 <= code < 0xE000
            text.append(roll.choice(TRAPS) if is_trap else chr(code))
        yield "".join(text)


def check(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode_batch([text])[0]
    assert tokenizer.decode(ids) == tokenizer.normalise(text), ascii(text)
    assert {0, 1, 2, 3}.isdisjoint(ids), ascii(text)


@pytest.mark.parametrize("kind", KINDS)
def test_random_texts_come_back(kind: str) -> None:
    for text in random_texts(2_000, seed=1):
        check(trained(kind), text)


@pytest.mark.proof
@pytest.mark.parametrize("kind", KINDS)
def test_very_many_random_texts_come_back(kind: str) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    for text in random_texts(50_000, seed):
        check(trained(kind), text)


@pytest.mark.proof
@pytest.mark.parametrize("kind", KINDS)
def test_every_code_point_comes_back_alone_and_among_letters(kind: str) -> None:
    tokenizer = trained(kind)
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for first in range(0, len(letters), 4096):
        for form in ("{}", "the {}cat{} "):
            texts = [form.replace("{}", letter) for letter in letters[first : first + 4096]]
            batch = tokenizer.encode_batch(texts)
            for text, ids in zip(texts, batch, strict=True):
                assert tokenizer.decode(ids) == tokenizer.normalise(text), ascii(text)


@pytest.mark.proof
@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_of_sixteen_languages_comes_back(kind: str) -> None:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no FLORES sentences")
    files = sorted((Path(folder) / "flores200").glob("devtest.*"))
    assert len(files) == 16
    lines = [file.read_text(encoding="utf-8").split("\n")[:-1] for file in files]
    assert [len(each) for each in lines] == [1012] * 16
    texts = [line for each in lines for line in each]
    byte_level = kind == "byte level"
    of_all = train_tokenizer(
        texts[::3],
        kind="bpe" if byte_level else kind,
        vocabulary_size=8000,
        byte_level=byte_level,
        normalization="none",
    )
    for tokenizer in (of_all, trained(kind)):
        for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True):
            assert tokenizer.decode(ids) == tokenizer.normalise(text)
            assert tokenizer is trained(kind) or tokenizer.normalise(text) == text


def test_without_byte_fallback_the_unknown_has_a_mark_of_its_own(tmp_path: Path) -> None:
    import sentencepiece

    (tmp_path / "corpus").write_text("\n".join(CORPUS), encoding="utf-8", newline="\n")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "corpus"),
        model_prefix=str(tmp_path / "its"),
        vocab_size=100,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncat\n##s\n", encoding="utf-8")
    for tokenizer, mark in (
        (load_any(tmp_path / "its.model"), " \u2047 "),
        (load_wordpiece(vocabulary), "[UNK]"),
    ):
        ids = tokenizer.encode("the \U0001f600 cat").ids
        assert ids.count(tokenizer.unknown_id) == 1
        assert mark.strip() in tokenizer.decode(ids)
        for text in random_texts(1_000, seed=2):
            ids = tokenizer.encode(text).ids
            assert all(0 <= number < tokenizer.vocabulary_size for number in ids)
            tokenizer.decode(ids).encode("utf-8")
