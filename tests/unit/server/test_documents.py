"""Files: what is read of them to tell their language, and where the dashes of subtitles stay."""

import asyncio
import zipfile
from collections.abc import Sequence
from io import BytesIO

import pytest

from interlingua.server.documents import FORMATS, text_of
from interlingua.server.markup import Dialect
from interlingua.server.refusals import Refusal

STYLE = "body { color: red; margin: 0 auto }\n" * 100
CUE = "1\n00:00:01,000 --> 00:00:02,000\n"


def archive(**members: str) -> bytes:
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return written.getvalue()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".txt", "Pisica doarme.\n".encode("utf-16")),
        (
            ".html",
            f"<head><style>{STYLE}</style></head><p>Pisica <b>doarme</b>.</p>".encode(),
        ),
        (".srt", f"{CUE}<i>Pisica</i>\ndoarme.\n".encode()),
        (
            ".docx",
            archive(
                word__styles_xml=STYLE,
                word__document_xml="<w:p><w:r><w:t>Pisica </w:t></w:r><w:r><w:t>doarme.</w:t></w:r></w:p>",
            ),
        ),
        (
            ".odt",
            archive(content_xml="<o><text:p>Pisica <text:span>doarme.</text:span></text:p></o>"),
        ),
    ],
)
def test_the_text_of_a_file_is_what_would_be_translated(suffix: str, content: bytes) -> None:
    assert asyncio.run(text_of(content, suffix)).strip() == "Pisica doarme."


class Capitals:
    """Writes everything in capitals, but for tags."""

    async def markup(self, documents: Sequence[str], _: Dialect) -> list[str]:
        return [each.upper().replace("<I>", "<i>").replace("</I>", "</i>") for each in documents]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- <i>Cartea</i>", "- <i>CARTEA</i>"),
        ("<i>- Cartea</i>", "<i>- CARTEA</i>"),
        ("{\\an8}<i>- Cartea</i>", "{\\an8}<i>- CARTEA</i>"),
        ("- Cartea", "- CARTEA"),
        ("<i>Cartea</i>", "<i>CARTEA</i>"),
    ],
)
def test_a_dash_stays_on_its_side_of_italics(line: str, expected: str) -> None:
    found = asyncio.run(FORMATS[".srt"](f"{CUE}{line}\n".encode(), Capitals()))
    assert found.decode() == f"{CUE}{expected}\n"


def test_dates_and_names_of_comments_are_no_text() -> None:
    note = "<office:annotation><dc:creator>Ana Pop</dc:creator><dc:date>2024-01-01T10:00:00</dc:date><text:p>Bun.</text:p></office:annotation>"
    content = archive(content_xml=f"<o><text:p>Pisica doarme.</text:p>{note}</o>")
    assert asyncio.run(text_of(content, ".odt")).split() == ["Pisica", "doarme.", "Bun."]


def test_a_damaged_member_is_refused() -> None:
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_LZMA) as made:
        made.writestr("word/document.xml", "<w:p/>" * 1000)
    content = bytearray(written.getvalue())
    content[60:80] = bytes(20)
    with pytest.raises(Refusal, match="damaged"):
        asyncio.run(text_of(bytes(content), ".docx"))
