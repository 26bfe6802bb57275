"""Encoding, decoding and offsets of the tokenizers that are trained here."""

import threading
import time

import pytest

from interlingua.errors import TokenizerError
from interlingua.tokenization.piece_document import describe_pieces, restore_pieces
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

CORPUS = [
    "the cat sat on the mat , and the dog sat by the door .",
    "The weather is fine today; the cats are sleeping in 2014.",
    "ein Hund läuft über die Straße und die Katze schläft.",
    "un câine aleargă pe stradă, iar pisica doarme.",
    "low lower lowest new newer newest wide wider widest",
] * 6

KINDS = ["bpe", "unigram", "wordpiece", "word", "char"]

TRAPS = [
    "",
    " ",
    "   ",
    " leading",
    "trailing ",
    "two  spaces",
    "\u2581",
    "\u2581the cat",
    "the\u2581cat \u2581 \u2581\u2581",
    "</s>",
    "a </s> b",
    "<pad> <unk> <s> </s>",
    "<0x41><0xFF>",
    "x<0x41>y",
    "\t\n\r\0",
    "line\u2028separator\u0085next",
    "\u0301lone mark",
    "e\u0301",
    "\U0010ffff\ufdd0\ufffe",
    "日本語 と the cat",
    "👩\u200d👩\u200d👧 family",
    "a\u00a0b",
    "\ufeffbom",
    "ᄀ\u1161\u11a8",
    "Ġthe âĸģ",
    "the@@ cat##s [UNK] [PAD]",
]


@pytest.fixture(scope="module", params=[*KINDS, "byte level"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    byte_level = request.param == "byte level"
    kind = "bpe" if byte_level else request.param
    return train_tokenizer(CORPUS, kind=kind, vocabulary_size=500, byte_level=byte_level)


@pytest.mark.parametrize("text", TRAPS, ids=ascii)
def test_a_trap_comes_back_as_its_normal_form(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids) == tokenizer.normalise(text)


@pytest.mark.parametrize("text", TRAPS, ids=ascii)
def test_no_text_becomes_a_special_id(tokenizer: Tokenizer, text: str) -> None:
    special = {tokenizer.pad_id, tokenizer.unknown_id, tokenizer.begin_id, tokenizer.end_id}
    assert special.isdisjoint(tokenizer.encode(text).ids)


@pytest.mark.parametrize("text", TRAPS, ids=ascii)
def test_offsets_cover_the_normal_form_in_order_and_without_a_gap(
    tokenizer: Tokenizer, text: str
) -> None:
    normal = tokenizer.normalise(text)
    encoding = tokenizer.encode(text)
    assert len(encoding.offsets) == len(encoding.ids)
    reached = 0
    for start, end in encoding.offsets:
        assert start <= reached <= end
        reached = end
    assert reached == len(normal)


def test_an_offset_is_the_place_of_the_piece(tokenizer: Tokenizer) -> None:
    text = "the cat läuft"
    encoding = tokenizer.encode(text)
    for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        piece = tokenizer.tokens([number])[0]
        if piece.isascii():
            assert tokenizer.decode([number]).strip(" ") == text[start:end].strip(" ")


def test_a_batch_has_the_ids_of_its_texts(tokenizer: Tokenizer) -> None:
    texts = CORPUS[:5] + TRAPS
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text).ids for text in texts]


def test_begin_end_and_pad_have_no_text(tokenizer: Tokenizer) -> None:
    ids = [2, *tokenizer.encode("the cat").ids, 3, 0, 0]
    assert tokenizer.decode(ids) == "the cat"


def test_specials_are_the_first_four_ids(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert (tokenizer.pad_id, tokenizer.unknown_id) == (0, 1)
    assert (tokenizer.begin_id, tokenizer.end_id) == (2, 3)


def test_every_id_decodes_alone_and_after_another(tokenizer: Tokenizer) -> None:
    for number in range(tokenizer.vocabulary_size):
        assert isinstance(tokenizer.decode([number]), str)
        assert isinstance(tokenizer.decode([number, 290, number]), str)


def test_half_a_character_in_bytes_decodes_to_the_replacement_character() -> None:
    tokenizer = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=400)
    euro = tokenizer.encode("€").ids
    assert tokenizer.decode(euro) == "€"
    assert tokenizer.decode(euro[:-1]) == "\ufffd"


def test_half_a_surrogate_pair_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(TokenizerError, match=r"character 3 of the text .* \(U\+D83D\)"):
        tokenizer.encode("a \ud83d b")
    with pytest.raises(TokenizerError, match="surrogate"):
        tokenizer.encode_batch(["fine", "\udfff"])


def test_an_id_outside_the_vocabulary_is_refused(tokenizer: Tokenizer) -> None:
    for wrong in (-1, tokenizer.vocabulary_size):
        with pytest.raises(TokenizerError, match=f"id {wrong} is not in the vocabulary"):
            tokenizer.decode([wrong])
        with pytest.raises(TokenizerError, match="another tokenizer"):
            tokenizer.tokens([wrong])


def test_byte_level_gives_back_what_normalisation_would_change() -> None:
    tokenizer = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=400, byte_level=True)
    for text in ("ﬁne", "e\u0301", "a\u00a0b", "Å", "…"):
        assert tokenizer.normalise(text) == text
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_a_digit_between_spaces_is_one_token() -> None:
    lines = ["3 1 4 1 5 9 2 6", "5 3 5 8 9 7 9 0", "0 1 2 3 4 5 6 7 8 9"] * 20
    for kind in ("bpe", "unigram", "wordpiece", "word"):
        tokenizer = train_tokenizer(lines, kind=kind, vocabulary_size=400)
        assert len(tokenizer.encode("3 1 4 1 5").ids) == 5


def test_characters_are_one_token_each() -> None:
    tokenizer = train_tokenizer(CORPUS, kind="char", vocabulary_size=400)
    encoding = tokenizer.encode("the cat")
    assert tokenizer.tokens(encoding.ids) == ["▁", "t", "h", "e", "▁", "c", "a", "t"]
    assert encoding.offsets == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]


def test_an_unknown_word_is_spelled_and_not_lost() -> None:
    tokenizer = train_tokenizer(CORPUS, kind="word", vocabulary_size=400)
    assert tokenizer.tokens(tokenizer.encode("the tac€").ids) == [
        "▁the",
        "▁",
        "t",
        "a",
        "c",
        "<0xE2>",
        "<0x82>",
        "<0xAC>",
    ]


def test_lower_case_is_part_of_the_normal_form() -> None:
    tokenizer = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=400, lowercase=True)
    assert tokenizer.normalise("The STRASSE İ J\u030c") == "the strasse i\u0307 \u01f0"
    assert tokenizer.encode("THE CAT").ids == tokenizer.encode("the cat").ids


def test_threads_find_what_one_thread_finds(tokenizer: Tokenizer) -> None:
    texts = [f"{line} {number} {trap}" for number, line in enumerate(CORPUS) for trap in TRAPS]
    expected = tokenizer.encode_batch(texts)
    found: dict[int, list[list[int]]] = {}

    def work(worker: int, fresh: Tokenizer) -> None:
        found[worker] = fresh.encode_batch(texts[worker:] + texts[:worker])

    fresh = _copy(tokenizer)  # Its cache is empty when the threads start.
    threads = [threading.Thread(target=work, args=(worker, fresh)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in range(8):
        assert found[worker] == expected[worker:] + expected[:worker]


def _copy(tokenizer: Tokenizer) -> Tokenizer:
    assert isinstance(tokenizer, PieceTokenizer)
    return restore_pieces(describe_pieces(tokenizer))


@pytest.mark.parametrize("unit", ["a", " ", "\u2581", "\n", "\U0001f600"], ids=ascii)
def test_a_very_long_text_costs_time_in_proportion(tokenizer: Tokenizer, unit: str) -> None:
    size = 40_000

    def best(length: int) -> float:
        times = []
        for _ in range(3):
            fresh = _copy(tokenizer)
            start = time.process_time()
            ids = fresh.encode_batch([unit * length])[0]
            times.append(time.process_time() - start)
            assert fresh.decode(ids) == unit * length
        return min(times)

    # Eight times the length: a quadratic cost would be 64 times as much.
    assert best(8 * size) <= 8 * 2.5 * best(size) + 0.05


def _characters() -> list[str]:
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


@pytest.mark.slow
def test_every_seventh_code_point_comes_back_among_others(tokenizer: Tokenizer) -> None:
    characters = _characters()[::7]
    for first in range(0, len(characters), 512):
        text = " x".join(characters[first : first + 512])
        normal = tokenizer.normalise(text)
        assert tokenizer.decode(tokenizer.encode_batch([text])[0]) == normal
        assert tokenizer.normalise(normal) == normal


@pytest.mark.slow
@pytest.mark.unchecked
def test_every_code_point_comes_back_alone() -> None:
    tokenizer = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=500)
    characters = _characters()
    for text, ids in zip(characters, tokenizer.encode_batch(characters), strict=True):
        assert tokenizer.decode(ids) == tokenizer.normalise(text)


@pytest.mark.slow
def test_a_million_characters_take_seconds(tokenizer: Tokenizer) -> None:
    for unit in ("a", " "):
        start = time.process_time()
        ids = tokenizer.encode_batch([unit * 1_000_000])[0]
        assert time.process_time() - start < 5
        assert tokenizer.decode(ids) == unit * 1_000_000
