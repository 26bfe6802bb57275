"""``interlingua download`` against a catalogue on this machine that answers as OPUS does."""

import hashlib
import io
import json
import re
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS
from web_server import Site, cut_off, serve, status

from interlingua.cli import main
from interlingua.corpus.download import Entry, list_test_sets
from interlingua.corpus.transfer import fetch
from interlingua.errors import DownloadError

Capture = pytest.CaptureFixture[str]
RO, EN = b"unu\ndoi \xc2\x85\n", b"one\ntwo\n"


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            opened.writestr(name.replace("_", "."), data)
    return file.getvalue()


MOSES = {"Test_en-ro_en": EN, "Test_en-ro_ro": RO, "Test_en-ro_xml": b"<x/>"}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("interlingua.corpus.download.time.sleep", lambda _: None)
    with serve() as found:
        found.files["/en-ro.zip"] = archive(**MOSES, LICENSE=b"\n  CC-BY  2.0 FR\nmore\n")
        tell(found, [entry(found)])
        yield found


def entry(site: Site, **changes: object) -> dict[str, object]:
    return {
        "alignment_pairs": 2,
        "corpus": "Test",
        "documents": "",
        "id": 1,
        "latest": "True",
        "preprocessing": "moses",
        "size": 1,
        "source": "en",
        "target": "ro",
        "url": f"{site.address}/en-ro.zip",
        "version": "v1",
    } | changes


def tell(site: Site, entries: list[dict[str, object]]) -> None:
    site.files["/api"] = json.dumps({"corpora": entries}).encode()


def download(site: Site, *words: str, name: str = "Test") -> int:
    where = ["--catalogue", f"{site.address}/api", "--output", "data"]
    return main(["download", name, "--source-lang", "ro", "--target-lang", "en", *where, *words])


def test_a_corpus_arrives_as_two_files_with_its_lock_and_licence(
    site: Site, capsys: Capture
) -> None:
    assert download(site) == 0
    told = capsys.readouterr()
    assert "data/Test.ro-en.ro: 2 lines, 11 bytes" in told.out
    assert "licence: CC-BY 2.0 FR" in told.out
    assert site.asked[0][0].endswith(
        "?corpus=Test&source=ro&target=en&preprocessing=moses&version=latest"
    )
    assert Path("data/Test.ro-en.ro").read_bytes() == RO
    assert Path("data/Test.ro-en.en").read_bytes() == EN
    names = ["Test.ro-en.LICENSE", "Test.ro-en.en", "Test.ro-en.ro", "corpus.lock"]
    assert sorted(path.name for path in Path("data").iterdir()) == names
    lock = json.loads(Path("data/corpus.lock").read_text())
    data = site.files["/en-ro.zip"]
    assert lock["data/Test.ro-en.ro"] == {
        "size": 11,
        "sha256": hashlib.sha256(RO).hexdigest(),
        "lines": 2,
        "url": f"{site.address}/en-ro.zip",
        "url_sha256": hashlib.sha256(data).hexdigest(),
        "version": "v1",
        "licence": "CC-BY 2.0 FR",
    }


def test_what_is_here_is_not_fetched_again_and_what_was_damaged_is(
    site: Site, capsys: Capture
) -> None:
    assert download(site) == 0
    assert download(site, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out.splitlines()[-1])["files"] == [
        "data/Test.ro-en.ro",
        "data/Test.ro-en.en",
    ]
    assert "already here" in told.err
    assert sum("zip" in path for path, _ in site.asked) == 1
    Path("data/Test.ro-en.ro").write_text("half")
    assert download(site) == 0
    assert Path("data/Test.ro-en.ro").read_bytes() == RO


def test_a_broken_transfer_is_taken_up_by_the_same_command(
    site: Site, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting = {"pause": lambda _: None}
    monkeypatch.setattr(
        "interlingua.corpus.download.fetch",
        lambda *args, **named: fetch(*args, **named | without_waiting),
    )
    site.faults = [lambda answer: answer.serve(), *[cut_off(20)] * 6]
    assert download(site) == 9
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert "the same command goes on there" in told.err.splitlines()[-1]
    assert download(site) == 0
    assert site.asked[-1][1] == "bytes=120-"


def test_a_corpus_that_is_another_than_the_lock_says_is_refused(
    site: Site, capsys: Capture
) -> None:
    assert download(site) == 0
    site.files["/en-ro.zip"] = archive(**MOSES)
    Path("data/Test.ro-en.ro").unlink()
    assert download(site) == 9
    assert "the file was changed at its origin or on the way" in capsys.readouterr().err
    assert download(site, "--sha256", "0000") == 2
    assert download(site, "--sha256", "ab" * 32) == 9


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"a_en": EN}, "holds 0 files that end in .ro"),
        ({"a_en": EN, "a_ro": RO, "b_ro": RO}, "holds 2 files that end in .ro"),
        ({"a_en": EN, "a_ro": RO + b"trei\n"}, "its two sides have 3 and 2 lines"),
        ({"a_en": EN, "../a_ro": RO}, "leaves the folder"),
        ({"a_en": EN, "a_ro": bytes(9_000_000)}, "which text does not"),
    ],
)
def test_an_archive_of_something_else_is_refused(
    site: Site, capsys: Capture, members: dict[str, bytes], words: str
) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            opened.writestr(re.sub("_", ".", name), data)
    site.files["/en-ro.zip"] = file.getvalue()
    assert download(site) == 3
    assert words in capsys.readouterr().err
    assert not Path("data/corpus.lock").exists()
    assert not Path("data/Test.ro-en.zip").exists()


def test_a_corpus_without_a_licence_says_where_to_look(site: Site, capsys: Capture) -> None:
    site.files["/en-ro.zip"] = archive(**MOSES)
    assert download(site) == 0
    assert "licence: not stated: see the page of the corpus" in capsys.readouterr().out


def test_a_list_has_the_largest_first_and_the_test_sets(site: Site, capsys: Capture) -> None:
    tell(site, [entry(site), entry(site, corpus="Large", alignment_pairs=5000, size=2048)])
    words = ["download", "--list", "--source-lang", "en", "--target-lang", "ro"]
    assert main([*words, "--catalogue", f"{site.address}/api"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["Large", "Test"]
    assert "5,000 pairs" in lines[0]
    assert "2.1 MB" in lines[0]
    assert "wmt16" in lines[2]
    assert main([*words, "--catalogue", f"{site.address}/api", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["corpora"][1]["pairs"] == 2
    assert "wmt16" in found["test_sets"]


def test_what_is_not_there_is_told(site: Site, capsys: Capture) -> None:
    tell(site, [])
    assert download(site, "--version", "v7", name="Nothing") == 9
    told = capsys.readouterr().err
    assert "has no such corpus in ro and en of version v7; see what there is: interlingua" in told
    for words, status_ in (
        (["Test"], 9),
        ([], 2),
        (["--list"], 2),
        (["Test", "--source-lang", "en"], 2),
    ):
        assert main(["download", *words]) == status_
    site.files["/api"] = b"[]"
    assert download(site) == 9
    assert "does not answer as OPUS does" in capsys.readouterr().err
    with pytest.raises(DownloadError, match="an entry of an unknown form"):
        Entry.of({"corpus": "x"})


def test_offline_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    where = ["--source-lang", "ro", "--target-lang", "en", "--output", str(tmp_path / "data")]
    assert main(["download", "Test", *where, "--catalogue", "http://127.0.0.1:9/api"]) == 9
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "127.0.0.1:9: cannot be reached" in told
    assert not (tmp_path / "data").exists()


def test_a_file_is_fetched_from_its_address(site: Site, capsys: Capture) -> None:
    site.files["/x/a%20b.tsv.gz"] = site.files["/.."] = b"data"
    assert main(["download", f"{site.address}/x/a%20b.tsv.gz", "--output", "data"]) == 0
    assert Path("data/a_b.tsv.gz").read_bytes() == b"data"
    assert main(["download", f"{site.address}/..", "--output", "data"]) == 0
    assert {path.name for path in Path("data").iterdir()} == {
        "a_b.tsv.gz",
        "corpus.lock",
        "corpus",
    }
    site.faults = [status(404)]
    assert main(["download", f"{site.address}/none", "--output", "data"]) == 9
    assert "404" in capsys.readouterr().err


def test_a_file_of_the_same_name_from_elsewhere_is_not_written_over(
    site: Site, capsys: Capture
) -> None:
    site.files["/en-ro/train.tsv"], site.files["/en-de/train.tsv"] = b"ro", b"de"
    command = ["download", f"{site.address}/en-ro/train.tsv", "--output", "data"]
    assert main(command) == 0
    assert main(["download", f"{site.address}/en-de/train.tsv", "--output", "data"]) == 6
    assert (
        "data/train.tsv: is there already, and corpus.lock does not say" in capsys.readouterr().err
    )
    assert Path("data/train.tsv").read_bytes() == b"ro"
    Path("data/train.tsv").write_bytes(b"damaged")
    assert main(command) == 0  # its own, it is brought again
    assert Path("data/train.tsv").read_bytes() == b"ro"


SGM = '<{kind}set><doc docid="d"><p><seg id="1">{one}</seg><seg id="2">{two}</seg></p></doc></{kind}set>\n'


def test_a_test_set_of_sacrebleu_is_fetched_checked_and_made_text(
    site: Site, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = DATASETS["wmt13"]
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, kind, one, two in (
            ("source", "src", "Eins und", "Zwei"),
            ("ref", "ref", "One and", "Two"),
        ):
            place = known.langpairs["de-en"][0 if name == "source" else 1]
            data = (
                SGM.format(kind=kind, one=one, two=two)
                .replace("<seg", "\n<seg")
                .replace("</p>", "\n</p>")
                .encode()
            )
            info = tarfile.TarInfo(place)
            info.size, info.mtime = len(data), int(time.time())
            tar.addfile(info, io.BytesIO(data))
    site.files["/test.tgz"] = file.getvalue()
    site.kind = "application/gzip"
    monkeypatch.setattr(known, "data", [f"{site.address}/test.tgz"])
    monkeypatch.setattr(known, "md5", ["0" * 32])
    words = ["download", "wmt13", "--source-lang", "de", "--target-lang", "en", "--output", "data"]
    assert main(words) == 9
    assert "which sacreBLEU knows it by" in capsys.readouterr().err
    monkeypatch.setattr(known, "md5", [hashlib.md5(file.getvalue()).hexdigest()])
    site.faults = [cut_off(30)]
    assert main(words) == 0
    assert Path("data/wmt13.de-en.de").read_text() == "Eins und\nZwei\n"
    assert Path("data/wmt13.de-en.en").read_text() == "One and\nTwo\n"
    lock = json.loads(Path("data/corpus.lock").read_text())
    assert lock["data/wmt13.de-en.de"]["lines"] == 2
    assert lock["data/wmt13.de-en.de"]["url_sha256"] == hashlib.sha256(file.getvalue()).hexdigest()
    assert main(words) == 0
    assert len(site.asked) == 3
    assert sorted(path.name for path in Path("data").iterdir()) == [
        "corpus.lock",
        "wmt13.de-en.de",
        "wmt13.de-en.en",
    ]


def test_a_test_set_has_a_direction(capsys: Capture) -> None:
    pairs = list_test_sets(("en", "de"))
    assert "wmt14" in pairs
    name = next(name for name in pairs if name not in list_test_sets(("de", "en")))
    words = ["--source-lang", "de", "--target-lang", "en", "--output", "data"]
    assert main(["download", name, *words]) == 9
    assert "swap --source-lang and --target-lang" in capsys.readouterr().err
