"""Which word of a source became which word of its translation: word alignment, read from the attention to the source.

The model reads given pairs, all target tokens at once. Each target word is then linked with the source word that one view
of its attention looks at most. A view is a layer, one head of it or the mean of them, and the step that is asked: that
which writes the target token, or the next one, which reads it. The second often knows better, as only then the decoder
knows the word: Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation", section 3.

Which view is best is found without gold: see :func:`choose_alone`, and for two models :mod:`.joint_alignment`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import nn

from interlingua.batching.batch import batch_for
from interlingua.decoding.held_model import evaluating
from interlingua.decoding.protocol import TeacherForcedModel
from interlingua.errors import CorpusError, ModelError
from interlingua.evaluation.alignment import Links
from interlingua.model.attention_maps import record_attention
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.translator import Translator

__all__ = [
    "Shares",
    "View",
    "align",
    "choose_alone",
    "judge_views",
    "link",
    "list_views",
    "look",
    "some_to_choose_by",
]

Shares: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"
"""How much of its attention each target word (row) gives each source word (column), tokens averaged and added up.

A word without tokens, as it was cut off or normalised away, has minus infinity in its row or column.
"""

_BATCH_TOKENS = 2_000
_NO_WORD = -1
_PAIRS_TO_CHOOSE = 500


@dataclass(frozen=True, slots=True)
class View:
    """One way to look at the attention of a decoder to the source."""

    layer: int
    """From 1, from the input up."""
    head: int | None
    """From 1; None is the mean of all heads."""
    step: Literal["reading", "writing"]
    """Whether the step is asked that reads the target token, or the one before it, that writes it."""

    def __str__(self) -> str:
        head = "the mean of its heads" if self.head is None else f"head {self.head}"
        return f"layer {self.layer}, {head}, as it {'reads' if self.step == 'reading' else 'writes'} the word"


@dataclass(frozen=True, slots=True)
class _Side:
    """One text of a pair: its ids, and the word that each of them belongs to."""

    ids: list[int]
    words: list[int]
    count: int
    """Words, also those without tokens."""


def list_views(translator: Translator) -> list[View]:
    """Return every view that the model has, the means of heads before single heads.

    Raises:
        ModelError: the model has no attention to a source that can be read.
    """
    layers = [
        module
        for name, module in _module_of(translator).named_modules()
        if name.endswith("cross_attention")
    ]
    if not layers:
        raise ModelError(
            "the model has no attention to the source that can be read: one trained with model.attention = none has "
            "none, and a variant of your own derives from MultiHeadAttention and is called cross_attention"
        )
    steps: tuple[Literal["reading", "writing"], ...] = ("reading", "writing")
    views = [
        View(layer, head, step)
        for layer, module in enumerate(layers, 1)
        for head in (None, *range(1, int(getattr(module, "heads", 0)) + 1))
        for step in steps
    ]
    return sorted(views, key=lambda view: view.head is not None)


def align(
    translator: Translator, pairs: Sequence[tuple[str, str]], views: Sequence[View]
) -> list[list[Links]]:
    """Return the links of every pair as each of ``views`` sees them: ``[pair][view]``.

    Words are what stands between spaces. A target word has one link, to the source word that it looks at most; the end
    symbol and what was cut off, as longer than the model reads, have none.

    Raises:
        ModelError: the model has no attention to the source that can be read.
        CorpusError: a text whose words the tokenizer runs together.
    """
    found: list[list[Links]] = [[frozenset()] * len(views) for _ in pairs]
    for place, seen in look(translator, pairs, views):
        found[place] = [link(shares) for shares in seen]
    return found


def look(
    translator: Translator, pairs: Sequence[tuple[str, str]], views: Sequence[View]
) -> Iterator[tuple[int, list[Shares]]]:
    """Yield the place of each pair, in some order, with what each of ``views`` sees; pairs without tokens are left out.

    Raises:
        ModelError: the model has no attention to the source that can be read.
        CorpusError: a text whose words the tokenizer runs together.
    """
    read, write = translator.tokenizers.source, translator.tokenizers.target
    room = translator.max_source_length - 1
    sides = [(_cut(read, source, room), _cut(write, target, room)) for source, target in pairs]
    places = [place for place, sides_of in enumerate(sides) if all(side.ids for side in sides_of)]
    for batch in _batches(places, sides):
        maps = _attend([sides[place] for place in batch], translator)
        for row, place in enumerate(batch):
            yield place, [_shares(maps[view.layer - 1][row], view, *sides[place]) for view in views]


def link(worth: Shares) -> Links:
    """Link each target word that has tokens with the source word that is worth most to it."""
    if not worth.size:
        return frozenset()
    best = worth.argmax(axis=1)
    return frozenset(
        (int(source), target)
        for target, source in enumerate(best)
        if worth[target, source] > -np.inf
    )


def some_to_choose_by(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return so many pairs, both sides written, as tell views apart."""
    written = (pair for pair in pairs if pair[0].strip() and pair[1].strip())
    return list(islice(written, _PAIRS_TO_CHOOSE))


def choose_alone(translator: Translator, pairs: Sequence[tuple[str, str]]) -> tuple[View, float]:
    """Return the view of one model whose links join words that occur together in ``pairs``, and how much they do.

    No gold is looked at; it takes some hundred pairs to tell views apart. See :func:`judge_views`.
    """
    return max(judge_views(translator, pairs), key=lambda judged: judged[1])


def judge_views(
    translator: Translator, pairs: Sequence[tuple[str, str]]
) -> list[tuple[View, float]]:
    """Return every view of one model, and how much the words that it links belong together.

    How much two words belong together is Dice's coefficient over ``pairs``: twice the pairs with both over the pairs
    with either, summed; the mean over all links.
    """
    views = list_views(translator)
    seen = align(translator, pairs, views)
    texts = [(source.split(), target.split()) for source, target in pairs]
    dice = _Dice(texts)
    judged = []
    for number, view in enumerate(views):
        scores = [
            dice.score(source[i], target[j])
            for (source, target), of_pair in zip(texts, seen, strict=True)
            for i, j in of_pair[number]
        ]
        judged.append((view, sum(scores) / max(len(scores), 1)))
    return judged


class _Dice:
    """Counts in how many pairs a source word and a target word occur, and in how many both."""

    def __init__(self, texts: Sequence[tuple[list[str], list[str]]]) -> None:
        self._sources = Counter(word for source, _ in texts for word in set(source))
        self._targets = Counter(word for _, target in texts for word in set(target))
        self._both = Counter(
            (a, b) for source, target in texts for a in set(source) for b in set(target)
        )

    def score(self, source: str, target: str) -> float:
        return 2 * self._both[source, target] / (self._sources[source] + self._targets[target])


def _module_of(translator: Translator) -> nn.Module:
    model = translator.model
    if not isinstance(model, nn.Module) or not isinstance(model, TeacherForcedModel):
        raise ModelError(
            f"a {type(model).__name__} gives no alignment: it is not a model that reads whole targets"
        )
    return model


def _cut(tokenizer: Tokenizer, text: str, room: int) -> _Side:
    """Cut a text into tokens, each with the number of the word of ``text`` that it belongs to.

    Raises:
        CorpusError: after normalisation the words are no longer those of ``text``.
    """
    encoding, normal = tokenizer.encode(text), tokenizer.normalise(text)
    # A word may become several, or none: "½" is "1 ⁄ 2" elsewhere, a lone combining mark nothing.
    places = [
        number
        for number, word in enumerate(text.split())
        for _ in tokenizer.normalise(word).split()
    ]
    of_character: list[int] = []
    word, is_inside = -1, False
    for character in normal:
        if character.isspace():
            is_inside = False
        elif not is_inside:
            word, is_inside = word + 1, True
        of_character.append(word if is_inside else _NO_WORD)
    if word + 1 != len(places):
        raise CorpusError(
            f"{text[:60]!r}: its {len(text.split())} words become {word + 1} as the tokenizer reads them; "
            "normalise the text first, or leave the line out"
        )
    words = []
    for start, end in encoding.offsets:
        inside = [of_character[at] for at in range(start, end) if of_character[at] != _NO_WORD]
        words.append(places[inside[-1]] if inside else _NO_WORD)
    return _Side(encoding.ids[:room], words[:room], len(text.split()))


def _batches(places: list[int], sides: Sequence[tuple[_Side, _Side]]) -> Iterator[list[int]]:
    """Put pairs of like length together, as many as a small computer holds the attention of."""
    ordered = sorted(places, key=lambda place: [len(side.ids) for side in sides[place]])
    batch: list[int] = []
    longest = 0
    for place in ordered:
        length = max(len(side.ids) for side in sides[place]) + 1
        if batch and max(longest, length) * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch, longest = [], 0
        batch.append(place)
        longest = max(longest, length)
    if batch:
        yield batch


def _attend(
    sides: Sequence[tuple[_Side, _Side]], translator: Translator
) -> list["np.ndarray[Any, np.dtype[np.float32]]"]:
    """Pass pairs through the model as in training; return the attention to the source, (B, H, T, S) a layer."""
    model = _module_of(translator)
    batch = batch_for(
        translator.tokenizers,
        [source.ids for source, _ in sides],
        [target.ids for _, target in sides],
        range(len(sides)),
    ).to(translator.device)
    with evaluating(model), torch.inference_mode(), record_attention(model) as maps:
        model(batch.source, batch.target_in)
    weights = [calls[0] for name, calls in maps.items() if name.endswith("cross_attention")]
    if not all(bool(layer.isfinite().all()) for layer in weights):
        raise ModelError(
            "the model gives not-a-number; its weights are damaged: take an earlier checkpoint"
        )
    return [layer.float().cpu().numpy() for layer in weights]


def _shares(
    weights: "np.ndarray[Any, np.dtype[np.float32]]", view: View, source: _Side, target: _Side
) -> Shares:
    """Return what one view of the attention of one pair, (H, T, S), gives."""
    looked = weights.mean(0) if view.head is None else weights[view.head - 1]
    # Row t reads token t - 1 (the begin symbol first) and writes token t.
    first = 1 if view.step == "reading" else 0
    looked = looked[first : first + len(target.ids), : len(source.ids)]
    columns, rows = _membership(source), _membership(target)
    counts = rows.sum(axis=1, keepdims=True)
    by_word: Shares = rows @ looked @ columns.T / np.maximum(counts, 1.0)
    by_word[counts[:, 0] == 0] = -np.inf
    by_word[:, columns.sum(axis=1) == 0] = -np.inf
    return by_word


def _membership(side: _Side) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """Return which tokens (columns) each word (row) has, as 1 and 0."""
    members = np.zeros((side.count, len(side.words)), dtype=np.float32)
    for token, word in enumerate(side.words):
        if word != _NO_WORD:
            members[word, token] = 1.0
    return members
