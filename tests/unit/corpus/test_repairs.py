"""Repairs give back what was meant, leave alone what was meant so, and do not guess."""

import pytest

from interlingua.corpus.damage import find_damage
from interlingua.corpus.repairs import BITS, REPAIRS, names_of, repair_line


@pytest.mark.parametrize(
    ("before", "after", "repairs"),
    [
        ("people &apos;s &quot;own&quot;", "people 's \"own\"", ["entity"]),
        ("&amp;quot;twice&amp;quot;", '"twice"', ["entity"]),
        ("R &amp ; D, a&nbsp;b &#8211; c", "R & D, a\xa0b – c", ["entity"]),
        ("fa\u00c3\u00a7ade \u00e2\u20ac\u0153so\u00e2\u20ac\x9d", "façade “so”", ["mojibake"]),
        ("M\u00c3\u0192\u00c2\u00bcller", "Müller", ["mojibake"]),
        ("\u00ce\u2018\u00ce\u00b8\u00ce\u00ae\u00ce\u00bd\u00ce\u00b1", "Αθήνα", ["mojibake"]),
        ("\u00ce\u201c\u00ce\u00b5\u00ce\u00b9\u00ce\u00ac", "Γειά", ["mojibake"]),
        ("\u00e9\u00a0\u00bb\u00e7\u017d\u2021", "頻率", ["mojibake"]),
        ("\u00e2\u20ac\u00a6\u00ed\u00a0\u00bd\u00ed\u00b8\u20ac", "…\u00ed\u00a0\u00bd\u00ed\u00b8\u20ac", ["mojibake"]),
        ("\u00d0\u009f\u00d1\u0080\u00d0\u00b8\u00d0\u00b2\u00d0\u00b5\u00d1\u0082", "Привет", ["mojibake"]),
        ("\u00d7\u00a9\u00d7\u009c\u00d7\u0095\u00d7\u009d", "שלום", ["mojibake"]),
        ("so gefallen\x85", "so gefallen…", ["control"]),
        ("it\x92s\x00 m\x07e", "it’s me", ["control"]),
        ("\ufeffone\ufeff", "one", ["byte-order-mark"]),
        ("one\u2028two\r", "one two", ["line-end"]),
        ("co\xadop w\u200bord", "coop word", ["invisible"]),
        (" a  b\tc \u3000", "a b c", ["spaces"]),
        ('<a href="x">see</a><br/>the <b>end</b>', "see the end", ["tag"]),
    ],
)  # fmt: skip
def test_what_was_meant_comes_back(before: str, after: str, repairs: list[str]) -> None:
    mended, bits = repair_line(before)
    assert (mended, names_of(bits)) == (after, repairs)
    assert not find_damage(mended)
    assert repair_line(mended) == (mended, 0)


@pytest.mark.parametrize(
    "text",
    [
        "Spaß“ und große „Dinge“",
        "AT&T; R&D; a < b; x <3; &foo; &",
        "12\u202f000\xa0€, 3 × 4, Çà et là, NÃO",
        "ไทย\u200bภาษา",
        "می\u200cخواهم \U0001f469\u200d\U0001f467",
        "東京\u3000大阪",
        "",
    ],
)
def test_what_was_meant_so_stays(text: str) -> None:
    assert repair_line(text) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "bad \udcff byte",
        "lo\ufffdt",
        "<script>f()</script>",
        "schw?nge und ?ber",
        "f\u00c3\u0192\u00c2 \u00bc r",
    ],
)
def test_what_nobody_can_know_stays_and_is_still_damage(text: str) -> None:
    assert repair_line(text)[0] == text
    assert find_damage(text)


def test_a_tag_that_its_writer_wanted_seen_is_not_taken_out() -> None:
    assert repair_line("the &lt;b&gt; element") == ("the <b> element", BITS["entity"])


def test_every_repair_says_what_it_does() -> None:
    assert list(BITS) == list(REPAIRS)
    assert all(REPAIRS.values())
    assert max(BITS.values()) < 1 << 16
