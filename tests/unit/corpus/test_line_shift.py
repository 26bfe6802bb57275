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


@pytest.mark.parametrize(("by", "alone"), [(12, 0), (50, 0), (-40, 40), (150, 0)])
def test_a_shift_of_any_size_is_found_where_it_begins(tmp_path: Path, by: int, alone: int) -> None:
    sources, targets = invented(1000)
    del (sources if by > 0 else targets)[400 : 400 + abs(by)]
    shorter = min(len(sources), len(targets))
    (found,) = find_stretches(*write(tmp_path, sources[:shorter], targets[:shorter]))
    assert abs(found.first - 401) <= 20
    assert found.lag == by
    assert abs(found.alone - alone) <= 10


def test_a_side_that_was_rotated_is_shifted_as_a_whole(tmp_path: Path) -> None:
    sources, targets = invented(1000)
    (found,) = find_stretches(*write(tmp_path, sources, targets[-50:] + targets[:-50]))
    assert (found.first, found.lag) == (1, 50)


@pytest.mark.parametrize("number", [300, 1000])
def test_sides_that_do_not_belong_together_are_lost_as_a_whole(tmp_path: Path, number: int) -> None:
    sources, targets = invented(number)
    random.Random(1).shuffle(targets)
    (found,) = find_stretches(*write(tmp_path, sources, targets))
    assert (found.first, found.last, found.lag) == (1, number, None)


def test_lines_from_which_on_nothing_belongs_together_are_found(tmp_path: Path) -> None:
    sources, targets = invented(1000)
    targets[400:] = reversed(targets[400:])
    (found,) = find_stretches(*write(tmp_path, sources, targets))
    assert abs(found.first - 401) <= 20
    assert (found.last, found.lag) == (1000, None)


def test_a_large_corpus_is_searched_by_a_sample(tmp_path: Path) -> None:
    sources, targets = invented(7000)
    targets[2000:2000] = targets[5000:5030]
    (found,) = find_stretches(*write(tmp_path, sources, targets[:7000]))
    assert abs(found.first - 2001) <= 20
    assert found.lag == 30
