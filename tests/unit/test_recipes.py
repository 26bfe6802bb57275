"""The recipes: each can be read, and the one of the demo is what the demo runs."""

from pathlib import Path

import pytest

from interlingua.cli.demo import demo_config
from interlingua.config_files import load_config

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


def test_there_are_recipes() -> None:
    assert {"copy", "demo_ro_en", "reverse"} <= {recipe.stem for recipe in RECIPES}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_every_recipe_names_a_corpus_and_a_run_of_its_own(
    recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_DATA", "somewhere")
    monkeypatch.setenv("WMT14_EN_DE", "somewhere")
    config = load_config(recipe)
    assert config.corpus.embedded or config.corpus.source
    assert config.run_dir == Path("runs") / recipe.stem.replace("_", "-")


def test_the_demo_runs_its_recipe() -> None:
    recipe = next(recipe for recipe in RECIPES if recipe.stem == "demo_ro_en")
    assert demo_config(Path("runs/demo-ro-en")) == load_config(recipe)
