"""Every question is answered in the types of JSON, with the numbers of the room behind it; wrong ones are refused."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_shards import write_shards

from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.errors import ConfigError
from interlingua.inspection import nearest_pairs
from interlingua.inspection.interventions import intervene
from interlingua.inspection.looker import Looker
from interlingua.inspection.nearest_pairs import TrainingPairs
from interlingua.inspection.questions import QUESTIONS, Intervention
from interlingua.inspection.trace import trace_translation
from interlingua.translator import Translator

SOURCE = [
    f"{noun} {verb} câinele mică."
    for noun in ("pisica", "fata")
    for verb in ("vede", "aude", "știe", "cunoaște", "găsește")
] * 3
TARGET = [
    f"the {noun} {verb} the small dog."
    for noun in ("cat", "girl")
    for verb in ("sees", "hears", "knows", "meets", "finds")
] * 3
TEXT = "pisica vede câinele mică."
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def run(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder as training leaves it, with one checkpoint whose weights are other ones."""
    folder = tmp_path_factory.mktemp("runs") / "ro-en"
    model = translator.model
    loaded = LoadedModel(model, translator.tokenizers, "ro", "en", translator.decoding, 48)
    folder.mkdir()
    save_model_folder(folder / "model", loaded, parameters_of(model), "card")
    halved = {name: tensor / 2 for name, tensor in parameters_of(model).items()}
    CheckpointStore(folder / "checkpoints", keep=2).save(7, halved, {}, {"step": 7})
    sides = translator.tokenizers.source, translator.tokenizers.target
    ids = (side.encode_batch(texts) for side, texts in zip(sides, (SOURCE, TARGET), strict=True))
    (folder / "shards").mkdir()
    write_shards(folder / "shards" / "training", *ids)
    return folder


@pytest.fixture(scope="module")
def ask(translator: Translator, run: Path) -> Ask:
    looker = Looker([translator], [run])

    def answer(name: str, **content: Any) -> Any:
        found = looker.answer(name, content)
        json.dumps(found, allow_nan=False)
        return found

    return answer


def test_there_is_an_answer_to_every_question(ask: Ask) -> None:
    needed: dict[str, dict[str, Any]] = {
        "neighbours": {"id": 20},
        "checkpoint": {"text": TEXT, "step": 7},
        "file": {"texts": [TEXT]},
    }
    for name, kind in QUESTIONS.items():
        content = needed.get(name, {"text": TEXT} if "text" in kind.model_fields else {})
        assert ask(name, **content) is not None


def test_a_model_tells_what_there_is_to_look_at(ask: Ask) -> None:
    about = ask("about")
    assert (about["source_lang"], about["target_lang"]) == ("ro", "en")
    assert about["checkpoints"] == [7]
    assert about["training_pairs"] is True
    assert ask("models") == {
        "models": [{"source_lang": "ro", "target_lang": "en", "name": "ro-en"}]
    }


def test_the_best_view_is_found_with_the_pairs_of_the_run(ask: Ask) -> None:
    best = ask("best-view")
    assert 1 <= best["layer"] <= 3
    assert best["sentences"] == len(SOURCE)


def test_a_text_is_opened_up_sentence_by_sentence(ask: Ask, translator: Translator) -> None:
    text = f"{TEXT}\n\nfata aude băiatul mică."
    answer = ask("translation", text=text)
    each = [part for part in answer["parts"] if "target" in part]
    assert [part["source"] for part in each] == text.split("\n\n")
    found = translator.translate([part["source"] for part in each])
    assert [part["target"] for part in each] == [translation.text for translation in found]
    assert answer["text"] == "".join(
        part["before"] + part.get("target", "") + part["after"] for part in answer["parts"]
    )
    for part in each:
        shape = (len(part["target_tokens"]), len(part["source_tokens"]))
        assert np.shape(part["alignment"]) == shape


def test_switches_are_heard_everywhere(ask: Ask) -> None:
    switches = {"heads_off": [{"kind": "cross", "layer": 1, "head": 2}], "hidden_source": [0]}
    trace = ask("trace", text=TEXT, switches=switches)
    weights = np.array(
        next(map for map in trace["attention"] if map["module"].endswith("0.cross_attention"))[
            "weights"
        ]
    )
    assert not weights[1].any()
    assert not weights[0, :, 0].any()
    for name in ("steps", "saliency", "walk", "tree", "translation"):
        assert ask(name, text=TEXT, switches=switches) != ask(name, text=TEXT)


DECODER_OFF = [{"side": "decoder", "layer": layer} for layer in (1, 2, 3)]
ALL_OFF = [*DECODER_OFF, *({"side": "encoder", "layer": layer} for layer in (1, 2))]


@pytest.mark.parametrize("off", [DECODER_OFF, ALL_OFF])
def test_without_any_decoder_layer_all_is_shown_but_what_there_is_none_of(
    ask: Ask, off: list[dict[str, Any]]
) -> None:
    switches = {"layers_off": off}
    trace = ask("trace", text=TEXT, switches=switches)
    assert {map["kind"] for map in trace["attention"]} <= {"encoder"}
    assert trace["target_tokens"]
    assert ask("translation", text=TEXT, switches=switches)["parts"][0]["target_tokens"]
    assert len(ask("steps", text=TEXT, switches=switches)["steps"]) == len(trace["target_tokens"])
    assert ask("tree", text=TEXT, switches=switches)
    assert ask("checkpoint", text=TEXT, step=7, switches=switches)["trace"]
    found = np.array(ask("saliency", text=TEXT, switches=switches)["gradient_times_input"])
    assert found.shape == (len(trace["target_tokens"]), len(trace["source_tokens"]))
    assert not found.any()
    with pytest.raises(ConfigError, match="every decoder layer is switched off, so nothing looks"):
        ask("walk", text=TEXT, kind="cross", switches=switches)


def test_words_are_linked_by_the_layers_that_are_left(ask: Ask) -> None:
    view = ask("best-view")
    others = [layer for layer in (1, 2, 3) if layer != view["layer"]]
    switches = {"layers_off": [{"side": "decoder", "layer": others[0]}]}
    trace = ask("trace", text=TEXT, switches=switches)
    maps = [map for map in trace["attention"] if map["kind"] == "cross"]
    best = np.array(next(map for map in maps if map["layer"] == view["layer"])["weights"])
    expected = best.mean(0) if view["head"] is None else best[view["head"] - 1]
    if view["step"] == "reading":
        expected = np.concatenate((expected[1:], expected[-1:]))
    [part] = ask("translation", text=TEXT, switches=switches)["parts"]
    np.testing.assert_allclose(part["alignment"], expected, atol=1e-4)


def test_a_checkpoint_is_the_model_as_it_was(ask: Ask, translator: Translator) -> None:
    now = trace_translation(translator, TEXT, "the cat sees.")
    then = ask("checkpoint", text=TEXT, target="the cat sees.", step=7)
    assert then["trace"]["log_probabilities"] != pytest.approx(now.log_probabilities, abs=1e-3)
    with pytest.raises(ConfigError, match="no checkpoint of step 8"):
        ask("checkpoint", text=TEXT, step=8)


def test_the_nearest_training_pair_of_a_training_sentence_is_itself(ask: Ask) -> None:
    for place in (0, 4, 9):
        pairs = ask("nearest", text=SOURCE[place])["pairs"]
        assert pairs[0]["source"] == SOURCE[place]
        assert pairs[0]["likeness"] == pytest.approx(1.0)
        likeness = [pair["likeness"] for pair in pairs]
        assert likeness == sorted(likeness, reverse=True)


def test_many_pairs_are_compared_in_little_memory(
    translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [[n % 200 + 4, n % 7 + 210, n % 11 + 230] for n in range(6_000)]
    write_shards(tmp_path / "shards", sources, sources)
    pairs = TrainingPairs.open(tmp_path / "shards", translator.tokenizers)
    monkeypatch.setattr(nearest_pairs, "_AT_ONCE", 100)
    tracemalloc.start()
    try:
        found = pairs.nearest([*range(4, 204), 212, 233], 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000  # of 6,000 times 202 float64, which are 9,696,000 bytes
    assert sources[found[0].line - 1][1:] == [212, 233]


def test_neighbours_are_those_of_greatest_cosine(ask: Ask, translator: Translator) -> None:
    vectors = translator.model.target_embedding.table.weight.detach().numpy()
    found = ask("neighbours", side="target", id=30)["neighbours"]
    for each in found:
        a, b = vectors[30], vectors[each["id"]]
        expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        assert each["cosine"] == pytest.approx(expected, abs=1e-5)
    cosines = [each["cosine"] for each in found]
    assert cosines == sorted(cosines, reverse=True)


def test_words_in_place_of_one_are_told_when_asked_for(ask: Ask, translator: Translator) -> None:
    begun = translator.tokenizers.target.encode("the dog").ids
    asked: dict[str, Any] = {"text": TEXT, "target": "the dog"}
    plain = ask("steps", **asked)
    told = ask("steps", **asked, instead_of=begun[:1])
    assert told == {**plain, "words": told["words"]}
    assert "words" not in plain
    assert all(word["text"].strip() == word["text"] != "" for word in told["words"])
    off = {"heads_off": [{"kind": "cross", "layer": 1, "head": 2}], "mask_off": True}
    assert ask("steps", **asked, instead_of=begun[:1], switches=off)["words"] != told["words"]
    with pytest.raises(ConfigError, match="no target begins with"):
        ask("steps", **asked, instead_of=[-1, 5])


def test_a_file_is_scored_line_by_line(ask: Ask, translator: Translator) -> None:
    texts, references = SOURCE[:3], TARGET[:3]
    rows = ask("file", texts=texts, references=references)["rows"]
    found = translator.translate(texts)
    assert [row["text"] for row in rows] == [each.text for each in found]
    assert all(0 <= row["chrf"] <= 100 for row in rows)
    some = ask("file", texts=texts, references=[references[0], None, references[2]])["rows"]
    assert [row["chrf"] for row in some] == [rows[0]["chrf"], None, rows[2]["chrf"]]
    with pytest.raises(ConfigError, match="3 sentences and 2 references"):
        ask("file", texts=texts, references=references[:2])


def test_a_file_is_translated_without_what_is_switched_off(
    ask: Ask, translator: Translator
) -> None:
    switches = {"positions_off": True}
    without = intervene(translator, Intervention(positions_off=True)).translate(SOURCE[:3])
    rows = ask("file", texts=SOURCE[:3], switches=switches)["rows"]
    assert [row["text"] for row in rows] == [each.text for each in without]
    assert rows != ask("file", texts=SOURCE[:3])["rows"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nothing", {}),
        ("trace", {}),
        ("trace", {"text": ""}),
        ("trace", {"text": 3}),
        ("trace", {"text": TEXT, "wrong": 1}),
        ("trace", {"text": TEXT, "model": 1}),
        ("trace", {"text": TEXT, "model": -1}),
        ("trace", {"text": "a\ud800"}),
        ("trace", {"text": "a" * 2_001}),
        ("trace", {"text": TEXT, "switches": {"hidden_source": [-1]}}),
        ("trace", {"text": TEXT, "switches": {"heads_off": [{"kind": "none"}]}}),
        ("walk", {"text": TEXT, "kind": "cross", "layer": 9}),
        ("tree", {"text": TEXT, "beam_size": 1_000}),
        ("tree", {"text": TEXT, "alpha": "high"}),
        ("neighbours", {"id": 10**9}),
        ("file", {"texts": ["a"] * 1_000}),
    ],
)
def test_what_cannot_be_answered_is_refused(ask: Ask, name: str, content: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ask(name, **content)


def test_a_text_that_is_too_long_is_refused_in_words(ask: Ask) -> None:
    with pytest.raises(ConfigError) as refused:
        ask("steps", text="a" * 3_000)
    assert str(refused.value) == (
        "text: is too long to be looked into: it has 3,000 characters, and at most 2,000 are taken"
    )
    form = QUESTIONS["steps"].model_json_schema()
    assert form["properties"]["text"]["maxLength"] == 2_000


def test_a_model_folder_alone_has_no_run_to_look_at(translator: Translator, run: Path) -> None:
    looker = Looker([translator], [run / "model"])
    assert looker.answer("about", {})["checkpoints"] == [7]  # it still lies in its run
    alone = run.parent / "alone"
    (run / "model").rename(alone)
    try:
        looker = Looker([translator], [alone])
        assert looker.answer("about", {})["checkpoints"] == []
        assert looker.answer("best-view", {}) is None
        with pytest.raises(ConfigError, match="corpus of this model is not here"):
            looker.answer("nearest", {"text": TEXT})
    finally:
        alone.rename(run / "model")
