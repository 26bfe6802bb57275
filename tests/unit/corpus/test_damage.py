"""Every kind of damage is found, and what only looks like it is not."""

import pytest

from interlingua.corpus.damage import find_damage, find_mojibake


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("th\udcc3 noir", "invalid-utf8"),
        ("cut \udce2\udc80", "invalid-utf8"),
        ("a\x00b", "nul"),
        ("bell\x07", "control"),
        ("a\rb", "control"),
        ("\x91quoted\x92", "control"),
        ("one\x85two", "line-end"),
        ("one\u2028two", "line-end"),
        ("and \ufeffmore", "byte-order-mark"),
        ("na\ufffdve", "lost-characters"),
        ("private \ue000", "lost-characters"),
        ("gr?n und blau", "lost-characters"),
        ("schÃ¶n", "mojibake"),
        ("\xce‘Î¸Î®Î½Î±", "mojibake"),
        ("é\xa0»çŽ‡", "mojibake"),
        ("Ã\xa0 la carte", "mojibake"),
        ("funcÈ›ie", "mojibake"),
        ("ï»¿Text", "mojibake"),
        ("â€¦í\xa0½í¸€", "mojibake"),
        ("donâ€™t", "mojibake"),
        ("don\u00e2\u0080\u0099t", "mojibake"),
        ("\u00d0\u009f\u00d1\u0080\u00d0\u00b8\u00d0\u00b2\u00d0\u00b5\u00d1\u0082", "mojibake"),
        ("Tom &amp; Jerry", "entity"),
        ("it&#39;s", "entity"),
        ("it&#x2019;s", "entity"),
        ("a &quot; b", "entity"),
        ("a<br/>b", "tag"),
        ('<a href="x">y</a>', "tag"),
    ],
)
def test_damage_is_found(text: str, kind: str) -> None:
    assert kind in find_damage(text)


@pytest.mark.parametrize(
    "text",
    [
        "Plain text, with 3 < 4 and AT&T.",
        "Größe, façade, naïve, Łódź, ţară, Ærø",
        "„Spaß“ sagte er; «Ça va ?»",
        "R&D; and more",
        "ends as in Windows\r",
        "https://example.org/a?b=c",
        "What?Really",
        "2 × 3 ÷ 4 = 1,5 m² · 20 °C",
        "नमस्ते दुनिया",
        "こんにちは、世界。",
        "مرحبا بالعالم",
        "Â is a letter, and so is Ã",
        "«\xa0La liberté\xa0»",
        "«\xa0la vérité\xa0», à\xa0«\xa0Paris\xa0»",
        "LIBERTÉ\xa0! È\xa0vero",
        "10\xa0×\xa020 cm",
        "‚Spaß‘ und ›Spaß‹ und „Spaß“",
        "Café…“ – ‚né…‘",
        "l’été…» — déjà…”",
        "na\xadïf, é\xad…",
        "x <- y",
    ],
)
def test_what_is_whole_is_left_alone(text: str) -> None:
    assert find_damage(text) == []


def test_the_piece_that_was_misread_is_shown() -> None:
    assert find_mojibake("so schÃ¶n hier") == "Ã¶"
    assert find_mojibake("so schön hier") is None
