"""What is said of sides that are shifted or unrelated, and that the remedy mends them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.corpus import misalignment
from interlingua.corpus.findings import Finding
from interlingua.corpus.lag_path import Stretch
from interlingua.corpus.misalignment import find_misalignment
from interlingua.corpus.plain_sides import PlainSides

Find = Callable[[list[Stretch], int, int], tuple[Path, Path, list[Finding]]]


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    def find_with(
        stretches: list[Stretch], sources: int, targets: int
    ) -> tuple[Path, Path, list[Finding]]:
        paths = tmp_path / "text.xx", tmp_path / "text.yy"
        for path, number in zip(paths, (sources, targets), strict=True):
            path.write_text("".join(f"{line}\n" for line in range(1, number + 1)))
        monkeypatch.setattr(misalignment, "find_stretches", lambda *_: stretches)
        return *paths, list(find_misalignment(PlainSides.of(*paths), (sources, targets)))

    return find_with


def test_sides_that_do_not_belong_together_are_one_error(find: Find) -> None:
    *_, (found,) = find([Stretch(1, 100, None, 0.0)], 100, 100)
    assert (found.code, found.severity, found.lines) == ("unrelated-sides", "error", (1,))
    assert "The two sides do not belong together" in found.message
    assert "give two files of one corpus" in found.remedy


def test_unequal_sides_that_do_not_belong_together_have_the_same_remedy(find: Find) -> None:
    *_, (found, unequal) = find([Stretch(1, 100, None, 0.0)], 100, 120)
    assert [found.code, unequal.code] == ["unrelated-sides", "unequal-lines"]
    assert unequal.remedy == found.remedy


def test_lost_lines_are_told_from_where_to_where_and_taken_out(find: Find) -> None:
    source, target, (found,) = find([Stretch(31, 60, None, 90.0)], 100, 100)
    assert (found.code, found.lines) == ("unrelated-sides", (31,))
    assert "From line 31 to line 60" in found.message
    subprocess.run(["sh", "-c", found.remedy], check=True)
    for path in (source, target):
        kept = Path(f"{path}.fixed").read_text().split()
        assert kept == [str(line) for line in range(1, 101) if not 31 <= line <= 60]


def test_source_lines_that_have_no_target_are_taken_out(find: Find) -> None:
    source, _, (found,) = find([Stretch(31, 100, -20, 900.0, alone=20)], 100, 100)
    assert (found.code, found.lines) == ("line-shift", (31,))
    assert "N - 20" in found.message
    subprocess.run(["sh", "-c", found.remedy], check=True)
    kept = Path(f"{source}.fixed").read_text().split()
    assert kept == [str(line) for line in range(1, 101) if not 31 <= line <= 50]
