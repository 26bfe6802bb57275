"""The tree that a beam search grew: what it kept, what it pruned, what it was not allowed, and where it ended.

A node is one symbol after those of its parents. The search is the very one that translates (:func:`search_steps`);
the tree watches it choose. Somebody may then change it: pin its beginning, cut a branch off, force or ban words.

Sources: Lee et al. 2017, "Interactive Visualization and Manipulation of Attention-based Neural Machine Translation"
(candidates as a tree that can be changed); Strobelt et al. 2018, "Seq2Seq-Vis" (what if).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.batching.batch import pad_sources
from interlingua.decoding.beam_search import read_targets, search_steps
from interlingua.decoding.constraints import Constraint
from interlingua.decoding.forced import ForcedPhrases
from interlingua.decoding.hypothesis import Hypothesis, length_penalty
from interlingua.decoding.next_token import never_written, next_log_probabilities
from interlingua.decoding.options import SearchOptions, Wishes
from interlingua.decoding.search import constraints_of
from interlingua.decoding.selection import Selection, choose_best
from interlingua.errors import ConfigError
from interlingua.inspection.questions import TreeEdits
from interlingua.inspection.steps import plain_transformer
from interlingua.requests.request import Request, TranslateOptions, read_request
from interlingua.translator import Translator

__all__ = ["BeamNode", "BeamTree", "FinishedTarget", "Word", "grow_beam_tree", "words_instead"]

NodeState = Literal["begin", "kept", "finished", "pruned", "forbidden"]

MOST_SHOWN = 12
"""Continuations of one slot that are shown, at most; a wider beam still chooses among all."""
NUM_WORDS = 8
LONGEST_WORD = 32
"""Symbols; where nothing stands between words, what is read as one word is long."""


@dataclass(frozen=True, slots=True)
class BeamNode:
    """One symbol that search wrote, or could have written."""

    parent: int | None
    """Its place in :attr:`BeamTree.nodes`; None is the begin symbol's."""
    length: int
    """Symbols from the first to this one."""
    id: int
    text: str
    """Its piece of the vocabulary."""
    log_probability: float
    """Of this symbol after those before it."""
    total: float
    """The sum from the first symbol."""
    score: float
    """``total`` divided by the length penalty, as a target that ended here would be ranked."""
    state: NodeState
    """``pruned``: there was better; ``forbidden``: an edit took it away."""


@dataclass(frozen=True, slots=True)
class FinishedTarget:
    """One target that search found, best first."""

    node: int
    """Its last symbol."""
    text: str
    score: float
    total: float
    length: int
    """Symbols, the end symbol included where it was written."""
    stopped: str


@dataclass(frozen=True, slots=True)
class BeamTree:
    """One search."""

    beam_size: int
    length_penalty: float
    nodes: tuple[BeamNode, ...]
    """The begin symbol first, every parent before its children."""
    finished: tuple[FinishedTarget, ...]
    steps: int
    pinned: tuple[int, ...]
    """What the target had to begin with, in symbols, the typed words included."""
    unmet: tuple[str, ...]
    """Forced words that the best target does not hold: there was no way."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word that could stand somewhere."""

    ids: tuple[int, ...]
    text: str
    log_probability: float
    """Of its symbols one after the other, and of its ending after them."""


def grow_beam_tree(
    translator: Translator,
    text: str,
    edits: TreeEdits | None = None,
    *,
    beam_size: int | None = None,
    alpha: float | None = None,
) -> BeamTree:
    """Translate ``text`` and keep the tree; ``alpha`` is the length penalty, and None is as the model is used.

    Raises:
        ConfigError: nothing to translate, a value out of range, or a beginning that leaves no room.
        ModelError: the model gives not-a-number.
    """
    edits = edits or TreeEdits()
    asked = TranslateOptions(
        beam_size=beam_size, length_penalty=alpha, force=edits.force, ban=edits.ban
    )
    request = read_request(translator.decoding, asked)
    ids = _source_ids(translator, text)
    pinned = _beginning(translator, edits)
    wish = _with_beginning(translator.wish(ids, 0, request), pinned, translator)
    return _search(translator, ids, wish, request, edits)


def words_instead(
    translator: Translator, text: str, begun: Sequence[int], *, number: int = NUM_WORDS
) -> tuple[Word, ...]:
    """Return the likeliest words in place of the one that the last symbol of ``begun`` begins.

    A beam search that is over where the word ends. What is kept of it is exact: a word that is gone on with only
    becomes less likely.

    Raises:
        ConfigError: nothing to translate, or ``begun`` holds what no target holds or leaves no room.
        ModelError: the model is not made of the usual layers.
    """
    model, tokenizer = plain_transformer(translator), translator.tokenizers.target
    before = _beginning(translator, TreeEdits(pinned=tuple(begun[:-1])))
    _refuse_long(translator, before)
    lexicon, device = translator.lexicon, translator.device
    continues = lexicon.continues.to(device)
    begins = torch.tensor([bool(surface) for surface in lexicon.surfaces], device=device)
    if before:  # else the word before would be gone on with
        begins &= ~continues
    never = never_written(tokenizer.pad_id, tokenizer.begin_id, tokenizer.end_id, device)
    source = pad_sources(
        [_source_ids(translator, text)],
        pad=translator.tokenizers.source.pad_id,
        end=translator.tokenizers.source.end_id,
    ).to(device)
    shown = len(tokenizer.decode(before))
    words: list[tuple[int, ...]] = [()]
    found: list[Word] = []
    with torch.inference_mode():
        state = model.start(model.encode(source))
        for id in (tokenizer.begin_id, *before):
            logits, state = model.step(torch.tensor([id], device=device), state)
        worth = next_log_probabilities(logits, never).masked_fill(~begins, float("-inf"))
        for _ in range(min(LONGEST_WORD, translator.max_source_length - len(before) - 1)):
            totals, places = worth.flatten().topk(min(number, worth.numel()))
            least = found[-1].log_probability if len(found) == number else float("-inf")
            totals, places = totals[totals > least], places[totals > least]
            if not len(places):
                break
            rows, ids = places // worth.size(1), places % worth.size(1)
            words = [(*words[row], id) for row, id in zip(rows.tolist(), ids.tolist(), strict=True)]
            logits, state = model.step(ids, state.reorder(rows))
            after = next_log_probabilities(logits, never)
            ended = totals + after.masked_fill(continues, float("-inf")).logsumexp(-1)
            texts = [tokenizer.decode([*before, *word])[shown:].strip() for word in words]
            found = _best([*found, *map(Word, words, texts, ended.tolist())], number)
            worth = totals[:, None] + after.masked_fill(~continues, float("-inf"))
    return tuple(found)


def _best(words: Sequence[Word], number: int) -> list[Word]:
    """Return the likeliest, each text once, however it is cut into symbols."""
    by_text: dict[str, Word] = {}
    for word in sorted(words, key=lambda each: -each.log_probability):
        if word.text:
            by_text.setdefault(word.text, word)
    return list(by_text.values())[:number]


def _source_ids(translator: Translator, text: str) -> list[int]:
    ids = translator.tokenizers.source.encode(text).ids[: translator.max_source_length - 1]
    if not text.strip() or not ids:
        raise ConfigError("the text is empty; give a sentence to translate")
    return ids


def _beginning(translator: Translator, edits: TreeEdits) -> tuple[int, ...]:
    """Return the symbols that the target begins with."""
    tokenizer = translator.tokenizers.target
    strange = [id for id in edits.pinned if not 0 <= id < tokenizer.vocabulary_size]
    ended = {tokenizer.pad_id, tokenizer.begin_id, tokenizer.end_id} & set(edits.pinned)
    if strange or ended:
        raise ConfigError("the pinned beginning holds what no target begins with; pin it again")
    typed = edits.typed.strip()
    if not typed:
        return edits.pinned
    words = translator.lexicon.within(typed) if edits.pinned else tokenizer.encode(typed).ids
    return (*edits.pinned, *words)


def _refuse_long(translator: Translator, pinned: tuple[int, ...]) -> None:
    if len(pinned) >= translator.max_source_length:
        raise ConfigError(
            f"the pinned beginning has {len(pinned):,} tokens and leaves no room: the model writes "
            f"{translator.max_source_length:,} at most"
        )


def _with_beginning(wish: Wishes, pinned: tuple[int, ...], translator: Translator) -> Wishes:
    _refuse_long(translator, pinned)
    longest = max(wish.max_length, min(2 * len(pinned) + 8, translator.max_source_length))
    return replace(wish, prefix=pinned, max_length=longest if pinned else wish.max_length)


def _search(
    translator: Translator, ids: Sequence[int], wish: Wishes, request: Request, edits: TreeEdits
) -> BeamTree:
    source, target = translator.tokenizers.source, translator.tokenizers.target
    options = request.search
    watch = _Watch(options)
    own: list[Constraint] = [*translator.rules(request, [wish]), _CutBranches(edits.cut)]
    if edits.whole and edits.pinned:
        own.append(_WordEnds(len(edits.pinned), translator.lexicon.continues))
    rules = constraints_of(options, [wish], target.end_id, own)
    selection: Selection = choose_best
    if edits.force:
        phrases = [translator.lexicon.within(phrase) for phrase in edits.force]
        lexicon = translator.lexicon
        forced = ForcedPhrases(
            [phrases], [wish.max_length], lexicon.continues, lexicon.is_cut, target.end_id
        )
        rules, selection = [*rules, forced.rule], forced.select
    padded = pad_sources([ids], pad=source.pad_id, end=source.end_id).to(translator.device)
    hypotheses: list[Hypothesis] = []
    model = translator.model
    assert not (isinstance(model, nn.Module) and model.training)
    with torch.inference_mode():
        steps = search_steps(
            model,
            padded,
            symbols=target.symbols,
            max_lengths=[wish.max_length],
            options=options,
            constraints=[watch.before, *rules],
            selection=watch.watching(selection, target.end_id),
        )
        for _, beams, finished in steps:
            if finished:
                every = replace(options, n_best=options.beam_size)
                hypotheses = read_targets(beams, 0, target.end_id, every)
    return _tree(translator, watch, hypotheses, options, wish.prefix, edits)


class _CutBranches:
    """No target begins with any of some branches."""

    def __init__(self, branches: Sequence[tuple[int, ...]]) -> None:
        self.branches = [branch for branch in branches if branch]

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Take away what would enter a branch."""
        here = [branch for branch in self.branches if len(branch) == written.size(1) + 1]
        if not here:
            return step
        allowed = step.clone()
        for row, ids in enumerate(written.tolist()):
            for branch in here:
                if list(branch[:-1]) == ids and 0 <= branch[-1] < step.size(1):
                    allowed[row, branch[-1]] = float("-inf")
        return allowed


@dataclass(frozen=True, slots=True)
class _WordEnds:
    """After so many symbols a word has ended: none goes on with it."""

    length: int
    continues: Bool[Tensor, "V"]

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Take away what would go on with the word."""
        if written.size(1) != self.length:
            return step
        return step.masked_fill(self.continues.to(step.device), float("-inf"))


@dataclass(slots=True)
class _Growing:
    """A node whose fate is not known yet."""

    parent: int | None
    length: int
    id: int
    log_probability: float
    total: float
    state: NodeState


@dataclass(slots=True)
class _Watch:
    """Looks over the shoulder of one search: a constraint that changes nothing, and a selection that asks another."""

    options: SearchOptions
    nodes: list[_Growing] = field(
        default_factory=lambda: [_Growing(None, 0, -1, 0.0, 0.0, "begin")]
    )
    by_ids: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})
    slots: list[int | None] = field(default_factory=list)
    free: Tensor | None = None

    def before(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Keep what the model says before anything is forbidden."""
        self.free = step
        return step

    def watching(self, inner: Selection, end_id: int) -> Selection:
        """Return ``inner``, watched."""
        self.slots = [0] + [None] * (self.options.beam_size - 1)

        def select(
            worth: Float[Tensor, "B W V"],
            written: Int[Tensor, "B W T"],
            sentences: Sequence[int],
        ) -> Int[Tensor, "B W"]:
            chosen = inner(worth, written, sentences)
            self._grow(worth[0], chosen[0].tolist(), end_id)
            return chosen

        return select

    def _grow(self, worth: Float[Tensor, "W V"], chosen: list[int], end_id: int) -> None:
        vocabulary = worth.size(1)
        slots: list[int | None] = []
        for candidate in chosen:
            slot, id = divmod(candidate, vocabulary)
            total, parent = float(worth[slot, id]), self.slots[slot]
            if parent is None or total == float("-inf"):
                slots.append(None)
            elif total == float("inf"):
                slots.append(parent)  # it has ended, and stays what it is
            else:
                state: NodeState = "finished" if id == end_id else "kept"
                slots.append(self._add(parent, id, total, state))
        shown = min(self.options.beam_size, MOST_SHOWN, vocabulary)
        for slot, parent in enumerate(self.slots):
            if parent is None or bool((worth[slot] == float("inf")).any()):
                continue
            self._show(parent, worth[slot], shown, "pruned")
            assert self.free is not None
            taken = torch.where(worth[slot].isfinite(), float("-inf"), self.free[slot])
            best = self.free[slot].topk(shown).values[-1]
            taken = torch.where(taken >= best, taken + self.nodes[parent].total, float("-inf"))
            self._show(parent, taken, shown, "forbidden")
        self.slots = slots

    def _show(self, parent: int, worth: Float[Tensor, "V"], shown: int, state: NodeState) -> None:
        """Add the best continuations of one slot that were not chosen."""
        values, ids = worth.topk(shown)
        for total, id in zip(values.tolist(), ids.tolist(), strict=True):
            if total != float("-inf") and (*self.path(parent), id) not in self.by_ids:
                self._add(parent, id, total, state)

    def _add(self, parent: int, id: int, total: float, state: NodeState) -> int:
        before = self.nodes[parent]
        self.nodes.append(
            _Growing(parent, before.length + 1, id, total - before.total, total, state)
        )
        self.by_ids[(*self.path(parent), id)] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def path(self, node: int) -> tuple[int, ...]:
        """Return the symbols from the first to this one."""
        ids: list[int] = []
        while (parent := self.nodes[node].parent) is not None:
            ids.append(self.nodes[node].id)
            node = parent
        return tuple(reversed(ids))


def _tree(
    translator: Translator,
    watch: _Watch,
    hypotheses: Sequence[Hypothesis],
    options: SearchOptions,
    pinned: tuple[int, ...],
    edits: TreeEdits,
) -> BeamTree:
    target = translator.tokenizers.target
    pieces = target.tokens([target.begin_id, *(node.id for node in watch.nodes[1:])])
    alpha = options.length_penalty
    nodes = tuple(
        BeamNode(
            parent=node.parent,
            length=node.length,
            id=node.id if node.parent is not None else target.begin_id,
            text=piece,
            log_probability=node.log_probability,
            total=node.total,
            score=node.total / length_penalty(node.length, alpha),
            state=node.state,
        )
        for node, piece in zip(watch.nodes, pieces, strict=True)
    )
    finished = []
    for hypothesis in hypotheses:
        ended = (target.end_id,) if hypothesis.stopped == "end" else ()
        node = watch.by_ids[(*hypothesis.ids, *ended)]
        text = target.decode(list(hypothesis.ids))
        length = len(hypothesis.log_probabilities)
        finished.append(
            FinishedTarget(
                node, text, hypothesis.score, nodes[node].total, length, hypothesis.stopped
            )
        )
    best = finished[0].text.casefold() if finished else ""
    unmet = tuple(word for word in edits.force if word.casefold() not in best)
    return BeamTree(
        beam_size=options.beam_size,
        length_penalty=alpha,
        nodes=nodes,
        finished=tuple(finished),
        steps=max(node.length for node in nodes),
        pinned=pinned,
        unmet=unmet,
    )
