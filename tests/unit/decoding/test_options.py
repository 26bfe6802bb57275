import math

import pytest

from interlingua.decoding.options import SearchOptions
from interlingua.errors import ConfigError


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"beam_size": 0}, "beam_size is 0"),
        ({"n_best": 5}, "ask for a beam_size of at least 5"),
        ({"min_length": -1}, "min_length is -1"),
        ({"max_length": 0}, "max_length is 0"),
        ({"min_length": 4, "max_length": 4}, "no room for its end"),
        ({"max_repeats": 1}, "max_repeats is 1"),
        ({"groups": 3}, "ask for a beam_size of 6"),
        ({"sample": True, "groups": 2}, "sample and groups"),
        ({"sample": True, "temperature": 0.0}, "temperature is 0.0"),
        ({"sample": True, "temperature": math.nan}, "temperature is nan"),
        ({"sample": True, "top_p": 1.5}, "top_p is 1.5"),
        ({"top_k": 3}, "ask for sample too, or leave top_k out"),
        ({"seed": 1}, "ask for sample too, or leave seed out"),
        ({"coverage_penalty": -0.5}, "coverage_penalty is -0.5"),
        ({"length_penalty": math.inf}, "length_penalty is inf"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(asked, message):
    with pytest.raises(ConfigError, match=message):
        SearchOptions(**asked)
