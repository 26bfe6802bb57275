"""Repeats found on disk are those that a dictionary in memory finds."""

import random
from pathlib import Path

import numpy as np
import pytest

from interlingua.corpus import pair_flags, repeats
from interlingua.corpus.pair_flags import PairFlags
from interlingua.corpus.repeats import RepeatFinder


@pytest.mark.parametrize("seed", range(4))
def test_files_find_what_a_dictionary_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(repeats, "PAIRS_A_FILE", 16)
    monkeypatch.setattr(pair_flags, "PAIRS_A_STRETCH", 11)
    roll = random.Random(seed)
    scale = 1 << 60
    keys = [(roll.randrange(12) * scale, roll.randrange(3)) for _ in range(200)]
    places = sorted(roll.sample(range(300), 200))
    finder = RepeatFinder(tmp_path, 300)
    flags = PairFlags(tmp_path)
    flags.append(np.full(300, 8, np.uint32))
    for start in range(0, 200, 30):
        some = keys[start : start + 30]
        loose = np.array([key for key, _ in some], np.uint64)
        exact = np.array([key + kind for key, kind in some], np.uint64)
        finder.add(loose, exact, np.array(places[start : start + 30], np.int64))
    flags.set_repeats(finder.repeats(), exact=1, loose=2)
    expected = np.full(300, 8)
    before: set[tuple[int, int]] = set()
    for place, key in zip(places, keys, strict=True):
        if key in before:
            expected[place] |= 1
        elif any(key[0] == loose for loose, _ in before):
            expected[place] |= 2
        before.add(key)
    assert np.concatenate(list(flags.stretches())).tolist() == expected.tolist()


def test_one_pair_a_thousand_times_is_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "PAIRS_A_FILE", 16)
    finder = RepeatFinder(tmp_path, 1000)
    same = np.full(1000, 7, np.uint64)
    finder.add(same, same, np.arange(1000))
    found = [place for some in finder.repeats() for place in some.places.tolist()]
    assert found == list(range(1, 1000))
