"""A memory that follows its file: one more correction costs one more, and the way there makes no difference."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from random_models import SHAPES, SOURCES, TARGETS, random_model

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.corpus.corrections import (
    CORRECTIONS,
    Correction,
    append_correction,
    remove_correction,
)
from interlingua.directions import Direction
from interlingua.errors import CorpusError, ModelError
from interlingua.requests import remembering
from interlingua.requests.remembering import RememberedCorrections, spelling_of
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.vocabulary import Specials

CPU = torch.device("cpu")
ENOUGH = 10**9


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return random_model(SHAPES["tied"])


@pytest.fixture
def follow(loaded: LoadedModel, tmp_path: Path) -> Callable[[], RememberedCorrections]:
    def make() -> RememberedCorrections:
        return RememberedCorrections(
            tmp_path, loaded.tokenizers, Direction("ro", "en"), model_sha256="sha", longest=32
        )

    return make


def told(number: int, target: str | None = None) -> Correction:
    return Correction(SOURCES[number], TARGETS[number] if target is None else target, "ro", "en")


def append(folder: Path, *corrections: Correction) -> None:
    for each in corrections:
        assert append_correction(folder / CORRECTIONS, each, most_bytes=ENOUGH)


def state(memory: RememberedCorrections) -> object:
    examples = {(each.source, each.target) for each in memory.memory.examples}
    return examples, memory._texts, sorted(memory.unused)


def test_each_correction_is_spelled_once(
    follow: Callable[[], RememberedCorrections],
    loaded: LoadedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spelled = []
    spell = remembering.spell

    def count(correction: Correction, *rest: object) -> object:
        spelled.append(correction)
        return spell(correction, *rest)

    monkeypatch.setattr(remembering, "spell", count)
    memory = follow()
    every = [told(0), told(1), told(2, " "), told(3), told(0, "the cat")]
    for each in every:
        append(tmp_path, each)
        memory.refresh(lambda: loaded.model, CPU)
    remove_correction(tmp_path, SOURCES[1], Direction("ro", "en"))  # which writes the file anew
    memory.refresh(lambda: loaded.model, CPU)
    assert spelled == every
    assert len(memory.memory.examples) == 2
    assert len(memory.unused) == 1


def test_one_after_the_other_or_all_at_once_comes_to_the_same(
    follow: Callable[[], RememberedCorrections],
    loaded: LoadedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembering, "MOST_REMEMBERED", 3)
    memory = follow()
    every = [
        *(told(0), told(1), told(1, " "), told(2), told(2, "two"), told(3), told(4), told(5)),
        *(told(3, "\t"), told(3), Correction(SOURCES[0], "eins", "ro", "de")),
    ]
    for number, each in enumerate(every):
        append(tmp_path, each)
        memory.refresh(lambda: loaded.model, CPU)
        fresh = follow()
        fresh.refresh(lambda: loaded.model, CPU)
        assert state(memory) == state(fresh), number
    with (tmp_path / CORRECTIONS).open("a") as file:
        file.write("damaged")
    memory.refresh(lambda: loaded.model, CPU)
    assert "line 12: is not a correction" in memory.unused[0]
    append(tmp_path, told(0, "zero"))
    memory.refresh(lambda: loaded.model, CPU)
    assert "line 12: is not a correction" in memory.unused[0]
    assert memory.told(loaded.tokenizers.source.encode(SOURCES[0]).ids) == "zero"


def test_without_its_model_it_knows_what_it_knew_and_asks_once_a_change(
    follow: Callable[[], RememberedCorrections], loaded: LoadedModel, tmp_path: Path
) -> None:
    asked = []

    def gone() -> object:
        asked.append(1)
        raise ModelError("it is gone")

    memory = follow()
    append(tmp_path, told(0))
    memory.refresh(lambda: loaded.model, CPU)
    before = memory.memory
    for number in (1, 2):
        append(tmp_path, told(number))
        with pytest.raises(ModelError, match="gone"):
            memory.refresh(gone, CPU)
        memory.refresh(gone, CPU)
        assert memory.memory is before
        assert memory.unused == ("it is gone",) * number
    assert len(asked) == 2
    append(tmp_path, told(3))
    memory.refresh(lambda: loaded.model, CPU)
    assert len(memory.memory.examples) == 4
    assert memory.unused == ()


def test_many_at_once_are_read_by_and_by_the_latest_first(
    follow: Callable[[], RememberedCorrections], loaded: LoadedModel, tmp_path: Path
) -> None:
    ids = [tuple(loaded.tokenizers.source.encode(source).ids) for source in SOURCES]
    memory = follow()
    memory.refresh(lambda: loaded.model, CPU)
    append(tmp_path, *map(told, range(5)))

    def read() -> list[int]:
        return [number for number in range(5) if memory.memory.has(ids[number])]

    memory.refresh(lambda: loaded.model, CPU, at_most=1)
    assert read() == [4]
    assert [memory.told(each) for each in ids[:5]] == TARGETS[:5]
    memory.recall([ids[0], ids[5]], lambda: loaded.model, CPU)
    assert read() == [0, 4]
    both = sum(map(len, (ids[3], memory._texts[ids[3]][0], ids[2], memory._texts[ids[2]][0])))
    memory.refresh(lambda: loaded.model, CPU, at_most=both)
    assert read() == [0, 2, 3, 4]
    append(tmp_path, told(1, "the cat"))
    memory.refresh(lambda: loaded.model, CPU)

    def gone() -> object:
        raise ModelError("it is gone")

    fresh = follow()
    fresh.refresh(gone, CPU)  # everything is in the cache by now
    assert state(fresh) == state(memory)
    assert fresh.told(ids[1]) == "the cat"


def test_when_its_file_is_gone_what_was_known_stays(
    follow: Callable[[], RememberedCorrections], loaded: LoadedModel, tmp_path: Path
) -> None:
    memory = follow()
    append(tmp_path, told(0))
    memory.refresh(lambda: loaded.model, CPU)
    before = memory.memory
    (tmp_path / CORRECTIONS).unlink()
    for _ in range(2):
        with pytest.raises(CorpusError, match="is gone"):
            memory.refresh(lambda: loaded.model, CPU)
    assert memory.memory is before
    append(tmp_path, told(1))
    memory.refresh(lambda: loaded.model, CPU)
    ids = loaded.tokenizers.source.encode(SOURCES[1]).ids
    assert [each.source for each in memory.memory.examples] == [tuple(ids)]


def test_two_sources_are_one_if_the_model_reads_the_same_and_not_if_it_can_read_neither() -> None:
    words = train_tokenizer(SOURCES, kind="word", vocabulary_size=300)
    pieces = ["</s>", "<unk>", "<pad>", "\u2581pisica", "\u2581doarme"]
    few = RenumberedTokenizer(words, pieces, Specials(pad=2, unknown=1, begin=2, end=0))
    assert spelling_of("pisica\u00a0doarme", few) == spelling_of("pisica doarme", few)
    assert spelling_of("pisica doarme", few) != spelling_of("doarme pisica", few)
    assert few.encode("\u732b").ids == few.encode("\u72ac").ids
    assert spelling_of("\u732b", few) != spelling_of("\u72ac", few)
