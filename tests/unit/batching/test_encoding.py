"""Chunks of text become the same bytes in this process and in others."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.batching import encoding
from interlingua.batching.encoding import Encoder, encode_chunks
from interlingua.corpus import scan
from interlingua.corpus.scan import Chunk, scan_parallel
from interlingua.errors import CorpusError, InterlinguaError, TokenizerError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

LINES = [f"casa {number} are {number * number} uși și o grădină" for number in range(50)]


@pytest.fixture
def chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Chunk]:
    monkeypatch.setattr(scan, "LINES_A_CHUNK", 6)
    for suffix in ("ro", "en"):
        (tmp_path / f"a.{suffix}").write_text("".join(f"{line}\n" for line in LINES))
    return list(scan_parallel([tmp_path / "a.ro"], [tmp_path / "a.en"]).chunks())


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    tokenizer = train_tokenizer(LINES, kind="bpe", vocabulary_size=300)
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    (tmp_path / "tokenizer").mkdir()
    tokenizers.save(tmp_path / "tokenizer")
    return Encoder(tokenizers, 6, prefixes=((259,),), keep_text=True)


def test_several_processes_give_what_one_gives_in_the_same_order(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder
) -> None:
    folder = tmp_path / "tokenizer"
    alone = list(encode_chunks(encoder, chunks, tokenizers=folder, workers=1))
    together = list(encode_chunks(encoder, chunks, tokenizers=folder, workers=3))
    assert len(alone) == 9
    assert together == alone


def test_workers_take_the_package_of_their_parent(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other/interlingua"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise RuntimeError('another version')\n")
    paths = [str(other.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    folder = tmp_path / "tokenizer"
    assert len(list(encode_chunks(encoder, chunks, tokenizers=folder, workers=2))) == 9


def test_a_chunk_is_cut_tagged_and_counted(chunks: list[Chunk], encoder: Encoder) -> None:
    encoded = encoder.encode(chunks[0])
    assert encoded.pairs == 6
    assert encoded.truncated == {"source": 6, "target": 6}
    assert set(encoded.rows["source_lengths"][::4]) == {6}
    assert encoded.rows["source_ids"][:2] == (259).to_bytes(2, "little")
    assert encoded.rows["target_ids"][:2] != (259).to_bytes(2, "little")
    assert encoded.rows["source_text"].decode().startswith(LINES[0] + LINES[1])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_text_that_changed_is_told_by_whoever_reads_it(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder, workers: int
) -> None:
    (tmp_path / "a.en").write_text("".join(f"{line}\n" for line in LINES[:30]))
    with pytest.raises(CorpusError, match=r"a\.en: has been changed since it was read"):
        list(encode_chunks(encoder, chunks, tokenizers=tmp_path / "tokenizer", workers=workers))


def test_a_tokenizer_that_cannot_be_read_is_told(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder
) -> None:
    with pytest.raises(TokenizerError, match="holds no"):
        list(encode_chunks(encoder, chunks, tokenizers=tmp_path / "none", workers=2))


def test_a_process_that_is_killed_ends_the_work_in_words(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    ask = encoding._Worker.ask

    def kill_first(self: encoding._Worker, chunk: Chunk) -> object:
        if not started:
            started.append(self._process.pid)
            os.kill(self._process.pid, signal.SIGKILL)
        return ask(self, chunk)

    monkeypatch.setattr(encoding._Worker, "ask", kill_first)
    with pytest.raises(
        InterlinguaError,
        match=r"was ended \(status -9\), perhaps for want of memory; the same command",
    ):
        list(encode_chunks(encoder, chunks, tokenizers=tmp_path / "tokenizer", workers=2))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "sys.exit('what went wrong')",
            r"was ended \(status 1\), and its own message stands above;",
        ),
        (
            "print('{', flush=True); sys.stdin.read()",
            r"answered b'\{\\n'; the same command goes on",
        ),
        ("print('[]', flush=True); sys.stdin.read()", r"answered b'\[\]\\n'; the same command"),
        ("print('{', end='')", r"was ended \(status 0\), and its own message stands above;"),
    ],
)
def test_a_process_that_answers_nonsense_or_nothing_is_ended_and_told_in_words(
    tmp_path: Path,
    chunks: list[Chunk],
    encoder: Encoder,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    words: str,
) -> None:
    monkeypatch.setattr(encoding, "WORKER_COMMAND", f"import sys; {code}")
    with pytest.raises(InterlinguaError, match=words):
        list(encode_chunks(encoder, chunks, tokenizers=tmp_path / "tokenizer", workers=2))


def test_ctrl_c_at_any_moment_is_for_the_parent_alone(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = encoding._Worker.__init__

    def interrupted(self: encoding._Worker, settings: dict[str, object]) -> None:
        begin(self, settings)
        os.kill(self._process.pid, signal.SIGINT)

    monkeypatch.setattr(encoding._Worker, "__init__", interrupted)
    folder = tmp_path / "tokenizer"
    assert len(list(encode_chunks(encoder, chunks, tokenizers=folder, workers=2))) == 9
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_no_more_chunks_are_under_way_than_two_beyond_the_workers(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder
) -> None:
    taken: list[Chunk] = []

    def counted() -> Iterator[Chunk]:
        for chunk in chunks:
            taken.append(chunk)
            yield chunk

    stream = encode_chunks(encoder, counted(), tokenizers=tmp_path / "tokenizer", workers=2)
    for number, _ in enumerate(stream):
        assert len(taken) <= number + 4
    assert taken == chunks


def test_who_stops_listening_leaves_no_process_behind(
    tmp_path: Path, chunks: list[Chunk], encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew: list[encoding._Worker] = []
    begin = encoding._Worker.__init__

    def watched(self: encoding._Worker, settings: dict[str, object]) -> None:
        begin(self, settings)
        crew.append(self)

    monkeypatch.setattr(encoding._Worker, "__init__", watched)
    stream = encode_chunks(encoder, chunks, tokenizers=tmp_path / "tokenizer", workers=2)
    next(iter(stream))
    stream.close()  # type: ignore[attr-defined]
    assert len(crew) == 2
    assert all(worker._process.poll() is not None for worker in crew)
