"""Laws of tokenization: nothing is lost, nothing is invented, whatever the text."""

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

CORPUS = [
    "the cat sat on the mat , and the dog sat by the door .",
    "ein Hund läuft über die Straße und die Katze schläft.",
    "un câine aleargă pe stradă, iar pisica doarme în 2014.",
    "猫が マットの 上に 座った 。",
    "кошка сидит на коврике",
] * 6

KINDS = ["bpe", "unigram", "wordpiece", "word", "char"]

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SPACES = [" ", "  ", "\u2581", "\u00a0", "\u3000", "\n", "\t", "\0", "\u200d"]
LOOKALIKES = ["</s>", "<s>", "<pad>", "<unk>", "<0x41>", "<0xE2>", "@@", "##", "Ġ", "\ufffd"]
LETTERS = ["the", "cat", "a", "ä", "a\u0308", "\u0308", "ﬁ", "猫", "\u1100", "\u1161", "😀"]
CASES = ["İ", "ß", "ẞ", "Σ", "ǅ", "J\u030c", "\u0345"]
ADVERSARIAL = st.lists(st.sampled_from([*SPACES, *LOOKALIKES, *LETTERS, *CASES]), max_size=25).map(
    "".join
)
TEXTS = UNICODE | ADVERSARIAL


@cache
def trained(kind: str, normalization: str, lowercase: bool) -> Tokenizer:
    return train_tokenizer(
        CORPUS, kind=kind, vocabulary_size=450, normalization=normalization, lowercase=lowercase
    )


@cache
def byte_level() -> Tokenizer:
    return train_tokenizer(CORPUS, kind="bpe", vocabulary_size=450, byte_level=True)


NORMAL_FORMS = st.sampled_from(["nfkc", "nfc", "none"])


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS, normalization=NORMAL_FORMS, lowercase=st.booleans())
def test_decoding_gives_back_the_normal_form(
    kind: str, text: str, normalization: str, lowercase: bool
) -> None:
    tokenizer = trained(kind, normalization, lowercase)
    normal = tokenizer.normalise(text)
    encoding = tokenizer.encode(text)
    assert tokenizer.decode(encoding.ids) == normal
    assert tokenizer.normalise(normal) == normal
    assert tokenizer.encode(normal) == encoding
    assert tokenizer.encode_batch([text, text]) == [encoding.ids] * 2
    assert {0, 1, 2, 3}.isdisjoint(encoding.ids)


@given(text=TEXTS)
def test_byte_level_gives_back_the_text_itself(text: str) -> None:
    encoding = byte_level().encode(text)
    assert byte_level().decode(encoding.ids) == text
    assert {0, 1, 2, 3}.isdisjoint(encoding.ids)


@pytest.mark.parametrize("kind", [*KINDS, "byte level"])
@given(text=TEXTS)
def test_offsets_are_ordered_and_cover_everything(kind: str, text: str) -> None:
    tokenizer = byte_level() if kind == "byte level" else trained(kind, "nfkc", False)
    reached = 0
    encoding = tokenizer.encode(text)
    for start, end in encoding.offsets:
        assert start <= reached <= end
        reached = end
    assert reached == len(tokenizer.normalise(text))
    assert len(encoding.offsets) == len(encoding.ids)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
@given(
    text=TEXTS,
    probability=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**70),
    epoch=st.integers(0, 10**6),
    pair=st.integers(0, 2**40),
)
def test_a_sample_is_repeatable_and_decodes_to_the_normal_form(
    kind: str, text: str, probability: float, seed: int, epoch: int, pair: int
) -> None:
    tokenizer = trained(kind, "nfkc", False)

    def sample() -> list[int]:
        return tokenizer.encode_sampled(
            text, probability=probability, seed=seed, epoch=epoch, pair=pair, side=1
        )

    ids = sample()
    assert ids == sample()
    assert tokenizer.decode(ids) == tokenizer.normalise(text)


@pytest.mark.parametrize("kind", [*KINDS, "byte level"])
@given(data=st.data())
def test_any_ids_decode_to_text(kind: str, data: st.DataObject) -> None:
    tokenizer = byte_level() if kind == "byte level" else trained(kind, "nfkc", False)
    ids = data.draw(st.lists(st.integers(0, tokenizer.vocabulary_size - 1), max_size=30))
    text = tokenizer.decode(ids)
    text.encode("utf-8")
    assert len(tokenizer.tokens(ids)) == len(ids)


@pytest.mark.parametrize("kind", [*KINDS, "byte level"])
def test_sixteen_languages_come_back(kind: str) -> None:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no FLORES sentences")
    files = sorted((Path(folder) / "flores200").glob("devtest.*"))
    assert len(files) == 16
    tokenizer = byte_level() if kind == "byte level" else trained(kind, "nfkc", False)
    for file in files:
        lines = file.read_text(encoding="utf-8").split("\n")[:50]
        for line, ids in zip(lines, tokenizer.encode_batch(lines), strict=True):
            assert tokenizer.decode(ids) == tokenizer.normalise(line)
