"""The server as clients of other projects see it: their packages unchanged, against the real command."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import pytest
from libretranslatepy import LibreTranslateAPI
from serving import GOLDEN, RunningServer, model_between, serving

from interlingua.cli import main
from interlingua.inspection.trace import Trace
from interlingua.translator import Translator


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Digits to reverse, and reverse to again."""
    second = model_between("reverse", "again", tmp_path_factory.mktemp("models") / "second")
    with serving(GOLDEN, second) as running:
        yield running


def test_the_client_of_libretranslate_works_unchanged(server: RunningServer) -> None:
    client = LibreTranslateAPI(server.address)
    assert client.translate("3 1 2", "digits", "reverse") == "2 1 3"
    assert client.languages() == [
        {"code": "digits", "name": "digits", "targets": ["digits", "reverse", "again"]},
        {"code": "reverse", "name": "reverse", "targets": ["reverse", "again"]},
        {"code": "again", "name": "again", "targets": ["again"]},
    ]
    assert client.detect("3 1 2") == [{"confidence": 0.0, "language": "digits"}]


def test_forms_and_json_say_the_same(server: RunningServer) -> None:
    fields = {"q": "3 1 2", "source": "digits", "target": "reverse"}
    urlencoded = {"Content-Type": "application/x-www-form-urlencoded"}
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    answers = [
        server.post("/translate", **fields),
        server.ask("POST", "/translate", urlencode(fields), urlencoded),
        server.ask("POST", f"/translate?{urlencode(fields)}"),
        server.ask(
            "POST",
            "/translate",
            f"{parts}--b--\r\n",
            {"Content-Type": "multipart/form-data; boundary=b"},
        ),
    ]
    assert [answer.json for answer in answers] == [{"translatedText": "2 1 3"}] * 4


def test_a_list_has_a_list_of_answers_and_white_space_stays(server: RunningServer) -> None:
    texts = ["3 1 2", "", " 4 5\n\n1 2 ", "..."]
    answer = server.post("/translate", q=texts, source="digits", target="reverse")
    assert answer.json == {"translatedText": ["2 1 3", "", " 5 4\n\n2 1 ", "..."]}


def test_alternatives_are_the_next_best_of_the_model(server: RunningServer) -> None:
    found = Translator.load(GOLDEN, threads=1).translate(["3 1 2"], n_best=3)[0]
    answer = server.post(
        "/translate", q="3 1 2", source="digits", target="reverse", alternatives=2
    ).json
    assert answer["translatedText"] == found.text
    assert answer["alternatives"] == [each.text for each in found.alternatives]


def test_two_models_reach_what_none_does_alone_and_say_so(server: RunningServer) -> None:
    answer = server.post("/translate", q=["3 1 2", "4 5"], source="digits", target="again").json
    assert answer == {"translatedText": ["3 1 2", "4 5"], "pivot": ["reverse", "reverse"]}


def test_auto_tells_what_it_took_the_text_for(server: RunningServer) -> None:
    answer = server.post("/translate", q="3 1 2", source="auto", target="reverse").json
    assert answer["detectedLanguage"] == {"confidence": 0.0, "language": "digits"}
    assert answer["translatedText"] == "2 1 3"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": "digits", "target": "reverse"}, "Invalid request: missing q parameter"),
        ({"q": "1", "target": "reverse"}, "Invalid request: missing source parameter"),
        ({"q": "1", "source": "xx", "target": "reverse"}, "xx is not supported"),
        (
            {"q": "1", "source": "again", "target": "digits"},
            "digits (digits) is not available as a target language from again (again)",
        ),
        (
            {"q": "1" * 5_001, "source": "digits", "target": "reverse"},
            "Invalid request: request (5001) exceeds text limit (5000)",
        ),
        (
            {"q": ["1"] * 129, "source": "digits", "target": "reverse"},
            "Invalid request: request (129) exceeds text limit (128)",
        ),
        (
            {"q": "1", "source": "digits", "target": "reverse", "alternatives": 10_000},
            "Invalid request: alternatives (10000) exceeds limit (9)",
        ),
        ({"q": "\ud800", "source": "digits", "target": "reverse"}, "half a surrogate pair"),
        ({"q": {"a": 1}, "source": "digits", "target": "reverse"}, "Invalid request: q "),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    server: RunningServer, fields: dict[str, object], message: str
) -> None:
    answer = server.post("/translate", **fields)
    assert answer.status == 400
    assert message in answer.json["error"]


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "status"),
    [
        ("POST", "/translate", "{", "application/json", 400),
        ("POST", "/translate", "[" * 100_000, "application/json", 400),
        ("POST", "/translate", '{"q": ' + "9" * 5_000 + "}", "application/json", 400),
        ("POST", "/translate", "[]", "application/json", 400),
        ("POST", "/translate", b'{"q": "\xff"}', "application/json", 400),
        ("POST", "/translate", "q=%FF", "application/x-www-form-urlencoded", 400),
        ("POST", "/translate", "x", "multipart/form-data", 400),
        ("POST", "/translate", "q=1", "text/plain", 415),
        ("POST", "/translate", " " * 1_000_001, "application/json", 413),
        ("GET", "/translate", None, "application/json", 405),
        ("GET", "/../../etc/passwd", None, "application/json", 404),
        ("GET", "/settings.py", None, "application/json", 404),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    server: RunningServer, method: str, path: str, body: bytes | str | None, kind: str, status: int
) -> None:
    answer = server.ask(method, path, body, {"Content-Type": kind})
    assert answer.status == status
    assert answer.json.keys() == {"error"}


def test_only_names_of_this_machine_and_pages_of_this_server_are_answered(
    server: RunningServer,
) -> None:
    assert server.ask("GET", "/health", headers={"Host": "localhost:1"}).status == 200
    assert server.ask("GET", "/health", headers={"Host": "[::1]:5000"}).status == 200
    assert server.ask("GET", "/health", headers={"Host": "evil.example"}).status == 400
    fields = urlencode({"q": "1", "source": "digits", "target": "reverse"})
    assert server.ask("POST", "/translate", fields, {"Sec-Fetch-Site": "cross-site"}).status == 403


def test_every_answer_says_what_a_browser_must_not_do_with_it(server: RunningServer) -> None:
    for answer in (server.get("/"), server.get("/nothing"), server.post("/translate")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    assert server.get("/").headers["content-type"] == "text/html; charset=utf-8"


def test_a_translation_is_opened_up_as_from_the_command_line(server: RunningServer) -> None:
    answer = server.post("/inspect", q="3 1 2", source="digits", target="reverse")
    trace = Trace.from_json(json.dumps(answer.json))
    assert (trace.source, trace.target) == ("3 1 2", "2 1 3")
    given = server.post(
        "/inspect", q="3 1 2", source="digits", target="reverse", translation="1 1 1"
    )
    assert given.json["target"] == "1 1 1"


def test_health_is_not_readiness(server: RunningServer) -> None:
    assert server.get("/health").json == {"status": "ok"}
    assert server.get("/ready").json == {"status": "ready"}
    settings = server.get("/frontend/settings").json
    assert settings["charLimit"] == 5_000
    assert settings["language"]["source"] == {"code": "digits", "name": "digits"}


def test_many_clients_at_once_get_each_their_own_answer(server: RunningServer) -> None:
    wrong: list[str] = []

    def ask(number: int) -> None:
        for digit in range(10):
            text = " ".join(f"{number:02}{digit}")
            answer = server.post("/translate", q=text, source="digits", target="reverse")
            if answer.json != {"translatedText": text[::-1]}:
                wrong.append(f"{text}: {answer.json}")

    clients = [Thread(target=ask, args=(number,)) for number in range(16)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert wrong == []


def test_a_server_that_cannot_start_says_why(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "nothing"), "--port", "0"]) == 5
    assert "nothing" in capsys.readouterr().err
    assert main(["serve", str(GOLDEN), "--port", str(server.port)]) == 2
    assert "choose another --host or --port" in capsys.readouterr().err
    assert main(["serve", "--port", "0"]) == 2
    assert "name a run folder or a model folder" in capsys.readouterr().err
