"""Translation memories: two languages come out, whatever else is in there, and nothing is expanded or fetched."""

import re
from collections import Counter
from pathlib import Path

import pytest

from interlingua.corpus.packed import LONGEST, PackedFile
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.tmx import choose_segment, read_tmx
from interlingua.errors import CorpusError

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
TAIL = "</body></tmx>\n"


def unit(**segments: str) -> str:
    sides = "".join(
        f'<tuv xml:lang="{lang.replace("_", "-")}"><seg>{text}</seg></tuv>'
        for lang, text in segments.items()
    )
    return f"<tu>{sides}</tu>\n"


def read(
    folder: Path, text: str | bytes, source: str = "en", target: str = "de"
) -> tuple[list[SentencePair], Counter[str]]:
    path = folder / "m.tmx"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    counts = Counter[str]()
    with PackedFile(path) as packed:
        return list(read_tmx(packed, source, target, counts)), counts


def test_units_become_pairs_with_their_number_in_the_file(tmp_path: Path) -> None:
    text = (
        HEAD + unit(en="one &amp; two", de="eins &#38; zwei") + unit(de="drei", en="three") + TAIL
    )
    pairs, counts = read(tmp_path, text)
    assert pairs == [
        SentencePair("one & two", "eins & zwei", 1),
        SentencePair("three", "drei", 2),
    ]
    assert not counts.total()


def test_u0085_u2028_and_line_breaks_are_kept_for_the_reader(tmp_path: Path) -> None:
    pairs, _ = read(tmp_path, HEAD + unit(en="a\u0085b\u2028c", de="a\r\nb") + TAIL)
    assert pairs == [SentencePair("a\u0085b\u2028c", "a\nb", 1)]


@pytest.mark.parametrize("doctype", ['<!DOCTYPE tmx SYSTEM "tmx14.dtd">', "<!DOCTYPE tmx>"])
def test_the_usual_document_type_is_passed_over(tmp_path: Path, doctype: str) -> None:
    text = HEAD.replace("<tmx", f"{doctype}<tmx") + unit(en="a", de="b") + TAIL
    assert len(read(tmp_path, text)[0]) == 1


@pytest.mark.parametrize("encoding", ["Shift_JIS", "gb18030", "Big5", "EUC-KR", "utf8", "cp1251"])
def test_an_encoding_that_the_parser_does_not_know_is_read_all_the_same(
    tmp_path: Path, encoding: str
) -> None:
    word = {"EUC-KR": "한", "cp1251": "ж", "utf8": "é"}.get(encoding, "日本")
    text = HEAD.replace("UTF-8", encoding) + unit(en=word * 3000, de="x") * 40 + TAIL
    pairs, _ = read(tmp_path, text.encode(encoding))
    assert len(pairs) == 40
    assert {pair.source for pair in pairs} == {word * 3000}


@pytest.mark.parametrize(
    ("encoding", "data", "told"),
    [
        ("foo", b"x", "names the encoding foo, which is not known"),
        ("hex", b"x", "names the encoding hex, which is not known"),
        ("rot13", b"x", "names the encoding rot13, which is not known"),
        ("Shift_JIS", b"\x81\xff", "is not Shift_JIS"),
        ("utf-16", b"x", "is not XML"),
    ],
)
def test_a_first_line_that_names_another_encoding_is_told(
    tmp_path: Path, encoding: str, data: bytes, told: str
) -> None:
    text = HEAD.replace("UTF-8", encoding).encode() + data + TAIL.encode()
    with pytest.raises(CorpusError, match=told):
        read(tmp_path, text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1", "windows-1252"])
def test_the_encoding_is_what_the_first_line_names(tmp_path: Path, encoding: str) -> None:
    text = HEAD.replace("UTF-8", encoding.removesuffix("-sig")) + unit(en="é", de="ü") + TAIL
    assert read(tmp_path, text.encode(encoding))[0] == [SentencePair("é", "ü", 1)]


def test_one_asked_for_language_takes_its_regions_and_any_spelling(tmp_path: Path) -> None:
    text = (
        HEAD
        + unit(en_US="a", DE="b")
        + unit(en="c", de_AT="d")
        + '<tu><tuv lang="EN_gb"><seg>e</seg></tuv><tuv lang="de"><seg>f</seg></tuv></tu>'
        + TAIL
    )
    pairs, counts = read(tmp_path, text)
    assert [(pair.source, pair.target) for pair in pairs] == [("a", "b"), ("c", "d"), ("e", "f")]
    assert not counts.total()
    pairs, counts = read(tmp_path, text, source="en-US")
    assert [pair.source for pair in pairs] == ["a"]
    assert counts == {"missing": 2}


def test_the_code_itself_comes_before_its_regions() -> None:
    segments = [("en-us", "color"), ("en", "colour"), ("eng", "x")]
    assert choose_segment(segments, "en") == ("colour", 1)
    assert choose_segment(segments[:1] * 2, "EN") == ("color", 2)
    assert choose_segment(segments, "fr") == (None, 0)


def test_units_that_lack_a_language_or_have_several_segments_are_counted(tmp_path: Path) -> None:
    text = HEAD + unit(en="a", fr="x") + unit(en_US="b", en_GB="c", de="d") + TAIL
    pairs, counts = read(tmp_path, text)
    assert [(pair.source, pair.target) for pair in pairs] == [("b", "d")]
    assert counts == {"missing": 1, "several": 1}


def test_formatting_codes_are_left_out_and_highlighted_text_stays(tmp_path: Path) -> None:
    segment = (
        'press <bpt i="1">&lt;b><sub>alt</sub></bpt><hi>Enter</hi><ept i="1">&lt;/b></ept> now<ph/>'
    )
    pairs, counts = read(tmp_path, HEAD + unit(en=segment, de="x") + TAIL)
    assert pairs[0].source == "press Enter now"
    assert counts == {"codes": 1}


def test_a_language_that_is_nowhere_is_told_with_those_that_are(tmp_path: Path) -> None:
    words = "has no unit in both fr and de; it holds de, en-us: say which, with --source-lang"
    with pytest.raises(CorpusError, match=words):
        read(tmp_path, HEAD + unit(en_US="a", de="b") + TAIL, source="fr")
    with pytest.raises(CorpusError, match="it holds no language at all"):
        read(tmp_path, HEAD + TAIL)


BOMB = (
    '<!DOCTYPE tmx [<!ENTITY a "lol"><!ENTITY b "'
    + "&a;" * 10
    + '"><!ENTITY c "'
    + "&b;" * 10
    + '">]>'
)
OUTSIDE = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
PARAMETER = '<!DOCTYPE tmx [<!ENTITY % a SYSTEM "http://127.0.0.1:9/x.dtd"> %a;]>'


@pytest.mark.parametrize("declaration", [BOMB, OUTSIDE, PARAMETER, "<!DOCTYPE tmx []>"])
def test_declarations_are_refused_before_they_are_used(tmp_path: Path, declaration: str) -> None:
    text = HEAD.replace("<tmx", f"{declaration}<tmx") + unit(en="&a;", de="x") + TAIL
    with pytest.raises(CorpusError, match=r"m\.tmx, line 2: declares things of its own inside"):
        read(tmp_path, text)


def test_an_entity_that_only_a_fetched_file_could_declare_is_refused(tmp_path: Path) -> None:
    text = HEAD.replace("<tmx", '<!DOCTYPE tmx SYSTEM "file:///etc/passwd"><tmx')
    with pytest.raises(CorpusError, match="line 3: has the entity &nbsp; which is not known here"):
        read(tmp_path, text + unit(en="&nbsp;", de="x") + TAIL)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "<tu>", "line 3, column 5: ends in the middle"),
        (HEAD + "<tu><tuv", "line 3, column 5: ends in the middle (unclosed token)"),
        (HEAD + unit(en="a & b", de="c") + TAIL, "line 3, column 32: is not XML"),
        (HEAD.encode() + b"\xff", "line 3, column 1: is not XML"),
        ("<xliff></xliff>", "line 1: is XML but no TMX: it begins with <xliff>"),
        ("unu\tdoi\n", "line 1, column 1: is not XML"),
        (HEAD + "<x>" * 200, "line 3: is nested too deeply"),
        (HEAD + "<!--" + "x" * 2**21, "has a tag or comment without end"),
        (HEAD + "<tu " + "x" * 2**21, "has a tag or comment without end"),
    ],
)
def test_what_is_no_whole_tmx_is_refused_with_its_place(
    tmp_path: Path, text: str | bytes, words: str
) -> None:
    with pytest.raises(CorpusError, match=re.escape(words)):
        read(tmp_path, text)


def test_a_unit_that_never_ends_is_refused(tmp_path: Path) -> None:
    text = HEAD + "<tu><tuv xml:lang='en'><seg>" + "word " * (LONGEST // 5 + 9)
    with pytest.raises(CorpusError, match="has a unit of more than 16 Mi characters"):
        read(tmp_path, text)
