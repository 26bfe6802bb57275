import dataclasses
import subprocess
import sys

import pytest

from interlingua.model.architecture import PRESETS, Architecture


def sizes(name: str) -> tuple[int, ...]:
    a = PRESETS[name]
    return a.encoder_layers, a.decoder_layers, a.d_model, a.d_ff, a.heads


def test_presets_have_the_sizes_that_their_names_promise() -> None:
    assert {name: sizes(name) for name in PRESETS} == {
        "tiny": (4, 4, 128, 256, 4),
        "small": (3, 3, 256, 1024, 4),
        "base": (6, 6, 512, 2048, 8),
        "big": (6, 6, 1024, 4096, 16),
    }


def test_base_and_big_drop_what_table_3_says() -> None:
    assert PRESETS["base"].dropout == 0.1
    assert PRESETS["big"].dropout == 0.3


def test_the_default_is_the_paper() -> None:
    a = Architecture()
    assert (a.norm, a.positions, a.activation, a.tie) == (
        "post",
        "sinusoidal",
        "relu",
        "three-way",
    )
    assert (a.attention_dropout, a.activation_dropout) == (0.0, 0.0)


def test_heads_share_the_width_unless_d_k_and_d_v_are_given() -> None:
    assert (Architecture().query_width, Architecture().value_width) == (64, 64)
    free = Architecture(d_model=10, heads=3, d_k=7, d_v=2)
    assert (free.query_width, free.value_width) == (7, 2)


@pytest.mark.parametrize("given", [{}, {"d_k": 4}, {"d_v": 4}])
def test_a_width_that_heads_do_not_divide_is_refused_with_both_numbers(
    given: dict[str, int],
) -> None:
    with pytest.raises(ValueError, match=r"d_model 10 is not a multiple of heads 3"):
        Architecture(d_model=10, heads=3, **given)


def test_an_odd_width_is_refused_for_sinusoids_and_taken_for_learned_positions() -> None:
    with pytest.raises(ValueError, match="even d_model, not 9"):
        Architecture(d_model=9, heads=3)
    assert Architecture(d_model=9, heads=3, positions="learned").d_model == 9


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        *((name, 0, "at least 1") for name in ("encoder_layers", "decoder_layers", "d_model")),
        *((name, 0, "at least 1") for name in ("d_ff", "heads", "max_positions", "d_k", "d_v")),
        ("heads", True, "whole number"),
        *((name, 1.0, "below 1") for name in ("dropout", "attention_dropout")),
        ("activation_dropout", -0.1, "at least 0"),
        ("dropout", float("nan"), "below 1"),
    ],
)
def test_a_number_that_a_field_does_not_take_is_refused(
    name: str, value: float, takes: str
) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value!r}; it takes .*{takes}"):
        Architecture(**{name: value})


WRONG_TYPES = {
    "d_ff": (2.5, "a whole number of at least 1"),
    "d_model": (None, "a whole number of at least 1"),
    "dropout": ("much", "a number of at least 0, below 1"),
    "activation": ("tanh", "one of relu, gelu, swish, swiglu"),
    "norm": ("sandwich", "one of post, pre"),
    "positions": (["learned"], "one of sinusoidal, learned"),
    "tie": (None, "one of three-way, target, none"),
}


def test_a_value_of_another_type_is_refused_where_no_types_are_checked() -> None:
    # In this process the tests' import hook would refuse it first.
    script = f"""
from interlingua.model.architecture import Architecture
for name, (value, _) in {WRONG_TYPES!r}.items():
    try:
        Architecture(**{{name: value}})
    except ValueError as error:
        print(error)
"""
    printed = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert printed.splitlines() == [
        f"{name} is {value!r}; it takes {takes}" for name, (value, takes) in WRONG_TYPES.items()
    ]


def test_a_dictionary_rebuilds_the_same_architecture() -> None:
    a = Architecture(d_model=10, heads=3, d_k=7, d_v=2, norm="pre")
    assert Architecture(**a.to_dict()) == a
    assert set(a.to_dict()) == {field.name for field in dataclasses.fields(a)}
