import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.corpus.placeholders import (
    are_placeholders_alone,
    find_placeholders,
    keeps_placeholders,
    split_at_placeholders,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://example.org/a?b=1&c=%20d.", ("https://example.org/a?b=1&c=%20d",)),
        ("(www.example.org/x_(y))", ("www.example.org/x_(y)",)),
        ("Write to a.b+c@mail.example.co.uk!", ("a.b+c@mail.example.co.uk",)),
        ("Hi {{ user.name }}, ${total} and {0} {n:>3}", ("{{ user.name }}", "${total}", "{0}", "{n:>3}")),
        ("%s of %(name)d, %1$s, %05.2f, %d%%", ("%s", "%(name)d", "%1$s", "%05.2f", "%d", "%%")),
        ("a <b>bold</b><br/> word", ("<b>", "</b>", "<br/>")),
        ("\U0001f600 and \U0001f1f7\U0001f1f4 and \U0001f469\u200d\U0001f467 and 1\ufe0f\u20e3", ("\U0001f600", "\U0001f1f7\U0001f1f4", "\U0001f469\u200d\U0001f467", "1\ufe0f\u20e3")),
        ("3.5 of 1,000 on 2026-11-22 at 50% is -7", ("3.5", "1,000", "2026-11-22", "50%", "-7")),
        ("79 %(name)d, 5 %s, 8 %1$s, 9 %!", ("79", "%(name)d", "5", "%s", "8", "%1$s", "9 %")),
        ("B2 at 3rd a < b {", ("B2", "3")),
        ("at 12:30pm, 3.5kg, 1,000km, 5th, 80s", ("12:30", "3.5", "1,000", "5", "80")),
        ("USD50, v1.2.3, MP3-Player, COVID-19, 2024-01-01T10:00:00Z", ("USD50", "v1.2.3", "MP3", "19", "2024-01-01T10:00:00Z")),
        ("\u22125 degrees, 2\u00bd or \u00bd, 0xDEADBEEF, 3x4 tiles, 5\u00d76, 1.2.3-beta.4, 0xyz, 3xa, 2024-01-02T03:04+01:00", ("\u22125", "2\u00bd", "\u00bd", "0xDEADBEEF", "3x4", "5\u00d76", "1.2.3-beta.4", "0", "3", "2024-01-02T03:04+01:00")),
        ("%dpx %(n)dpx %1$ss %s50 %lu 50%ige 100%sure %der", ("%d", "%(n)d", "%1$s", "%s", "50", "%lu", "50%", "100%", "%d")),
        ("{{outer{{inner}}}} {% if x %} <%= y %> &nbsp; <!-- a b --> AT&T;", ("{{outer{{inner}}}}", "{% if x %}", "<%= y %>", "&nbsp;", "<!-- a b -->")),
        ("<a title='a>b'>it's</a> <b don't>", ("<a title='a>b'>", "</a>", "<b don't>")),
        ("has 100%. 5%-6%, up 5%(net), 20%off, 100%% 7%(n)d", ("100%", "5%", "6%", "5%", "20%", "100", "%%", "7", "%(n)d")),
        (".5 kg, -.5, 1e5 Hz, 1.5e-10, p.5 ...5", (".5", "-.5", "1e5", "1.5e-10", "5", "5")),
        ("1\u2019234 m, 1 000 000, 12\u202f000 km, 2010 300 000, 1000 200", ("1\u2019234", "1 000 000", "12\u202f000", "2010", "300 000", "1000", "200")),
        ("\u0663\u066b\u0665 and \u0661\u066c\u0660\u0660\u0660", ("\u0663\u066b\u0665", "\u0661\u066c\u0660\u0660\u0660")),
        ("\u231a \u23f0 \u25b6\ufe0f \u2194\ufe0f \u2934\ufe0f \u3030\ufe0f \u24c2\ufe0f \U0001f170\ufe0f \U0001f201 \U0001f004", ("\u231a", "\u23f0", "\u25b6\ufe0f", "\u2194\ufe0f", "\u2934\ufe0f", "\u3030\ufe0f", "\u24c2\ufe0f", "\U0001f170\ufe0f", "\U0001f201", "\U0001f004")),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",)),
        ("2x3.5m 3x8-12 0x1F-0x2F v1.2.3-beta.4 2026-01-02T10:00/11", ("2", "x3.5m", "3x8-12", "0x1F-0x2F", "v1.2.3-beta.4", "2026-01-02", "T10:00/11")),
        ("他在2010年出生于北京。 A4纸 在B2 v1.2版 ปี2567นี้", ("2010", "A4", "B2", "v1.2", "2567")),
        ("有%d个 共%s個 你好$name在 联系a@b.org吧 3x4块", ("%d", "%s", "$name", "a@b.org", "3x4")),
        ("HTTP://EXAMPLE.COM/x Www.a.b", ("HTTP://EXAMPLE.COM/x", "Www.a.b")),
        ("{0[key]} {a.b[0].c} %{name} $HOME US$x <![CDATA[ a ]]> <!DOCTYPE html> <?xml v?>", ("{0[key]}", "{a.b[0].c}", "%{name}", "$HOME", "<![CDATA[ a ]]>", "<!DOCTYPE html>", "<?xml v?>")),
        ("(https://a.b/Dog_(film)), https://a.b/(c), https://a.b/).", ("https://a.b/Dog_(film)", "https://a.b/(c)", "https://a.b/")),
    ],
)  # fmt: skip
def test_what_must_not_change_is_found(text, found):
    assert find_placeholders(text) == found


@given(st.text(alphabet="ab {}%s<>/@.1\U0001f600", max_size=40))
def test_pieces_joined_are_the_text_again(text):
    pieces = split_at_placeholders(text)
    assert "".join(piece.text for piece in pieces) == text
    locked = iter(piece.text for piece in pieces if piece.locked)
    held = ""
    for placeholder in find_placeholders(text):
        while placeholder not in held:
            held = next(locked)
        held = held.partition(placeholder)[2]


def test_letters_behind_a_number_or_a_format_stay_with_it():
    pieces = split_at_placeholders("a 3.5kg dog, %dpx and %s50 B2")
    assert [piece.text for piece in pieces if piece.locked] == ["3.5kg", "%dpx", "%s50", "B2"]


def test_a_clause_of_a_script_without_spaces_is_no_letters_behind_its_number():
    pieces = split_at_placeholders("他在2010年出生于北京。")
    assert [piece.text for piece in pieces if piece.locked] == ["2010"]
    assert keeps_placeholders(("2024",), "我在2024年去了北京。")


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        *((text, True) for text in ("{{a}}", "1, 2", '"%s"', "3 + 4 = 7", "\U0001f600!")),
        *((text, False) for text in ("", "!", "a 1", "5th", "3.5kg", "%dpx", "2024\u5e74\u6211\u53bb\u4e86")),
    ],
)  # fmt: skip
def test_letters_beside_a_placeholder_are_something_to_translate(text, alone):
    assert are_placeholders_alone(text) == alone


def test_a_very_long_word_is_looked_through_in_no_time():
    parts = ("x", "<a '", "<%", "{{", "{%", "a.", "(", "www.(", "'", "&a", "{a:", "${")
    parts += ("0", "1", "111 ", "1'111", "%0", "{a[", "<!A", "<![CDATA[", "<?", "\U0001f3fb")
    for part in parts:
        for begin in ("", "%", "5%"):
            began = time.thread_time()
            find_placeholders(begin + part * (40_000 // len(part)))
            assert time.thread_time() - began < 5.0


def test_every_placeholder_has_to_stand_as_often_and_tags_in_order():
    assert keeps_placeholders(("5", "5"), "5 und 5 und 6")
    assert not keeps_placeholders(("5", "5"), "5 und 55")
    assert not keeps_placeholders(("%s",), "%S")
    assert not keeps_placeholders(("<b>", "</b>"), "</b>x<b>")
    assert keeps_placeholders((), "anything")
