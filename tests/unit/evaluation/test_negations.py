"""Words that say no, and those that only begin alike."""

import re

import pytest

from interlingua.evaluation.changes import NEGATIONS

SAY_NO = {
    "cs": "není nebyl nebude nejsem nejde nedělá nechci nemám nejel nic nikdo nikdy ani bez žádný nikoho nikomu ničeho nikoli nesmí nesedí",
    "fr": "ne n'est jamais rien aucune sans",
    "en": "not don't never nobody",
    "de": "nicht kein keine ohne",
}
DO_NOT = {
    "cs": "nebo neboť nebe neděle nemocnice nechal nejlepší než nejen neteř nitka nese nesou nesl nesoucí nech nechte nervy neonový neutrální",
    "fr": "personne pas negation",
    "en": "knot noon",
    "de": "nichtig nieder",
}


@pytest.mark.parametrize("language", SAY_NO)
def test_what_says_no_is_told_from_what_begins_alike(language: str) -> None:
    pattern = re.compile(rf"(?<!\w)(?:{NEGATIONS[language]})(?!\w)", re.IGNORECASE)
    assert [each for each in SAY_NO[language].split() if not pattern.search(each)] == []
    assert [each for each in DO_NOT[language].split() if pattern.search(each)] == []


def test_a_number_of_a_bus_is_no_negation() -> None:
    pattern = re.compile(rf"(?<!\w)(?:{NEGATIONS['en']})(?!\w)", re.IGNORECASE)
    assert not pattern.search("Take bus No. 5, or no.6.")
    assert [found[0] for found in pattern.finditer("No. I said no.")] == ["No", "no"]
