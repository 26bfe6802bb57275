r"""Parallel text in the forms that people have it in, each as pairs in their order, in constant memory.

Two files of lines, or one file (or standard input) with both sides: TSV, JSON Lines, TMX; any of them may be compressed
(``packed``). A name's suffix tells the form, and the content where it does not. What a form allows inside a segment and
a corpus of lines does not, a line break, becomes one space, and is counted.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from interlingua.corpus.packed import STANDARD_INPUT, PackedFile, name_of, without_packing
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.tmx import read_tmx
from interlingua.errors import CorpusError

__all__ = ["UNNAMED", "PairReader", "count_pairs", "find_sides", "open_pairs"]

UNNAMED = ("source", "target")
"""The two languages where nobody named them."""

_SUFFIXES = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".tmx": "tmx",
}
_KEYS = (("source", "target"), ("src", "tgt"), ("src", "trg"))
"""Names of the sides in JSON Lines, after the languages themselves."""


class PairReader:
    """The pairs of one corpus, read from its beginning whenever it is iterated over.

    After that ``remarks`` says what a user should know, and ``files`` what was read.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        languages: tuple[str, str],
        columns: tuple[str, str] | None,
        *,
        keep_bytes: bool = False,
    ) -> None:
        self.paths = paths
        """One file with both sides, or two."""
        self.languages = languages
        self.columns = columns
        self.keep_bytes = keep_bytes
        """Whether bytes that are not UTF-8 are kept, as with ``PackedFile``, for whoever repairs or drops such pairs."""
        self.files: tuple[tuple[int, str], ...] = ()
        """Size in bytes and SHA-256 of each file, once it was read."""
        self.num_pairs = 0
        self._counts = Counter[str]()

    def __iter__(self) -> Iterator[SentencePair]:
        """Yield the pairs.

        Raises:
            CorpusError: a file is missing, damaged, or not of its form; names file, line and remedy.
        """
        self._counts.clear()
        self.num_pairs, self.files = 0, ()
        for pair in _read_two(self) if len(self.paths) == 2 else _read_one(self):
            self.num_pairs += 1
            if "\n" in pair.source or "\n" in pair.target:
                pair = self._on_one_line(pair)
            yield pair
        if not self.num_pairs:
            raise CorpusError(f"{self.name}: holds no pairs; give a file that does")

    @property
    def name(self) -> str:
        """What to call the corpus in messages."""
        return " | ".join(name_of(path) for path in self.paths)

    def names_languages(self) -> bool:
        """Tell whether the one file says itself which side is of which language, so that it serves other directions as well.

        Raises:
            CorpusError: it is missing, damaged, or of no form that is known.
        """
        with PackedFile(self.paths[0]) as packed:
            form = _form_of(self.paths[0], packed)
            if form != "jsonl" or self.columns is not None:
                return form == "tmx"
            found = next(_read_objects(packed), None)
            if found is None:
                return True  # there is nothing in it, which its reading tells
            keys = _find_keys(found, self.languages, _here(packed))
            return (keys[0][-1], keys[1][-1]) == self.languages

    def remarks(self) -> list[str]:
        """Say what was found and changed while the pairs were read."""
        counts = self._counts
        remarks = (
            ("breaks", "{0} {1} a line break inside a segment, which became a space", "had"),
            ("windows", "{0} {1} in CR LF, as in Windows; the CR was left out", "ended"),
            ("missing", "{0} {1} left out because one of the two languages is missing", "were"),
            ("several", "{0} {1} several segments in one language; the first was taken", "had"),
            ("codes", "{0} {1} formatting codes, which were left out", "had"),
        )
        return [
            f"{self.name}: " + words.format(_units(counts[key]), _verb(verb, counts[key]))
            for key, words, verb in remarks
            if counts[key]
        ]

    def count(self, what: str) -> None:
        """Note that something was found once more."""
        self._counts[what] += 1

    def _on_one_line(self, pair: SentencePair) -> SentencePair:
        self.count("breaks")
        return SentencePair(_join_lines(pair.source), _join_lines(pair.target), pair.line)


def open_pairs(
    pairs: Path, languages: tuple[str, str] = UNNAMED, columns: tuple[str, str] | None = None
) -> PairReader:
    """Find out what ``pairs`` names: a file with both sides, standard input (``-``), or a Moses corpus.

    Args:
        pairs: a TSV, JSON Lines or TMX file, compressed or not; ``-``; ``PREFIX`` of two files ``PREFIX.en`` and
            ``PREFIX.de``; or a folder with two such files.
        languages: those of source and target.
        columns: the two columns of a TSV file, by number from 1 or by their names in its first line, or the two
            keys of JSON Lines, ``translation.en`` for a key inside another.

    Raises:
        CorpusError: there is no such file, or it cannot be told which files are meant.
    """
    if str(pairs) != STANDARD_INPUT and (pairs.is_dir() or not pairs.exists()):
        return PairReader(find_sides(pairs, languages), languages, None)
    return PairReader((pairs,), languages, columns)


def count_pairs(source: Path, target: Path) -> int:
    """Count the pairs of two files of lines, which may be compressed.

    Raises:
        CorpusError: a file that cannot be read, or files of another number of lines.
    """
    return sum(1 for _ in PairReader((source, target), UNNAMED, None))


def find_sides(place: Path, languages: tuple[str, str]) -> tuple[Path, Path]:
    """Return the two files of a Moses corpus: ``PREFIX.en`` and ``PREFIX.de``, or those in a folder.

    Raises:
        CorpusError: there are none, or several.
    """
    folder, prefix = (place, None) if place.is_dir() else (place.parent, place.name)
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise CorpusError(f"{place}: no such file; check the name and the folder") from error
    endings = (languages, *_KEYS) if languages == UNNAMED else (languages,)
    for source, target in endings:
        sides = [_by_stem(names, language) for language in (source, target)]
        stems = [stem for stem in sides[0] if stem in sides[1] and prefix in (None, stem)]
        if len(stems) > 1:
            raise CorpusError(
                f"{place}: holds several corpora ({', '.join(stems[:5])}); name one: {place / stems[0]}"
            )
        if stems:
            return folder / sides[0][stems[0]], folder / sides[1][stems[0]]
    if prefix is not None and not any(name.startswith(f"{prefix}.") for name in names):
        raise CorpusError(f"{place}: no such file; check the name and the folder")
    wanted = " and ".join(f"{prefix or 'NAME'}.{language}" for language in languages)
    advice = "say which languages: --source-lang en --target-lang de"
    raise CorpusError(f"{place}: there are no files {wanted}; check the names, or {advice}")


def _by_stem(names: list[str], language: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        plain = without_packing(name)
        if plain.endswith(f".{language}") and plain != f".{language}":
            found.setdefault(plain.removesuffix(f".{language}"), name)
    return found


def _read_two(reader: PairReader) -> Iterator[SentencePair]:
    """Read two files of lines beside each other."""
    paths, keep = reader.paths, reader.keep_bytes
    with (
        PackedFile(paths[0], keep_bytes=keep) as source,
        PackedFile(paths[1], keep_bytes=keep) as target,
    ):
        for number, sides in enumerate(zip_longest(source.lines(), target.lines()), start=1):
            if sides[0] is None or sides[1] is None:
                longer, shorter = (target, source) if sides[0] is None else (source, target)
                lines = number + sum(1 for _ in longer.lines())
                raise CorpusError(
                    f"{longer.name} has {lines:,} lines but {shorter.name} has {number - 1:,}; line {number:,} of "
                    f"{longer.name} has no translation. Line N of one file must be the translation of line N of the other."
                )
            yield SentencePair(sides[0], sides[1], number)
        reader.files = (source.finish(), target.finish())


def _read_one(reader: PairReader) -> Iterator[SentencePair]:
    """Read a file with both sides."""
    with PackedFile(reader.paths[0], keep_bytes=reader.keep_bytes) as packed:
        form = _form_of(reader.paths[0], packed)
        if form == "tmx":
            _refuse_unnamed(packed.name, reader.languages)
            yield from read_tmx(packed, *reader.languages, reader._counts)
        elif form == "tsv":
            yield from _read_tsv(packed, reader)
        else:
            yield from _read_jsonl(packed, reader)
        reader.files = (packed.finish(),)


def _form_of(path: Path, packed: PackedFile) -> str:
    head = packed.peek()
    if not head:
        raise CorpusError(f"{packed.name}: is empty; give a file that holds text")
    suffix = Path(without_packing(path.name)).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"<?xml", b"<!DOCTYPE", b"<tmx", b"\xff\xfe<", b"\xfe\xff\0<")):
        return "tmx"
    line = text.partition(b"\n")[0]
    if b"\t" in line:
        return "tsv"
    if line.startswith((b"{", b"[")):
        return "jsonl"
    raise CorpusError(
        f"{packed.name}, line 1: has neither a tab (TSV) nor a {{ (JSON Lines) nor <tmx>; "
        "for two files of lines say --source and --target, else give a file of one of these forms"
    )


def _refuse_unnamed(name: str, languages: tuple[str, str]) -> None:
    if languages == UNNAMED:
        raise CorpusError(
            f"{name}: a TMX may hold many languages; say which two: --source-lang en --target-lang de"
        )


def _read_tsv(packed: PackedFile, reader: PairReader) -> Iterator[SentencePair]:
    lines = packed.lines()
    wanted, width = (0, 1), 2
    if reader.columns is not None:
        wanted, width, first = _find_columns(packed, next(lines, ""), reader.columns)
        lines = lines if first is None else _before(first, lines)
    for line in lines:
        if line.endswith("\r"):
            reader.count("windows")
            line = line[:-1]
        row = line.split("\t")
        if len(row) != width:
            raise CorpusError(_wrong_width(packed, row, width, reader.columns))
        yield SentencePair(row[wanted[0]], row[wanted[1]], packed.line)


def _before(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _find_columns(
    packed: PackedFile, first: str, columns: tuple[str, str]
) -> tuple[tuple[int, int], int, str | None]:
    """Return where the two columns are, of how many, and the first line if it is a row and no heading."""
    heading = first.removesuffix("\r").split("\t")
    if all(name.isdecimal() for name in columns):
        places = int(columns[0]) - 1, int(columns[1]) - 1
        if min(places) < 0 or max(places) >= len(heading):
            raise CorpusError(
                f"{packed.name}, line 1: has {len(heading)} columns, and columns "
                f"{columns[0]} and {columns[1]} are asked for; they count from 1"
            )
        return places, len(heading), first
    for name in columns:
        if name not in heading:
            raise CorpusError(
                f"{packed.name}, line 1: has no column {name}; it has {', '.join(heading[:8])}: "
                "name two of these, or give numbers, 1,2"
            )
    return (heading.index(columns[0]), heading.index(columns[1])), len(heading), None


def _wrong_width(
    packed: PackedFile, row: list[str], width: int, columns: tuple[str, str] | None
) -> str:
    found = f"{packed.name}, line {packed.line:,}: has {len(row)} column{'s' * (len(row) != 1)}, not {width}"
    if columns is None and packed.line == 1 and len(row) > 2:
        return f"{found}; say which two hold source and target: {_flag('1,2')}"
    return f"{found}; source and target stand on one line with one tab between: correct or remove that line"


def _read_jsonl(packed: PackedFile, reader: PairReader) -> Iterator[SentencePair]:
    keys: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    if reader.columns is not None:
        keys = tuple(reader.columns[0].split(".")), tuple(reader.columns[1].split("."))
    for found in _read_objects(packed):
        where = _here(packed)
        keys = keys or _find_keys(found, reader.languages, where)
        sides = [_text_at(found, path, where) for path in keys]
        if not reader.keep_bytes:
            for text, path in zip(sides, keys, strict=True):
                _refuse_halves(text, f"{where}, {'.'.join(path)}")
        yield SentencePair(sides[0], sides[1], packed.line)


def _read_objects(packed: PackedFile) -> Iterator[Any]:
    """Yield what each line holds; a list as an object whose keys are its places."""
    for line in packed.lines():
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(
                f"{_here(packed)}: is not JSON ({error}); write one object on each line, such as "
                '{"source": "...", "target": "..."}'
            ) from error
        if isinstance(found, list):
            found = {str(place): value for place, value in enumerate(found)}
        yield found


def _here(packed: PackedFile) -> str:
    return f"{packed.name}, line {packed.line:,}"


def _find_keys(
    found: Any, languages: tuple[str, str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths to the two sides, as the first object has them."""
    if isinstance(found, dict):
        for source, target in (languages, *_KEYS, ("0", "1")):
            if source in found and target in found:
                return (source,), (target,)
        inner = found.get("translation")
        if isinstance(inner, dict) and all(language in inner for language in languages):
            return ("translation", languages[0]), ("translation", languages[1])
        has = ", ".join(map(str, list(found)[:8])) or "no key"
    else:
        has = f"a value of another kind, {str(found)[:20]}"
    raise CorpusError(
        f"{where}: has {has}, and it cannot be told which is the source and which the target; name "
        f"the two keys: {_flag('en,de')}, or --source-lang en --target-lang de"
    )


def _flag(columns: str) -> str:
    """Return what to type; commands that look at a corpus without a run have the shorter flag."""
    return f"--corpus.columns {columns} (doctor, clean and split: --columns {columns})"


def _text_at(found: Any, keys: tuple[str, ...], where: str) -> str:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, str):
        what = "no text" if found is None else f"{str(found)[:20]}, which is no text,"
        raise CorpusError(
            f"{where}: has {what} under {'.'.join(keys)}; correct or remove that line"
        )
    return found


def _refuse_halves(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{where}: {text[error.start]!a} is half a character and has no UTF-8 form; remove it"
        ) from error


def _join_lines(text: str) -> str:
    """Put one space in the place of each line break and the blanks around it; at the ends put nothing."""
    if "\n" not in text:
        return text
    return " ".join(filter(None, (line.strip(" \t\r") for line in text.split("\n"))))


def _units(number: int) -> str:
    return f"{number:,} pair{'s' * (number != 1)}"


def _verb(verb: str, number: int) -> str:
    return "was" if verb == "were" and number == 1 else verb
