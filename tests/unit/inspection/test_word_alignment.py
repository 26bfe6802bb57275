"""Word alignment from attention, on a model that has learnt to write its source backwards: there gold is known."""

import json
from pathlib import Path

import numpy as np
import pytest

from interlingua.errors import CorpusError
from interlingua.evaluation.alignment import Links
from interlingua.inspection.alignment import View, align, choose_alone, list_views
from interlingua.inspection.joint_alignment import (
    Reading,
    agreement,
    choose_together,
    link_together,
)
from interlingua.translator import Translator

GOLDEN = Path(__file__).parents[2] / "golden" / "models"


@pytest.fixture(scope="module")
def backwards() -> Translator:
    return Translator.load(GOLDEN / "v1", device="cpu")


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    record = json.loads((GOLDEN / "v1.json").read_text(encoding="utf-8"))
    given = [(one["source"], one["text"]) for one in record["translations"]]
    return [(a, b) for a, b in given if a and b.split() == a.split()[::-1]]


def _mirrored(pairs: list[tuple[str, str]]) -> list[Links]:
    sizes = [len(source.split()) for source, _ in pairs]
    return [frozenset((size - 1 - j, j) for j in range(size)) for size in sizes]


def test_the_view_that_is_chosen_without_gold_is_right(
    backwards: Translator, pairs: list[tuple[str, str]]
) -> None:
    assert len(pairs) >= 15
    view, _ = choose_alone(backwards, pairs)
    assert [links for (links,) in align(backwards, pairs, [view])] == _mirrored(pairs)
    other = View(view.layer, view.head, "reading" if view.step == "writing" else "writing")
    worse = [links for (links,) in align(backwards, pairs, [other])]
    assert agreement(worse, _mirrored(pairs)) < 0.5


def test_two_directions_agree_on_what_is_right(
    backwards: Translator, pairs: list[tuple[str, str]]
) -> None:
    here, there, share = choose_together(backwards, backwards, pairs)
    assert share == 1.0
    turned = [(target, source) for source, target in pairs]
    both = zip(here.worth(pairs), there.worth(turned), strict=True)
    mirrored = _mirrored(pairs)
    assert [link_together(*worth) for worth in both] == list(zip(mirrored, mirrored, strict=True))


def test_one_model_is_helped_where_the_other_is_sure() -> None:
    # Rows are the words that look: two source words are worth the same to target word 0, but only one looks back at it.
    here = np.log(np.array([[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]], dtype=np.float32) + 0.001)
    there = np.log(np.array([[0.2, 0.8], [0.9, 0.1], [0.3, 0.7]], dtype=np.float32) + 0.001)
    forward, reverse = link_together(here, there)
    assert forward == {(1, 0), (2, 1)}
    assert reverse == {(0, 0), (1, 0), (2, 1)}


def test_a_mixture_of_views_agrees_at_least_as_much_as_any_single_ones(
    translator: Translator,
) -> None:
    pairs = [("pisica vede necunoscutul", "the cat sees the stranger"), ("pisica", "the cat")] * 3
    turned = [(target, source) for source, target in pairs]
    here, there, share = choose_together(translator, translator, pairs)
    views = list_views(translator)
    forward = zip(*align(translator, pairs, views), strict=True)
    reverse = [
        [frozenset((i, j) for j, i in links) for links in of_view]
        for of_view in zip(*align(translator, turned, views), strict=True)
    ]
    assert share >= max(agreement(list(one), other) for one in forward for other in reverse)
    assert max(here.weights.values()) >= 1.0
    assert max(there.weights.values()) >= 1.0


def test_without_a_pair_to_choose_by_the_first_views_are_read(translator: Translator) -> None:
    here, there, share = choose_together(translator, translator, [])
    first = {list_views(translator)[0]: 1.0}
    assert (here.weights, there.weights, share) == (first, first, 0.0)


def test_words_that_were_cut_off_have_no_links_in_either_direction(translator: Translator) -> None:
    pair = (" ".join(["pisica"] * 200), "the cat")
    view = View(1, None, "writing")
    worth = [
        Reading(translator, {view: 1.0}).worth([each])[0] for each in (pair, tuple(reversed(pair)))
    ]
    forward, reverse = link_together(*worth)
    assert {j for _, j in forward} == {0, 1}
    assert 0 < len(reverse) < 200
    assert max(i for i, _ in reverse) == len(reverse) - 1


def test_a_pair_is_aligned_the_same_whoever_its_neighbours_are(
    backwards: Translator, pairs: list[tuple[str, str]]
) -> None:
    views = list_views(backwards)
    together = align(backwards, pairs, views)
    assert together == [align(backwards, [pair], views)[0] for pair in pairs]


def test_a_model_has_the_mean_and_every_head_of_each_layer_at_both_steps(
    translator: Translator,
) -> None:
    assert len(set(list_views(translator))) == 3 * (1 + 2) * 2


def test_every_target_word_has_one_link_however_it_is_cut(translator: Translator) -> None:
    source, target = "pisica necunoscutului vede", "the stranger's cat sees ½ dog"
    (links,) = align(translator, [(source, target)], [View(1, None, "reading")])[0]
    assert sorted(j for _, j in links) == list(range(6))
    assert {i for i, _ in links} <= set(range(3))


@pytest.mark.parametrize("pair", [("", "the cat"), ("pisica", ""), ("", ""), (" ", "the")])
def test_a_side_without_words_has_no_links(translator: Translator, pair: tuple[str, str]) -> None:
    assert align(translator, [pair], [View(1, None, "writing")]) == [[frozenset()]]


def test_what_is_longer_than_the_model_reads_has_no_links(translator: Translator) -> None:
    long = " ".join(["pisica"] * 200)
    (links,) = align(translator, [(long, "the cat")], [View(1, None, "writing")])[0]
    assert {j for _, j in links} == {0, 1}
    assert max(i for i, _ in links) < translator.max_source_length


def test_words_that_the_tokenizer_runs_together_are_refused(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = translator.tokenizers.source
    monkeypatch.setattr(reader, "normalise", lambda text: text.replace(" ", ""))
    with pytest.raises(CorpusError, match="'pisica vede': its 2 words become 1"):
        align(translator, [("pisica", "cat"), ("pisica vede", "cat")], list_views(translator))
