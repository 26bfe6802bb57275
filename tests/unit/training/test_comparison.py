"""The comparison with the starting model: what it keeps, what it says, and that worse is called worse."""

import json
from pathlib import Path

import pytest

from interlingua.config import StartConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.errors import ModelError
from interlingua.requests.translation import Translation
from interlingua.training.comparison import (
    MOST_SENTENCES,
    Difference,
    compare_with_start,
    describe_differences,
    keep_outputs,
    read_differences,
    texts_to_compare,
    write_differences,
)
from interlingua.translator import Translator

PAIRS = [SentencePair(f"s {n}", f"the target number {n} is here", n + 1) for n in range(40)]


class Parrot(Translator):
    """Says what it was told to say."""

    def __init__(self, says: dict[str, str], directions: tuple[Direction, ...] = ()) -> None:
        self.says = says
        self.source_lang, self.target_lang = "ro", "en"
        self.directions = directions

    def translate(self, texts, **_options):  # type: ignore[no-untyped-def]
        return [Translation(self.says[text], 0.0, (), (), "end") for text in texts]


GOOD = Parrot({pair.source: pair.target for pair in PAIRS})
BAD = Parrot({pair.source: "something else is there " + pair.source for pair in PAIRS})


def compared(tmp_path: Path, before: Translator, after: Translator) -> list[Difference]:
    texts = texts_to_compare({None: PAIRS}, StartConfig())
    keep_outputs(tmp_path / "outputs.json", texts, before, lambda: False)
    found = compare_with_start(tmp_path / "outputs.json", after, lambda: False)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [(BAD, GOOD, "better"), (GOOD, BAD, "worse"), (GOOD, GOOD, "no significant difference")],
)
def test_the_verdict_is_what_happened(
    before: Translator, after: Translator, verdict: str, tmp_path: Path
) -> None:
    found = compared(tmp_path, before, after)
    assert [each.metric for each in found] == ["BLEU", "chrF2"]
    assert {each.verdict for each in found} == {verdict}
    assert all(verdict in line for line in describe_differences(found)[1:])
    assert all((each.p_value == 1.0) == (before is after) for each in found)


def test_forgetting_is_said_with_the_remedy() -> None:
    worse = Difference("kept", 100, "BLEU", 30.0, 20.0, 0.001, "sig")
    assert "has forgotten" in describe_differences([worse])[-1]


def test_a_few_sentences_are_no_verdict() -> None:
    for number, verdict in ((1, "fewer than 30 sentences are too few to tell"), (30, "worse")):
        lost = Difference("kept", number, "BLEU", 30.0, 20.0, 0.001, "sig")
        assert lost.verdict == verdict
        assert verdict in lost.in_words("held-out text")
    assert (
        Difference("kept", 1, "BLEU", 30.0, 30.0, 1.0, "sig").verdict == "no significant difference"
    )


def test_a_comparison_is_of_one_model(tmp_path: Path) -> None:
    found = compared(tmp_path, BAD, GOOD)
    write_differences(tmp_path / "c.json", found, "abc")
    assert read_differences(tmp_path / "c.json", "abc") == tuple(found)
    assert read_differences(tmp_path / "c.json", "def") is None
    assert read_differences(tmp_path / "nowhere.json", "abc") is None


def test_a_stop_leaves_nothing_half_done(tmp_path: Path) -> None:
    texts = texts_to_compare({None: PAIRS}, StartConfig())
    keep_outputs(tmp_path / "outputs.json", texts, BAD, lambda: True)
    assert not (tmp_path / "outputs.json").exists()
    keep_outputs(tmp_path / "outputs.json", texts, BAD, lambda: False)
    assert compare_with_start(tmp_path / "outputs.json", GOOD, lambda: True) is None


def test_where_the_start_does_something_else_only_what_is_to_keep_is_compared(
    tmp_path: Path,
) -> None:
    assert texts_to_compare({None: ()}, StartConfig()) == []
    kept = {"keep_source": (tmp_path / "old.ro",), "keep_target": (tmp_path / "old.en",)}
    for (path,) in kept.values():
        path.write_text("a\nb\n")
    (text,) = texts_to_compare({None: ()}, StartConfig.model_validate(kept))
    assert text.name == "kept"


def keep_files(place: Path, *names: str) -> StartConfig:
    """Write text to keep: source and target in turns."""
    for name in names:
        (place / name).write_text("a\nb\n")
    paths = [place / name for name in names]
    return StartConfig(keep_source=tuple(paths[::2]), keep_target=tuple(paths[1::2]))


def test_what_one_of_the_two_models_does_not_translate_is_not_compared_and_that_is_said(
    tmp_path: Path,
) -> None:
    start = keep_files(tmp_path, "k.en", "k.de", "k.en", "k.ro")
    romanian = Direction("en", "ro")
    said: list[str] = []
    texts = texts_to_compare({romanian: PAIRS}, start, [romanian], said.append)
    assert [each.name for each in texts] == ["validation en-ro", "kept en-ro"]
    (line,) = said
    assert "k.de: will not be compared" in line
    assert "both translate is en-ro" in line
    assert texts_to_compare({romanian: PAIRS}, keep_files(tmp_path, "k.en", "k.de"), []) == []


def test_text_to_keep_is_known_by_other_codes_of_its_languages(tmp_path: Path) -> None:
    start = keep_files(tmp_path, "k.eng", "k.deu", "a.txt", "b.txt")
    german = Direction("en", "de")
    said: list[str] = []
    texts = texts_to_compare({german: ()}, start, [german, Direction("de", "en")], said.append)
    assert [(each.name, each.direction) for each in texts] == [("kept en-de", "en-de")]
    (line,) = said
    assert "b.txt: will not be compared" in line


def test_what_an_earlier_version_kept_of_a_direction_that_the_model_lacks_is_left_out(
    tmp_path: Path,
) -> None:
    german = Direction("en", "de")
    texts = texts_to_compare({german: PAIRS}, StartConfig(), [german])
    keep_outputs(tmp_path / "outputs.json", texts, BAD, lambda: False)
    learnt = Parrot(GOOD.says, directions=(Direction("en", "ro"),))
    assert compare_with_start(tmp_path / "outputs.json", learnt, lambda: False) == []


def test_a_long_text_is_thinned_evenly() -> None:
    pairs = [SentencePair(str(n), str(n), n + 1) for n in range(3 * MOST_SENTENCES)]
    (text,) = texts_to_compare({None: pairs}, StartConfig())
    assert text.sources[:3] == ("0", "3", "6")
    assert len(text.sources) == MOST_SENTENCES


@pytest.mark.parametrize("content", ["", "[]", json.dumps({"texts": [{"sources": ["a"]}]})])
def test_outputs_that_cannot_be_read_are_an_error_with_a_name(content: str, tmp_path: Path) -> None:
    (tmp_path / "outputs.json").write_text(content)
    with pytest.raises(ModelError, match=r"outputs\.json: cannot be read"):
        compare_with_start(tmp_path / "outputs.json", GOOD, lambda: False)
