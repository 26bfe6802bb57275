"""The limit of what is inspected holds for every question that opens a sentence up."""

from typing import Any

import pytest
from running_server import RunningServer

LONG = "1 2 3 " * 84  # 504 characters
TOLD = "request (504) exceeds text limit (500) of what is inspected, --max-inspected"
OPENING = ("trace", "steps", "saliency", "walk", "tree", "checkpoint")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, {"text": LONG}) for name in OPENING),
        *((name, {"text": "1", "target": LONG}) for name in OPENING if name != "tree"),
        ("translation", {"text": "1", "target": LONG}),
        ("tree", {"text": "1", "edits": {"typed": LONG}}),
    ],
)
def test_a_longer_text_is_refused(
    bridge: RunningServer, name: str, content: dict[str, Any]
) -> None:
    if name == "checkpoint":
        content = content | {"step": 1}
    answer = bridge.post(f"/inspect/{name}", **content)
    assert answer.status == 400
    assert TOLD in answer.json["error"]


@pytest.mark.parametrize("fields", [{"q": LONG}, {"q": "1", "translation": LONG}])
def test_the_trace_of_a_translation_has_the_same_limit(
    bridge: RunningServer, fields: dict[str, str]
) -> None:
    answer = bridge.post("/inspect", source="ro", target="en", **fields)
    assert answer.status == 400
    assert TOLD in answer.json["error"]


def test_a_text_is_translated_whole_and_only_its_short_sentences_are_opened_up(
    bridge: RunningServer,
) -> None:
    answer = bridge.post("/inspect/translation", text=f"1 2\n{LONG}\n3 4")
    assert answer.status == 200
    opened = ["source_tokens" in part for part in answer.json["parts"] if "target" in part]
    assert opened == [True, False, True]


def test_what_is_short_enough_is_opened_up(bridge: RunningServer) -> None:
    assert bridge.post("/inspect/trace", text="1 2 3", target="3 2 1").status == 200


def test_the_specification_tells_the_limit(bridge: RunningServer) -> None:
    document = bridge.get("/spec").json
    for name in OPENING:
        body = document["paths"][f"/inspect/{name}"]["post"]["requestBody"]["content"]
        assert body["application/json"]["schema"]["properties"]["text"] == {"maxLength": 500}
    assert document["components"]["schemas"]["InspectForm"]["properties"]["q"]["maxLength"] == 500
