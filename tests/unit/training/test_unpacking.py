"""Corpora that are no two files of lines: unpacked once, kept with the run, and held to what they were."""

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlingua.config import CorpusConfig, RunConfig, TokenizationConfig, TrainingConfig
from interlingua.corpus import fingerprint as fingerprint_module
from interlingua.corpus.fingerprint import FileState, fingerprint
from interlingua.corpus.formats import PairReader
from interlingua.errors import ConfigError, CorpusError, TrainingError
from interlingua.training import unpacking
from interlingua.training.corpus_of_run import languages_of
from interlingua.training.prepare import Prepared, prepare
from interlingua.training.run_folder import RunFolder
from interlingua.training.unpacking import find_plain_files

PAIRS = [(f"casa {i} \u2028 {i % 7}", f"house {i} \u0085 {i % 5}") for i in range(90)]
LANGUAGES = {"source_lang": "ro", "target_lang": "en"}


def tsv(pairs: list[tuple[str, str]] = PAIRS) -> bytes:
    return "".join(f"{a}\t{b}\n" for a, b in pairs).encode()


def tmx(pairs: list[tuple[str, str]] = PAIRS) -> bytes:
    units = (
        f'<tu><tuv xml:lang="en-GB"><seg>{b}</seg></tuv><tuv xml:lang="ro"><seg>{a}</seg></tuv>'
        f'<tuv xml:lang="fr"><seg>la {a}</seg></tuv></tu>'
        for a, b in pairs
    )
    return f"<tmx><body>{''.join(units)}</body></tmx>".encode()


def prepared_from(folder: Path, **corpus: object) -> Prepared:
    config = RunConfig(
        run_dir=folder / "runs" / "run",
        corpus=CorpusConfig.model_validate({**LANGUAGES, **corpus}),
        tokenization=TokenizationConfig(kind="bpe"),
        training=TrainingConfig(device="cpu", threads=1),
    )
    return prepare(config)


def ids_of(prepared: Prepared) -> list[list[int]]:
    return [
        side(index).tolist()
        for data in (prepared.training, prepared.validation)
        for index in range(len(data.shards))
        for side in (data.shards.source, data.shards.target)
    ]


def begin(prepared: Prepared) -> None:
    (prepared.folder.checkpoints / "step-1").mkdir(parents=True)


def forbid_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PairReader, "__iter__", lambda _: pytest.fail("unpacked again"))


def test_equal_pairs_in_any_form_become_equal_ids(tmp_path: Path) -> None:
    (tmp_path / "a.ro").write_text("".join(f"{a}\n" for a, _ in PAIRS))
    (tmp_path / "a.en").write_text("".join(f"{b}\n" for _, b in PAIRS))
    (tmp_path / "b.ro.gz").write_bytes(gzip.compress((tmp_path / "a.ro").read_bytes()))
    (tmp_path / "c.tsv").write_bytes(tsv())
    (tmp_path / "d.tmx.gz").write_bytes(gzip.compress(tmx()))
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    forms: list[dict[str, object]] = [
        {"source": tmp_path / "a.ro", "target": tmp_path / "a.en"},
        {"source": tmp_path / "b.ro.gz", "target": tmp_path / "a.en"},
        *({"pairs": tmp_path / name} for name in ("a", "c.tsv", "d.tmx.gz", "e.jsonl")),
    ]
    first, *others = [ids_of(prepared_from(tmp_path / str(i), **x)) for i, x in enumerate(forms)]
    assert len(first) == 2 * len(PAIRS)
    for form, ids in zip(forms[1:], others, strict=True):
        assert ids == first, form


def test_the_lock_names_the_original_and_the_card_too(tmp_path: Path) -> None:
    path = tmp_path / "c.tsv"
    path.write_bytes(tsv())
    prepared = prepared_from(tmp_path, pairs=path)
    lock = json.loads(prepared.folder.corpus_lock.read_text())
    assert [Path(name).name for name in lock] == ["training-1.ro", "training-1.en"]
    found = fingerprint([path])[path.as_posix()]
    for name, entry in lock.items():
        assert entry["lines"] == len(PAIRS)
        assert entry["sha256"] == fingerprint([Path(name)])[name]["sha256"]
        assert entry["unpacked_from"] == [
            {"path": path.as_posix(), "size": found["size"], "sha256": found["sha256"]}
        ]
    assert prepared.files == (path,)


def test_several_corpora_of_different_forms_have_weights_and_tags(tmp_path: Path) -> None:
    (tmp_path / "a.ro").write_text("".join(f"{a}\n" for a, _ in PAIRS[:60]))
    (tmp_path / "a.en").write_text("".join(f"{b}\n" for _, b in PAIRS[:60]))
    (tmp_path / "c.tsv").write_bytes(tsv(PAIRS[60:80]))
    (tmp_path / "d.tmx").write_bytes(tmx(PAIRS[80:]))
    (tmp_path / "v.tsv").write_bytes(tsv(PAIRS[:9]))
    prepared = prepared_from(
        tmp_path,
        source=tmp_path / "a.ro",
        target=tmp_path / "a.en",
        pairs=[tmp_path / "c.tsv", tmp_path / "d.tmx"],
        valid_pairs=tmp_path / "v.tsv",
        weights=[1, 2, 0.5],
        tags=["", "", "<bt>"],
    )
    assert prepared.training.shards.parts == (60, 20, 10)
    drawn = [pair for batch in prepared.training.order(0) for pair in batch.tolist()]
    assert len(drawn) == 60 + 40 + 5
    tokenizer = prepared.tokenizers.source
    first = [tokenizer.tokens(prepared.training.shards.source(i).tolist())[0] for i in range(90)]
    assert [token == "<bt>" for token in first] == [False] * 80 + [True] * 10
    assert len(prepared.validation.shards) == 9


def test_an_unchanged_corpus_is_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d.tmx"
    path.write_bytes(tmx())
    ids = ids_of(prepared_from(tmp_path, pairs=path))
    with monkeypatch.context() as patched:
        forbid_unpacking(patched)
        assert ids_of(prepared_from(tmp_path, pairs=path)) == ids
        moved = path.rename(tmp_path / "renamed.tmx")
        assert ids_of(prepared_from(tmp_path, pairs=moved)) == ids
    text = tmp_path / "runs/run/corpus/training-1.ro"
    text.write_text("damaged\n")
    assert ids_of(prepared_from(tmp_path, pairs=moved)) == ids


def test_a_third_start_reads_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.tmx"
    path.write_bytes(tmx())
    prepared_from(tmp_path, pairs=path)
    monkeypatch.setattr(fingerprint_module, "_COARSE", 0)  # as two seconds later
    prepared_from(tmp_path, pairs=path)  # what it read is old enough to be believed now
    corpus = tmp_path / "runs/run/corpus"
    read = fingerprint_module.read_chunks
    seen: list[Path] = []

    def count(path: Path) -> Iterator[bytes]:
        seen.append(path)
        return read(path)

    monkeypatch.setattr(fingerprint_module, "read_chunks", count)
    prepared_from(tmp_path, pairs=path)
    assert not [each for each in seen if each == path or each.parent == corpus]


def test_a_run_that_has_begun_refuses_other_text_and_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "d.tmx"
    path.write_bytes(tmx())
    prepared = prepared_from(tmp_path, pairs=path)
    begin(prepared)
    held = {file: file.read_bytes() for file in prepared.folder.corpus.iterdir()}
    path.write_bytes(tmx([*PAIRS[:-1], ("alta", "another")]))
    with pytest.raises(ConfigError, match=r"was started with another text than .*d\.tmx"):
        prepared_from(tmp_path, pairs=path)
    path.write_bytes(tmx())
    with pytest.raises(ConfigError, match="was started with another text"):
        prepared_from(tmp_path, pairs=path, target_lang="fr")
    assert {file: file.read_bytes() for file in prepared.folder.corpus.iterdir()} == held
    assert sorted(file.name for file in (tmp_path / "runs").iterdir()) == ["run"]


def test_the_same_pairs_in_another_form_are_the_same_corpus(tmp_path: Path) -> None:
    path = tmp_path / "d.tmx"
    path.write_bytes(tmx())
    prepared = prepared_from(tmp_path, pairs=path)
    begin(prepared)
    shards = (prepared.folder.shards / "training/manifest.json").read_bytes()
    other = tmp_path / "c.tsv.gz"
    other.write_bytes(gzip.compress(tsv()))
    again = prepared_from(tmp_path, pairs=other)
    assert (again.folder.shards / "training/manifest.json").read_bytes() == shards


@pytest.mark.parametrize("data", [tmx()[:-20], tsv() + b"one column\n", b"", gzip.compress(b"x")])
def test_a_damaged_corpus_leaves_nothing_behind(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"/corpus"):
        prepared_from(tmp_path, pairs=path)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]
    assert not list((tmp_path / "runs").iterdir())


def test_what_a_killed_process_unpacked_is_cleared_away(tmp_path: Path) -> None:
    dead = tmp_path / "runs" / ".run.corpus.tmp-999999999"
    dead.mkdir(parents=True)
    (dead / "training-1.ro").write_text("half")
    path = tmp_path / "c.tsv"
    path.write_bytes(tsv())
    prepared_from(tmp_path, pairs=path)
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["run"]


def test_a_corpus_that_changes_while_it_is_unpacked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.tsv"
    path.write_bytes(tsv())
    remarks: Callable[[PairReader], list[str]] = PairReader.remarks

    def late(reader: PairReader) -> list[str]:
        with path.open("ab") as file:
            file.write(b"a\tb\n")
        return remarks(reader)

    monkeypatch.setattr(PairReader, "remarks", late)
    with pytest.raises(CorpusError, match=r"c\.tsv: has been changed while it was read"):
        prepared_from(tmp_path, pairs=path)


def test_what_came_through_a_pipe_is_kept_for_later(
    tmp_path: Path, pipe_in: Callable[[bytes], None]
) -> None:
    pipe_in(gzip.compress(tsv()))
    prepared = prepared_from(tmp_path, pairs="-")
    begin(prepared)
    ids = ids_of(prepared)
    pipe_in(b"")
    assert ids_of(prepared_from(tmp_path, pairs="-")) == ids
    pipe_in(tsv())
    assert ids_of(prepared_from(tmp_path, pairs="-")) == ids
    pipe_in(tsv(PAIRS[1:]))
    with pytest.raises(ConfigError, match="was started with another text than -"):
        prepared_from(tmp_path, pairs="-")
    with pytest.raises(CorpusError, match="standard input: is named twice"):
        prepared_from(tmp_path, pairs=["-", "-"])


def test_a_run_on_a_disk_of_its_own_takes_what_was_unpacked_beside_it(
    tmp_path: Path, pipe_in: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run folder that is a mount point: to move a file there is to copy it, and a copy is another file to the system."""

    def copy(path: Path, place: Path) -> None:
        shutil.copy2(path, place)
        path.unlink()

    monkeypatch.setattr(shutil, "move", copy)
    (tmp_path / "v.tsv").write_bytes(tsv(PAIRS[:9]))
    held_back: list[dict[str, object]] = [{}, {"valid_pairs": tmp_path / "v.tsv"}]
    for number, valid in enumerate(held_back):
        pipe_in(tsv())
        prepared = prepared_from(tmp_path / str(number), pairs="-", **valid)
        assert len(prepared.training.shards) + len(prepared.validation.shards) == 90 + 9 * number


def test_a_pipe_that_nobody_writes_to_is_waited_for_aloud(
    tmp_path: Path, pipe_in: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_QUIET_SECONDS", 0.1)
    pipe_in(tsv())
    first = prepared_from(tmp_path, pairs="-")
    begin(first)
    end, start = os.pipe()
    said: list[str] = []

    def hear(words: str) -> None:
        said.append(words)
        if words.startswith("standard input: is open, and nothing comes"):
            os.close(start)

    with os.fdopen(end) as idle:
        monkeypatch.setattr(sys, "stdin", idle)
        again = prepare(first.config, say=hear)
    assert said[0].startswith("standard input: is open")
    assert ids_of(again) == ids_of(first)


def test_a_process_that_follows_another_unpacks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.tsv"
    path.write_bytes(tsv())
    corpus = CorpusConfig.model_validate({**LANGUAGES, "pairs": path})
    folder = RunFolder(tmp_path / "runs/run")
    with pytest.raises(TrainingError, match="was not prepared by the first process"):
        find_plain_files(corpus, languages_of(corpus), folder, writes=False)
    prepared_from(tmp_path, pairs=path)
    plain = find_plain_files(corpus, languages_of(corpus), folder, writes=False)
    assert plain.training[0][0].read_text().startswith(PAIRS[0][0])


def test_text_that_begins_with_a_mark_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    rows = [("\ufeffcasa", "house"), *PAIRS]
    path.write_text("".join(json.dumps(pair) + "\n" for pair in rows))
    prepared = prepared_from(tmp_path, pairs=path, valid_pairs=path)
    assert [pair.source for pair in prepared.validation.pairs] == [a for a, _ in rows]


def test_nothing_is_asked_of_a_plain_corpus(tmp_path: Path) -> None:
    for suffix, side in (("ro", 0), ("en", 1)):
        (tmp_path / f"a.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    prepared = prepared_from(tmp_path, pairs=tmp_path / "a")
    assert not prepared.folder.corpus.exists()
    assert FileState.of(tmp_path / "a.ro").size == os.path.getsize(tmp_path / "a.ro")
