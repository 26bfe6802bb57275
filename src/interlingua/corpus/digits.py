"""Two corpora that a translator must learn perfectly: copying and reversing sequences of digits.

A sequence has 1 to 20 digits, each length as likely as the others where there are enough different sequences. No
sequence is in two parts, and of the few short ones some are held out as well.
"""

from pathlib import Path
from typing import Literal

from interlingua.corpus.dice import Dice
from interlingua.corpus.lines import write_lines
from interlingua.corpus.pairs import CorpusFiles

__all__ = ["DigitTask", "build_digit_corpus", "write_digit_corpus"]

DigitTask = Literal["copy", "reverse"]

_MAX_LENGTH = 20
_TRAIN, _VALID, _TEST = 20_000, 500, 1_000
# Of the 10, 100 and 1,000 sequences of length 1, 2 and 3: how many are trained on, validated, tested.
_SHORT = ((8, 1, 1), (85, 5, 10), (925, 25, 50))


def write_digit_corpus(folder: Path, task: DigitTask, seed: int) -> CorpusFiles:
    """Write train, valid and test as ``.digits`` files and their translations (``.copy``, ``.reverse``).

    Digits are separated by spaces, one sequence a line. The bytes are a function of ``task`` and ``seed``.

    Raises:
        OutputError: the folder cannot be written.
    """
    files = CorpusFiles.in_folder(folder, "digits", task)
    for (source, target), sequences in zip(files.parts, build_digit_corpus(seed), strict=True):
        step = -1 if task == "reverse" else 1
        write_lines(source, (" ".join(sequence) for sequence in sequences))
        write_lines(target, (" ".join(sequence[::step]) for sequence in sequences))
    return files


def build_digit_corpus(seed: int) -> tuple[list[str], list[str], list[str]]:
    """Draw 20,000 training, 500 validation and 1,000 test sequences, all different."""
    dice = Dice(seed)
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for length in range(1, _MAX_LENGTH + 1):
        counts = _counts(length)
        sequences = _draw(dice, length, sum(counts))
        for part, count in zip(parts, counts, strict=True):
            part.extend(sequences[:count])
            del sequences[:count]
    train, valid, test = (dice.shuffled(part) for part in parts)
    return train, valid, test


def _counts(length: int) -> tuple[int, int, int]:
    """Share what the short lengths leave evenly among the longer ones, the rest to the first of these."""
    if length <= len(_SHORT):
        return _SHORT[length - 1]
    lengths = _MAX_LENGTH - len(_SHORT)
    shares = []
    for total, part in ((_TRAIN, 0), (_VALID, 1), (_TEST, 2)):
        share, rest = divmod(total - sum(counts[part] for counts in _SHORT), lengths)
        shares.append(share + (length - len(_SHORT) <= rest))
    train, valid, test = shares
    return train, valid, test


def _draw(dice: Dice, length: int, count: int) -> list[str]:
    """Draw ``count`` different sequences: a shuffle of all of them where they are few."""
    if length <= len(_SHORT):
        return dice.shuffled([f"{number:0{length}}" for number in range(10**length)])[:count]
    sequences: dict[str, None] = {}
    while len(sequences) < count:
        sequences["".join(str(dice.below(10)) for _ in range(length))] = None
    return list(sequences)
