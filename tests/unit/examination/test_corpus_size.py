"""A corpus that is too small for the vocabulary or the model that was chosen, and only such a one, is told."""

import shlex
from pathlib import Path

import pytest

from interlingua.config_files import load_config
from interlingua.examination.corpus_size import Choice, examine_size

RECIPES = Path(__file__).parents[3] / "recipes"


def choice(settings: dict[str, str]) -> Choice:
    return Choice(load_config(None, settings), Path("my recipe.toml"))


@pytest.mark.parametrize(
    ("settings", "pairs", "words"),
    [
        ({"tokenization.vocabulary_size": "32000"}, 29_000, "a vocabulary of 32,000 entries"),
        ({"model.preset": "base"}, 29_000, "layers with 44.0 million weights"),
        ({"model.preset": "big", "training.device": "cuda"}, 500_000, "train would choose base"),
        ({"model.preset": "big", "training.device": "cpu"}, 500_000, "train would choose small"),
        ({"model.preset": "small"}, 5_000, "train would choose tiny"),
    ],
)
def test_too_much_for_a_corpus_is_told(settings: dict[str, str], pairs: int, words: str) -> None:
    (found,) = examine_size(choice(settings), pairs)
    assert (found.code, found.severity) == ("too-small", "warning")
    assert words in found.message
    asked = shlex.split(found.remedy)
    assert asked[:3] == ["interlingua", "train", "my recipe.toml"]
    wanted = dict(zip(asked[3::2], asked[4::2], strict=True))
    mended = {name.removeprefix("--"): value for name, value in wanted.items()}
    assert examine_size(choice(settings | mended), pairs) == []


@pytest.mark.parametrize(
    ("recipe", "pairs"),
    [("multi30k_en_de", 29_000), ("ro_en", 23_045), ("tanaka_en_ja", 50_000), ("scan", 16_728), ("wmt14_en_de_base", 4_500_000),
     ("wmt14_en_de_big", 4_500_000)],
)  # fmt: skip
def test_the_recipes_fit_their_corpora(
    recipe: str, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_DATA", "data")
    monkeypatch.setenv("WMT14_EN_DE", "data")
    path = RECIPES / f"{recipe}.toml"
    assert examine_size(Choice(load_config(path), path), pairs) == []


def test_nothing_chosen_is_never_too_much() -> None:
    assert examine_size(choice({}), 10) == []
    assert examine_size(choice({"tokenization.kind": "word", "tokenization.vocabulary_size": "30000"}), 300) == []  # fmt: skip


def test_a_run_is_trained_anew_elsewhere() -> None:
    config = load_config(None, {"tokenization.vocabulary_size": "32000"})
    (found,) = examine_size(Choice(config, Path("runs/a/config.toml"), Path("runs/a")), 9_000)
    assert found.remedy.endswith("--run-dir runs/a-smaller")
