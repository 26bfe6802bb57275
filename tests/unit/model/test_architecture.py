import dataclasses

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


def test_a_dictionary_rebuilds_the_same_architecture() -> None:
    a = Architecture(d_model=10, heads=3, d_k=7, d_v=2, norm="pre")
    assert Architecture(**a.to_dict()) == a
    assert set(a.to_dict()) == {field.name for field in dataclasses.fields(a)}
