"""Findings are shown as text, JSON and HTML, the worst first, and decide the exit status."""

import json

from interlingua.corpus.findings import Finding, Report

NOTE = Finding("duplicate", "note", (2, 5), "two pairs are there twice", "interlingua clean ...")
ERROR = Finding("line-shift", "error", (7,), "shifted <here>", "sed 7d")


def test_only_an_error_gives_exit_status_1() -> None:
    assert Report("a | b", (NOTE,)).exit_status == 0
    assert Report("a | b", (NOTE, ERROR)).exit_status == 1


def test_json_has_the_five_fields_and_the_worst_first() -> None:
    found = json.loads(Report("a | b", (NOTE, ERROR)).to_json())
    assert found == {"findings": [ERROR.to_dict(), NOTE.to_dict()]}
    assert found["findings"][0]["lines"] == [7]
    assert set(found["findings"][0]) == {"code", "severity", "lines", "message", "remedy"}


def test_text_tells_lines_message_and_remedy() -> None:
    text = Report("a | b", (NOTE, ERROR)).to_text()
    assert text.startswith("a | b: 1 error, 1 note\n")
    assert text.index("line-shift (line 7)") < text.index("duplicate (lines 2, 5)")
    assert "mend: sed 7d" in text
    assert Report("a | b", ()).to_text() == "a | b: nothing found\n"


def test_html_escapes_what_it_shows_and_loads_nothing() -> None:
    page = Report("<a> | b", (NOTE, ERROR)).to_html()
    assert "shifted &lt;here&gt;" in page
    assert "&lt;a&gt; | b" in page
    assert not any(word in page for word in ("src=", "href=", "http", "<script"))
