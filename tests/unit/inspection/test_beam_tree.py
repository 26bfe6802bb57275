"""The tree is the search that translates, and it changes as somebody asks."""

import math

import pytest
import torch

from interlingua.decoding.hypothesis import length_penalty
from interlingua.errors import ConfigError
from interlingua.inspection.beam_tree import BeamTree, grow_beam_tree, words_instead
from interlingua.inspection.questions import TreeEdits
from interlingua.translator import Translator

TEXT = "pisica vede câinele mică."


def ids_of(tree: BeamTree, node: int) -> list[int]:
    ids = []
    while (parent := tree.nodes[node].parent) is not None:
        ids.append(tree.nodes[node].id)
        node = parent
    return ids[::-1]


@pytest.fixture(scope="module")
def tree(translator: Translator) -> BeamTree:
    return grow_beam_tree(translator, TEXT, beam_size=3, alpha=0.6)


def test_the_best_target_is_the_translation(translator: Translator, tree: BeamTree) -> None:
    found = translator.translate([TEXT], beam_size=3, length_penalty=0.6)[0]
    assert tree.finished[0].text == found.text
    assert tree.finished[0].score == pytest.approx(found.score, abs=1e-4)
    assert [each.score for each in tree.finished] == sorted(
        (each.score for each in tree.finished), reverse=True
    )


def test_every_number_is_the_model_s_own(translator: Translator, tree: BeamTree) -> None:
    source = torch.tensor([[*translator.tokenizers.source.encode(TEXT).ids, 3]])
    for number, node in enumerate(tree.nodes[1:], start=1):
        ids = ids_of(tree, number)
        with torch.inference_mode():
            logits = translator.model(source, torch.tensor([[2, *ids[:-1]]]))[0]
        own = logits.log_softmax(-1)
        expected = [float(own[place, id]) for place, id in enumerate(ids)]
        assert node.log_probability == pytest.approx(expected[-1], abs=1e-3)
        assert node.total == pytest.approx(sum(expected), abs=1e-3)
        assert node.score == pytest.approx(node.total / length_penalty(len(ids), 0.6), abs=1e-6)
        assert node.length == len(ids)


def test_no_step_keeps_more_than_the_beam_and_parents_come_first(tree: BeamTree) -> None:
    for length in range(1, tree.steps + 1):
        kept = [n for n in tree.nodes if n.length == length and n.state in ("kept", "finished")]
        assert 1 <= len(kept) <= 3
    for number, node in enumerate(tree.nodes):
        assert node.parent is None if number == 0 else node.parent < number
        if node.parent is not None and number:
            assert tree.nodes[node.parent].state in ("begin", "kept")
    assert any(node.state == "pruned" for node in tree.nodes)


def test_what_was_pruned_was_worth_no_more_than_what_was_kept(tree: BeamTree) -> None:
    for length in range(1, tree.steps + 1):
        of_step = [node for node in tree.nodes if node.length == length]
        kept = [n.total for n in of_step if n.state in ("kept", "finished")]
        pruned = [n.total for n in of_step if n.state == "pruned"]
        if pruned and len(kept) == 3:
            assert max(pruned) <= min(kept) + 1e-6


def test_a_banned_word_and_a_cut_branch_are_shown_as_forbidden(
    translator: Translator, tree: BeamTree
) -> None:
    first = ids_of(tree, tree.finished[0].node)[:2]
    cut = grow_beam_tree(translator, TEXT, TreeEdits(cut=(tuple(first),)), beam_size=3, alpha=0.6)
    assert all(ids_of(cut, each.node)[:2] != first for each in cut.finished)
    forbidden = [n for n, node in enumerate(cut.nodes) if node.state == "forbidden"]
    assert first in [ids_of(cut, n) for n in forbidden]


def test_a_pinned_beginning_and_typed_words_stand_first(
    translator: Translator, tree: BeamTree
) -> None:
    pinned = tuple(ids_of(tree, tree.finished[0].node)[:1])
    grown = grow_beam_tree(translator, TEXT, TreeEdits(pinned=pinned, typed="the dog"))
    typed = translator.lexicon.within("the dog")
    assert grown.pinned == (*pinned, *typed)
    for each in grown.finished:
        assert tuple(ids_of(grown, each.node)[: len(grown.pinned)]) == grown.pinned
    alone = grow_beam_tree(translator, TEXT, TreeEdits(typed="the dog"))
    assert alone.finished[0].text.startswith("the dog")


def log_probs_after(translator: Translator, ids: list[int]) -> torch.Tensor:
    source = torch.tensor([[*translator.tokenizers.source.encode(TEXT).ids, 3]])
    with torch.inference_mode():
        return translator.model(source, torch.tensor([[2, *ids]]))[0, -1].log_softmax(-1)


def chance_to_end(translator: Translator, ids: list[int]) -> float:
    """Return how likely the word at the end of ``ids`` is over; padding and the begin symbol are never written."""
    ends = ~translator.lexicon.continues
    ends[[0, 2]] = False
    return float(log_probs_after(translator, ids)[ends].exp().sum())


def test_words_in_place_of_another_are_whole_and_as_likely_as_the_model_says(
    translator: Translator,
) -> None:
    before = list(translator.tokenizers.target.encode("the small").ids)
    after = translator.lexicon.within("dog")
    words = words_instead(translator, TEXT, (*before, after[0]))
    assert len(words) == len({each.text for each in words}) == 8
    likely = [each.log_probability for each in words]
    assert likely == sorted(likely, reverse=True)
    continues = translator.lexicon.continues
    for each in words:
        first, *rest = each.ids
        assert not continues[first]
        assert all(continues[id] for id in rest)
        decoded = translator.tokenizers.target.decode([*before, *each.ids])
        assert decoded.removeprefix("the small").strip() == each.text
        total = 0.0
        for place, id in enumerate(each.ids):
            total += float(log_probs_after(translator, [*before, *each.ids[:place]])[id])
        ends = chance_to_end(translator, [*before, *each.ids])
        assert each.log_probability == pytest.approx(total + math.log(ends), abs=1e-3)


def test_no_word_of_one_more_symbol_was_overlooked(translator: Translator) -> None:
    """Every word of one symbol, compared one by one."""
    before = list(translator.tokenizers.target.encode("the small").ids)
    words = words_instead(translator, TEXT, (*before, translator.lexicon.within("dog")[0]))
    continues, least = translator.lexicon.continues, words[-1].log_probability
    first = log_probs_after(translator, before)
    found = {each.ids for each in words}
    for id in first.topk(8).indices.tolist():
        surface = translator.lexicon.surfaces[id]
        if continues[id] or not surface.strip():
            continue
        ends = chance_to_end(translator, [*before, id])
        assert float(first[id]) + math.log(ends) <= least + 1e-4 or (id,) in found


def test_a_whole_pinned_word_is_not_gone_on_with(translator: Translator) -> None:
    continues = translator.lexicon.continues
    first = log_probs_after(translator, [])
    for begun in first.topk(40).indices.tolist():
        if begun < 4:
            continue
        free = grow_beam_tree(translator, TEXT, TreeEdits(pinned=(begun,)))
        whole = grow_beam_tree(translator, TEXT, TreeEdits(pinned=(begun,), whole=True))
        for each in whole.finished:
            assert not continues[ids_of(whole, each.node)[1]]
        if any(continues[ids_of(free, each.node)[1]] for each in free.finished):
            return
    pytest.fail("the model never goes on with a word that it began")


@pytest.mark.parametrize("begun", [(99_999, 5), (3, 5), (5,) * 60])
def test_a_place_that_no_target_has_is_refused(
    translator: Translator, begun: tuple[int, ...]
) -> None:
    with pytest.raises(ConfigError):
        words_instead(translator, TEXT, begun)


def test_forced_words_are_written_and_banned_ones_are_not(translator: Translator) -> None:
    forced = grow_beam_tree(translator, TEXT, TreeEdits(force=("school",)), beam_size=3)
    assert "school" in forced.finished[0].text
    assert forced.unmet == ()
    banned = grow_beam_tree(translator, TEXT, TreeEdits(ban=("school",)), beam_size=3)
    assert all("school" not in each.text.split() for each in banned.finished)


@pytest.mark.parametrize(
    ("text", "edits", "options"),
    [
        ("  ", TreeEdits(), {}),
        (TEXT, TreeEdits(pinned=(99_999,)), {}),
        (TEXT, TreeEdits(pinned=(3,)), {}),
        (TEXT, TreeEdits(typed="the dog " * 40), {}),
        (TEXT, TreeEdits(force=(" ",)), {}),
        (TEXT, TreeEdits(force=("a",), ban=("a",)), {}),
        (TEXT, TreeEdits(), {"beam_size": 0}),
        (TEXT, TreeEdits(), {"alpha": float("nan")}),
    ],
)
def test_what_cannot_be_searched_is_refused(
    translator: Translator, text: str, edits: TreeEdits, options: dict[str, float]
) -> None:
    with pytest.raises(ConfigError):
        grow_beam_tree(translator, text, edits, **options)
