"""Sentences that are longer than a model reads are cut where it hurts least."""

import pytest

from interlingua.server.translation import cut_in_two


@pytest.mark.parametrize(
    ("sentence", "halves"),
    [
        ("one two, three four", ("one two,", "three four")),
        ("a, b c d e f g h", ("a, b c", "d e f g h")),
        ("abcdef", ("abc", "def")),
        ("ab", ("a", "b")),
    ],
)
def test_a_sentence_is_cut_near_its_middle(sentence: str, halves: tuple[str, str]) -> None:
    assert cut_in_two(sentence) == halves
