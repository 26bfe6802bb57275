import numpy as np
import pytest

from interlingua.evaluation.calibration import (
    Reliability,
    area_under_curve,
    calibration_error,
)
from interlingua.inspection.canvas import write_figure
from interlingua.inspection.reliability import draw_reliability
from interlingua.requests.bayes_risk import rank_by_consensus
from interlingua.requests.confidence import FEATURES, Calibration, fit_calibration


def drawn(pairs=4000, seed=3):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(pairs, len(FEATURES)))
    chance = 1 / (1 + np.exp(-(2 * features[:, 0] - features[:, 1])))
    return features, rng.random(pairs) < chance, chance


def test_a_fit_finds_the_probabilities_that_drew_the_labels():
    features, good, chance = drawn()
    fitted = fit_calibration(features, good, 50.0)
    found = np.array([fitted.confidence(row.tolist()) for row in features])
    assert np.abs(found - chance).mean() < 0.02
    assert calibration_error(found, good) < 0.03
    assert area_under_curve(1 - found, ~good) == pytest.approx(
        area_under_curve(1 - chance, ~good), abs=0.01
    )


def test_a_calibration_reads_what_it_wrote(tmp_path):
    features, good, _ = drawn(200)
    fitted = fit_calibration(features, good, 47.5)
    (tmp_path / "c.json").write_text(fitted.to_json())
    assert Calibration.read(tmp_path / "c.json") == fitted


def test_areas_and_errors_of_plain_cases():
    good = np.array([True, True, False, False])
    assert area_under_curve(np.array([0.1, 0.2, 0.8, 0.9]), ~good) == 1.0
    assert area_under_curve(np.array([0.5, 0.5, 0.5, 0.5]), ~good) == 0.5
    assert calibration_error(np.array([1.0, 1.0, 0.0, 0.0]), good) == 0.0
    assert calibration_error(np.array([0.0, 0.0, 1.0, 1.0]), good) == 1.0


def test_the_diagram_is_drawn(tmp_path):
    _, good, chance = drawn(300)
    reliability = Reliability(chance, good)
    assert sum(each.pairs for each in reliability.bins) == 300
    for name in ("d.png", "d.svg"):
        write_figure(draw_reliability(reliability), tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert ">confidence</text>" in (tmp_path / "d.svg").read_text()


def test_the_text_most_like_the_others_comes_first():
    texts = ["a cat sleeps", "the cat sleeps", "the cat sleeps here", "bread"]
    ranking = rank_by_consensus(texts)
    assert ranking[0] in {1, 2}
    assert ranking[-1] == 3
    assert rank_by_consensus(["x", "y y", "x"])[:2] == [0, 2]
