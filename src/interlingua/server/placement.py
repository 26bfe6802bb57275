"""Elements back around their words: where each goes in the translation, by which word became which.

Every element is written exactly once, around the stretch of the translation that has most of its words and least of
others' (a long word counts for more than a short one, as a noun does than its article), so that what was well-formed stays so and no name of an element is there twice. What is inside an element stays
inside. Something without words (a picture, an entity) stays before the word that it stood before, or behind the word that it
stood behind.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.corpus.words import core_of
from interlingua.server.markup import Node, Run, escape_like

__all__ = ["Atom", "atoms_of", "place"]

_WORD = re.compile(r"\S+")
_UNLINKED = -0.1
"""What a word without a link costs an element that takes it: a little, so that none ends with it."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A word of the translation, or the marks before or behind it.

    Attributes:
        text: the characters.
        before: the white space between it and the one before.
        sources: places in the run's text that it comes from.
        spare: places of words that nothing comes from, and that it is nearest to.
    """

    text: str
    before: str
    sources: tuple[int, ...]
    spare: tuple[int, ...] = ()


def atoms_of(
    sentence: str,
    translation: str,
    links: Sequence[tuple[int, int]],
    spare: Sequence[tuple[int, int]] = (),
    *,
    offset: int,
    before: str,
) -> list[Atom]:
    """Cut the translation of one sentence into atoms.

    Args:
        sentence: what was translated, at ``offset`` in the text of the run.
        translation: what it became.
        links: pairs of words, source and target, counted from 0.
        spare: links of source words that have none.
        offset: where the sentence begins.
        before: white space that stands before it.
    """
    spans = [found.span() for found in _WORD.finditer(sentence)]
    sure, nearest = _by_target(links), _by_target(spare)
    atoms = []
    for j, found in enumerate(_WORD.finditer(translation)):
        words = [(spans[i][0] + offset, sentence[slice(*spans[i])]) for i in sure.get(j, ())]
        places = [
            at
            for i in nearest.get(j, ())
            for at in range(*core_of(sentence, *spans[i]) or spans[i])
        ]
        space = before if j == 0 else " "
        for text, sources in _cut(found[0], words):
            is_word = core_of(text) is not None
            lonely = tuple(at + offset for at in places) if is_word else ()
            atoms.append(Atom(text, space, sources, lonely))
            space = ""
    return atoms


def _by_target(links: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the source words of each target word that has any, in order."""
    found: dict[int, list[int]] = {}
    for source, target in sorted(links):
        found.setdefault(target, []).append(source)
    return found


def _cut(target: str, sources: Sequence[tuple[int, str]]) -> list[tuple[str, tuple[int, ...]]]:
    """Cut marks off a word; each part comes from the same part of the source words, or from nowhere if they have none."""
    start, end = core_of(target) or (0, len(target))
    heads: list[int] = []
    bodies: list[int] = []
    tails: list[int] = []
    for at, word in sources:
        first, last = core_of(word) or (0, len(word))
        bodies.extend(range(at + first, at + last))
        heads.extend([at] if first else [])
        tails.extend([at + len(word) - 1] if last < len(word) else [])
    parts = [
        (target[:start], tuple(heads)),
        (target[start:end], tuple(bodies)),
        (target[end:], tuple(tails)),
    ]
    return [(text, places) for text, places in parts if text]


def place(run: Run, atoms: Sequence[Atom], after: str) -> str:
    """Write the translation of a run with its elements; ``after`` is the white space at its end."""
    writer = _Writer(run, atoms)
    return writer.write(run.nodes, 0, len(atoms)) + escape_like(after, run.entities)


class _Writer:
    def __init__(self, run: Run, atoms: Sequence[Atom]) -> None:
        self.run = run
        self.atoms = atoms
        self.spaced: set[int] = set()
        """Atoms before which the white space has been written."""

    def write(self, nodes: Sequence[Node], start: int, end: int) -> str:
        """Write the atoms from ``start`` to ``end`` with ``nodes`` among them."""
        placed = self._intervals(nodes, start, end)
        order = sorted(range(len(nodes)), key=lambda n: (placed[n], n))
        pieces, at = [], start
        for number in order:
            node, (first, last) = nodes[number], placed[number]
            pieces.append(self._atoms(at, first))
            pieces.append(self._space_before(node, first, last, end))
            pieces.append(node.opening + self.write(node.children, first, last) + node.closing)
            if (
                first == last == 0 < end
                and not self.atoms[0].before
                and self.run.text[node.end : node.end + 1].isspace()
            ):
                pieces.append(" ")
            at = max(at, last)
        pieces.append(self._atoms(at, end))
        return "".join(pieces)

    def _atoms(self, first: int, last: int) -> str:
        return "".join(
            self._space(n) + escape_like(self.atoms[n].text, self.run.entities)
            for n in range(first, last)
        )

    def _space(self, number: int) -> str:
        """Return the white space before an atom, once."""
        if number in self.spaced:
            return ""
        self.spaced.add(number)
        return escape_like(self.atoms[number].before, self.run.entities)

    def _space_before(self, node: Node, first: int, last: int, end: int) -> str:
        """Return the white space before a node: its first word's, or what was there where it has no words."""
        if first < last:
            return self._space(first)
        text = self.run.text
        if first < end and node.end < len(text) and not text[node.end].isspace():
            return self._space(first)
        return " " if first > 0 and text[node.start - 1 : node.start].isspace() else ""

    def _intervals(self, nodes: Sequence[Node], start: int, end: int) -> list[tuple[int, int]]:
        """Find the stretch of atoms for each node: the one with most words for the longest first."""
        placed: dict[int, tuple[int, int]] = {}
        taken = [False] * (end - start)
        by_length = sorted(range(len(nodes)), key=lambda n: nodes[n].start - nodes[n].end)
        for number in by_length:
            node = nodes[number]
            if node.end == node.start:
                continue
            found = self._best_stretch(node, start, end, taken) or self._nearest(
                node, start, end, taken
            )
            if found is not None:
                placed[number] = found
                for atom in range(*found):
                    taken[atom - start] = True
        for number, node in enumerate(nodes):
            if number not in placed:
                place = self._place_of(node, start, end)
                for first, last in placed.values():
                    if first < place < last:
                        place = last
                placed[number] = (place, place)
        return [placed[number] for number in range(len(nodes))]

    def _best_stretch(
        self, node: Node, start: int, end: int, taken: Sequence[bool]
    ) -> tuple[int, int] | None:
        best, best_sum = None, 0.0
        total, first = 0.0, start
        for number in range(start, end):
            if taken[number - start]:
                total, first = 0.0, number + 1
                continue
            total += self._worth(node, self.atoms[number])
            if total > 0 and total >= best_sum:  # of two alike the later: articles come first
                best, best_sum = (first, number + 1), total
            if total <= 0:
                total, first = 0.0, number + 1
        return best

    def _worth(self, node: Node, atom: Atom) -> float:
        if not atom.sources:
            return _UNLINKED
        inside = sum(node.start <= at < node.end for at in atom.sources)
        letters = float(len(atom.text))
        return letters if 2 * inside >= len(atom.sources) else -letters

    def _nearest(
        self, node: Node, start: int, end: int, taken: Sequence[bool]
    ) -> tuple[int, int] | None:
        """Return the word that has most of an element no word comes from."""
        shares = {
            number: sum(node.start <= at < node.end for at in self.atoms[number].spare)
            for number in range(start, end)
            if not taken[number - start]
        }
        best = max(shares, key=lambda number: shares[number], default=None)
        return (best, best + 1) if best is not None and shares[best] else None

    def _place_of(self, node: Node, start: int, end: int) -> int:
        """Return the atom before which something without words goes."""
        text = self.run.text
        behind = node.start > 0 and not text[node.start - 1].isspace()
        glued = node.start < len(text) and not text[node.start].isspace()
        following = [
            number
            for number in range(start, end)
            if any(at >= node.start for at in self.atoms[number].sources)
        ]
        preceding = [
            number
            for number in range(start, end)
            if any(at < node.start for at in self.atoms[number].sources)
        ]
        if behind and not glued and preceding:
            nearest = max(preceding, key=lambda n: self._last_before(n, node.start))
            return nearest + 1
        if following:
            return min(following, key=lambda n: self._first_after(n, node.start))
        return end

    def _first_after(self, number: int, at: int) -> tuple[int, int]:
        return min(each for each in self.atoms[number].sources if each >= at), number

    def _last_before(self, number: int, at: int) -> tuple[int, int]:
        return max(each for each in self.atoms[number].sources if each < at), number
