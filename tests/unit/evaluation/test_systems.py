"""Systems of several seeds: what is more than chance, where chance decides both sentences and seeds."""

from collections.abc import Sequence

import numpy as np
import pytest

from interlingua.evaluation.bootstrap import Resampled
from interlingua.evaluation.comparison_page import sign_test
from interlingua.evaluation.systems import (
    Figure,
    SystemOutputs,
    SystemsTable,
    TestSet,
    compare_systems,
)


def shares_found(
    number: tuple[int, int], deviation: float, difference: float = 0.0
) -> tuple[float, float]:
    """Return how often systems of equal worth, or so far apart, come out below 0.05 and 0.01."""
    from interlingua.evaluation.systems import _compare_seeds

    chance = np.random.default_rng(1)
    by_sentences = chance.normal(size=200)

    def make(seeds: int, worth: float, share: float) -> Sequence[Resampled]:
        values = worth + deviation * chance.normal(size=seeds)
        return [Resampled("x", v, tuple(v + share * by_sentences)) for v in values]

    found = []
    for _ in range(1_500):
        p = _compare_seeds(
            make(number[0], difference + chance.normal(), 1.0), make(number[1], 0.0, 0.0)
        )
        assert p is not None
        found.append(p)
    return float(np.mean([p < 0.05 for p in found])), float(np.mean([p < 0.01 for p in found]))


@pytest.mark.parametrize("number", [(3, 3), (5, 3)])
@pytest.mark.parametrize("deviation", [0.3, 1.0, 3.0])
def test_equal_systems_seldom_differ(number: tuple[int, int], deviation: float) -> None:
    one, other = shares_found(number, deviation)
    assert one < 0.075
    assert other < 0.025


def test_a_single_seed_is_taken_to_vary_like_the_others() -> None:
    assert shares_found((3, 1), 1.0)[0] < 0.075


def test_systems_far_apart_differ() -> None:
    assert shares_found((3, 3), 1.0, difference=8.0)[0] > 0.95


def test_seeds_that_agree_against_seeds_that_agree() -> None:
    lines = [f"word {n} and another {n % 7}" for n in range(40)]
    worse = [line.replace("another", "other") if n % 2 else line for n, line in enumerate(lines)]
    one = SystemOutputs("one", ((tuple(worse),),) * 3)
    two = SystemOutputs("two", ((tuple(lines),),) * 3)
    table = compare_systems(
        [one, two, SystemOutputs("same", one.outputs)],
        [TestSet("t", tuple(lines), tuple(lines))],
        ["bleu"],
    )
    p = {each.system: each.p_value for each in table.figures}
    assert p["one"] is None
    assert p["same"] is None
    assert p["two"] is not None
    assert p["two"] < 0.01
    assert "Welch" in table.to_text()


class Length:
    """A metric of another program, by its name one that counts faults."""

    name = "TER"
    signature = "length"

    def score(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> list[float]:
        return [float(len(output)) for output in outputs]


def test_of_a_program_higher_is_better_whatever_it_is_called() -> None:
    lines = tuple(f"word {n}" for n in range(40))
    systems = [SystemOutputs(name, ((tuple(name + line for line in lines),),)) for name in "ab"]
    test_set = TestSet("t", lines, lines)
    table = compare_systems(systems, [test_set], ["wer"], segment_metrics=[Length()])
    found = {each.metric: each.higher_is_better for each in table.figures}
    assert found == {"WER": False, "TER": True}


class Overlap(Length):
    name = "overlap"

    def score(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> list[float]:
        return [
            float(output == reference)
            for output, reference in zip(outputs, references, strict=True)
        ]


def test_decimals_are_of_the_metric_and_not_of_how_good_a_system_is() -> None:
    lines = tuple(f"word {n}" for n in range(40))
    bad = tuple(f"a longer line x{n}" for n in range(40))
    systems = [SystemOutputs("good", ((lines,),)), SystemOutputs("bad", ((bad,),))]
    programs = [Length(), Overlap()]
    test_set = TestSet("t", lines, lines)
    table = compare_systems(systems, [test_set], ["wer", "bleu"], segment_metrics=programs)
    shown = {(each.system, each.metric): each.to_text().rstrip("†‡") for each in table.figures}
    assert shown["good", "WER"] == "0.00"
    assert shown["bad", "BLEU"] == "0.00"
    assert [shown[system, "overlap"] for system in ("good", "bad")] == ["1.0000", "0.0000"]
    assert [shown[system, "TER"] for system in ("good", "bad")] == ["6.75", "16.75"]


def make_table(*seeds: int, test_set: str = "t", signature: str = "made") -> SystemsTable:
    """Return a table of one metric and a system for each number of seeds."""
    systems = tuple("abc"[: len(seeds)])
    figures = tuple(
        Figure(
            system,
            test_set,
            "exact",
            (0.5,) * number,
            0.04,
            signature,
            higher_is_better=True,
            sentences=50,
        )
        for system, number in zip(systems, seeds, strict=True)
    )
    return SystemsTable(systems, (test_set,), (50,), figures, seeds)


def test_a_command_of_several_lines_stays_a_comment_of_latex() -> None:
    table = make_table(1, 1, test_set="one\n\ntwo", signature="python -c 'a\n\n  b'")
    head, _ = table.to_latex().split("\\begin{tabular}")
    assert [line[:8] for line in head.splitlines()] == ["% † p < ", "% exact:"]
    assert table.to_text().endswith("Signatures\nexact  python -c 'a b'\n")
    assert r"a\n\n  b" in table.to_json()


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ((1, 1), "(paired bootstrap)"),
        ((2, 2), "(Welch's t over seeds and a paired bootstrap of sentences)"),
        ((1, 2), "(Welch's t over seeds and a paired bootstrap of sentences)"),
        (
            (1, 1, 2),
            "(paired bootstrap where both have one seed, elsewhere Welch's t over seeds and a paired bootstrap of sentences)",
        ),
    ],
)
def test_the_legend_names_the_tests_of_the_pairs_compared(
    seeds: tuple[int, ...], told: str
) -> None:
    table = make_table(*seeds)
    assert told in table.to_text()
    assert table.test_of("b") == ("paired bootstrap" if seeds[:2] == (1, 1) else told[1:-1])


def test_the_sign_test_of_many_cases_is_that_of_few() -> None:
    assert sign_test(1, 9) == pytest.approx(22 / 1024)
    assert sign_test(0, 0) == sign_test(5, 5) == 1.0
    assert sign_test(50_000, 51_000) == pytest.approx(0.0016686, rel=1e-3)
