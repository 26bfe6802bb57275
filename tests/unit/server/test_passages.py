"""A text whose language nobody told is taken for one that leads to the wanted language, on every route, and the answer says how."""

import json
from typing import Any

import deepl
import pytest
from running_server import Answer, RunningServer

from interlingua.server.engine import ServedModel
from interlingua.server.languages import Languages

NAME = "Ana"
"""Which nobody can tell the language of: German is the likeliest, Romanian the next."""

LANGUAGES = Languages(
    [ServedModel(n, *pair, 4, True, True) for n, pair in enumerate([("ro", "en"), ("en", "de")])]
)


def send_file(server: RunningServer, text: str, **fields: str) -> Answer:
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    file = f'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{text}\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    return server.ask("POST", "/translate_file", (parts + file + "--b--\r\n").encode(), kind)


def last_event(answer: Answer) -> tuple[str, dict[str, Any]]:
    name, data = answer.body.decode().rstrip().rpartition("event: ")[2].split("\n")
    return name, json.loads(data.removeprefix("data: "))


def without_address(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if not name.startswith("translated")}


def test_what_leads_to_a_language_and_the_language_itself_may_be_found() -> None:
    assert LANGUAGES.sources_of("de") == ("ro", "en", "de")
    assert LANGUAGES.sources_of("en") == ("ro", "en")


def test_where_nothing_leads_a_text_in_another_language_is_not_given_back_as_if_it_were_translated(
    bridge: RunningServer,
) -> None:
    assert LANGUAGES.sources_of("ro") == ("ro", "en", "de")
    refused = bridge.post("/translate", q="The cat is asleep.", source="auto", target="ro")
    assert refused.status == 400
    assert (
        "Romanian (ro) is not available as a target language from English" in refused.json["error"]
    )
    own = bridge.post("/translate", q="Pisica doarme în grădină.", source="auto", target="ro")
    assert own.json["translatedText"] == "Pisica doarme în grădină."


@pytest.mark.parametrize("format", ["text", "html"])
def test_a_text_that_seems_to_be_in_a_language_from_which_no_way_leads_is_translated(
    bridge: RunningServer, format: str
) -> None:
    ranked = bridge.post("/detect", q=NAME).json
    assert ranked[0]["language"] == "de"
    answer = bridge.post("/translate", q=NAME, source="auto", target="en", format=format)
    assert answer.status == 200
    led = next(each for each in ranked if each["language"] in ("ro", "en"))
    assert answer.json["detectedLanguage"] == led


def test_one_text_of_a_list_does_not_spoil_the_others(bridge: RunningServer) -> None:
    texts = ["Pisica doarme în grădină.", NAME, "猫が寝る", "12 3", "The cat is asleep here."]
    answer = bridge.post("/translate", q=texts, source="auto", target="en")
    assert answer.status == 200
    found = [each["language"] for each in answer.json["detectedLanguage"]]
    assert (found[0], found[1], found[3], found[4]) == ("ro", "ro", "en", "en")
    assert found[2] in ("ro", "en")
    assert answer.json["detectedLanguage"][2]["confidence"] == 0.0
    assert answer.json["translatedText"][4] == texts[4]
    assert "pivot" not in answer.json


def test_only_what_goes_through_another_language_has_a_pivot_in_a_list(
    bridge: RunningServer,
) -> None:
    texts = ["Pisica doarme în grădină.", "The cat is asleep here."]
    answer = bridge.post("/translate", q=texts, source="auto", target="de").json
    assert answer["pivot"] == ["en", None]


def test_the_client_of_deepl_need_not_tell_the_language(bridge: RunningServer) -> None:
    client = deepl.Translator("any key", server_url=bridge.address)
    found = client.translate_text(["Pisica doarme în grădină.", NAME], target_lang="EN-US")
    assert [each.detected_source_lang for each in found] == ["RO", "RO"]


@pytest.mark.parametrize(
    ("text", "target"), [("Pisica doarme în grădină.", "de"), (NAME, "en"), ("猫が寝る", "en")]
)
def test_a_streamed_answer_and_a_file_say_what_a_plain_answer_says(
    bridge: RunningServer, text: str, target: str
) -> None:
    asked = {"source": "auto", "target": target}
    plain = bridge.post("/translate", q=text, **asked)
    assert plain.status == 200
    assert ("pivot" in plain.json) == (target == "de")
    assert last_event(bridge.post("/translate", q=text, stream=True, **asked)) == (
        "done",
        plain.json,
    )
    file = send_file(bridge, text, **asked)
    assert file.status == 200
    assert without_address(file.json) == without_address(plain.json)


def test_a_told_language_is_not_told_back(bridge: RunningServer) -> None:
    asked = {"source": "ro", "target": "de"}
    _, streamed = last_event(bridge.post("/translate", q="3 1 2", stream=True, **asked))
    assert without_address(streamed) == {"pivot": "en"}
    assert without_address(send_file(bridge, "3 1 2", **asked).json) == {"pivot": "en"}


def test_the_specification_knows_what_answers_say(bridge: RunningServer) -> None:
    paths = bridge.get("/spec").json["paths"]
    for path in ("/translate", "/translate_file"):
        content = paths[path]["post"]["responses"]["200"]["content"]
        assert {"detectedLanguage", "pivot"} <= content["application/json"]["schema"][
            "properties"
        ].keys()
