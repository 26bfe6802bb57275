"""Where the tags of a document are, and where the elements end that they open, in a time that grows as the document does."""

import re
from bisect import bisect_left

__all__ = ["Tags"]

_TAG = re.compile(
    r"<!--|<!\[CDATA\[|<\?|<!"
    r"|<(?P<close>/)?(?P<name>[A-Za-z_][^\s/>\"'=<]*+)(?P<rest>(?:\"[^\"]*\"|'[^']*'|[^>\"'<])*+)>"
)
"""A tag, or the beginning of what is none: a comment, text that is given as it is, an instruction, a declaration."""
_ENDS = {"<!--": ("-->", ">"), "<![CDATA[": ("]]>", ">"), "<?": ("?>",), "<!": (">",)}
"""What ends it; the first that there is."""
_MOST_NAMES = 50
"""Names of elements that are looked for in a whole document, as they are not to be translated; each takes a reading."""


class Tags:
    """The tags of a document, whatever it holds in a time that grows as it does: nothing is looked for twice in vain."""

    def __init__(self, document: str) -> None:
        self.document = document
        self._missing: set[str] = set()
        self._elements: dict[str, tuple[dict[int, int], list[tuple[int, int]]]] = {}

    def next(self, at: int) -> tuple[re.Match[str], int] | None:
        """Return the next tag from a place on, or comment or the like, and where it ends."""
        while found := _TAG.search(self.document, at):
            if found["name"]:
                return found, found.end()
            for end in _ENDS[found[0]]:
                begins = found.start() + 2 if end == ">" else found.end()
                place = -1 if end in self._missing else self.document.find(end, begins)
                if place >= 0:
                    return found, place + len(end)
                self._missing.add(end)
            at = found.start() + 1
        return None

    def left_out(self) -> str:
        """Return the document without them."""
        pieces, at = [], 0
        while tag := self.next(at):
            pieces.append(self.document[at : tag[0].start()])
            at = tag[1]
        return "".join([*pieces, self.document[at:]])

    def end_of_element(self, tag: re.Match[str], *, is_raw: bool, folds_case: bool) -> int | None:
        """Return where the element ends that a tag opens; of one that is no text that is the next closing tag of its name."""
        name = tag["name"].lower() if folds_case else tag["name"]
        if name not in self._elements:
            if len(self._elements) == _MOST_NAMES:
                return None
            self._elements[name] = self._find_elements(name, folds_case=folds_case)
        ends, closings = self._elements[name]
        if not is_raw:
            return ends.get(tag.start())
        number = bisect_left(closings, (tag.end(), 0))
        return closings[number][1] if number < len(closings) else None

    def _find_elements(
        self, name: str, *, folds_case: bool
    ) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """Return where each element of a name ends, by where it begins; and where each closing tag begins and ends."""
        same = re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])", re.IGNORECASE if folds_case else 0)
        ends: dict[int, int] = {}
        closings: list[tuple[int, int]] = []
        opened: list[int] = []
        at = 0
        while tag := same.search(self.document, at):
            at = self.document.find(">", tag.end()) + 1
            if not at:
                break
            if self.document[at - 2] == "/":
                continue
            if not tag[1]:
                opened.append(tag.start())
                continue
            closings.append((tag.start(), at))
            if opened:
                ends[opened.pop()] = at
        return ends, closings
