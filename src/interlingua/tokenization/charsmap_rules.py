"""Our Unicode forms as SentencePiece's table of replacements."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import groupby, permutations
from pathlib import Path
from tempfile import TemporaryDirectory

from interlingua.tokenization.normalisation import Normaliser

__all__ = ["compile_normaliser"]


@cache
def compile_normaliser(normaliser: Normaliser) -> bytes:
    """Return the ``precompiled_charsmap`` that does to a text what ``normaliser`` does; empty if that is nothing.

    A table knows sequences and not rules. Ours has what people write: every character, its decompositions with the marks
    in any order, a letter with one mark and then another that belongs before it, and two marks of one script in the
    wrong order. More marks in disorder are put in order by ``normaliser`` only.
    """
    if not normaliser.steps():
        return b""
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    letters.remove("\n")  # It is changed by no form, and joins with nothing.
    rules = {"\n": "\n"} | dict(
        zip(letters, normaliser("\n".join(letters)).split("\n"), strict=True)
    )
    for several in {*_ways_to_write(letters), *_marks_in_disorder(letters)}:
        normal = normaliser(several)
        if normal != "".join(rules[letter] for letter in several):
            rules[several] = normal
    return _compile({old: new for old, new in rules.items() if old != new})


def _ways_to_write(letters: list[str]) -> Iterator[str]:
    """Yield what is more than one character and still a letter with its marks."""
    decomposed = {letter: unicodedata.normalize("NFD", letter) for letter in letters}
    rank = unicodedata.combining
    composing = {mark for parts in decomposed.values() for mark in parts[1:] if rank(mark)}
    for letter, parts in decomposed.items():
        first, marks = parts[0], parts[1:]
        yield letter.upper()  # J with a caron is two characters, and j with a caron is one.
        for order in permutations(marks):
            for cut in range(len(order)):
                head = unicodedata.normalize("NFC", first + "".join(order[:cut]))
                yield head + "".join(order[cut:])
        if len(marks) == 1:
            before = sorted(mark for mark in composing if rank(mark) < rank(marks[0]))
            yield from (head + mark for mark in before for head in (letter, first + marks))


def _marks_in_disorder(letters: list[str]) -> Iterator[str]:
    """Yield pairs of combining marks that the canonical order turns round, both from one block of 256 characters."""
    rank = unicodedata.combining
    for _, of_block in groupby(filter(rank, letters), key=lambda mark: ord(mark) >> 8):
        for first, second in permutations(of_block, 2):
            if rank(first) > rank(second) > 0:
                yield first + second


def _compile(rules: dict[str, str]) -> bytes:
    """Let SentencePiece build the trie: it is what every reader of the file was tested with."""
    import sentencepiece

    from interlingua.tokenization.sentencepiece_model import read_charsmap

    lines = [f"{_in_hexadecimal(old)}\t{_in_hexadecimal(new)}\n" for old, new in rules.items()]
    with TemporaryDirectory() as folder:
        table = Path(folder) / "rules.tsv"
        table.write_text("".join(sorted(lines)), encoding="ascii", newline="\n")
        prefix = Path(folder) / "rules"
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a"]),
            model_prefix=str(prefix),
            model_type="char",
            vocab_size=5,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(table),
            num_threads=1,
            minloglevel=2,
        )
        return read_charsmap(prefix.with_suffix(".model").read_bytes())


def _in_hexadecimal(text: str) -> str:
    return " ".join(f"{ord(letter):X}" for letter in text)
