from pathlib import Path

import pytest

from interlingua.corpus.digits import build_digit_corpus
from interlingua.corpus.embedded import write_embedded
from interlingua.corpus.lines import read_lines
from interlingua.corpus.parallel import language_of
from interlingua.corpus.scan import scan_parallel

pytestmark = pytest.mark.unchecked  # tens of thousands of lines


def test_digit_sequences_have_all_lengths_and_no_sequence_is_in_two_parts() -> None:
    parts = build_digit_corpus(1)
    assert [len(part) for part in parts] == [20_000, 500, 1_000]
    assert len({sequence for part in parts for sequence in part}) == 21_500
    for part in parts:
        assert {len(sequence) for sequence in part} == set(range(1, 21))
        assert {digit for sequence in part for digit in sequence} == set("0123456789")


def test_short_sequences_are_held_out_as_well() -> None:
    train, _, test = build_digit_corpus(1)
    for length, (trained, tested) in {1: (8, 1), 2: (85, 10), 3: (925, 50)}.items():
        assert sum(len(sequence) == length for sequence in train) == trained
        assert sum(len(sequence) == length for sequence in test) == tested


@pytest.mark.parametrize(("name", "step"), [("copy", 1), ("reverse", -1)])
def test_the_target_is_the_sequence_copied_or_reversed(
    tmp_path: Path, name: str, step: int
) -> None:
    files = write_embedded(name, tmp_path, seed=1)  # type: ignore[arg-type]
    assert (files.source_lang, files.target_lang) == ("digits", name)
    for source, target in files.parts:
        text = scan_parallel([source], [target])
        assert not len(text.parts[0].blank)
        for pair in text.pairs():
            assert pair.target.split() == pair.source.split()[::step]


def test_a_second_call_changes_nothing_and_mends_what_was_damaged(tmp_path: Path) -> None:
    files = write_embedded("copy", tmp_path / "new" / "folder", seed=3)
    paths = [path for part in files.parts for path in part]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    files.test_target.write_text("damaged\n", encoding="utf-8")
    assert write_embedded("copy", tmp_path / "new" / "folder", seed=3) == files
    after = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    assert after[:-1] == before[:-1]
    assert after[-1][0] == before[-1][0]


def test_another_seed_gives_another_corpus_of_the_same_size(tmp_path: Path) -> None:
    one = write_embedded("copy", tmp_path / "one", seed=1)
    two = write_embedded("copy", tmp_path / "two", seed=2)
    first, second = read_lines(one.train_source), read_lines(two.train_source)
    assert first != second
    assert len(first) == len(second)


def test_the_languages_can_be_read_off_the_file_names(tmp_path: Path) -> None:
    files = write_embedded("copy", tmp_path, seed=1)
    assert language_of(files.test_source) == files.source_lang
    assert language_of(files.test_target) == files.target_lang
