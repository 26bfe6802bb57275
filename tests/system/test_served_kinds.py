"""Models that do not translate, over HTTP: what stays within a language is asked like any other, and a line is one whole."""

import json
from pathlib import Path

import pytest
from running_server import serving
from small_runs import ANIMALS, FAST, SENTENCE_RUN, SENTENCE_SIZES, run, sentences, write_text

from interlingua.translator import Translator

SMALL = f"{SENTENCE_SIZES} {SENTENCE_RUN} --training.steps 80 {FAST}"


def test_a_language_model_and_a_classifier_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = sentences(" . yes .") * 4
    write_text("text.en", lines)
    write_text(
        "text.class", ["animal" if line.split()[1] in ANIMALS else "person" for line in lines]
    )
    run(f"train --text text.en --model.kind decoder --model.decoder-layers 1 {SMALL} --run-dir on")
    run(
        f"train --source text.en --target text.class --model.kind encoder --model.encoder-layers 1 {SMALL} --run-dir who"
    )
    prompt = "the dog eats the fish . yes"
    (written,) = Translator.load(tmp_path / "on", device="cpu").translate([prompt])
    assert not Translator.load(tmp_path / "on", device="cpu").takes_sentences
    with serving(tmp_path / "on", tmp_path / "who") as server:
        settings = server.get("/frontend/settings").json["language"]
        assert (settings["source"]["code"], settings["target"]["code"]) == ("en", "class")
        ways = server.get("/inspect/ways").json["ways"]
        assert {"source": "en", "target": "en", "models": [0]} in ways
        said = server.post("/translate", q=prompt, source="en", target="en")
        assert said.json == {"translatedText": written.text}
        asked = {"q": prompt, "source": "en", "target": "en", "stream": True}
        lines_told = server.post("/translate", **asked).body.decode().splitlines()
        told = [json.loads(line[6:]) for line in lines_told if line.startswith("data: ")]
        assert "".join(each.get("text", "") for each in told) == written.text
        assert told[-1] == {"translatedText": written.text}
        two = f"{lines[0]}\n{lines[0]}\n"
        classes = server.post("/translate", q=two, source="en", target="class").json
        assert classes["translatedText"].split("\n") == ["animal", "animal", ""]
    with serving(tmp_path / "on") as server:
        settings = server.get("/frontend/settings").json["language"]
        assert (settings["source"]["code"], settings["target"]["code"]) == ("en", "en")
