"""Twice the text costs twice the time, whatever the text, the kind and the tool that made the tokenizer."""

import io
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from interlingua.tokenization.foreign import load_any, load_wordpiece
from interlingua.tokenization.huggingface import HuggingFaceTokenizer
from interlingua.tokenization.piece_document import describe_pieces, restore_pieces
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

CORPUS = [
    "the cat sat on the mat , and the dog sat by the door .",
    "ein Hund läuft über die Straße und die Katze schläft.",
    "猫が マットの 上に 座った 。",
] * 8
MOST_RATIO = 20.0
"""Of eight times the length: 8 in proportion, 64 where it is the square."""
KINDS = ["bpe", "unigram", "wordpiece", "word", "char", "byte level"]
READERS = ["sentencepiece", "sentencepiece over spaces", "subword-nmt", "bert", "hugging face"]


def random_text(first: int, last: int) -> Callable[[int], str]:
    return lambda length: "".join(
        map(chr, random.Random(1).choices(range(first, last + 1), k=length))
    )


TEXTS: dict[str, Callable[[int], str]] = {
    "one letter": lambda length: "a" * length,
    "spaces": lambda length: " " * length,
    "combining marks": random_text(0x300, 0x36F),
    "random letters": random_text(ord("a"), ord("z")),
    "Chinese without spaces": random_text(0x4E00, 0x9FFF),
    "everything": random_text(0x21, 0xD7FF),
}


def build(name: str, folder: Path) -> Tokenizer:
    if name.startswith("sentencepiece"):
        model = io.BytesIO()
        over_spaces = name.endswith("spaces")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS),
            model_writer=model,
            model_type="bpe" if over_spaces else "unigram",
            split_by_whitespace=not over_spaces,
            vocab_size=300 if over_spaces else 80,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / "its.model").write_bytes(model.getvalue())
        return load_any(folder / "its.model")
    if name == "subword-nmt":
        return SubwordNmtTokenizer([("t", "h"), ("th", "e</w>"), ("a", "a"), ("aa", "aa")])
    if name == "bert":
        (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##a\n##b\n", "utf-8")
        return load_wordpiece(folder / "vocab.txt")
    if name == "hugging face":
        backend = tokenizers.Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["</s>"], show_progress=False)
        backend.train_from_iterator(CORPUS, trainer)
        return HuggingFaceTokenizer(backend)
    byte_level = name == "byte level"
    kind = "bpe" if byte_level else name
    return train_tokenizer(CORPUS, kind=kind, vocabulary_size=420, byte_level=byte_level)


def fresh(tokenizer: Tokenizer) -> Tokenizer:
    """Return a copy that remembers no word."""
    if isinstance(tokenizer, PieceTokenizer):
        return restore_pieces(describe_pieces(tokenizer))
    if isinstance(tokenizer, SubwordNmtTokenizer):
        return SubwordNmtTokenizer(tokenizer.merges)
    return tokenizer


def least_time(prepare: Callable[[], Callable[[], object]]) -> float:
    """Return the least processor time of three calls: other work on the machine only ever adds to it."""
    times = []
    for _ in range(3):
        work = prepare()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def is_in_proportion(prepare: Callable[[int], Callable[[], object]]) -> bool:
    """Tell whether eight times the length takes about eight times the time; a machine that stumbles has three tries."""
    for length in (4_000, 6_000, 8_000):
        short = least_time(lambda: prepare(length))  # noqa: B023
        long = least_time(lambda: prepare(8 * length))  # noqa: B023
        if long <= MOST_RATIO * short + 0.002:
            return True
    return False


@pytest.mark.proof
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", [*KINDS, *READERS])
def test_the_time_grows_as_the_text_does(name: str, text: str, tmp_path: Path) -> None:
    tokenizer, make = build(name, tmp_path), TEXTS[text]

    def encode(length: int) -> Callable[[], object]:
        copy, line = fresh(tokenizer), make(length)
        return lambda: copy.encode(line)

    def decode(length: int) -> Callable[[], object]:
        ids = tokenizer.encode(make(length)).ids
        return lambda: tokenizer.decode(ids)

    def sample(length: int) -> Callable[[], object]:
        copy, line = fresh(tokenizer), make(length)
        return lambda: copy.encode_sampled(line, probability=0.1, seed=1, epoch=0, pair=0, side=0)

    assert is_in_proportion(encode)
    assert is_in_proportion(decode)
    if name in ("bpe", "unigram", "wordpiece", "byte level"):
        assert is_in_proportion(sample)


def test_unknown_ids_are_decoded_in_proportion() -> None:
    tokenizer = SubwordNmtTokenizer([("t", "h")])
    assert is_in_proportion(lambda length: lambda: tokenizer.decode([1] * (20 * length)))


def test_a_long_text_without_words_is_merged_in_seconds(tmp_path: Path) -> None:
    tokenizer = build("sentencepiece over spaces", tmp_path)
    text = TEXTS["random letters"](100_000)
    start = time.process_time()
    ids = tokenizer.encode(text).ids
    assert (
        time.process_time() - start < 5
    )  # With a search through all pairs for each join it was ten times as much.
    assert len(ids) >= 1
