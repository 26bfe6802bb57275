"""A model that was replaced on the disk while it is served: a suggestion that needs it again stops nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from random_models import SHAPES, SOURCES, random_model

from interlingua.checkpoints.model_folder import save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.corpus.corrections import Correction, add_corrections
from interlingua.kernels.search import precisions
from interlingua.server.worker import Worker


def save(folder: Path, seed: int) -> None:
    loaded = random_model(SHAPES["tied"], seed=seed)
    save_model_folder(folder, loaded, parameters_of(loaded.model), "a card\n")


@pytest.mark.skipif("float32" not in precisions(), reason="without kernels no model is let go")
def test_a_suggestion_for_a_model_that_was_replaced_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, told = tmp_path / "m", tmp_path / "told"
    save(model, seed=0)
    told.mkdir()
    start = {"models": [str(model)], "corrections": str(told), "max_inspected": 8}
    with open(tmp_path / "answers", "wb") as answers:
        worker = Worker(answers)
        worker.load({**start, "device": "cpu", "dtype": "auto", "threads": 1})

        def ask() -> Any:
            asked = {"model": 0, "texts": [SOURCES[1]], "options": {}}
            known = next(worker._find_corrections(asked))
            return known, next(worker._translate(asked))

        before = ask()
        save(model, seed=9)
        for number in (1, 2):
            add_corrections(told, [Correction(SOURCES[number + 2], "the dog", "ro", "en")])
            assert [ask(), ask()] == [before, before]
    events = [json.loads(record.getMessage()) for record in caplog.records]
    assert [each["event"] for each in events] == [
        *("corrections-not-followed", "corrections-unused"),
        *("corrections-not-followed", "corrections-unused"),
    ]
    assert events[0]["error"] == "ModelError"
    assert [each["corrections"] for each in events[1::2]] == [1, 2]


@pytest.mark.skipif("float32" not in precisions(), reason="without kernels no model is let go")
def test_what_is_like_a_correction_is_answered_when_the_model_was_replaced(tmp_path: Path) -> None:
    model, told = tmp_path / "m", tmp_path / "told"
    save(model, seed=0)
    told.mkdir()
    add_corrections(told, [Correction(SOURCES[1], "the dog", "ro", "en")])
    start = {"models": [str(model)], "corrections": str(told), "max_inspected": 8}
    for _ in range(2):  # the second finds the memory made
        save(model, seed=0)
        with open(tmp_path / "answers", "wb") as answers:
            worker = Worker(answers)
            worker.load({**start, "device": "cpu", "dtype": "auto", "threads": 1})
            save(model, seed=9)
            asked = {"model": 0, "texts": [SOURCES[1]], "options": {}}
            assert next(worker._translate(asked))["found"][0][0] == "the dog"
