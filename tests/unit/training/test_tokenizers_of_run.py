"""How often the pairs of each file count, where a vocabulary is of several languages."""

import pytest

from interlingua.config import CorpusConfig
from interlingua.training.tokenizers_of_run import _repeats

SIZES = (100_000, 1_000)


@pytest.mark.parametrize("weights", [(1.0, 40.0), (0.025, 1.0), (0.5, 20.0), (3.0, 120.0)])
def test_only_what_the_weights_are_to_each_other_counts(weights: tuple[float, float]) -> None:
    assert _repeats(_corpus(weights=weights), SIZES) == (1, 40)


def test_a_temperature_counts_as_the_weights_that_it_comes_to() -> None:
    assert _repeats(_corpus(temperature=5.0), SIZES) == (1, 40)
    assert _repeats(_corpus(), SIZES) == (1, 1)


def test_a_weight_of_nearly_nothing_does_not_have_the_others_counted_without_end() -> None:
    assert _repeats(_corpus(weights=(1e-6, 1.0)), SIZES) == (1, 100)


def test_of_one_pair_of_languages_every_pair_counts_once() -> None:
    one = _corpus(weights=(1.0, 40.0)).model_copy(update={"directions": ()})
    assert _repeats(one, SIZES) == ()


def _corpus(**settings: object) -> CorpusConfig:
    files = {"source": ("a.en", "b.en"), "target": ("a.de", "b.ro")}
    return CorpusConfig.model_validate({**files, "directions": ("en-de", "en-ro"), **settings})
