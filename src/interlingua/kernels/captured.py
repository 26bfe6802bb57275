"""A packed step on a graphics card as one launch: a CUDA graph for each shape of batch.

Forward and backward start about a thousand kernels. A processor takes longer to start them one by one than a fast card to compute
them (77 ms and 19 for base and 25,000 tokens, measured on an H200 with slow cores). So what was started for a batch is kept and
started again, all at once, for later batches of the same shape. Shapes are rounded up, so that there are few; what a batch does not
fill counts nothing, as the empty rows of ``packing`` do.

Gradients are added up where they lie: whoever clears them writes zeros and keeps the tensors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from interlingua.batching.batch import Batch
from interlingua.errors import TrainingError
from interlingua.hardware import is_lack_of_memory
from interlingua.kernels.packed import draw_keys, loss_of_packed, packed_sides
from interlingua.kernels.packing import Packed
from interlingua.model.dropout import Dropout
from interlingua.model.transformer import Transformer

__all__ = ["CapturedStep"]

MOST = 256
"""Shapes of batches that are kept; those after them are computed kernel by kernel. Of the first 3,000 updates on Multi30k with 25,000 tokens
93 % find their shape; the 212 others are the first of theirs."""
TIMES_MEMORY = 2.5
"""What is kept needs as much memory once more, so the card must have so many times what the first step took."""


class CapturedStep:
    """The loss of batches and its gradient, and what is done with that afterwards.

    Args:
        model: one that ``can_pack``, on a card.
        epsilon: label smoothing.
        dtype: of matrix products and of what is kept between them.
        say: is told why something is not captured.
    """

    def __init__(
        self, model: Transformer, epsilon: float, dtype: torch.dtype, say: Callable[[str], None]
    ) -> None:
        self.model = model
        self.epsilon = epsilon
        self.dtype = dtype
        self.say = say
        self.device = model.output.weight.device
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.gradients: list[Tensor | None] = []
        """Where the captured kernels write."""
        self.steps: dict[_Shape, tuple[_Place, _Graph]] = {}
        self.others: dict[str, _Graph] = {}
        self.may_capture: bool | None = None
        self.rate = torch.zeros((), device=self.device)
        """Where an optimizer that is captured finds its learning rate."""
        self.pool: Any = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        sides = (model.source_embedding, model.target_embedding)
        owners = (*sides, *model.encoder.layers, *model.decoder.layers)  # a layer may come twice
        drops = [part for owner in owners for part in owner.modules() if isinstance(part, Dropout)]
        self.num_keys = 2 * sum(part.probability > 0.0 for part in drops)

    def backward(self, batch: Batch, weight: float) -> Tensor:
        """Add the gradient of ``weight`` times the summed loss to what is in the parameters, and return that product."""
        sides = packed_sides(self.model, batch)
        shape = _Shape.of(*sides, most=self.model.architecture.max_positions)
        if [id(p.grad) for p in self.parameters] != [id(grad) for grad in self.gradients]:
            self.forget()
        if self.may_capture is None:  # what took memory before says nothing of a step
            torch.cuda.reset_peak_memory_stats(self.device)
        place, graph = self.steps.get(shape, (None, None))
        place = place or _Place(shape, self.num_keys, self.device)
        place.fill(*sides, self._draw_keys(), weight)
        if graph is not None:
            return graph.replay().clone()
        loss = self._compute(place)
        self.gradients = [p.grad for p in self.parameters]
        graph = self._capture(lambda: self._compute(place)) if len(self.steps) < MOST else None
        if graph is not None:
            self.steps[shape] = place, graph
            if len(self.steps) == MOST:
                self.say(
                    f"{MOST} shapes of batches are captured; for others, kernels are started one by one, which takes longer"
                )
        return loss

    def run(self, name: str, function: Callable[[], Tensor]) -> Tensor:
        """Run what is the same after every step: its kernels are started one by one the first time, then all at once."""
        if name in self.others:
            return self.others[name].replay()
        found = function()
        graph = self._capture(function)
        if graph is not None:
            self.others[name] = graph
        return found

    def clear(self) -> None:
        """Begin the next update without a gradient: zeros where graphs write, nothing where there are none."""
        if self.may_capture is False:
            self.gradients = []  # which would keep their memory
            self.model.zero_grad(set_to_none=True)
        elif found := [p.grad for p in self.parameters if p.grad is not None]:
            torch._foreach_zero_(found)

    def forget(self, *, for_good: bool = False) -> bool:
        """Give up what was captured, and its memory; return whether there was anything.

        ``for_good`` is for when that memory is what other things lack.
        """
        had = bool(self.steps or self.others)
        if for_good:
            self.may_capture = False
        # All go together: torch gives back what products share in all graphs of one stream as soon as one of them goes.
        self.steps.clear()
        self.others.clear()
        if had:
            self.pool = torch.cuda.graph_pool_handle()  # the old one is gone with its last graph
            torch.cuda.empty_cache()
        return had

    def _capture(self, function: Callable[[], Tensor]) -> "_Graph | None":
        """Keep what ``function`` has just started, if the card has room for it.

        Raises:
            TrainingError: torch cannot capture it.
        """
        if self.may_capture is None:
            self.may_capture = self._has_room()
            if not self.may_capture:
                self.say(
                    "kernels are started one by one: to start a whole step at once this card has too little memory"
                )
        if not self.may_capture:
            return None
        try:
            return _Graph(function, self.pool, self.stream)
        except RuntimeError as error:
            if is_lack_of_memory(error):
                self.forget(for_good=True)
                self.say("kernels are started one by one from now on, as memory became short")
                return None
            # After which torch may be unable to go on.
            reason = str(error).strip().partition("\n")[0]
            raise TrainingError(
                f"the kernels of a step could not be captured as a CUDA graph ({reason}); set training.plain = true and run the same command "
                "again: it resumes"
            ) from error

    def _has_room(self) -> bool:
        free, whole = torch.cuda.mem_get_info(self.device)
        allowed = torch.cuda.get_per_process_memory_fraction(self.device) * whole
        room = min(allowed, free + torch.cuda.memory_reserved(self.device))
        return torch.cuda.max_memory_allocated(self.device) * TIMES_MEMORY < room

    def _compute(self, place: "_Place") -> Tensor:
        loss = loss_of_packed(
            *(self.model, place.source, place.target, place.wanted),
            *(self.epsilon, self.dtype, 0.0, iter(place.keys)),
        )
        loss = loss * place.weight
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _draw_keys(self) -> list[int]:
        """Draw as many as a step that is not captured draws, so that the next random number is the same."""
        keys: list[int] = []
        while len(keys) < self.num_keys:
            keys += draw_keys()
        return keys[: self.num_keys]


class _Graph:
    """The kernels that a function starts, kept; what it returns lies in one place, and the next replay writes it over."""

    def __init__(self, function: Callable[[], Tensor], pool: Any, stream: Any) -> None:
        self.graph = torch.cuda.CUDAGraph()
        # The stream is left by this context whatever happens; torch's own stays in it where a capture fails. Other threads, which may
        # save the model meanwhile, are none of the graph's affair.
        capture = torch.cuda.graph(
            self.graph, pool=pool, stream=stream, capture_error_mode="thread_local"
        )
        with torch.cuda.stream(stream), capture:
            self.found = function()

    def replay(self) -> Tensor:
        self.graph.replay()
        return self.found


@dataclass(frozen=True, slots=True)
class _Shape:
    """How large a batch is, rounded up: rows, the longest sentence, and how many of them."""

    source: tuple[int, int]
    target: tuple[int, int]
    sentences: int

    @classmethod
    def of(cls, source: Packed, target: Packed, _: Packed, *, most: int) -> "_Shape":
        sizes = [
            # An empty row costs what a word costs, 5 % in all; the longest sentence, and sentences without words, cost next to nothing.
            (_up(len(side.ids), 8, 128), max(side.longest, min(most, _up(side.longest, 1, 16))))
            for side in (source, target)
        ]
        return cls(sizes[0], sizes[1], _up(len(source.offsets) - 1, 1, 16))


def _up(number: int, sizes: int, least: int) -> int:
    """Round up to one of so many ``sizes`` from a power of two to the next, or to a multiple of ``least``."""
    step = max(least, (1 << number.bit_length() - 1) // sizes)
    return -(-number // step) * step


class _Place:
    """Where a batch lies on the card, and the keys of its dropout: parts of one tensor, which is written with one copy."""

    def __init__(self, shape: _Shape, num_keys: int, device: torch.device) -> None:
        (source, source_longest), (target, target_longest) = shape.source, shape.target
        ends = shape.sentences + 1
        sizes = (source, source, ends, target, target, ends, target, num_keys, 1)
        starts = (0, *accumulate(-(-size // 4) * 4 for size in sizes))  # each at 16 bytes
        self.parts = [
            slice(start, start + size) for start, size in zip(starts, sizes, strict=False)
        ]
        self.numbers = torch.zeros(starts[-1], dtype=torch.int32, device=device)
        parts = [self.numbers[part] for part in self.parts]
        self.source = Packed(parts[0], parts[1], parts[2], source, source_longest)
        self.target = Packed(parts[3], parts[4], parts[5], target, target_longest)
        self.wanted = Packed(parts[6], parts[4], parts[5], target, target_longest)
        self.keys: Sequence[Tensor] = parts[7].unbind() if num_keys else ()
        self.weight = parts[8].view(torch.float32)[0]

    def fill(
        self, source: Packed, target: Packed, wanted: Packed, keys: list[int], weight: float
    ) -> None:
        """Lay a batch here: empty rows have no word, and sentences that are not there have no tokens."""
        numbers = np.zeros(len(self.numbers), dtype=np.int32)
        given = (source.ids, source.places, source.offsets, target.ids, target.places)
        rows: Iterator[Tensor] = iter((*given, target.offsets, wanted.ids))
        for index, (part, row) in enumerate(zip(self.parts, rows, strict=False)):
            content = row.numpy()
            into = numbers[part]
            into[: len(content)] = content
            into[len(content) :] = (-1, 0, content[-1])[index % 3]
        numbers[self.parts[7]] = np.array(keys, dtype=np.uint32).view(np.int32)
        numbers[self.parts[8]] = np.array([weight], dtype=np.float32).view(np.int32)
        self.numbers.copy_(torch.from_numpy(numbers))
