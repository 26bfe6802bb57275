"""What changed between two systems: which numbers are the same, and what is marked on the page."""

import itertools
import unicodedata

import pytest

from interlingua.evaluation.changes import find_changes
from interlingua.evaluation.comparison_page import ComparedText, write_comparison


def has_other_numbers(reference: str, output: str) -> bool:
    """Tell whether ``output`` is at fault by its numbers, beside an output without fault."""
    outputs = (f"{output} !", reference)
    (change,) = find_changes(["x"], [reference], *([each] for each in outputs)).found
    return "numbers" in change.faults[0]


@pytest.mark.parametrize(
    ("reference", "output"),
    [
        ("It costs 3.5 million.", "It costs 3,5 million."),
        ("It costs 2.50 and 3.0.", "It costs 3 and 2.5."),
        ("About 1,234,567.25 in all.", "About 1.234.567,25 in all."),
        ("About 1 234,5 in all.", "About 1234.5 in all."),
        ("In 2020 100 of 1.5 200 times", "In 2020, 100 of 1,5, 200 times"),
        ("On 12.05.2024, version 1.2.3", "On 12/5/2024, version 1-2-3"),
        ("From 5-10, in 2024-05, on the A-5.", "From 5 to 10, in 2024/05, on the A5."),
        ("Minus: it was −5, then (-7).", "Minus: it was -5, then –7."),
        ("-20 minutes.", "20 minutes."),  # more often the dash of a dialogue than a sign
        ("In 1990 -2000 or so", "In 1990-2000 or so"),
        ("It costs ٣٫٥ million.", "It costs 3.5 million."),
        ("It costs 1’000 or 1’234’567.5.", "It costs 1,000 or 1 234 567,5."),
        ("It costs ١٬٠٠٠ or ١٬٢٣٤٬٥٦٧٫٥.", "It costs 1000 or 1234567.5."),
        ("It costs 1,00,000 or 12,34,567.50.", "It costs 100,000 or 1234567.5."),
        ("It costs १,००,००० rupees.", "It costs 100 000 rupees."),
    ],
)
def test_a_number_is_the_same_however_it_is_written(reference: str, output: str) -> None:
    assert not has_other_numbers(reference, output)


@pytest.mark.parametrize(
    ("reference", "output"),
    [
        ("It costs 3.5 million.", "It costs 35 million."),
        ("It costs 0.5 million.", "It costs 5 million."),
        ("It costs 0.125 million.", "It costs 125 million."),
        ("It costs 1.10 million.", "It costs 11.0 million."),
        ("It costs 1,000 million.", "It costs 1,00 million."),
        ("It costs 1,234.567 million.", "It costs 1,234,567 million."),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("It costs 1,00,000.", "It costs 10,000."),
        ("It costs 1’000.", "It costs 1."),
    ],
)
def test_a_number_that_is_off_is_a_fault(reference: str, output: str) -> None:
    assert has_other_numbers(reference, output)


@pytest.mark.parametrize(
    ("reference", "output", "fault"),
    [
        ("自分の事をしろ。", "自分の事をしろ。" * 30, True),
        ("你好。", "你好，你好，你好。", True),
        ("自分の事をしろ。", "自分の事をする。", False),
        ("Geh!", "Geh weg!", False),
        ("Tom war in 東京.", "Tom ging nach 東京.", False),
        ("Entschuldigung!", "Entschuldigung", False),
    ],
)
def test_a_length_is_of_words_or_without_spaces_of_characters_however_short(
    reference: str, output: str, fault: bool
) -> None:
    (change,) = find_changes(["x"], [reference], [output], [f"{reference} "]).found
    assert ("length" in change.faults[0]) == fault


@pytest.mark.parametrize(
    ("reference", "output", "lang"),
    [
        ("Ele não veio.", "Ele nunca veio.", "pt"),
        ("è né bello né utile", "né l'uno né l'altro", "it"),
        ("Zoë saw José.", "There was Zoë, and José.", "en"),
        ("学校へ行くがある。", "学校へ行くがある", "ja"),
    ],
)
def test_letters_are_the_same_in_one_character_or_two(
    reference: str, output: str, lang: str
) -> None:
    source = unicodedata.normalize("NFD", f"{reference} x")
    for forms in itertools.product(("NFC", "NFD"), repeat=2):
        one, other = map(unicodedata.normalize, forms, (reference, output))
        (change,) = find_changes([source], [one], [other], [f"{one} "], target_lang=lang).found
        assert change.faults == (frozenset(), frozenset())
        assert (change.source, change.reference, change.one) == (source, one, other)


def test_a_word_that_was_left_is_found_though_it_has_vowel_signs() -> None:
    outputs = ["I read किताब.", "I read a book."]
    (change,) = find_changes(
        ["मैं किताब पढ़ता हूँ"], ["I read books."], *([each] for each in outputs)
    ).found
    assert change.faults == (frozenset({"unknown words"}), frozenset())


@pytest.mark.parametrize("code", ["de", "de-AT", "deu", "deu_Latn", "DE"])
def test_negation_is_known_by_any_code_of_a_language(code: str) -> None:
    found = find_changes(["x"], ["Er kam nicht."], ["Er kam."], ["Er kam nie."], target_lang=code)
    assert found.negation_known
    assert [change.kinds for change in found.found] == [("negation",)]


@pytest.mark.parametrize(
    ("one", "other", "marked"),
    [
        (
            "我们今天去北京看老朋友吃饭。",
            "我们明天去北京看朋友吃饭。",
            [
                "我们<del>今</del>天去北京看<del>老</del>朋友吃饭。",
                "我们<ins>明</ins>天去北京看朋友吃饭。",
            ],
        ),
        ("你好 ", "您好", ["<del>你</del>好", "<ins>您</ins>好"]),
        (
            "Entschuldigung!",
            "Es tut mir leid.",
            ["<del>Entschuldigung!</del>", "<ins>Es tut mir leid.</ins>"],
        ),
    ],
)
def test_what_changed_is_marked_by_words_or_without_spaces_by_characters(
    one: str, other: str, marked: list[str]
) -> None:
    changes = find_changes(["x"], ["y"], [one], [other])
    page = write_comparison("a", "b", [ComparedText("t", (), changes, "none", 1)])
    for text in marked:
        assert f'<dd dir="auto">{text}</dd>' in page
