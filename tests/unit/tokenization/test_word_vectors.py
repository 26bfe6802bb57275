"""Vectors of words in every form they come in: nothing of them is lost, and nothing else is taken for one."""

import gzip
import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from interlingua.errors import CorpusError
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.word_vectors import read_width, read_word_vectors, words_of

WORDS = {"casă": [1.5, -2.0, 3.25], "the": [0.0, 1e-20, -4.0], "\U0001f600": [7.0, 8.0, 9.0]}


def as_text(header: bool, end: str = "\n") -> bytes:
    lines = [f"{word} {' '.join(map(str, numbers))}{end}" for word, numbers in WORDS.items()]
    return ((f"{len(WORDS)} 3{end}" if header else "") + "".join(lines)).encode()


def as_binary(between: bytes = b"") -> bytes:
    rows = [
        word.encode() + b" " + struct.pack("<3f", *numbers) + between
        for word, numbers in WORDS.items()
    ]
    return b"%d 3\n" % len(WORDS) + b"".join(rows)


FORMS = {
    "GloVe": as_text(header=False),
    "word2vec": as_text(header=True),
    "fastText": as_text(header=True, end=" \n"),
    "Windows": as_text(header=True, end="\r\n"),
    "binary, of gensim": as_binary(),
    "binary, of word2vec": as_binary(b"\n"),
    "packed": gzip.compress(as_binary(), mtime=0),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same(tmp_path: Path, form: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(FORMS[form])
    found = read_word_vectors(path, [*WORDS, "absent"])
    assert (found.width, found.total, set(found.vectors)) == (3, 3, set(WORDS))
    assert read_width(path) == 3
    for word, numbers in WORDS.items():
        np.testing.assert_array_equal(found.vectors[word], np.array(numbers, dtype=np.float32))


@pytest.mark.parametrize("is_binary", [True, False])
def test_what_gensim_writes_is_read(tmp_path: Path, is_binary: bool) -> None:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(vector_size=3)
    theirs.add_vectors(list(WORDS), list(WORDS.values()))
    path = tmp_path / "vectors"
    theirs.save_word2vec_format(str(path), binary=is_binary)
    found = read_word_vectors(path, WORDS)
    assert (found.width, found.total, set(found.vectors)) == (3, 3, set(WORDS))
    for word in WORDS:
        np.testing.assert_array_equal(found.vectors[word], theirs[word])


def test_files_of_other_toolkits_are_read() -> None:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no files of other tools")
    for name in ("test_embed.txt", "test_embed_with_header.txt"):
        found = read_word_vectors(Path(folder) / "embeddings" / name, ["some_word", "absent"])
        assert (found.width, found.total) == (4, 2)
        assert found.vectors["some_word"].tolist() == [1, 2, 3, 4]
    path = Path(folder) / "embeddings" / "sample_glove.txt"
    lines = [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]
    found = read_word_vectors(path, [word for word, *_ in lines])
    assert found.total == len(lines)
    for word, *numbers in lines:
        np.testing.assert_array_equal(found.vectors[word], np.array(numbers, dtype=np.float32))


def test_a_large_binary_file_is_read_piece_by_piece(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1).standard_normal((3_000, 300)).astype("<f4")
    path = tmp_path / "vectors.bin"
    rows = [f"w{i} ".encode() + row.tobytes() for i, row in enumerate(drawn)]
    path.write_bytes(b"3000 300\n" + b"".join(rows))
    found = read_word_vectors(path, ["w0", "w2999", "w1234"])
    assert found.total == 3_000
    for word, vector in found.vectors.items():
        np.testing.assert_array_equal(vector, drawn[int(word[1:])])


def test_a_word_may_hold_spaces_and_the_first_of_two_counts(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2\n. . . 3 4\nthe 5 6\n")
    found = read_word_vectors(path, ["the", ". . ."])
    assert {word: list(vector) for word, vector in found.vectors.items()} == {
        "the": [1, 2],
        ". . .": [3, 4],
    }


@pytest.mark.parametrize("header", ["", "3 2\n"])
@pytest.mark.parametrize("space", [" ", "\t"])
def test_the_first_word_may_hold_spaces_or_be_a_mark(
    tmp_path: Path, header: str, space: str
) -> None:
    path = tmp_path / "vectors"
    path.write_text(f"{header}. . .{space}0.5{space}2\n.{space}3{space}4\n new york 5 6\n")
    found = read_word_vectors(path, [". . .", ".", "new york"])
    assert {word: list(vector) for word, vector in found.vectors.items()} == {
        ". . .": [0.5, 2],
        ".": [3, 4],
        "new york": [5, 6],
    }


@pytest.mark.parametrize("header", ["", "2 2\n"])
@pytest.mark.parametrize("word", ["\u00a0", "\u3000", "a\u200bb"])
def test_other_spaces_and_signs_are_of_a_word(tmp_path: Path, header: str, word: str) -> None:
    path = tmp_path / "vectors"
    path.write_text(f"{header}{word} 1 2\nthe 3 4\n", encoding="utf-8")
    assert read_word_vectors(path, [word]).vectors[word].tolist() == [1, 2]


def test_the_beginning_of_a_file_tells_how_much_there_was(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_text("3 2\nthe 1 2\ncat 3 4\n")
    found = read_word_vectors(path, ["cat"])
    assert (found.total, found.promised) == (2, 3)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (b"", "holds no vectors"),
        (b"the 1 2\ncat 1\n", "line 2: has 1 numbers where 2 are expected"),
        (b"the 1 2\ncat one two\n", "line 2: is not a word and its numbers"),
        (b"just one word a line\n", "line 1: is not a word and its numbers"),
        (b"the\n", "line 1"),
        (b"the 1 nan\n", "the vector of 'the' holds a number that is not finite"),
        (b"2 3\nthe 1 2\n", "line 2: has 2 numbers where 3 are expected"),
        (as_binary()[:-5], "ends in the middle of word 3 of 3"),
        (b"9 900000\nthe \x00\x01\xff\xfe", "says that its vectors have 900,000 numbers"),
    ],
)
def test_what_is_none_is_refused_with_its_place(tmp_path: Path, held: bytes, told: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(held)
    with pytest.raises(CorpusError, match=re.escape(told)):
        read_word_vectors(path, ["the", "casă"])


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "wordpiece"])
def test_the_words_of_a_vocabulary_are_tokens_of_their_own(kind: str) -> None:
    lines = ["the cat and the dog", "the dog sees the unforgettable cat"] * 20
    tokenizer = train_tokenizer(lines, kind=kind, vocabulary_size=330)
    words = words_of(tokenizer)
    assert {"the", "cat", "dog"} <= set(words.values())
    for token, word in words.items():
        assert tokenizer.encode(word).ids == [token]
    assert not {tokenizer.pad_id, tokenizer.begin_id, tokenizer.end_id} & set(words)
