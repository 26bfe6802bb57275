"""What one pair tells by itself."""

import unicodedata

import pytest

from interlingua.corpus.pair_rules import BITS, Limits, find_faults, measure_profile, normalise

PAIRS = [("der alte Mann liest ein Buch", "the old man reads a book")] * 20


def faults(source: str, target: str) -> set[str]:
    found = find_faults(source, target, measure_profile(PAIRS), Limits())
    return {name for name, bit in BITS.items() if found & bit}


@pytest.mark.parametrize(
    "other",
    [
        unicodedata.normalize("NFD", "Știți țara mea?"),
        "Ştiţi ţara mea?",
        "\u0218ti\u021bi   \u021bara mea",
        "&#x218;tiți &#539;ara&nbsp;mea",
        "ȘTIȚI ȚARA MEA",
    ],
)
def test_what_is_only_written_otherwise_is_the_same(other: str) -> None:
    assert normalise(other) == normalise("Știți țara mea?")


def test_full_width_is_only_written_otherwise_and_wrong_bytes_do_no_harm() -> None:
    assert normalise("ＡＢＣ１２３") == normalise("abc123")
    assert normalise("a\udce9b &amp; c") == "abc"


@pytest.mark.parametrize(
    ("one", "other"),
    [("वह जाती है", "वह जाता है"), ("ใกล้", "ไกล"), ("o\u0323\u0300", "o\u0323\u0301"), ("မာ", "မိ")],
)
def test_vowel_signs_and_tones_make_another_word(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_marks_that_a_text_may_leave_out_are_only_written_otherwise() -> None:
    assert normalise("İSTANBUL") == normalise("istanbul")
    assert normalise("كَتَبَ") == normalise("كتب")
    assert normalise("שָׁלוֹם") == normalise("שלום")
    assert normalise("❤\ufe0f ok") == "ok"


@pytest.mark.parametrize(
    ("source", "target", "is_wrong"),
    [
        ("im Jahr 1987", "in the year 1978", True),
        ("4217 Stück", "4271 pieces", True),
        ("am 12.10.2001", "on 2001-10-12", False),
        ("1.500 Leute", "1,500 people", False),
        ("10-12 Jahre", "1012 years", False),
        ("40 Leute", "50 people", True),
    ],
)
def test_numbers_that_differ_are_told(source: str, target: str, is_wrong: bool) -> None:
    assert ("number-mismatch" in faults(source, target)) is is_wrong


@pytest.mark.parametrize(
    "blank", ["", " ", "\xa0", "\x0c", "\u2028", "\u3000\t", "\ufeff", "\ufeff \ufeff"]
)
def test_white_space_of_any_kind_is_empty(blank: str) -> None:
    assert faults(blank, "Yes.") == faults("Da.", blank) == {"empty"}


def test_a_copy_in_capitals_is_a_copy() -> None:
    assert "copied" in faults("der alte Mann liest ein Buch", "DER ALTE MANN LIEST EIN BUCH")
    assert "copied" not in faults(*PAIRS[0])
