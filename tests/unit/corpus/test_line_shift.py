"""Lines that are shifted against each other are found, in a language that nobody has heard of."""

import random
from pathlib import Path

import pytest

from interlingua.corpus.line_shift import find_stretches

WORDS = 60


def write(
    folder: Path, sources: list[str], targets: list[str]
) -> tuple[Path, Path, tuple[int, int]]:
    paths = folder / "text.xx", folder / "text.yy"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return (*paths, (len(sources), len(targets)))


def invented(number: int) -> tuple[list[str], list[str]]:
    """Return sentences of an invented language, and their translations, word by word and in another order."""
    rng = random.Random(7)
    sides: tuple[list[str], list[str]] = ([], [])
    for _ in range(number):
        words = [rng.randrange(WORDS) for _ in range(rng.randint(3, 12))]
        sides[0].append(" ".join(f"{chr(97 + n // 10)}{chr(97 + n % 10)}u" for n in words))
        sides[1].append(
            " ".join(f"{chr(107 + n % 10)}{chr(107 + n // 10)}o" for n in reversed(words))
        )
    return sides


def test_lines_that_belong_together_have_no_stretch(tmp_path: Path) -> None:
    assert find_stretches(*write(tmp_path, *invented(300))) == []


@pytest.mark.parametrize("by", [-3, 1, 5])
@pytest.mark.parametrize("place", [4, 150, 270])
def test_a_shift_is_found_where_it_begins(tmp_path: Path, by: int, place: int) -> None:
    sources, targets = invented(300)
    del (sources if by > 0 else targets)[place : place + abs(by)]
    shorter = min(len(sources), len(targets))
    (found,) = find_stretches(*write(tmp_path, sources[:shorter], targets[:shorter]))
    assert abs(found.first - (place + 1)) <= 20
    assert found.lag == by
