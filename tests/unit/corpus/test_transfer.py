"""Transfers from a real server of this machine that breaks off, refuses, lies and changes its mind."""

import hashlib
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_server import Answer, Site, cut_off, hang_up, serve, slow, status

from interlingua.corpus import transfer
from interlingua.corpus.transfer import Transfer, fetch, fetch_json
from interlingua.errors import DownloadError, OutputError

DATA = random.Random(7).randbytes(300_000)


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as found:
        found.files["/a.zip"] = DATA
        yield found


class Fetched:
    """One call, with what it said and how long it would have waited."""

    def __init__(self, site: Site, folder: Path, **how: object) -> None:
        self.said: list[str] = []
        self.waits: list[float] = []
        self.steps: list[tuple[int, int | None]] = []
        self.path = folder / "a.zip"
        self.result: Transfer = fetch(
            f"{site.address}/a.zip",
            self.path,
            say=self.said.append,
            pause=self.waits.append,
            progress=lambda done, whole: self.steps.append((done, whole)),
            **how,  # type: ignore[arg-type]
        )
        assert self.path.read_bytes() == DATA
        assert sorted(file.name for file in folder.iterdir()) == ["a.zip"]


def test_a_file_arrives_whole_with_its_checksum_and_progress(site: Site, tmp_path: Path) -> None:
    fetched = Fetched(site, tmp_path, sha256=hashlib.sha256(DATA).hexdigest().upper())
    assert fetched.result == Transfer(len(DATA), hashlib.sha256(DATA).hexdigest())
    assert fetched.steps[-1] == (len(DATA), len(DATA))
    assert fetched.said == []


def test_a_transfer_that_breaks_off_goes_on_where_it_was(site: Site, tmp_path: Path) -> None:
    site.faults = [cut_off(100_000), cut_off(50_000)]
    fetched = Fetched(site, tmp_path)
    assert [wanted for _, wanted in site.asked] == ["", "bytes=100000-", "bytes=150000-"]
    assert "broke off after 100,000 of 300,000 bytes; trying again in 1 s" in fetched.said[0]
    assert fetched.waits == [1.0, 2.0]


def test_the_next_call_goes_on_after_one_that_gave_up(site: Site, tmp_path: Path) -> None:
    site.faults = [cut_off(100_000), cut_off(10), cut_off(10)]
    with pytest.raises(DownloadError, match=r"broke off after 100,020 of 300,000 bytes, 3 times"):
        Fetched(site, tmp_path, attempts=3)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.zip.part", "a.zip.part.json"]
    Fetched(site, tmp_path)
    assert site.asked[-1][1] == "bytes=100020-"


def test_two_versions_are_never_pieced_together(site: Site, tmp_path: Path) -> None:
    site.files["/a.zip"] = DATA[::-1]
    site.faults = [cut_off(100_000)]
    with pytest.raises(DownloadError, match="broke off"):
        Fetched(site, tmp_path, attempts=1)
    site.files["/a.zip"] = DATA
    Fetched(site, tmp_path)
    assert site.asked[-1][1] == "bytes=100000-"


@pytest.mark.parametrize("able", [{"ranges": False}, {"validators": False}])
def test_without_ranges_or_validators_it_begins_anew(
    site: Site, tmp_path: Path, able: dict[str, bool]
) -> None:
    for name, value in able.items():
        setattr(site, name, value)
    site.faults = [cut_off(100_000)]
    Fetched(site, tmp_path)
    assert len(site.asked) == 2


def test_a_file_that_became_shorter_than_its_part_begins_anew(site: Site, tmp_path: Path) -> None:
    site.files["/a.zip"] = DATA + DATA
    site.faults = [lambda answer: answer.serve(limit=400_000, etag='"same"')]
    with pytest.raises(DownloadError):
        Fetched(site, tmp_path, attempts=1)
    site.files["/a.zip"] = DATA
    site.faults = [lambda answer: answer.serve(etag='"same"')]
    Fetched(site, tmp_path)


def test_an_answer_for_another_range_is_not_appended(site: Site, tmp_path: Path) -> None:
    def wrong(answer: Answer) -> None:
        answer.send_response(206)
        answer.send_header("Content-Range", f"bytes 5-{len(DATA) - 1}/{len(DATA)}")
        answer.send_header("Content-Length", "10")
        answer.end_headers()
        answer.wfile.write(b"0123456789")

    site.faults = [cut_off(100_000), wrong]
    fetched = Fetched(site, tmp_path)
    assert "sent another part than it was asked for" in fetched.said[1]


def test_errors_of_a_busy_server_are_waited_out(site: Site, tmp_path: Path) -> None:
    site.faults = [status(500), status(503, Retry_After="7"), status(429), hang_up]
    fetched = Fetched(site, tmp_path)
    assert fetched.waits == [1.0, 7.0, 4.0, 8.0]
    assert "the server answered 503 Service Unavailable; trying again in 7 s" in fetched.said[1]
    site.faults = [status(503)] * 3
    with pytest.raises(DownloadError, match="the server answered 503 Service Unavailable, 3 times"):
        Fetched(site, tmp_path, attempts=3)


@pytest.mark.parametrize(
    ("code", "words"), [(404, "404 Not Found; check the name"), (403, "403 Forbidden; see the")]
)
def test_a_refusal_is_told_at_once(site: Site, tmp_path: Path, code: int, words: str) -> None:
    site.faults = [status(code)]
    with pytest.raises(DownloadError, match=f"the server answered {words}"):
        Fetched(site, tmp_path)
    assert len(site.asked) == 1


def test_a_server_that_says_nothing_more_is_left(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "_PATIENCE", 1.0)
    site.faults = [slow]
    assert "broke off after 0 bytes (timed out)" in Fetched(site, tmp_path).said[0]


def test_a_web_page_is_no_corpus(site: Site, tmp_path: Path) -> None:
    site.kind = "text/html; charset=utf-8"
    site.files["/a.zip"] = b"<html><head><title>Please log in</title></head></html>"
    with pytest.raises(DownloadError, match=r'sends a web page and no corpus .*"Please log in"'):
        Fetched(site, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"older")
    with pytest.raises(
        DownloadError, match=f"has the SHA-256 {hashlib.sha256(DATA).hexdigest()}, not 00"
    ):
        Fetched(site, tmp_path, sha256="00" * 32)
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]
    assert (tmp_path / "a.zip").read_bytes() == b"older"


@pytest.mark.parametrize(
    "url", ["ftp://x/y", "file:///etc/passwd", "https://", "a b", "http://[x", "http://h/a b"]
)
def test_only_addresses_of_the_web_are_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="is no address of the web"):
        fetch(url, tmp_path / "a")


def test_offline_is_one_sentence_at_once(tmp_path: Path) -> None:
    with socket.socket() as silent:  # bound, so that nobody else takes the port, and not listening
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for url in (f"http://127.0.0.1:{port}/a", "http://nowhere.invalid/a"):
            with pytest.raises(
                DownloadError, match=r"cannot be reached \(.*\); a download needs the internet"
            ):
                fetch(url, tmp_path / "a", pause=lambda _: pytest.fail("waited"))
            with pytest.raises(DownloadError, match="cannot be reached"):
                fetch_json(url)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_before_anything_is_written(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from collections import namedtuple

    usage = namedtuple("usage", "free")
    monkeypatch.setattr(transfer.shutil, "disk_usage", lambda _: usage(1000))
    with pytest.raises(OutputError, match="has 1,000 bytes free, and 300,000 more are needed"):
        Fetched(site, tmp_path)


def test_a_catalogue_answers_json(site: Site) -> None:
    site.files["/api"] = b'{"corpora": []}'
    assert fetch_json(f"{site.address}/api?x=1") == {"corpora": []}
    site.files["/api"] = b"<html>busy</html>"
    with pytest.raises(DownloadError, match='answers no JSON but "busy"; is this the address'):
        fetch_json(f"{site.address}/api")
    for fault in (status(500), status(404), hang_up):
        site.faults = [fault]
        with pytest.raises(DownloadError, match="try again later"):
            fetch_json(f"{site.address}/api")
