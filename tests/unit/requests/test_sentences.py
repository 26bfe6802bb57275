"""Text in sentences is the text again, whatever white space it has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.requests.sentences import split_sentences

TEXTS = st.text(st.sampled_from("aC.!? \u00a0\u202f\u3000\t\n\x85é。"), max_size=40)


@given(TEXTS, st.sampled_from(["en", "de", "ja", "xx"]))
def test_what_the_sentences_hold_is_the_text_again(text: str, language: str) -> None:
    found = split_sentences(text, language)
    assert "".join(f"{s.before}{s.text}{s.after}" for s in found) == text
    assert all(s.text == s.text.strip() for s in found)


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u2009", "\u3000"])
def test_a_capital_before_another_space_and_a_full_stop_is_read(space: str) -> None:
    found = split_sentences(f"Take vitamin C{space}. Then rest.", "en")
    assert "".join(s.text for s in found).endswith("Then rest.")
    assert f"C{space}." in found[0].text
