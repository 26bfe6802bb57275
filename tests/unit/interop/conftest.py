"""Small random models as model folders."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from random_models import SHAPES, random_model

from interlingua.checkpoints.model_folder import save_model_folder
from interlingua.checkpoints.weights import parameters_of


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a random model and gives its folder."""

    def make(name: str, *, shared: bool = True, **changes: object) -> Path:
        architecture = dataclasses.replace(SHAPES[name], **changes)
        loaded = random_model(architecture, shared=shared)
        folder = tmp_path / "model"
        save_model_folder(folder, loaded, parameters_of(loaded.model), "# ro to en\n\nA card.\n")
        return folder

    return make
