import pytest

from interlingua.corpus.words import core_of, count_phrase, holds_phrase


@pytest.mark.parametrize(
    ("text", "phrase", "times"),
    [
        ("Der Hund, da.", "Hund", 1),
        ("Die Hunde", "Hund", 0),
        ("der hund", "Hund", 0),
        ("ein  roter\nHund", "roter Hund", 1),
        ("Hund Hund Hunde", "Hund", 2),
        ("ein Hund.", ".", 1),
        ("in C++11 und C++", "C++", 2),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926", 0),
        ("\u6211\u8bf4\u4e2d\u6587\u53e5\u5b50", "\u4e2d\u6587", 1),
        ("\u0e2b\u0e21\u0e32\u0e14\u0e33", "\u0e2b\u0e21\u0e32", 1),
        ("snake_case", "snake", 0),
        ("Hund", " ", 0),
        ("", "Hund", 0),
    ],
)
def test_a_phrase_is_counted_as_it_is_and_not_within_a_longer_word(
    text: str, phrase: str, times: int
) -> None:
    assert count_phrase(text, phrase) == times
    assert holds_phrase(text, phrase) == bool(times)


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("", None),
        (" ?!", None),
        ('"a cat",', "a cat"),
        (" की किताब है!", "की किताब है"),
        ("(ที่)", "ที่"),
        ("cafe\u0301 ", "cafe\u0301"),
    ],
)
def test_the_marks_upon_the_last_letter_are_no_signs_around_a_text(
    text: str, core: str | None
) -> None:
    found = core_of(text)
    assert (text[slice(*found)] if found else None) == core
    assert core_of(f"ab {text}", 3) == (found and (found[0] + 3, found[1] + 3))
