"""What a translation must hold is asked of what is shown, and of nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from interlingua.config import DecodingConfig
from interlingua.requests.demands import demand_of
from interlingua.requests.glossary import Glossary, Term
from interlingua.requests.holding import Spelling, hold
from interlingua.requests.request import Place, Request, read_request
from interlingua.requests.translation import Translation

SPELLING = Spelling(
    within=lambda phrase: tuple(map(ord, phrase)), normalise=str, unknown_id=ord("q")
)


def said(text: str, *others: str) -> Translation:
    whole = Translation(text, 0.0, (text,), (0.0,), "end")
    return replace(whole, alternatives=tuple(map(said, others)))


@pytest.mark.parametrize(("n_best", "searches"), [(1, 1), (2, 2)])
def test_what_is_not_shown_need_not_hold_what_is_asked_for(n_best: int, searches: int) -> None:
    request = read_request(DecodingConfig(), {"force": ["cat"], "n_best": n_best, "beam_size": 4})
    asked: list[object] = []

    def attempt(
        texts: Sequence[str], request: Request, places: Sequence[Place], phrases: object
    ) -> list[Translation]:
        if texts:
            asked.append(phrases)
        return [said("a cat", "a dog" if phrases is None else "the cat", "a cat!")] * len(texts)

    (found,) = hold(["pisica"], request, [0], attempt=attempt, spelling=SPELLING)
    assert len(asked) == searches
    assert found.text == "a cat"
    assert ("constrained" in found.flags) == (searches > 1)


def test_a_vowel_sign_before_a_placeholder_is_translated_with_its_word() -> None:
    request = read_request(DecodingConfig(), {"lock": True})
    asked: list[str] = []

    def attempt(
        texts: Sequence[str], request: Request, places: Sequence[Place], phrases: object
    ) -> list[Translation]:
        asked.extend(texts)
        return [said("The book is.") for _ in texts]

    text = "{{name}} की किताब है"
    (found,) = hold([text], request, [0], attempt=attempt, spelling=SPELLING)
    assert asked[-1] == "की किताब है"
    assert found.text == "{{name}} The book is"


def test_the_beam_for_the_phrases_of_a_text_does_not_depend_on_its_neighbours() -> None:
    glossary = Glossary([Term("pisica", "cat"), Term("crocodilul", "crocodile")])
    request = read_request(DecodingConfig(), {"glossary": glossary, "beam_size": 4})

    def beams(texts: list[str]) -> dict[str, int]:
        used: dict[str, int] = {}

        def attempt(
            texts: Sequence[str], request: Request, places: Sequence[Place], phrases: object
        ) -> list[Translation]:
            if phrases is not None:
                used.update(dict.fromkeys(texts, request.search.beam_size))
            return [said("")] * len(texts)

        hold(texts, request, range(len(texts)), attempt=attempt, spelling=SPELLING)
        return used

    wanted = {"pisica": 4 + 3 + 1, "crocodilul": 4 + 9 + 1}
    assert beams(["pisica", "crocodilul"]) == wanted
    assert beams(["pisica"]) | beams(["crocodilul"]) == wanted


def test_a_term_without_a_spelling_is_not_forced_and_flagged() -> None:
    glossary = Glossary([Term("unu", "one"), Term("doi", "quo"), Term("trei", "three")])
    request = read_request(DecodingConfig(), {"glossary": glossary})
    asked: list[object] = []

    def attempt(
        texts: Sequence[str], request: Request, places: Sequence[Place], phrases: object
    ) -> list[Translation]:
        if phrases is not None:
            asked.append(phrases)
        return [said("three")] * len(texts)

    found = hold(["doi", "doi trei"], request, [0, 1], attempt=attempt, spelling=SPELLING)
    assert not asked, "nothing that could be written is missing"
    assert [each.flags for each in found] == [("term-missed",)] * 2
    hold(["unu doi"], request, [0], attempt=attempt, spelling=SPELLING)
    assert asked == [[(tuple(map(ord, "one")),)]] * 2


COMPUTERS = Glossary([Term("computer", "Rechner"), Term("personal computer", "großer Rechner")])


@pytest.mark.parametrize(
    ("translation", "is_met"),
    [
        ("ein Rechner und ein großer Rechner", True),
        ("ein großer Rechner und ein Rechner", True),
        ("ein Computer und ein großer Rechner", False),
        ("ein Rechner und ein Rechner", False),
    ],
)
def test_a_term_within_another_is_wanted_besides_it(translation: str, is_met: bool) -> None:
    request = read_request(DecodingConfig(), {"glossary": COMPUTERS})
    demand = demand_of("a computer and a personal computer", request, str)
    assert demand.is_met(translation) == is_met


def test_a_forced_word_may_be_a_part_of_another_phrase() -> None:
    request = read_request(DecodingConfig(), {"glossary": COMPUTERS, "force": ["Rechner"]})
    assert demand_of("a personal computer", request, str).is_met("ein großer Rechner")
