"""Markup through a translation: nothing but text is touched, and elements keep their words."""

import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.requests.sentences import split_sentences
from interlingua.server.markup import HTML, XML, Dialect, Run, loses_entities, read_markup
from interlingua.server.placement import Atom, atoms_of, place
from interlingua.server.word_links import fair, links_of


def translate(document: str, dialect: Dialect = HTML, *, backwards: bool = False) -> str:
    """Translate word by word: capitals, and perhaps the words of each sentence in the opposite order."""
    return "".join(
        _write(piece, backwards) if isinstance(piece, Run) else piece
        for piece in read_markup(document, dialect)
    )


def _write(run: Run, backwards: bool) -> str:
    atoms: list[Atom] = []
    at, space = 0, ""
    for sentence in split_sentences(run.text, "en"):
        at += len(sentence.before)
        space += sentence.before
        words = sentence.text.upper().split()
        order: Sequence[int] = range(len(words))
        if backwards:
            order = order[::-1]
        links = [(i, j) for j, i in enumerate(order)]
        found = " ".join(words[i] for i in order)
        atoms += atoms_of(sentence.text, found, links, offset=at, before=space)
        at += len(sentence.text) + len(sentence.after)
        space = sentence.after
    return place(run, atoms, space)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("a cat", "A CAT"),
        ("a <b>cat</b> sleeps", "A <b>CAT</b> SLEEPS"),
        ("<p>a cat</p>\n<p class='x'>sleeps</p>", "<p>A CAT</p>\n<p class='x'>SLEEPS</p>"),
        ("the <b>dog</b>.", "THE <b>DOG</b>."),
        ("(<i>a</i>) b", "(<i>A</i>) B"),
        ("a<br>b", "A<br>B"),
        ("a <x id='1'>cat</x> sleeps", "A <x id='1'>CAT</x> SLEEPS"),
        ("see <my-icon></my-icon> here", "SEE <my-icon></my-icon> HERE"),
        ("<new-block><p>a</p>b</new-block>", "<new-block><p>A</p>B</new-block>"),
        ("see <img src='a>b'> here", "SEE <img src='a>b'> HERE"),
        ("see <img>here now<img>", "SEE <img>HERE NOW<img>"),
        ("<a href='?x&amp;y'>one <b>two</b></a> c", "<a href='?x&amp;y'>ONE <b>TWO</b></a> C"),
        ("cats &amp; dogs", "CATS &amp; DOGS"),
        ("3 &lt; 4 &copy; us", "3 &lt; 4 &copy; US"),
        ("don&#39;t", "DON&#39;T"),
        ("cats &amp dogs", "CATS &amp; DOGS"),
        ("AT&ampT and R&D", "AT&amp;T AND R&amp;D"),
        ("3 &lt 4 &copy us", "3 &lt; 4 &copy; US"),
        ("don&#39t, don&#x27t", "DON&#39;T, DON&#39;T"),
        ("entr&eacute a &#233t&#233", "ENTRÉ A ÉTÉ"),
        ("&ampere; &hellip x &#39999999 y", "&ampere; &amp;HELLIP X &amp;#39999999 Y"),
        ("&quot;a&quot; &mdash; b&sup2;", "&quot;A&quot; &mdash; B&sup2;"),
        ("<b><?php echo 1 ?> a</b>", " <b><?php echo 1 ?>A</b>"),
        ("<?xml version='1.0'?><b>a</b>", "<?xml version='1.0'?><b>A</b>"),
        ("<script>var a = '<b>';</script>then", "<script>var a = '<b>';</script>THEN"),
        ("<span translate=no>keep me</span> now", "<span translate=no>keep me</span> NOW"),
        ("<!-- not <b> this --> that", "<!-- not <b> this --> THAT"),
        ("a < b and <b>open", "A &lt; B AND <b>OPEN"),
        ("</i> closed", "</i> CLOSED"),
        ("<b><i>x</b></i> y", "<b><i>X</b></i> Y"),
        ("<b> spaced </b> out", " <b>SPACED</b> OUT"),
        (
            "<!DOCTYPE html><html><body>x</body></html>",
            "<!DOCTYPE html><html><body>X</body></html>",
        ),
    ],
)
def test_only_text_is_translated(document: str, expected: str) -> None:
    assert translate(document) == expected


def test_an_entity_without_its_semicolon_is_written_with_it() -> None:
    document = "<p>cats &amp dogs &copy<b>us</b> AT&ampT, don&#39t &lt3</p>"
    [text] = [each.text for each in read_markup(document, HTML) if isinstance(each, Run)]
    assert "AT&T, don't" in text
    for backwards in (False, True):
        translated = translate(document, backwards=backwards)
        ElementTree.fromstring(translated.replace("&copy;", ""))
        assert [translated.count(each) for each in ("&amp;", "&copy;", "&lt;")] == [2, 1, 1]


def test_a_word_with_an_entity_inside_is_kept_whole_where_it_would_be_lost() -> None:
    document = "<p>see x&lt;y, <b>and</b> AT&ampT don&#39;t</p>"
    _, run, _ = read_markup(document, HTML)
    assert isinstance(run, Run)
    assert loses_entities(run, "SEE X, <b title='&lt;'>AND</b> AT&amp;T DONT", HTML)
    assert not loses_entities(run, "SEE X&lt;Y <b>AND</b> AT&amp;T DONT", HTML)
    _, kept, _ = read_markup(document, HTML, keep_words=True)
    assert isinstance(kept, Run)
    assert kept.text == "see  and  don't"
    assert _write(kept, backwards=False) == "SEE x&lt;y, <b>AND</b> AT&ampT DON&#39;T"


@pytest.mark.parametrize(
    ("word", "is_kept"),
    [
        ("two&#x2014;three", True),
        ("a&quot;b", True),
        ("a&hellip;b", True),
        ("d&#39;un", False),
        ("l&rsquo;un", False),
        ("a&#45;b", False),
        ("a&nbsp;b", False),
        ("ca&eacute;", False),
    ],
)
def test_apostrophes_and_hyphens_are_spelling_and_other_marks_are_not(
    word: str, is_kept: bool
) -> None:
    [run] = read_markup(f"see {word}", HTML)
    assert isinstance(run, Run)
    assert loses_entities(run, "SEE", HTML) == is_kept


def test_xml_has_no_entity_without_a_semicolon() -> None:
    [run] = read_markup("cats &amp dogs", XML)
    assert isinstance(run, Run)
    assert run.text == "cats &amp dogs"


def test_elements_go_with_their_words() -> None:
    moved = translate("the <b>red</b> <i>dog</i> barks.", backwards=True)
    assert moved == "BARKS. <i>DOG</i> <b>RED</b> THE"
    moved = translate("<a href='1'>one <b>two</b></a> three <img> four", backwards=True)
    assert moved == "<img> FOUR THREE <a href='1'><b>TWO</b> ONE</a>"


def test_an_element_whose_words_are_lost_is_not() -> None:
    [run] = read_markup("a <b>cat</b> sleeps", HTML)
    assert isinstance(run, Run)
    atoms = atoms_of("a cat sleeps", "SCHLÄFT", [(2, 0)], offset=0, before="")
    assert place(run, atoms, "") == "<b></b> SCHLÄFT"
    nearest = atoms_of("a cat sleeps", "SCHLÄFT", [(2, 0)], [(1, 0)], offset=0, before="")
    assert place(run, nearest, "") == "<b>SCHLÄFT</b>"


def test_of_two_words_that_come_from_one_the_longer_has_its_element() -> None:
    [run] = read_markup("<b>cartea</b> roșie.", HTML)
    assert isinstance(run, Run)
    links = [(0, 0), (1, 1), (0, 2)]
    atoms = atoms_of("cartea roșie.", "the red book.", links, offset=0, before="")
    assert place(run, atoms, "") == "the red <b>book</b>."


def test_a_source_word_that_all_look_at_is_worth_less_to_each() -> None:
    seen = np.array([[0.4, 0.1, 0.5], [0.1, 0.4, 0.5], [0.0, 0.1, 0.9]], dtype=np.float32)
    assert links_of(fair(seen)) == ([(0, 0), (1, 1), (2, 2)], [])
    one = np.array([[0.9, 0.1], [0.8, 0.1]], dtype=np.float32)
    assert links_of(one) == ([(0, 0), (0, 1)], [(1, 0)])


WORDS = ["cat", "dog.", "a", "12", "(red)", "don't", "&amp;", "&copy;", "&#233;t&#233;", "x&lt;y"]
NAMES = ["b", "i", "a", "span", "p", "div", "li", "u"]


def random_document(rng: random.Random, depth: int = 0) -> str:
    """Nested elements, words, entities, comments, pictures, and white space of any kind; well-formed."""
    pieces = []
    for _ in range(rng.randint(1, 6)):
        kind = rng.random()
        if kind < 0.3 and depth < 5:
            name = rng.choice(NAMES)
            mark = rng.choice(["", f' id="{rng.randint(0, 99)}"', " title='a &gt; b'"])
            pieces.append(f"<{name}{mark}>{random_document(rng, depth + 1)}</{name}>")
        elif kind < 0.4:
            pieces.append(
                rng.choice(["<br/>", "<img src='x'/>", "<!-- <b> -->", "<wbr />", "<?pi x?>"])
            )
        else:
            pieces.append(" ".join(rng.choices(WORDS, k=rng.randint(1, 5))))
        pieces.append(rng.choice(["", " ", "\n", ""]))
    return "".join(pieces)


def tags_of(document: str) -> Counter[str]:
    return Counter(re.findall(r"<!--.*?-->|<(?:\"[^\"]*\"|'[^']*'|[^>'\"])*>", document))


@pytest.mark.parametrize("dialect", [HTML, XML])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("documents", [25, pytest.param(250, marks=pytest.mark.slow)])
def test_random_documents_stay_well_formed_and_keep_every_tag(
    dialect: Dialect, backwards: bool, documents: int
) -> None:
    rng = random.Random(documents)
    for _ in range(documents):
        document = f"<html>{random_document(rng)}</html>"
        ElementTree.fromstring(document.replace("&copy;", ""))
        translated = translate(document, dialect, backwards=backwards)
        ElementTree.fromstring(translated.replace("&copy;", ""))
        assert tags_of(translated) == tags_of(document)
        for entity in ("&amp;", "&copy;", "&lt;"):
            assert translated.count(entity) == document.count(entity)


@given(st.text(alphabet="<>/&;'\"= ab!-[]", max_size=60))
def test_what_is_no_markup_is_kept_as_well(text: str) -> None:
    pieces = read_markup(text, HTML)
    assert "".join(piece.source if isinstance(piece, Run) else piece for piece in pieces) == text
    translate(text)


@pytest.mark.parametrize(
    "piece",
    ["<svg>", "<!--", "<![CDATA[", "<?", "<!", '<b translate="no">', "</svg ", "<b "],
)
def test_markup_without_ends_takes_a_time_that_grows_as_it_does(piece: str) -> None:
    document = f"<svg>{piece * 100_000}<{'a' * 100_000}"
    started = time.process_time()
    pieces = read_markup(document, HTML)
    assert "".join(each if isinstance(each, str) else each.source for each in pieces) == document
    assert time.process_time() - started < 10


def test_elements_far_inside_each_other_stay_where_they_are() -> None:
    (run,) = read_markup("<b>" * 1000 + "Da." + "</b>" * 1000, HTML)
    assert isinstance(run, Run)
    assert run.text == "Da."
    deepest, node = 0, run.nodes[0]
    while node.children:
        deepest, node = deepest + 1, node.children[0]
    assert deepest <= 100
    atoms = atoms_of(run.text, "Yes.", [(0, 0)], offset=0, before="")
    assert place(run, atoms, "").count("b>") == 2000


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        ('<p translate="no" title="a<b">x</p>y', ["y"]),
        ('<p translate="no"><p>x</p>z</p>y', ["y"]),
        ('<P translate="no">x</p>y', ["y"]),
        ("<script>if (a<b && c>d) '<b '</script>y", ["y"]),
        ("<svg><svg></svg>y</svg>", ["y"]),
        ("a<!-- <b> -->b<!-- c", ["ab<!-- c"]),
        ("a <! b", ["a <! b"]),
    ],
)
def test_what_is_not_to_be_translated_ends_where_it_did(document: str, texts: list[str]) -> None:
    runs = [each for each in read_markup(document, HTML) if isinstance(each, Run)]
    assert [each.text for each in runs] == texts
