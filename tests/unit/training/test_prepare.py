"""A run before its first update: what is read, what is kept, what is done once only."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from held_out import hold_out

from interlingua.batching.encoding import Encoder
from interlingua.batching.shard_writer import EncodedChunk
from interlingua.batching.shards import open_shards
from interlingua.config import CorpusConfig, RunConfig, TokenizationConfig, TrainingConfig
from interlingua.config_files import save_config
from interlingua.corpus import scan
from interlingua.corpus.fingerprint import FileState
from interlingua.corpus.lines import read_lines
from interlingua.corpus.pair_rules import normalise
from interlingua.corpus.parallel import read_parallel
from interlingua.corpus.scan import Chunk
from interlingua.errors import ConfigError, CorpusError, ModelError, TrainingError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training import corpus_of_run, shards_of_run, vocabularies_of_run
from interlingua.training.prepare import Prepared, prepare, prepare_locked, run_dir_of
from interlingua.training.run_folder import RunFolder

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
LINES = [" ".join(NUMBERS[int(digit)] for digit in str(7919 * i)) for i in range(130)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "LINES_A_CHUNK", 16)


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    """A corpus of 129 usable pairs that was written an hour ago."""
    for suffix in ("ro", "en"):
        path = tmp_path / f"train.{suffix}"
        path.write_text("".join(f"{line}\n" for line in [*LINES[:40], "", *LINES[41:]]))
        os.utime(path, (time.time() - 3600,) * 2)
    return RunConfig(
        run_dir=tmp_path / "run",
        corpus=CorpusConfig(source=(tmp_path / "train.ro",), target=(tmp_path / "train.en",)),
        tokenization=TokenizationConfig(kind="bpe"),
        training=TrainingConfig(device="cpu", threads=1),
    )


def heard(config: RunConfig) -> tuple[Prepared, list[str]]:
    said: list[str] = []
    return prepare(config, say=said.append), said


def with_values(config: RunConfig, values: dict[str, dict[str, object]]) -> RunConfig:
    """Return ``config`` with some values of its sections changed."""
    sections = {
        name: getattr(config, name).model_copy(update=some) for name, some in values.items()
    }
    return config.model_copy(update=sections)


def ids_of(prepared: Prepared) -> list[list[int]]:
    shards = prepared.training.shards
    return [shards.source(index).tolist() for index in range(len(shards))]


def tokenizer_of(config: RunConfig) -> list[bytes]:
    folder = heard(config)[0].folder.tokenizer
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def forbid_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    def scan(_: object) -> None:
        pytest.fail("the text was read again")

    monkeypatch.setattr(corpus_of_run, "_scan", scan)


def trust_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a test is new; let it be trusted as if two seconds had gone by."""
    of: Callable[[Path], FileState] = FileState.of

    def later(path: Path) -> FileState:
        state = of(path)
        return FileState(
            state.size,
            state.modified,
            state.changed,
            state.inode,
            state.device,
            state.asked + 10**10,
        )

    monkeypatch.setattr(FileState, "of", staticmethod(later))


def test_shards_hold_what_the_whole_corpus_gives_in_memory(config: RunConfig) -> None:
    prepared, _ = heard(config)
    pairs = read_parallel(config.corpus.source, config.corpus.target)
    training, validation = hold_out(pairs, None, config.training.seed)
    source = prepared.tokenizers.source
    assert ids_of(prepared) == source.encode_batch([pair.source for pair in training])
    lines = [prepared.training.shards.line(index) for index in range(len(training))]
    assert lines == [pair.line for pair in training]
    assert list(prepared.validation.pairs) == validation


def test_no_source_is_held_back_that_training_has_in_another_writing(config: RunConfig) -> None:
    writings = ("{}", "{}!", "«{}»")
    lines = [writing.format(line.title()) for line in LINES for writing in writings]
    for path in (*config.corpus.source, *config.corpus.target):
        path.write_text("".join(f"{line}\n" for line in lines))
    prepared, _ = heard(config)
    held_back = {normalise(pair.source) for pair in prepared.validation.pairs}
    shards = prepared.training.shards
    training = {normalise(lines[shards.line(index) - 1]) for index in range(len(shards))}
    assert not held_back & training
    assert len(held_back | training) == len(LINES)
    assert len(prepared.validation.pairs) == 3 * len(held_back)


def test_the_same_corpus_is_read_once(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    trust_at_once(monkeypatch)
    first, said = heard(config)
    assert any("pair was left out" in words for words in said)
    forbid_scans(monkeypatch)
    monkeypatch.setattr(
        "interlingua.corpus.fingerprint._of_file", lambda _: pytest.fail("a checksum was computed")
    )
    second, again = heard(config)
    assert [words for words in said if not words.startswith("vocabulary: ")] == again
    assert ids_of(second) == ids_of(first)
    assert second.reasons == first.reasons
    assert list(second.validation.pairs) == list(first.validation.pairs)


def test_a_file_that_only_looks_new_is_known_by_its_checksum(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_at_once(monkeypatch)
    first, _ = heard(config)
    forbid_scans(monkeypatch)
    os.utime(config.corpus.source[0])
    moved = config.corpus.target[0].rename(config.corpus.target[0].with_name("moved.en"))
    corpus = config.corpus.model_copy(update={"target": (moved,)})
    second, _ = heard(config.model_copy(update={"corpus": corpus}))
    assert ids_of(second) == ids_of(first)


def test_a_changed_corpus_of_the_same_size_and_date_is_read_again(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_at_once(monkeypatch)
    first, _ = heard(config)
    path = config.corpus.source[0]
    before = path.stat()
    time.sleep(0.02)  # a file system's clock goes in steps
    path.write_text(path.read_text().replace("nine", "neun"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    second, _ = heard(config)
    assert ids_of(second) != ids_of(first)
    (config.run_dir / "checkpoints/step-1").mkdir(parents=True)  # type: ignore[operator]
    time.sleep(0.02)
    path.write_text(path.read_text().replace("neun", "nein"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ConfigError, match="was started with another text"):
        prepare(config)


def begin(prepared: Prepared) -> None:
    (prepared.folder.checkpoints / "step-1").mkdir(parents=True)


def taken_twice(config: RunConfig) -> RunConfig:
    files = {"source": config.corpus.source * 2, "target": config.corpus.target * 2}
    return with_values(config, {"corpus": files})


@pytest.mark.parametrize("how", ["twice", "for validation too"])
def test_the_same_files_taken_otherwise_are_another_text(config: RunConfig, how: str) -> None:
    first, _ = heard(config)
    begin(first)
    before = state_of(first.folder.tokenizer)
    held_back = {"valid_source": config.corpus.source, "valid_target": config.corpus.target}
    other = taken_twice(config) if how == "twice" else with_values(config, {"corpus": held_back})
    with pytest.raises(ConfigError, match="these files, but not each as often, or not for the"):
        prepare(other)
    assert state_of(first.folder.tokenizer) == before


def test_how_a_run_took_its_files_is_not_held_against_it_where_it_does_not_tell(
    config: RunConfig,
) -> None:
    first, _ = heard(config)
    begin(first)
    kept = first.folder.shards / "corpus.json"
    known = json.loads(kept.read_text())
    known["identity"]["split"] = [None, 1]  # as an earlier version did
    for text in (json.dumps(known), "{}", '{"identity": 7}'):
        kept.write_text(text)
        assert ids_of(heard(config)[0]) == ids_of(first)
    kept.unlink()
    assert ids_of(heard(config)[0]) == ids_of(first)


def test_a_run_that_has_begun_holds_back_what_it_did_and_a_fresh_one_looks_at_marks(
    config: RunConfig,
) -> None:
    for path in (*config.corpus.source, *config.corpus.target):
        path.write_text("".join(f"{line} जाती\n" for line in LINES))
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(corpus_of_run, "_split_before", lambda _: [None, 1, "letters and digits"])
        before, _ = heard(config)
    begin(before)
    (before.folder.shards / "validation/manifest.json").unlink()
    assert list(heard(config)[0].validation.pairs) == list(before.validation.pairs)
    new, _ = heard(config.model_copy(update={"run_dir": config.corpus.source[0].parent / "new"}))
    assert list(new.validation.pairs) != list(before.validation.pairs)


def test_what_could_not_be_read_again_is_not_written(config: RunConfig) -> None:
    wrong = with_values(config, {"training": {"shard": True, "ema": 0.9}})
    with pytest.raises(ConfigError, match="leave one out"):
        prepare(wrong)
    assert heard(config)[0].config.training.ema is None


def test_files_taken_twice_make_another_vocabulary(config: RunConfig) -> None:
    first = tokenizer_of(config)
    twice = taken_twice(config)
    again = tokenizer_of(twice)
    other = config.corpus.source[0].with_name("other")
    assert again == tokenizer_of(twice.model_copy(update={"run_dir": other}))
    assert again != first


def test_the_vocabulary_of_a_run_that_has_begun_is_not_learnt_again(config: RunConfig) -> None:
    first, _ = heard(config)
    begin(first)
    left_open = with_values(first.config, {"tokenization": {"shared": None}})  # an earlier version
    save_config(left_open, first.folder.config)
    before = state_of(first.folder.tokenizer)
    heard(config)
    assert state_of(first.folder.tokenizer) == before
    shutil.rmtree(first.folder.tokenizer)
    with pytest.raises(ModelError, match="tokenizer: is gone, and the run learnt with it; copy"):
        prepare(config)


def test_damaged_shards_are_made_again(config: RunConfig) -> None:
    first = ids_of(heard(config)[0])
    assert config.run_dir is not None
    path = config.run_dir / "shards/training/source_ids"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert ids_of(heard(config)[0]) == first
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("lines", "threads", "workers"), [(60, 50, 2), (16, 3, 3), (16, 50, 7), (3, 50, 16)]
)
def test_no_more_processes_are_started_than_have_work(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch, lines: int, threads: int, workers: int
) -> None:
    asked: list[int] = []

    def alone(encoder: Encoder, chunks: Iterable[Chunk], **how: Any) -> Iterator[EncodedChunk]:
        asked.append(how["workers"])
        yield from map(encoder.encode, chunks)

    for path in (*config.corpus.source, *config.corpus.target):
        path.write_text("".join(f"{line} {number}\n" for number, line in enumerate(LINES[:112])))
    monkeypatch.setattr(scan, "LINES_A_CHUNK", lines)
    monkeypatch.setattr(shards_of_run, "_PAIRS_FOR_WORKERS", 55)
    monkeypatch.setattr(shards_of_run, "encode_chunks", alone)
    heard(with_values(config, {"training": {"threads": threads}, "corpus": {"valid_size": 50}}))
    assert asked == [workers, 1]


def test_what_a_process_left_that_was_killed_when_all_was_written_goes(config: RunConfig) -> None:
    heard(config)
    assert config.run_dir is not None
    (config.run_dir / "shards/training.unfinished").mkdir()
    heard(config)
    names = {path.name for path in (config.run_dir / "shards").iterdir()}
    assert names == {"training", "validation", "corpus.json", "seen.json"}


def test_another_longest_length_makes_other_shards(config: RunConfig) -> None:
    heard(config)
    batching = config.batching.model_copy(update={"max_length": 5})
    shorter, said = heard(config.model_copy(update={"batching": batching}))
    assert max(map(len, ids_of(shorter))) == 4
    assert any("source sentences were cut to batching.max_length = 5 tokens" in s for s in said)
    assert heard(config.model_copy(update={"batching": batching}))[1][-1] == said[-1]


def test_a_vocabulary_of_a_large_corpus_is_learnt_from_a_sample(config: RunConfig) -> None:
    tokens = config.tokenization.model_copy(update={"training_pairs": 10, "kind": "word"})
    prepared, said = heard(config.model_copy(update={"tokenization": tokens}))
    assert any("tokenization.training_pairs = 10" in words for words in said)
    assert prepared.tokenizers.source.vocabulary_size < 300
    assert len(prepared.training.shards) == 79


def test_a_small_sample_for_the_vocabulary_narrows_no_other_choice(config: RunConfig) -> None:
    tokens = {"training_pairs": 3, "kind": None}
    few = with_values(config, {"tokenization": tokens, "corpus": {"valid_size": 5}})
    small = heard(few)[0].config
    large = heard(with_values(few, {"tokenization": {"training_pairs": 1000}}))[0].config
    assert small.tokenization.kind == large.tokenization.kind == "word"
    assert small.model == large.model


@pytest.mark.parametrize(
    "change", [{"training": {"seed": 2}}, {"corpus": {"valid_size": 20}}], ids=["seed", "size"]
)
def test_another_split_makes_another_vocabulary(
    config: RunConfig, change: dict[str, dict[str, object]]
) -> None:
    for path in (*config.corpus.source, *config.corpus.target):
        path.write_text("".join(f"{line} {number}\n" for number, line in enumerate(LINES)))
    config = with_values(config, {"tokenization": {"kind": "word", "vocabulary_size": 1000}})
    first = tokenizer_of(config)
    changed = with_values(config, change)
    again = tokenizer_of(changed)
    other = tokenizer_of(
        changed.model_copy(update={"run_dir": config.corpus.source[0].parent / "b"})
    )
    assert again == other
    assert again != first


def test_sampled_subwords_need_no_corpus_once_it_is_prepared(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_at_once(monkeypatch)
    tokens = config.tokenization.model_copy(update={"sampling": 0.3})
    config = config.model_copy(update={"tokenization": tokens})
    heard(config)
    forbid_scans(monkeypatch)
    prepared, _ = heard(config)
    data = prepared.training
    indices = data.order(0)[0]
    first, again, later = data.batch(indices, 0), data.batch(indices, 0), data.batch(indices, 1)
    assert first.source.tolist() == again.source.tolist()
    assert first.source.tolist() != later.source.tolist()
    row = int(np.argmax(indices))
    text = prepared.tokenizers.source.decode(first.source[row].tolist())
    assert text == read_lines(config.corpus.source[0])[data.shards.line(int(indices[row])) - 1]


def test_a_corpus_that_is_written_to_while_it_is_read_is_refused(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = corpus_of_run.RunCorpus.check_unchanged

    def change(self: corpus_of_run.RunCorpus) -> None:
        path = config.corpus.source[0]
        path.write_text(path.read_text().replace("nine", "neun"))
        finish(self)

    with monkeypatch.context() as patch:
        patch.setattr(corpus_of_run.RunCorpus, "check_unchanged", change)
        with pytest.raises(CorpusError, match="has been changed while it was read"):
            prepare(config)
    prepared, _ = heard(config)
    assert any("neun" in prepared.tokenizers.source.decode(ids) for ids in ids_of(prepared))
    assert not any("nine" in prepared.tokenizers.source.decode(ids) for ids in ids_of(prepared))


def test_a_text_that_is_changed_and_put_back_meanwhile_is_refused(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config.corpus.source[0]
    whole, before = path.read_bytes(), path.stat()
    learn, finish = vocabularies_of_run.train_tokenizers, corpus_of_run.RunCorpus.check_unchanged

    def change(*arguments: Any) -> TokenizerPair:
        tokenizers = learn(*arguments)
        path.write_bytes(whole.replace(b"nine", b"neun"))
        return tokenizers

    def put_back(self: corpus_of_run.RunCorpus) -> None:
        path.write_bytes(whole)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        finish(self)

    with monkeypatch.context() as patch:
        patch.setattr(vocabularies_of_run, "train_tokenizers", change)
        patch.setattr(corpus_of_run.RunCorpus, "check_unchanged", put_back)
        with pytest.raises(CorpusError, match=r"train\.ro: has been changed since it was read"):
            prepare(config)


def state_of(folder: Path) -> dict[Path, tuple[int, bytes]]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def follow(config: RunConfig) -> Prepared:
    """Prepare as a process does that follows another one."""
    folder, say = RunFolder(run_dir_of(config)), lambda _: None
    return prepare_locked(config, folder, None, device=torch.device("cpu"), say=say, writes=False)


def test_a_process_that_follows_finds_what_the_first_made_and_writes_nothing(
    config: RunConfig,
) -> None:
    first, _ = heard(config)
    unfinished = first.folder.shards / "training.unfinished"
    unfinished.mkdir()
    (unfinished / "log.jsonl").write_text("")
    before = state_of(first.folder.path)
    second = follow(config)
    assert state_of(first.folder.path) == before
    assert second.config == first.config
    assert ids_of(second) == ids_of(first)
    assert second.training.shards.manifest == first.training.shards.manifest


@pytest.mark.parametrize("name", ["tokenizer", "shards/training", "shards/validation"])
def test_a_process_that_follows_repairs_nothing(config: RunConfig, name: str) -> None:
    folder = heard(config)[0].folder.path
    (folder / name).rename(folder / "away")
    before = state_of(folder)
    with pytest.raises(TrainingError, match=f"{name}: was not prepared by the first process as"):
        follow(config)
    assert state_of(folder) == before


def test_a_process_that_follows_into_another_folder_leaves_it_alone(config: RunConfig) -> None:
    with pytest.raises(TrainingError, match="all processes must see the same folder and files"):
        follow(config)
    embedded = RunConfig(run_dir=config.run_dir, corpus=CorpusConfig(embedded="copy"))
    with pytest.raises(CorpusError, match=r"train\.digits: no such file"):
        follow(embedded)
    assert config.run_dir is not None
    assert not config.run_dir.exists()


PREPARE = """
import sys
from interlingua.corpus import scan
from interlingua.cli import main
from interlingua.training import shards_of_run
scan.LINES_A_CHUNK = 200
shards_of_run._PAIRS_FOR_WORKERS = int(sys.argv.pop(1))
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGKILL, -9),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
    ],
)
def test_a_preparation_that_is_stopped_goes_on_where_it_was(
    tmp_path: Path, number: int, status: int
) -> None:
    for suffix in ("ro", "en"):
        lines = (f"{LINES[i % 130]} {i}\n" for i in range(12_000))
        (tmp_path / f"train.{suffix}").write_text("".join(lines))
    command = [
        *(sys.executable, "-c", PREPARE, "10", "prepare", "--training.threads", "2"),
        *("--source", str(tmp_path / "train.ro"), "--target", str(tmp_path / "train.en")),
    ]
    log = tmp_path / "stopped/shards/training.unfinished/log.jsonl"
    first = [*command, "--run-dir", str(tmp_path / "stopped")]
    with subprocess.Popen(first, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") > 9):
            time.sleep(0.005)
        process.send_signal(number)
        # The pipe ends when nobody holds it any more: the workers are gone as well.
        _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in told
    assert log.read_bytes().count(b"\n") > 9
    again = subprocess.run(first, capture_output=True, text=True, check=True)
    assert "training: goes on after the first" in again.stderr
    command[3] = "1000000"  # and once in one piece and one process
    subprocess.run([*command, "--run-dir", str(tmp_path / "whole")], check=True)
    stopped, whole = (
        open_shards(tmp_path / name / "shards/training").manifest for name in ("stopped", "whole")
    )
    assert stopped == whole
    locks = [(tmp_path / name / "corpus.lock").read_bytes() for name in ("stopped", "whole")]
    assert locks[0] == locks[1]
