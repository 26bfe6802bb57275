"""What becomes of a model or its corrections while it is served, and many corrections at once, stop nothing."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from random_models import SHAPES, SOURCES, random_model, random_tagger

from interlingua.checkpoints.model_folder import save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.corpus.corrections import CORRECTIONS, Correction, add_corrections
from interlingua.errors import ConfigError, CorpusError
from interlingua.kernels.search import precisions
from interlingua.server.engine import ServedModel
from interlingua.server.frames import Message, read_frame
from interlingua.server.languages import Languages
from interlingua.server.refusals import Refusal
from interlingua.server.schemas import SuggestForm
from interlingua.server.service import Service
from interlingua.server.suggestions import _correction
from interlingua.server.worker import Worker


def save(folder: Path, seed: int) -> None:
    loaded = random_model(SHAPES["tied"], seed=seed)
    save_model_folder(folder, loaded, parameters_of(loaded.model), "a card\n")


def start(told: Path, *models: Path, is_restart: bool = False) -> Message:
    return {
        "models": [str(model) for model in models],
        "corrections": str(told),
        "is_restart": is_restart,
        "max_inspected": 8,
        "device": "cpu",
        "dtype": "auto",
        "threads": 1,
    }


def translate(worker: Worker, text: str, model: int = 0) -> str:
    asked = {"model": model, "texts": [text], "options": {}}
    found: str = next(worker._translate(asked))["found"][0][0]
    return found


@pytest.mark.skipif("float32" not in precisions(), reason="without kernels no model is let go")
def test_a_suggestion_for_a_model_that_was_replaced_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, told = tmp_path / "m", tmp_path / "told"
    save(model, seed=0)
    told.mkdir()
    with open(tmp_path / "answers", "wb") as answers:
        worker = Worker(answers)
        worker.load(start(told, model))

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
    for _ in range(2):  # the second finds the memory made
        save(model, seed=0)
        with open(tmp_path / "answers", "wb") as answers:
            worker = Worker(answers)
            worker.load(start(told, model))
            save(model, seed=9)
            assert translate(worker, SOURCES[1]) == "the dog"


@pytest.mark.parametrize("became", ["gone", "unreadable", "of other languages"])
def test_what_became_of_the_corrections_stops_no_worker_that_takes_the_place_of_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, became: str
) -> None:
    model, told = tmp_path / "m", tmp_path / "told"
    save(model, seed=0)
    if became == "unreadable":
        (told / CORRECTIONS).mkdir(parents=True)
    elif became == "of other languages":
        add_corrections(told, [Correction("chat", "cat", "fr", "en")])
    with open(tmp_path / "answers", "wb") as answers:
        with pytest.raises(CorpusError, match=str(told)):
            Worker(answers).load(start(told, model))
        caplog.clear()
        worker = Worker(answers)
        worker.load(start(told, model, is_restart=True))
        events = [json.loads(record.getMessage())["event"] for record in caplog.records]
        assert events == ["corrections-not-read"] * (became != "of other languages")
        assert translate(worker, SOURCES[1]) != "the dog"
        if became == "unreadable":
            (told / CORRECTIONS).rmdir()
        add_corrections(told, [Correction(SOURCES[1], "the dog", "ro", "en")])
        assert translate(worker, SOURCES[1]) == "the dog"


def test_many_corrections_at_once_hold_up_no_request_and_are_right_all_the_same(
    tmp_path: Path,
) -> None:
    model, told = tmp_path / "m", tmp_path / "told"
    save(model, seed=0)
    told.mkdir()
    sources = [" ".join(words) for words in itertools.permutations(SOURCES[0].split(), 3)]
    with open(tmp_path / "answers", "wb") as answers:
        worker = Worker(answers)
        worker.load(start(told, model))
        add_corrections(told, [Correction(each, f"the {each}", "ro", "en") for each in sources])
        [known] = next(worker._find_corrections({"model": 0, "texts": [sources[1]]}))["found"]
        assert known == f"the {sources[1]}"
        memory = worker._translators[0].corrections
        assert memory is not None
        assert 0 < len(memory.memory.examples) < len(sources)
        for source in (sources[0], sources[2], sources[-1]):
            assert translate(worker, source) == f"the {source}"
        for _ in sources:
            worker._refreshed(0)
        assert len(memory.memory.examples) == len(sources)


def test_a_model_that_follows_no_corrections_keeps_no_other_from_them(tmp_path: Path) -> None:
    tags, model, told = tmp_path / "tags", tmp_path / "m", tmp_path / "told"
    tagger = random_tagger()
    save_model_folder(tags, tagger, parameters_of(tagger.model), "a card\n")
    save(model, seed=0)
    add_corrections(told, [Correction(SOURCES[1], "the dog", "ro", "en")])
    with open(tmp_path / "answers", "wb") as answers:
        worker = Worker(answers)
        worker.load(start(told, tags, model))
        assert translate(worker, SOURCES[1], model=1) == "the dog"
        with pytest.raises(ConfigError, match="answers each word by itself"):
            Worker(answers).load(start(told, tags))
    with open(tmp_path / "answers", "rb") as said:
        ready = (read_frame(said) or {})["ready"]
    assert [each["takes_corrections"] for each in ready] == [False, True]


def test_a_suggestion_for_a_model_that_follows_no_corrections_is_refused() -> None:
    tagger = ServedModel(0, "en", "tag", 4, True, True, takes_corrections=False)
    service = object.__new__(Service)
    object.__setattr__(service, "languages", Languages([tagger]))
    form = SuggestForm(q="a cat", s="D N", source="en", target="tag")
    with pytest.raises(Refusal, match="the model from en to tag answers each word by itself"):
        _correction(service, form)
