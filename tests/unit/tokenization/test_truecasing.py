"""A source all in capitals, or a title, is read in the letters that the vocabulary knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tagged import tag_sources
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.truecasing import (
    TruecasingTokenizer,
    plain_sources,
    truecase_sources,
)

KNOWN = [
    "The man is in Boston with a DVD.",
    "A man and a dog in Boston, I think: who is it?",
    "Don't stop, the dog and I are in Boston.",
    "Bitte den Hund. Ein Hund ist in Boston.",
    "kapı ışık iyi ile",
] * 20


@pytest.fixture(scope="module")
def plain() -> Tokenizer:
    return train_tokenizer(KNOWN, kind="bpe", vocabulary_size=500, tags=("<2de>",))


@pytest.fixture(scope="module")
def english(plain: Tokenizer) -> TruecasingTokenizer:
    return TruecasingTokenizer(plain, "en")


@pytest.mark.parametrize(
    ("language", "text", "read"),
    [
        ("tur", "KAPI IŞIK", "kapı ışık"),
        ("tr-TR", "KAPI IŞIK", "kapı ışık"),
        ("eng_Latn", "WHO AM I WITH", "who am I with"),
        ("source", "WHO AM I WITH", "who am I with"),
        ("deu", "Stop Think Boston Bitte Dogs", "Stop Think Boston Bitte Dogs"),
    ],
)
def test_a_language_is_known_by_each_of_its_codes(
    plain: Tokenizer, language: str, text: str, read: str
) -> None:
    found = TruecasingTokenizer(plain, language).truecase(text)
    assert found.casefold() == read.casefold()
    assert [letter for letter in "ıI" if letter in found] == [x for x in "ıI" if x in read]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("THE DOG IS IN BOSTON.", "The dog is in Boston."),
        ("A MAN WITH A DVD.", "A man with a DVD."),
        ("DON'T STOP: THE DOG!", "Don't stop: the dog!"),
        ("WHO IS IT? THE MAN AND I.", "who is it? The man and I."),
        ("DEN HUND", "den Hund"),
        ("THE {NAME} IS IN HTTPS://EX.ORG.", "The {NAME} is in HTTPS://EX.ORG."),
        (
            "THE DOG IS IN https://ex.org OR me@ex.org.",
            "The dog is in https://ex.org or me@ex.org.",
        ),
        ("THE %(name)s AND <b>THE DOG</b>", "The %(name)s and <b>the dog</b>"),
        ("WHO IS IN THE U.S. AND WHO IS J. DOG?", "who is in the U.S. and who is J. dog?"),
        ("WHO IS IN THE U.S.", "who is in the U.S."),
        ("THE DOG IS IN THE U.S.{NAME}", "The dog is in the U.S.{NAME}"),
        ("I'M WITH THE DOG AND I\u2019LL STOP.", "I'm with the dog and I\u2019ll stop."),
        ("THE DOG IS IN 東京.", "The dog is in 東京."),
        ("Stop Think: Don't Stop With the Dog", "stop think: Don't stop with the dog"),
        ("I Think Boston Is With Dogs", "I think Boston is with dogs"),
        ("Think NATO Stop With THE DVD Bitte", "think NATO stop with THE DVD Bitte"),
    ],
)
def test_each_word_is_read_in_the_letters_that_take_the_fewest_pieces(
    english: TruecasingTokenizer, text: str, read: str
) -> None:
    assert english.truecase(text) == read
    assert english.encode(text) == english.plain.encode(read)
    assert english.encode_batch([text]) == english.plain.encode_batch([read])
    assert english.normalise(text) == read == english.decode(english.encode(text).ids)
    how = {"probability": 0.0, "seed": 1, "epoch": 0, "pair": 0, "side": 0}
    assert english.encode_sampled(text, **how) == english.encode(text).ids


@pytest.mark.parametrize(
    "text",
    [
        *("", "I", "A.", "DVD", "The DOG IS IN BOSTON", "日本", "123", "B2"),
        *("打开DOG", "שלום BOSTON"),  # a word in capitals is a name where other letters have none
        *("Stop Think Boston", "Stop Think With a Boston Terrier that stops"),  # short; no title
        "Xaver Yvonne Quentin Zacharias",  # names: hardly fewer pieces in small letters
    ],
)
def test_other_text_stays_as_it_is(english: TruecasingTokenizer, text: str) -> None:
    assert english.truecase(text) == text


def test_a_vocabulary_that_knows_capitals_reads_them() -> None:
    loud = train_tokenizer([text.upper() for text in KNOWN], kind="bpe", vocabulary_size=500)
    assert (
        TruecasingTokenizer(loud, "en").truecase("THE DOG IS IN BOSTON.") == "THE DOG IS IN BOSTON."
    )


def test_turkish_has_two_letters_i(plain: Tokenizer) -> None:
    assert TruecasingTokenizer(plain, "tr").truecase("KAPI IŞIK İYİ İLE") == "kapı ışık iyi ile"


def test_a_word_of_turkish_may_stay_as_it_stands() -> None:
    known = train_tokenizer(["IMF ile kapı ışık"] * 20, kind="bpe", vocabulary_size=300)
    assert TruecasingTokenizer(known, "tr").truecase("KAPI IMF İLE") == "kapı IMF ile"


def test_a_turkish_name_elsewhere_gets_no_second_dot(english: TruecasingTokenizer) -> None:
    read = english.truecase("THE DOG IS IN İSTANBUL AND DİYARBAKIR")
    assert read != read.upper()
    assert "\u0307" not in read


def test_a_word_goes_on_behind_a_mark_upon_a_letter() -> None:
    text = "mẹ́rinla ọkùnrin àwọn nínú wọ́nrinla"
    known = train_tokenizer([text] * 20, kind="bpe", vocabulary_size=300)
    yoruba = TruecasingTokenizer(known, "yo")
    assert yoruba.truecase("Mẹ́rinla Ọkùnrin Àwọn Nínú Wọ́nrinla")[1:] == text[1:]
    assert yoruba.truecase("Mẹ́Rinla Ọkùnrin Àwọn Nínú Wọ́nrinla")[1:5] == "ẹ́Ri"  # spelt so


def test_german_nouns_make_no_title(plain: Tokenizer) -> None:
    text = "Stop Think Don't With Boston"
    assert TruecasingTokenizer(plain, "de").truecase(text) == text
    assert TruecasingTokenizer(plain, "fr").truecase(text) != text


@given(st.text())
def test_what_is_read_is_read_as_it_is(english: TruecasingTokenizer, text: str) -> None:
    once = english.normalise(text)
    assert english.normalise(once) == once == english.decode(english.encode(text).ids)


def test_only_sources_are_read_so_and_a_tag_stands_before_them(plain: Tokenizer) -> None:
    pair = TokenizerPair(plain, plain, shared=True)
    reading = truecase_sources(truecase_sources(pair, "de"), "en")
    assert reading.target is plain
    assert plain_sources(reading) == pair
    tagged = truecase_sources(tag_sources(plain_sources(reading), "<2de>"), "en")
    tag = plain.all_tokens().index("<2de>")
    assert tagged.source.encode("THE DOG").ids == [tag, *plain.encode("The dog").ids]
