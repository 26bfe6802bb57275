r"""Targets that are known to be right, remembered by what the decoder was thinking as it wrote them: kNN-MT.

Each remembered target is read once by teacher forcing. What the decoder has in mind before symbol t, the vector h that
is projected to the vocabulary, is a key k, and symbol t its value v. When a related source is searched,

.. math::

    p(y) = (1 - \lambda)\, p_{model}(y) + \lambda \sum_{i: v_i = y} \mathrm{softmax}_i\!\left(-d_i / T\right)

with :math:`d_i = |h - k_i|^2 / |k_i|^2`. Five things are not as in the paper, which has millions of keys and one
temperature and lambda for all of them:

* A source looks only at targets whose own sources share 85 of a hundred of its symbols with it (:func:`NeighbourMemory.related`), and
  one that was remembered itself at its own target only. Whatever is not like a remembered source is searched as ever.
* lambda and T follow the distance of the nearest key: at no distance, as for a remembered source, lambda is 1 and only
  that key counts; at ``FARTHEST`` lambda is 0, and T grows with the distance, so that one near key outweighs many far ones.
* In a source that was not remembered itself, a symbol counts only where the model gives it :data:`LEAST_LIKELY` itself: the
  memory chooses among what may follow. The first of several new symbols would be taken from it, and not those behind it, whose states the
  model comes to from elsewhere: "old." became "old in the old in the old", after corrections to "old indeed.".
* Of a vocabulary of whole words, a target with a word that is spelled letter by letter is for its own source alone.
* As long as the target of a remembered source is written as it was told, only the key of its place counts: where a word is
  repeated often, the states of a recurrent model become alike.

Sources: Khandelwal et al. 2021, "Nearest Neighbor Machine Translation"; Zheng et al. 2021, "Adaptive Nearest Neighbor
Machine Translation" (lambda by distance); Deguchi et al. 2023, "Subset Retrieval Nearest Neighbor Machine Translation"
(only the targets of like sources).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.decoding.protocol import HiddenModel, State

__all__ = ["Example", "NeighbourMemory", "RememberingModel", "RememberingState", "mix"]

LEAST_ALIKE = 0.85
"""Share of symbols that two sources have in common at least (Dice), so that one looks at the other's target."""
MOST_EXAMPLES = 8
"""Targets that one source looks at."""
MOST_LOOKED_UP = 10_000
"""Sources whose targets are found once; each is asked for several times while it is translated."""
MOST_GONE = 0.05
"""Share of what a memory holds that may have been replaced; then all is counted again."""
FARTHEST = 0.2
"""Distance of the nearest key, in squares of its own length, from which on it does not count."""
SAME = 1e-5
"""Distance that is none: another batch, another machine, rounds otherwise."""
TEMPERATURE = 0.3
"""In distances of the nearest key."""
LEAST_LIKELY = 1e-4
"""Probability that a model itself gives a symbol which a source that was not remembered takes from a memory.

Of sentences of Tatoeba with the correction of another one near, it keeps all that they gain; a hundred times as much keeps little of it.
"""
_GONE = 2**40
"""Length of a source that no other is like."""
_IMPOSSIBLE = -1000.0
"""Logarithm of what is left of the model's probability where lambda is 1: enough to keep a rule, such as a banned word."""


@dataclass(frozen=True, slots=True)
class Example:
    """A source, its right target, and what the decoder has in mind before each symbol of it.

    Attributes:
        source: ids, without the end symbol.
        target: ids, with the end symbol.
        keys: one a symbol of the target.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    keys: Float[Tensor, "T D"]


class NeighbourMemory:
    """Examples, found by how much of a source they share.

    Args:
        examples: of two with the same source the later one counts.
        letters: symbols that spell words which a vocabulary of whole words does not have. A target with one of them is remembered for
            its own source alone: a decoder that hardly ever spelled anything cannot go on in the middle of a word.
    """

    def __init__(
        self, examples: Sequence[Example] = (), *, letters: frozenset[int] = frozenset()
    ) -> None:
        self._letters = letters
        self._numbered: list[Example] = []
        """Those that went keep their numbers, until they are many."""
        self._exact: dict[tuple[int, ...], int] = {}
        self._places: dict[tuple[int, int], Int[np.ndarray, "N"]] = {}
        """Of each symbol, and how often it stood before: the numbers of the examples."""
        self._lengths = np.zeros(0, dtype=np.int64)
        # No lru_cache of a method: that holds the memory in a circle, and a server seldom looks for garbage.
        self._looked_up: dict[tuple[int, ...], tuple[Example, ...]] = {}
        self._add(list({each.source: each for each in examples}.values()))

    @property
    def examples(self) -> tuple[Example, ...]:
        """What is remembered, one a source."""
        return tuple(self._numbered[number] for number in self._exact.values())

    def changed_to(self, examples: Sequence[Example]) -> "NeighbourMemory":
        """Return a memory of these examples; those that this one has are not counted again."""
        wanted = {each.source: each for each in examples}
        kept = {
            source: number
            for source, number in self._exact.items()
            if wanted.get(source) is self._numbered[number]
        }
        if len(self._numbered) - len(kept) > MOST_GONE * len(self._numbered):
            return NeighbourMemory(examples, letters=self._letters)
        other = NeighbourMemory(letters=self._letters)
        other._numbered, other._exact = list(self._numbered), kept
        other._places, other._lengths = dict(self._places), self._lengths.copy()
        other._lengths[[self._exact[source] for source in self._exact.keys() - kept.keys()]] = _GONE
        other._add([each for source, each in wanted.items() if source not in kept])
        return other

    def _add(self, examples: Sequence[Example]) -> None:
        places: dict[tuple[int, int], list[int]] = {}
        for number, each in enumerate(examples, len(self._numbered)):
            self._exact[each.source] = number
            for symbol in _count(each.source):
                places.setdefault(symbol, []).append(number)
        for symbol, numbers in places.items():
            before = self._places.get(symbol, self._lengths[:0])
            self._places[symbol] = np.concatenate([before, np.array(numbers)])
        self._numbered += examples
        lengths = [
            len(each.source) if self._letters.isdisjoint(each.target) else _GONE
            for each in examples
        ]
        added = np.array(lengths, dtype=np.int64)
        self._lengths = np.concatenate([self._lengths, added])

    def related(self, source: tuple[int, ...]) -> tuple[Example, ...]:
        """Return the examples that a source looks at, the most alike first; its own alone, if it has one."""
        found = self._looked_up.get(source)
        if found is None:
            if len(self._looked_up) >= MOST_LOOKED_UP:
                self._looked_up.clear()
            found = self._looked_up[source] = self._look_up(source)
        return found

    def _look_up(self, source: tuple[int, ...]) -> tuple[Example, ...]:
        if source in self._exact:
            return (self._numbered[self._exact[source]],)
        found = [self._places[symbol] for symbol in _count(source) if symbol in self._places]
        if not found:
            return ()
        shared = np.bincount(np.concatenate(found), minlength=len(self._numbered))
        alike = 2 * shared / (self._lengths + len(source))
        best = np.argsort(-alike, kind="stable")[:MOST_EXAMPLES]
        return tuple(self._numbered[number] for number in best if alike[number] >= LEAST_ALIKE)

    def has(self, source: tuple[int, ...]) -> bool:
        """Tell whether this very source was remembered."""
        return source in self._exact

    def room_for(self, source: tuple[int, ...]) -> int:
        """Return the length of the longest target that a source looks at, its end symbol included; 0 if it has none."""
        return max((len(each.target) for each in self.related(source)), default=0)


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What the model has read, and the keys that each of its sources looks at."""

    memory: Any
    keys: Float[Tensor, "M D"]
    values: Int[Tensor, "M"]
    of_source: Bool[Tensor, "B M"]
    first_key: Int[Tensor, "B"]
    """Place of the first key of the target of a source that was remembered itself; -1 of any other."""


@dataclass(frozen=True, slots=True)
class RememberingState:
    """What the model remembers of the targets so far, and which source each row is of."""

    state: State
    source_row: Int[Tensor, "R"]
    recalled: _Recalled
    place: Int[Tensor, "R"]
    """Of the key before the next symbol, if the last one was as remembered; -1 once one was not."""
    has_begun: bool = True

    def reorder(self, rows: Int[Tensor, "R2"]) -> "RememberingState":
        """Select, repeat or drop hypotheses."""
        state, source_row = self.state.reorder(rows), self.source_row[rows]
        return RememberingState(state, source_row, self.recalled, self.place[rows], self.has_begun)


class RememberingModel(nn.Module):
    """A model that is searched like any other, and has a memory.

    What it returns as logits are the logarithms of its probabilities.

    Args:
        model: it shows what it predicts from.
        memory: made with this very model.
        source_pad: id that pads a source.
    """

    def __init__(
        self, model: HiddenModel[Any], memory: NeighbourMemory, *, source_pad: int
    ) -> None:
        super().__init__()
        self.model = model
        self.memory, self.source_pad = memory, source_pad

    def encode(self, source: Int[Tensor, "B S"]) -> _Recalled:
        """Read the sources, and look up what each of them reminds of."""
        examples: dict[tuple[int, ...], tuple[int, Example]] = {}  # by source: place of its keys
        rows: list[list[tuple[int, ...]]] = []
        first_key: list[int] = []
        width = 0
        for ids in source.tolist():
            while ids and ids[-1] == self.source_pad:
                ids.pop()
            related = self.memory.related(tuple(ids[:-1]))  # without the end symbol
            for each in related:
                if each.source not in examples:
                    examples[each.source] = (width, each)
                    width += len(each.target)
            rows.append([each.source for each in related])
            is_own = self.memory.has(tuple(ids[:-1]))
            first_key.append(examples[related[0].source][0] if is_own else -1)
        of_source = torch.zeros(len(rows), width, dtype=torch.bool)
        for row, sources in enumerate(rows):
            for name in sources:
                first, each = examples[name]
                of_source[row, first : first + len(each.target)] = True
        device = source.device
        found = [each for _, each in examples.values()]
        keys = torch.cat([each.keys for each in found]) if found else torch.zeros(0, 1)
        values = torch.tensor(
            [symbol for each in found for symbol in each.target], dtype=torch.long
        )
        return _Recalled(
            self.model.encode(source),
            keys.to(device),
            values.to(device),
            of_source.to(device),
            torch.tensor(first_key, device=device),
        )

    def start(self, memory: _Recalled) -> RememberingState:
        """Stand before the first symbol, one row a source."""
        rows = torch.arange(memory.of_source.size(0), device=memory.values.device)
        state = self.model.start(memory.memory)
        return RememberingState(state, rows, memory, memory.first_key, has_begun=False)

    def step(
        self, ids: Int[Tensor, "R"], state: RememberingState
    ) -> tuple[Float[Tensor, "R V"], RememberingState]:
        """Read one more symbol a row; return the logarithm of the mixed probability of the next."""
        hidden, after = self.model.step_hidden(ids, state.state)
        recalled = state.recalled
        place = _follow(state.place, ids, recalled.values) if state.has_begun else state.place
        own = recalled.first_key[state.source_row] >= 0
        allowed = _look_at_own(place, recalled.of_source[state.source_row])
        logits = self.model.project(hidden)
        mixed = mix(logits, hidden, recalled.keys, recalled.values, allowed, own)
        return mixed, RememberingState(after, state.source_row, recalled, place)


def _follow(
    place: Int[Tensor, "R"], ids: Int[Tensor, "R"], values: Int[Tensor, "M"]
) -> Int[Tensor, "R"]:
    """Return the places of the next keys of rows that wrote what was remembered, -1 of others; behind an end they mean nothing."""
    if not values.size(0):
        return place
    is_as_told = (place >= 0) & (values[place.clamp(0, values.size(0) - 1)] == ids)
    return torch.where(is_as_told, place + 1, -1)


def _look_at_own(place: Int[Tensor, "R"], allowed: Bool[Tensor, "R M"]) -> Bool[Tensor, "R M"]:
    """Return which keys a row looks at: the one at its place, if it has one, else all that are ``allowed``."""
    places = torch.arange(allowed.size(1), device=allowed.device)
    own = (places == place[:, None]) & allowed
    return torch.where(own.any(dim=1, keepdim=True), own, allowed)


def mix(
    logits: Float[Tensor, "R V"],
    hidden: Float[Tensor, "R D"],
    keys: Float[Tensor, "M D2"],
    values: Int[Tensor, "M"],
    allowed: Bool[Tensor, "R M"],
    own: Bool[Tensor, "R"],
) -> Float[Tensor, "R V"]:
    """Return the logarithm of the model's probabilities, mixed with those of the values of the nearest keys.

    Args:
        logits: of the model.
        hidden: what they were made from.
        keys: remembered vectors of the same width (there may be none, of any).
        values: the symbol after each.
        allowed: which keys a row looks at.
        own: rows whose source was remembered itself, which may take any symbol.
    """
    log_model = logits.float().log_softmax(dim=-1)
    if not keys.size(0):
        return log_model
    distances = _distances(hidden, keys).masked_fill(~allowed, math.inf)  # (R, M)
    nearest = distances.amin(dim=1, keepdim=True)  # (R, 1)
    weight = (1 - nearest / FARTHEST).clamp(min=0.0)  # lambda
    weight = weight.masked_fill(nearest < SAME, 1.0)
    within = torch.where(weight > 0, distances, 0.0)  # a row without any would be not-a-number
    spread = (-within / (TEMPERATURE * nearest.clamp(min=SAME, max=FARTHEST))).softmax(dim=1)
    neighbours = torch.zeros_like(log_model).index_add_(1, values, spread.float())
    is_possible = own[:, None] | (log_model >= math.log(LEAST_LIKELY))
    neighbours = neighbours.masked_fill(~is_possible, 0.0)
    kept = neighbours.sum(dim=1, keepdim=True).where(~own[:, None], 1.0)
    neighbours, weight = neighbours / kept.clamp(min=1e-30), weight * kept
    mixed = torch.logaddexp(
        log_model + (1 - weight).log().clamp(min=_IMPOSSIBLE).float(),
        neighbours.log() + weight.log().float(),
    )
    return torch.where(weight > 0, mixed, log_model)


def _distances(hidden: Float[Tensor, "R D"], keys: Float[Tensor, "M D"]) -> Float[Tensor, "R M"]:
    """Return squared distances in squares of the lengths of the keys; in double where it can be had, as they are differences."""
    if hidden.device.type != "mps":
        hidden, keys = hidden.double(), keys.double()
    lengths = keys.square().sum(dim=1)
    squares = hidden.square().sum(dim=1, keepdim=True) + lengths - 2 * hidden @ keys.T
    return squares.clamp(min=0.0) / lengths.clamp(min=1e-12)


def _count(source: Sequence[int]) -> list[tuple[int, int]]:
    """Number each symbol by how often it stood before, so that two sources share what both have as often."""
    before: Counter[int] = Counter()
    numbered = []
    for symbol in source:
        numbered.append((symbol, before[symbol]))
        before[symbol] += 1
    return numbered
