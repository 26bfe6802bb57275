import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from held_out import hold_out
from hypothesis import given
from hypothesis import strategies as st

from interlingua.corpus.lines import count_lines, read_lines, write_lines
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.parallel import read_parallel
from interlingua.corpus.scan import scan_parallel
from interlingua.errors import CorpusError

_SEPARATORS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff"
_characters = st.one_of(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n"), st.sampled_from(_SEPARATORS)
)
_lines = st.lists(st.text(_characters, max_size=12), max_size=8)


@given(_lines)
def test_any_lines_without_line_feeds_come_back_as_they_were_written(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_lines(path, lines)
        assert read_lines(path) == lines
        assert count_lines(path) == len(lines)


@given(_lines, _lines)
def test_two_files_are_paired_exactly_when_they_have_as_many_lines(
    source: list[str], target: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "a.ro", Path(folder) / "a.en"
        write_lines(paths[0], source)
        write_lines(paths[1], target)
        usable = [
            SentencePair(first, second, line)
            for line, (first, second) in enumerate(zip(source, target, strict=False), start=1)
            if first.strip() and second.strip()
        ]
        if len(source) == len(target) and usable:
            assert read_parallel([paths[0]], [paths[1]]) == usable
        else:
            with pytest.raises(CorpusError):
                read_parallel([paths[0]], [paths[1]])


@given(
    st.lists(st.tuples(st.text(_characters, max_size=6), st.text(_characters, max_size=6))),
    st.integers(1, 5),
    st.integers(0, 20),
    st.data(),
)
def test_chunks_of_any_size_hold_the_pairs_of_the_whole_file(
    lines: list[tuple[str, str]], chunk: int, number: int, data: st.DataObject
) -> None:
    lines = [("a", "b"), *lines]
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("interlingua.corpus.scan.LINES_A_CHUNK", chunk),
    ):
        paths = Path(folder) / "a.ro", Path(folder) / "a.en"
        for side, path in enumerate(paths):
            write_lines(path, [pair[side] for pair in lines])
        files = scan_parallel([paths[0]], [paths[1]])
        usable = [
            SentencePair(source, target, line)
            for line, (source, target) in enumerate(lines, start=1)
            if source.strip() and target.strip()
        ]
        assert list(files.pairs()) == usable
        sample = list(files.pairs(number))
        assert len(sample) == min(number, len(usable))
        assert [pair for pair in usable if pair in sample] == sample
        kept = data.draw(st.lists(st.booleans(), min_size=len(usable), max_size=len(usable)))
        parts = files.keep(np.array(kept, dtype=bool)), files.keep(~np.array(kept, dtype=bool))
        both = [pair for part in parts for pair in (part.pairs() if len(part) else ())]
        assert sorted(both, key=lambda pair: pair.line) == usable


@given(
    _lines,
    st.sampled_from([b"\xff", b"\xc3(", b"\x80", b"\xe2\x82\n", b"\xed\xa0\x80", b"\xf8"]),
    _lines,
)
def test_invalid_bytes_are_always_refused_with_their_line_and_byte(
    before: list[str], bad: bytes, after: list[str]
) -> None:
    head = "\n".join(before).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(head + bad + "\n".join(after).encode())
        line = head.count(b"\n") + 1
        byte = len(head) - (head.rfind(b"\n") + 1) + 1
        with pytest.raises(CorpusError) as refused:
            read_lines(path)
        place = f"{path}, line {line}, byte {byte} (byte {len(head) + 1} of the file)"
        assert str(refused.value).startswith(place)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60), st.integers(0, 2**32)
)
def test_no_validation_source_is_trained_on_and_no_pair_is_lost(
    corpus: list[tuple[int, int]], seed: int
) -> None:
    pairs = [
        SentencePair(str(source), str(target), line)
        for line, (source, target) in enumerate(corpus, start=1)
    ]
    try:
        training, validation = hold_out(pairs, None, seed)
    except CorpusError:
        assert (
            len(pairs) < 2
            or min(sum(other.source == pair.source for other in pairs) for pair in pairs)
            > len(pairs) // 2
        )
        return
    assert 0 < len(validation) <= len(pairs) // 2
    assert not {pair.source for pair in training} & {pair.source for pair in validation}
    assert sorted(training + validation, key=lambda pair: pair.line) == pairs
