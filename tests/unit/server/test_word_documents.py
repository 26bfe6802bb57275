"""Pieces of a Word paragraph go with their words, each with its format."""

import asyncio
import time
from collections.abc import Sequence

from interlingua.server.markup import Run
from interlingua.server.placement import atoms_of, place
from interlingua.server.word_documents import translate_word


async def backwards(runs: Sequence[Run]) -> list[str]:
    done = []
    for run in runs:
        words = run.text.upper().split()
        links = [(i, j) for j, i in enumerate(reversed(range(len(words))))]
        done.append(
            place(run, atoms_of(run.text, " ".join(words[::-1]), links, offset=0, before=""), "")
        )
    return done


def translated(document: str) -> str:
    done = asyncio.run(translate_word(document, backwards))
    return done.replace(' xml:space="preserve"', "")


def test_pieces_are_put_in_the_order_of_their_words() -> None:
    document = (
        "<w:p><w:r><w:t>the </w:t></w:r><w:r><w:b/><w:t>red</w:t></w:r>"
        "<w:hyperlink r:id='1'><w:r><w:t> dog &amp;</w:t></w:r></w:hyperlink></w:p>"
    )
    assert translated(document) == (
        "<w:p><w:hyperlink r:id='1'><w:r><w:t>&amp; DOG</w:t></w:r></w:hyperlink>"
        "<w:r><w:b/><w:t> RED</w:t></w:r><w:r><w:t> THE</w:t></w:r></w:p>"
    ).replace("<w:t> RED", "<w:t>RED").replace("DOG</w:t>", "DOG </w:t>").replace(
        "RED</w:t></w:r><w:r><w:t> THE", "RED </w:t></w:r><w:r><w:t>THE"
    )


def test_what_has_a_break_or_a_picture_stays_where_it_is() -> None:
    document = "<w:p><w:r><w:t>a b</w:t></w:r><w:r><w:br/><w:t>c d</w:t></w:r><w:r><w:t>e f</w:t></w:r></w:p>"
    assert translated(document) == document.replace("a b", "B A").replace("c d", "D C").replace(
        "e f", "F E"
    )


def test_no_text_is_no_change() -> None:
    for document in ("", "<w:p/>", "<w:p><w:r></w:r></w:p>", "<w:p><w:pPr/></w:p>"):
        assert translated(document) == document


def test_text_around_a_text_box_is_translated_with_that_inside() -> None:
    box = "<mc:AlternateContent><w:txbxContent><w:p><w:r><w:t>x y</w:t></w:r></w:p></w:txbxContent></mc:AlternateContent>"
    document = (
        f"<w:p><w:r><w:t>a b</w:t></w:r><w:r>{box}</w:r><w:r><w:t>c d</w:t></w:r></w:p><w:p/>"
    )
    assert translated(document) == document.replace("a b", "B A").replace("x y", "Y X").replace(
        "c d", "D C"
    )


def test_a_long_document_takes_a_time_that_grows_as_it_does() -> None:
    paragraphs = "<w:p><w:r><w:t>a \u0219</w:t></w:r></w:p>" * 20_000
    started = time.process_time()
    assert translated(paragraphs).count("\u0218 A") == 20_000
    for broken in ("<w:p>" + "<w:r>" * 100_000, "<w:p ", "<w:t " * 100_000 + "</w:p>"):
        assert translated(broken) == broken
    assert time.process_time() - started < 20
