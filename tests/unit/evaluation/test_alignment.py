"""Alignment error rate and symmetrisation, held to the published alignments of fast_align and GIZA++."""

import os
from pathlib import Path

import pytest

from interlingua.errors import CorpusError
from interlingua.evaluation.alignment import (
    GoldLinks,
    Heuristic,
    Links,
    format_links,
    read_gold,
    read_links,
    score_alignment,
    symmetrise,
    transpose,
)

DATA = os.environ.get("INTERLINGUA_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="INTERLINGUA_DATA is not set")
PUBLISHED = {
    ("ro_en", "fastalign"): (33.80, 35.55, 32.08),
    ("ro_en", "giza"): (28.71, 32.22, 27.92),
    ("en_fr", "fastalign"): (16.39, 15.89, 10.48),
    ("en_fr", "giza"): (7.99, 9.75, 5.94),
}


def _gold(pair: str) -> list[GoldLinks]:
    folder = Path(str(DATA)) / "align" / pair
    sides = [
        (folder / f"test.{lang}").read_text(encoding="utf-8").split("\n")[:-1]
        for lang in pair.split("_")
    ]
    return read_gold(
        folder / "gold.talp",
        [(len(a.split()), len(b.split())) for a, b in zip(*sides, strict=True)],
    )


def _published(pair: str, tool: str, what: str) -> list[Links]:
    folder = Path(str(DATA)) / "align" / "published" / tool
    return read_links(folder / f"test.{pair.replace('_', '')}{what}.talp")


@needs_data
@pytest.mark.parametrize(("pair", "tool"), PUBLISHED)
def test_published_alignments_have_their_published_error_rates(pair: str, tool: str) -> None:
    gold = _gold(pair)
    forward = _published(pair, tool, "")
    reverse = [transpose(links) for links in _published(pair, tool, ".reverse")]
    grown = _published(pair, tool, ".grow-diagonal")
    found = [100 * score_alignment(each, gold).error_rate for each in (forward, reverse, grown)]
    assert [round(each, 2) for each in found] == list(PUBLISHED[pair, tool])


@needs_data
@pytest.mark.parametrize(("pair", "tool"), PUBLISHED)
def test_both_directions_grow_into_the_published_alignments(pair: str, tool: str) -> None:
    """Where the order decides which link comes first, the published ones took any: a few lines differ."""
    gold = _gold(pair)
    directions = zip(_published(pair, tool, ""), _published(pair, tool, ".reverse"), strict=True)
    both = [(forward, transpose(reverse)) for forward, reverse in directions]
    most: dict[Heuristic, float] = {
        "intersection": 0.0,
        "union": 0.0,
        "grow-diagonal": 0.03,
        "grow-diagonal-final": 0.03,
    }
    for heuristic, share in most.items():
        expected = _published(pair, tool, f".{heuristic}")
        found = [symmetrise(forward, reverse, heuristic) for forward, reverse in both]
        different = sum(a != b for a, b in zip(found, expected, strict=True))
        assert different <= share * len(found)
        ours, theirs = (score_alignment(each, gold).error_rate for each in (found, expected))
        assert ours == pytest.approx(theirs, abs=0.0005)


def test_error_rate_by_hand() -> None:
    gold = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    score = score_alignment([frozenset({(0, 0), (1, 1), (2, 2)})], [gold])
    assert score.error_rate == pytest.approx(1 - (1 + 2) / (3 + 1))
    assert (score.precision, score.recall, score.links) == (pytest.approx(2 / 3), 1.0, 3)


def test_no_links_are_wholly_wrong_and_the_sure_ones_wholly_right() -> None:
    sure: Links = frozenset({(0, 1), (1, 0)})
    gold = [GoldLinks(sure, sure | {(1, 1)})]
    assert score_alignment([frozenset()], gold).error_rate == 1.0
    assert score_alignment([sure], gold).error_rate == 0.0


FORWARD: Links = frozenset({(0, 0), (1, 1), (2, 1), (4, 4)})
REVERSE: Links = frozenset({(0, 0), (1, 1), (2, 2), (4, 5)})


@pytest.mark.parametrize(
    ("heuristic", "added"),
    [
        ("intersection", set()),
        ("union", {(2, 1), (2, 2), (4, 4), (4, 5)}),
        ("grow-diagonal", {(2, 2)}),  # word 1 of the target has a link already
        ("grow-diagonal-final", {(2, 2), (4, 4)}),
        ("grow-diag", {(2, 1), (2, 2)}),
        ("grow-diag-final", {(2, 1), (2, 2), (4, 4), (4, 5)}),
        ("grow-diag-final-and", {(2, 1), (2, 2), (4, 4)}),
    ],
)
def test_growing_by_hand(heuristic: Heuristic, added: set[tuple[int, int]]) -> None:
    assert symmetrise(FORWARD, REVERSE, heuristic) == {(0, 0), (1, 1)} | added


def test_links_survive_being_written_and_read(tmp_path: Path) -> None:
    links: list[Links] = [frozenset({(0, 2), (10, 1)}), frozenset()]
    file = tmp_path / "links"
    file.write_text("".join(format_links(each) + "\n" for each in links), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == "0-2 10-1\n\n"
    assert read_links(file) == links


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1-1 2x2", "'2x2' is no link"),
        ("1-", "'1-' is no link"),
        ("-1-1", "'-1-1' is no link"),
        ("0-1", "links word 0 with word 1"),
        ("1-1 3p1", "links word 3 with word 1, but the source has 2 words"),
    ],
)
def test_wrong_gold_is_refused_by_its_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "gold"
    file.write_text(f"1-1\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2") as refused:
        read_gold(file, [(2, 2), (2, 2)])
    assert said in str(refused.value)


def test_gold_of_another_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gold"
    file.write_text("1-1\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="has 1 lines, but there are 2 sentence pairs"):
        read_gold(file, [(1, 1), (1, 1)])
    with pytest.raises(CorpusError, match="1 alignments but 0 lines of gold"):
        score_alignment([frozenset()], [])
