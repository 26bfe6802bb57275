"""The server as clients of other projects see it: their packages unchanged, against the real command."""

import fcntl
import json
import os
import re
import signal
import socket
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import deepl
import pytest
from libretranslatepy import LibreTranslateAPI
from running_server import GOLDEN, Answer, RunningServer, model_between, serving

from interlingua.cli import main
from interlingua.inspection.questions import QUESTIONS
from interlingua.inspection.trace import Trace
from interlingua.server.translation import cut_in_two
from interlingua.translator import Translator


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Digits to reverse, and reverse to again."""
    second = model_between("reverse", "again", tmp_path_factory.mktemp("models") / "second")
    with serving(GOLDEN, second, flags=("--deadline", "300")) as running:
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


def test_the_ways_name_the_models_that_lead_from_one_language_to_another(
    server: RunningServer,
) -> None:
    assert server.get("/inspect/ways").json["ways"] == [
        {"source": "digits", "target": "reverse", "models": [0]},
        {"source": "digits", "target": "again", "models": [0, 1]},
        {"source": "reverse", "target": "again", "models": [1]},
    ]


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


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://192.168.1.5:5000"}, 200),
        ({"Origin": "http://192.168.1.5:5001"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
def test_pages_of_other_sites_are_refused_also_by_browsers_that_do_not_tell(
    server: RunningServer, headers: dict[str, str], status: int
) -> None:
    fields = urlencode({"q": "1", "source": "digits", "target": "reverse"})
    kind = {
        "Host": "192.168.1.5:5000",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    assert server.ask("POST", "/translate", fields, kind | headers).status == status


def test_a_form_may_hold_text_as_it_was_typed(server: RunningServer) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    body = "q=3 1 ă 你好 😀&source=digits&target=reverse".encode()
    assert server.ask("POST", "/translate", body, kind).status == 200
    assert server.ask("POST", "/detect", b"q=\xff", kind).status == 400


def test_long_heads_are_refused(server: RunningServer) -> None:
    assert server.get("/" + "x" * 20_000).status == 414
    assert server.ask("GET", "/", headers={"X": "x" * 20_000}).status == 431


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


def test_switches_that_no_model_has_are_refused_in_words(server: RunningServer) -> None:
    edit = {"kind": "cross", "layer": 1, "head": 1, "row": 0, "column": 0, "weight": 2}
    for switches, told in (
        ({"edited": [edit]}, "an edited weight is 2.0; it takes 0 to 1"),
        ({"hidden_source": [-1]}, "a place is below 0"),
        ({"layers_off": [{"side": "decoder", "layer": 99}]}, "there is no layer 99"),
    ):
        answer = server.post("/inspect/trace", text="3 1 2", switches=switches)
        assert answer.status == 400
        assert told in answer.json["error"]


def test_health_is_not_readiness(server: RunningServer) -> None:
    assert server.get("/health").json == {"status": "ok"}
    assert server.get("/ready").json == {"status": "ready"}
    settings = server.get("/frontend/settings").json
    assert settings["charLimit"] == 5_000
    assert settings["language"]["source"] == {"code": "digits", "name": "digits"}


def test_many_clients_at_once_get_each_their_own_answer(server: RunningServer) -> None:
    wrong: list[str] = []

    def ask(number: int) -> None:
        for digit in range(4):
            text = " ".join(f"{number:02}{digit}")
            answer = server.post("/translate", q=text, source="digits", target="reverse")
            if answer.json != {"translatedText": text[::-1]}:
                wrong.append(f"{text}: {answer.json}")

    clients = [Thread(target=ask, args=(number,)) for number in range(64)]
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


def read_events(body: bytes) -> list[tuple[str, dict[str, str]]]:
    events = []
    for block in body.decode().split("\n\n")[:-1]:
        name, data = block.split("\n")
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


def test_a_translation_comes_piece_by_piece(server: RunningServer) -> None:
    text = "3 1 2\n\n4 5 "
    answer = server.post("/translate", q=text, source="digits", target="reverse", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, last = read_events(answer.body)
    assert last == ("done", {"translatedText": "2 1 3\n\n5 4 "})
    assert {name for name, _ in pieces} == {"piece"}
    assert len(pieces) >= 4
    assert "".join(event["text"] for _, event in pieces) == last[1]["translatedText"]


def test_a_stream_of_what_cannot_be_streamed_is_refused(server: RunningServer) -> None:
    asked = {"source": "digits", "target": "reverse", "stream": True}
    assert server.post("/translate", q=["1"], **asked).status == 400
    assert server.post("/translate", q="1", alternatives=1, **asked).status == 400


def worker_of(server: RunningServer) -> int:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return int(children.read_text().split()[0])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the worker is found in /proc")
def test_a_dead_worker_is_replaced_and_nobody_notices(server: RunningServer) -> None:
    dead = worker_of(server)
    os.kill(dead, signal.SIGKILL)
    answer = server.post("/translate", q="3 1 2", source="digits", target="reverse")
    assert answer.json == {"translatedText": "2 1 3"}
    assert worker_of(server) != dead


def test_clients_that_leave_leave_nothing_behind(server: RunningServer) -> None:
    body = json.dumps({"q": "1 2 3 " * 800, "source": "digits", "target": "reverse"}).encode()
    for stream in (b"false", b"true"):
        asked = body[:-1] + b', "stream": ' + stream + b"}"
        head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(asked)}\r\n\r\n"
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(head.encode() + asked)
    answer = server.post("/translate", q="3 1 2", source="digits", target="reverse")
    assert answer.json == {"translatedText": "2 1 3"}


def test_the_client_of_deepl_works_unchanged(server: RunningServer) -> None:
    client = deepl.Translator("any key", server_url=server.address)
    one = client.translate_text("3 1 2", source_lang="DIGITS", target_lang="REVERSE")
    assert (one.text, one.detected_source_lang) == ("2 1 3", "DIGITS")
    several = client.translate_text(["3 1 2", "4 5"], target_lang="REVERSE")
    assert [each.text for each in several] == ["2 1 3", "5 4"]
    marked = client.translate_text(
        "<x>3</x> 1 2", source_lang="DIGITS", target_lang="REVERSE", tag_handling="xml"
    )
    assert re.sub("</?x>", "", marked.text) == "2 1 3"
    assert marked.text.count("<x>") == marked.text.count("</x>") == 1
    assert [each.code for each in client.get_source_languages()] == ["DIGITS", "REVERSE"]
    assert [each.code for each in client.get_target_languages()] == ["REVERSE", "AGAIN"]
    assert client.get_usage().character.count > 0
    with pytest.raises(deepl.DeepLException, match="FR is not supported"):
        client.translate_text("1", target_lang="FR")


def test_markup_comes_through(server: RunningServer) -> None:
    document = "<ul class='a'><li>3 <b>1</b> 2</li>\n<li>4 &amp; 5<br></li></ul>"
    for target in ("reverse", "again"):
        answer = server.post(
            "/translate", q=document, source="digits", target=target, format="html"
        ).json
        assert re.findall("<[^>]*>", answer["translatedText"]) == re.findall("<[^>]*>", document)
        assert answer["translatedText"].count("&amp;") == 1
    inside = server.post(
        "/translate", q="<p>3&amp;4 5</p>", source="digits", target="reverse", format="html"
    ).json["translatedText"]
    assert "&amp;" in inside


@pytest.mark.parametrize("digits", ["1 2 3 4 5", "9 2 7 3", "6 5 8 1 2 4"])
def test_elements_keep_their_words(server: RunningServer, digits: str) -> None:
    words = digits.split()
    for word in words:
        marked = digits.replace(word, f"<b>{word}</b>")
        answer = server.post(
            "/translate", q=marked, source="digits", target="reverse", format="html"
        ).json["translatedText"]
        plain = re.sub("<[^>]*>", "", answer)
        if word in plain.split():
            assert f"<b>{word}</b>" in answer


def zipped(**members: str) -> bytes:
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return written.getvalue()


def translate_file(server: RunningServer, name: str, content: bytes) -> Answer:
    parts = [f'name="file"; filename="{name}"', 'name="source"', 'name="target"']
    values = [content, b"digits", b"reverse"]
    body = b"".join(
        b"--b\r\nContent-Disposition: form-data; " + part.encode() + b"\r\n\r\n" + value + b"\r\n"
        for part, value in zip(parts, values, strict=True)
    )
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    return server.ask("POST", "/translate_file", body + b"--b--\r\n", kind)


def fetch(server: RunningServer, answer: Answer) -> bytes:
    assert answer.status == 200, answer.body
    fetched = server.get(answer.json["translatedFileUrl"].removeprefix(server.address))
    assert fetched.headers["content-disposition"].startswith("attachment; ")
    return fetched.body


def test_files_come_back_translated_and_otherwise_as_they_were(server: RunningServer) -> None:
    assert fetch(server, translate_file(server, "a.txt", b"3 1 2\n\n4 5\n")) == b"2 1 3\n\n5 4\n"
    assert fetch(server, translate_file(server, "a.html", b"<p>3 1 2</p>")) == b"<p>2 1 3</p>"
    cues = b"1\n00:00:01,000 --> 00:00:02,000\n3 1\n2\n\n2\n00:00:03,000 --> 00:00:04,000\n4 5\n"
    expected = (
        b"1\n00:00:01,000 --> 00:00:02,000\n2 1\n3\n\n2\n00:00:03,000 --> 00:00:04,000\n5 4\n"
    )
    assert fetch(server, translate_file(server, "a.srt", cues)) == expected
    windows = [text.replace(b"\n", b"\r\n") for text in (cues, expected)]
    assert fetch(server, translate_file(server, "a.srt", windows[0])) == windows[1]
    assert fetch(server, translate_file(server, "a.srt", b"")) == b""
    odt = zipped(mimetype="odt", content_xml="<o><text:p>3 <text:span>1</text:span> 2</text:p></o>")
    with zipfile.ZipFile(BytesIO(fetch(server, translate_file(server, "a.odt", odt)))) as archive:
        assert archive.read("mimetype") == b"odt"
        inside = archive.read("content.xml").decode()
    assert re.sub("</?text:span>", "", inside) == "<o><text:p>2 1 3</text:p></o>"
    word = (
        "<w:p><w:r><w:t>3 </w:t></w:r><w:r><w:b/><w:t>1 2</w:t></w:r>"
        "<w:r><w:br/></w:r><w:r><w:t>4 5</w:t></w:r></w:p>"
    )
    docx = zipped(word__document_xml=word, word__styles_xml="<w:p><w:t>6 7</w:t></w:p>")
    with zipfile.ZipFile(BytesIO(fetch(server, translate_file(server, "a.docx", docx)))) as archive:
        inside = archive.read("word/document.xml").decode()
        assert archive.read("word/styles.xml") == b"<w:p><w:t>6 7</w:t></w:p>"
    texts = re.findall("<w:t[^>]*>([^<]*)</w:t>", inside)
    assert (len(texts), "".join(texts[:2]), texts[2]) == (3, "2 1 3", "5 4")
    assert inside.count("<w:r>") == inside.count("</w:r>") == 4
    assert inside.count("<w:b/>") == 1


CUES = """1
00:00:01,000 --> 00:00:02,000
- 3 1 2
- 4 5

2
00:00:03,000 --> 00:00:04,000
{\\an8}\u2013 3
1 2
<i>- 4 5</i>

3
00:00:05,000 --> 00:00:06,000
{\\an8}3 1
2
"""


def test_who_speaks_in_a_subtitle_and_where_it_stands_is_kept(server: RunningServer) -> None:
    found = fetch(server, translate_file(server, "a.srt", CUES.encode())).decode()
    first, second, third = found.split("\n\n")
    assert first.split("\n")[2:] == ["- 2 1 3", "- 5 4"]
    assert second.split("\n")[2:] == ["{\\an8}\u2013 2 1", "3", "<i>- 5 4</i>"]
    assert third.split("\n")[2:] == ["{\\an8}2 1", "3", ""]


def test_an_archive_without_the_text_of_its_kind_is_refused(server: RunningServer) -> None:
    for name in ("a.docx", "a.odt"):
        answer = translate_file(server, name, zipped(notes_txt="3 1 2"))
        assert answer.status == 400
        assert "has no text in it" in answer.json["error"]


def test_tags_that_the_client_of_deepl_wants_ignored_are_not_silently_translated(
    server: RunningServer,
) -> None:
    translator = deepl.Translator("any", server_url=server.address)
    asked = {"source_lang": "digits", "target_lang": "reverse", "tag_handling": "xml"}
    with pytest.raises(deepl.DeepLException, match="ignore_tags is not supported"):
        translator.translate_text("<x>3 1</x> 2", ignore_tags=["x"], **asked)
    found = translator.translate_text('<x translate="no">3 1</x> 2', **asked)
    assert '<x translate="no">3 1</x>' in found.text


@pytest.mark.slow
def test_files_that_are_none_or_too_large_are_refused(server: RunningServer) -> None:
    for name, content, status in (
        ("a.exe", b"x", 400),
        ("a.docx", b"no archive", 400),
        ("a.docx", zipped(word__document_xml="0" * 100_000_001), 413),
        ("a.txt", b"\xff\xfa", 400),
        ("a.txt", b"1" * 5_000_001, 413),
    ):
        answer = translate_file(server, name, content)
        assert (answer.status, answer.json.keys()) == (status, {"error"}), name
    assert server.get("/download_file/nothing.txt").status == 404
    assert server.get("/download_file/..%2f..%2fetc%2fpasswd").status == 404


def test_operators_see_numbers_and_no_texts(server: RunningServer) -> None:
    server.get("/a/secret/path")
    server.post("/translate", q="3 1 2", source="digits", target="reverse")
    server.post("/inspect/trace", text="3 1 2")
    server.post("/inspect/anything", text="3 1 2")
    server.get("/download_file/secret.txt")
    told = server.get("/metrics").body.decode()
    assert 'route="/translate",status="200"' in told
    assert 'route="/inspect/trace",status="200"' in told
    assert "anything" not in told
    assert 'route="/download_file/{name}",status="404"' in told
    assert 'route="other",status="404"' in told
    assert "secret" not in told
    assert "interlingua_ready 1.0" in told


def test_the_specification_names_every_route_and_its_page_needs_no_other_site(
    server: RunningServer,
) -> None:
    paths = server.get("/spec").json["paths"]
    assert {"/translate", "/detect", "/languages", "/v2/translate", "/translate_file"} <= set(paths)
    assert {f"/inspect/{name}" for name in QUESTIONS} <= set(paths)
    assert {"/metrics", "/download_file/{name}"} <= set(paths)
    for path in ("/docs", "/docs/reference.js", "/docs/reference.css"):
        answer = server.get(path)
        assert answer.status == 200
        assert b"//" not in re.sub(rb"^// .*$", b"", answer.body, flags=re.MULTILINE)


WATCHER = """
import os, sys

def watch(event, arguments):
    if event == "socket.connect" and not isinstance(arguments[1], tuple):
        return  # a socket between its own processes
    if event == "socket.getaddrinfo" and arguments[0] == "127.0.0.1":
        return  # where it listens
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"}:
        os.write(told, f"{event} {arguments}\\n".encode())

told = os.open(os.environ["WATCHER_TELLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(told, b"watching\\n")
sys.addaudithook(watch)
"""


@pytest.mark.slow
def test_the_server_never_connects_to_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WATCHER)
    record = tmp_path / "record"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path[1:]]))
    monkeypatch.setenv("WATCHER_TELLS", str(record))
    with serving(GOLDEN) as running:
        asked = {"q": "3 1 2", "source": "digits", "target": "reverse"}
        answers = [
            running.post("/translate", **asked, alternatives=2),
            running.post("/translate", **asked, stream=True),
            running.post("/translate", **asked | {"source": "auto"}),
            running.post("/inspect", **asked),
            running.post("/detect", q="Chi parla qui?"),
            *map(running.get, ("/", "/docs", "/spec", "/languages", "/metrics", "/health")),
        ]
    assert {answer.status for answer in answers} == {200}
    told = record.read_text().splitlines()
    assert set(told) == {"watching"}, told
    assert len(told) >= 2, "neither the server nor its worker was watched"


@pytest.mark.slow
def test_keys_suggestions_and_the_log_are_as_the_operator_wants(tmp_path: Path, capsys) -> None:
    keys, kept = tmp_path / "keys", tmp_path / "kept.jsonl"
    assert main(["serve", "--new-key", "ana", "--api-keys", str(keys)]) == 0
    key = capsys.readouterr().out.strip()
    assert key not in keys.read_text()
    flags = ("--api-keys", str(keys), "--suggestions", str(kept), "--log-requests")
    asked = {"q": "3 1 2", "source": "digits", "target": "reverse"}
    with serving(GOLDEN, flags=flags) as server:
        assert server.post("/translate", **asked).status == 400
        assert server.post("/translate", **asked, api_key="wrong").status == 403
        assert server.post("/translate", **asked, api_key=key).status == 200
        assert server.get("/metrics").status == 400
        bearer = {"Authorization": f"Bearer {key}"}
        assert server.ask("GET", "/metrics", headers=bearer).status == 200
        suggested = server.post("/suggest", **asked, s="2 1 3", api_key=key)
        assert suggested.json == {"success": True}
        assert server.get("/frontend/settings").json["keyRequired"] is True
    assert json.loads(kept.read_text()) == asked | {"s": "2 1 3"}
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert [line["status"] for line in lines] == [400, 403, 200, 400, 200, 200, 200]
    assert "3 1 2" not in server.log
    assert key not in server.log


def test_a_suggestion_that_waits_for_its_file_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    kept, told = tmp_path / "kept.jsonl", []
    asked = {"q": "3 1 2", "source": "digits", "target": "reverse", "s": "2 1 3"}
    with serving(GOLDEN, flags=("--suggestions", str(kept))) as server:
        suggesting = Thread(target=lambda: told.append(server.post("/suggest", **asked).status))
        with kept.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            suggesting.start()
            suggesting.join(1)
            assert suggesting.is_alive()
            assert server.get("/ready").status == 200
        suggesting.join(30)
    assert told == [200]
    assert json.loads(kept.read_text())["s"] == "2 1 3"


BREAKING = """
import sys

if "serve" in sys.orig_argv:
    from interlingua.server.detection import Detector

    def detect(self, text):
        raise RuntimeError(text)

    Detector.detect = detect
"""


def test_the_log_has_neither_a_traceback_nor_what_a_client_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BREAKING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path[1:]]))
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "eHg="}
    with serving(GOLDEN) as running:
        assert running.post("/detect", q="a secret").status == 500
        assert running.ask("POST", "/translate", b"--b{secret", form).status == 400
        assert running.ask("GET", "/", headers=upgrade).status == 200
        with socket.create_connection(("127.0.0.1", running.port)) as client:
            client.sendall(b"a secret that is no HTTP\r\n\r\n")
            assert b" 400 " in client.recv(100)
    [line] = running.log.splitlines()
    assert re.fullmatch(r"RuntimeError at \w+:\d+( > \w+:\d+)*", line)


def test_nothing_is_lost_of_a_sentence_that_is_longer_than_the_model_reads(
    server: RunningServer,
) -> None:
    translator = Translator.load(GOLDEN, threads=1)
    text = " ".join("12345"[n % 5] for n in range(2 * translator.max_source_length))

    def whole(text: str) -> str:
        found = translator.translate([text])[0]
        if "truncated-source" not in found.flags:
            return found.text
        return " ".join(whole(half) for half in cut_in_two(text))

    answer = server.post("/translate", q=text, source="digits", target="reverse").json
    assert answer["translatedText"] == whole(text)
    streamed = server.post("/translate", q=text, source="digits", target="reverse", stream=True)
    assert read_events(streamed.body)[-1][0] == "error"


@pytest.mark.slow
def test_a_suggestion_is_followed_from_the_next_request_on(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()
    flags = ("--corrections", str(told), "--suggestions", str(told / "corrections.jsonl"))
    asked = {"q": "3 1 2", "source": "digits", "target": "reverse"}
    with serving(GOLDEN, flags=flags) as server:
        before = server.post("/translate", **asked).json["translatedText"]
        assert server.post("/suggest", **asked, s="9 9 9").json == {"success": True}
        for wrong, words in (
            ({"s": "  "}, "s is blank"),
            ({"s": "1", "source": "reverse"}, "no model here translates from reverse to reverse"),
            ({"s": "1", "source": "xx"}, "xx is not supported"),
        ):
            refused = server.post("/suggest", **asked | wrong)
            assert (refused.status, words in refused.json["error"]) == (400, True)
        assert server.post("/translate", **asked).json["translatedText"] == "9 9 9" != before
        streamed = server.post("/translate", **asked, stream=True)
        assert read_events(streamed.body)[-1] == ("done", {"translatedText": "9 9 9"})
        for q, s in (("1 2. 3.\n4", "3 2… 1"), ("1 2 3. 4", "5")):
            two = {**asked, "q": f" {q}\n"}
            assert server.post("/suggest", **two, s=f"{s} ").json == {"success": True}
            assert server.post("/translate", **two).json == {"translatedText": f" {s}\n"}
            html = server.post("/translate", **two, format="html").json["translatedText"]
            assert html == f" {s}\n"
            streamed = server.post("/translate", **two, stream=True)
            assert read_events(streamed.body)[-1] == ("done", {"translatedText": f" {s}\n"})
        with (told / "corrections.jsonl").open("a") as file:
            file.write("damaged\n")
        assert server.post("/translate", **asked).json["translatedText"] == "9 9 9"
