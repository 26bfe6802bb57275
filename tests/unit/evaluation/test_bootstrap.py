import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from interlingua.errors import ConfigError
from interlingua.evaluation.bootstrap import Resampled, p_value, resample, two_sided_t
from interlingua.evaluation.external import resample_segments

REFERENCE = [
    f"the {animal} number {number} sleeps well" for number, animal in enumerate(["cat", "dog"] * 15)
]
SYSTEM = [
    line.replace("well", "badly") if number % 4 else line for number, line in enumerate(REFERENCE)
]
BASELINE = [
    line.replace("sleeps", "slept") if number % 3 else line for number, line in enumerate(REFERENCE)
]


@pytest.mark.parametrize("metric_class", [BLEU, CHRF, TER])
def test_intervals_and_p_values_equal_those_of_sacrebleu(metric_class: type[Metric]) -> None:
    def build() -> Metric:
        return metric_class(references=[REFERENCE])

    metric = build()
    system, baseline = resample(metric, [SYSTEM, BASELINE], 200)
    signatures, columns = PairedTest(
        [("baseline", BASELINE), ("system", SYSTEM)], {"x": build()}, None, "bs", n_samples=200
    )()
    for ours, theirs in zip([baseline, system], columns[system.name], strict=True):
        assert isinstance(theirs, Result)
        assert theirs.mean is not None
        assert ours.value == theirs.score
        low, high = ours.interval
        assert (low + high) / 2 == pytest.approx(theirs.mean, abs=1e-5)
        assert (high - low) / 2 == pytest.approx(theirs.ci, abs=1e-5)
    assert p_value(system, baseline) == theirs.p_value
    assert str(metric.get_signature()) == str(signatures[system.name])


def test_one_draw_at_a_time_gives_the_draws_of_all_at_once() -> None:
    at_once = np.random.default_rng(12345).choice(77, size=(9, 77))
    generator = np.random.default_rng(12345)
    assert [generator.choice(77, size=77).tolist() for _ in range(9)] == at_once.tolist()


def test_draws_of_programs_figures_are_not_held_all_at_once() -> None:
    lines = ["x"] * 20_000
    metric = SimpleNamespace(
        name="x", signature="", score=lambda *sides: np.arange(20_000.0).tolist()
    )
    tracemalloc.start()
    (found,) = resample_segments(metric, lines, [lines], lines)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000  # all thousand draws take 160
    generator = np.random.default_rng(12345)
    expected = [generator.choice(20_000, size=20_000).mean() for _ in range(3)]
    assert list(found.draws[:3]) == expected
    assert (found.value, len(found.draws)) == (9_999.5, 1_000)


def test_the_interval_leaves_out_a_fortieth_at_each_end() -> None:
    low, high = Resampled("BLEU", 50.0, tuple(map(float, range(80)))).interval
    assert (low, high) == (39.5 - 37.5, 39.5 + 37.5)


def test_the_seed_of_sacrebleu_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = BLEU(references=[REFERENCE])
    (usual,) = resample(metric, [SYSTEM], 10)
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    (other,) = resample(metric, [SYSTEM], 10)
    assert usual.value == other.value
    assert usual.draws != other.draws
    assert "seed:7" in str(metric.get_signature())
    monkeypatch.setenv("SACREBLEU_SEED", "seven")
    with pytest.raises(ConfigError, match="SACREBLEU_SEED is 'seven'"):
        resample(metric, [SYSTEM], 10)


@pytest.mark.parametrize(
    ("freedom", "five_percent", "one_percent"),
    [
        (1.0, 12.706, 63.657),
        (2.0, 4.303, 9.925),
        (4.0, 2.776, 4.604),
        (30.0, 2.042, 2.750),
        (1e6, 1.96, 2.576),
    ],
)
def test_students_t_is_that_of_the_tables(
    freedom: float, five_percent: float, one_percent: float
) -> None:
    assert two_sided_t(five_percent, freedom) == pytest.approx(0.05, rel=1e-3)
    assert two_sided_t(-one_percent, freedom) == pytest.approx(0.01, rel=2e-3)
    assert two_sided_t(0.0, freedom) == 1.0
    assert two_sided_t(1e6, freedom) < 1e-3
