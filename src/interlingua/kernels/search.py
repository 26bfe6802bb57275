"""A Transformer packed for ``decoding.cpp``: a whole plain beam search of a batch is one call, on one thread.

The plain reference is ``decoding/beam_search.py`` with the model itself; tests/parity/test_compiled_search.py compares.
``float32`` gives the reference's numbers but for rounding; ``bfloat16`` and ``int8`` are smaller and faster, and their
products are not the same numbers: weights are rounded once, activations as they come (int8: one scale a row and one an
output, both symmetric). Everything else (normalisation, softmax, attention, sums) is float in all three.

A sentence's result depends on nothing but the sentence, in all three: every sum is taken in one order.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor, nn

from interlingua.kernels import native
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import Decoder, DecoderLayer
from interlingua.model.dropout import Dropout
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import Encoder, EncoderLayer
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import LearnedPositions, SinusoidalPositions
from interlingua.model.residual import Residual
from interlingua.model.transformer import Transformer
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["CompiledSearch", "Found", "can_search", "precisions"]

_NAMES = {"float32": "f32", "bfloat16": "bf16", "int8": "i8"}
_ACTIVATIONS = {"relu": 0, "gelu": 1, "swiglu": 2, "swish": 3}
_PARTS = {
    *(Transformer, Encoder, EncoderLayer, Decoder, DecoderLayer, MultiHeadAttention, FeedForward),
    *(Residual, TokenEmbedding, SinusoidalPositions, LearnedPositions, Dropout),
    *(nn.ModuleList, nn.Linear, nn.Embedding, nn.LayerNorm),
}

Found = tuple[list[int], list[float]]
"""Symbols written, the end symbol included where it was, and the log-probability of each."""


@dataclass(frozen=True, slots=True)
class _Kernels:
    """The functions of ``decoding.cpp`` for one kind of number."""

    pack: Callable[..., int]
    groups: Callable[[int], int]
    search: Callable[..., int]


@cache
def _kernels(precision: str) -> _Kernels | None:
    library = native.library()
    name = _NAMES[precision]
    if library is None or not hasattr(library, f"search_{name}"):
        return None
    pointer, integer, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    pack = getattr(library, f"pack_{name}")
    pack.argtypes = [pointer, integer, integer, pointer, pointer, pointer]
    groups = getattr(library, f"groups_{name}")
    groups.argtypes, groups.restype = [integer], integer
    search = getattr(library, f"search_{name}")
    search.argtypes = [
        *(pointer, pointer, real, pointer, real, integer),
        *(pointer, pointer, pointer, integer, pointer, pointer, pointer),
    ]
    return _Kernels(pack, groups, search)


def precisions() -> list[str]:
    """Return the kinds of numbers that this machine's kernels compute with, exact first; none where there is no library of them."""
    return [name for name in _NAMES if _kernels(name) is not None]


def can_search(model: object) -> bool:
    """Tell whether a search over this model can be compiled: it is made of our own parts, without hooks, on a CPU."""
    if type(model) is not Transformer:
        return False
    return all(_is_ours(part) for part in model.modules()) and all(
        parameter.device.type == "cpu" and parameter.dtype == torch.float32
        for parameter in model.parameters()
    )


def _is_ours(part: nn.Module) -> bool:
    hooks = (part._forward_hooks, part._forward_pre_hooks)
    return type(part) in _PARTS and not any(hooks)


class CompiledSearch:
    """A Transformer's weights, packed; it keeps none of the model but its embedding tables.

    Args:
        model: one that ``can_search``.
        precision: ``float32``, ``bfloat16`` or ``int8``; one of ``precisions()``.

    Raises:
        ValueError: this machine has no such kernel.
    """

    def __init__(self, model: Transformer, precision: str) -> None:
        kernels = _kernels(precision)
        if kernels is None:
            raise ValueError(f"no kernels for {precision} here, only {precisions()}")
        self.precision = precision
        self._kernels = kernels
        self._panel = int(_panel_width())
        self._kept: list[Tensor] = []  # what the addresses point to
        self.weights = 0
        """Numbers in the packed maps: multiplications for a symbol that is read and written."""
        self._words = model.source_embedding.table.num_embeddings
        a = model.architecture
        sizes = [
            *(a.d_model, a.heads, a.query_width, a.value_width, a.d_ff),
            *(a.encoder_layers, a.decoder_layers, _ACTIVATIONS[a.activation], int(a.norm == "pre")),
            *(self._words, model.target_embedding.table.num_embeddings),
        ]
        self._sizes = (ctypes.c_int64 * len(sizes))(*sizes)
        with torch.no_grad():
            addresses = list(self._addresses(model))
        self._addresses_of = (ctypes.c_void_p * len(addresses))(*addresses)
        self._tables = [
            model.source_embedding.table.weight.detach(),
            model.target_embedding.table.weight.detach(),
        ]
        self._positions = [
            _position_table(embedding).size(0)
            for embedding in (model.source_embedding, model.target_embedding)
        ]
        self._epsilon = float(next(m.eps for m in model.modules() if isinstance(m, nn.LayerNorm)))

    def is_of(self, model: Transformer) -> bool:
        """Tell whether the embedding tables are those that were packed."""
        tables = [model.source_embedding.table.weight, model.target_embedding.table.weight]
        return all(map(torch.equal, self._tables, tables))

    def bytes(self) -> int:
        """Return how much memory the packed weights and the tables take."""
        kept = {each.untyped_storage().data_ptr(): each.untyped_storage() for each in self._kept}
        return sum(storage.nbytes() for storage in kept.values())

    def search(
        self,
        sources: Sequence[Sequence[int]],
        *,
        symbols: Symbols,
        max_lengths: Sequence[int],
        beam_size: int,
        alpha: float,
        n_best: int,
        min_length: int = 0,
    ) -> list[list[Found]]:
        """Search as ``beam_search`` does; ``sources`` without padding, their end symbols included.

        The targets of a sentence come in no order, all that have ended: up to ``beam_size``. None is a model whose
        numbers are none. The GIL is free meanwhile.

        Raises:
            IndexError: an id that is not in the vocabulary.
            ValueError: a source or a limit that the model has no positions for, or a limit below 1.
            MemoryError: not enough of it.
        """
        ids = torch.tensor([id for source in sources for id in source], dtype=torch.long)
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < self._words:
            raise IndexError(f"a source id is outside of the vocabulary of {self._words}")
        self._check_lengths(list(map(len, sources)), max_lengths)
        offsets = torch.tensor([0, *map(len, sources)]).cumsum(0)
        limits = torch.tensor(max_lengths, dtype=torch.long)
        longest = int(limits.max())
        written = torch.empty((len(sources), beam_size, longest), dtype=torch.long)
        numbers = torch.empty((len(sources), beam_size, longest))
        lengths = torch.zeros((len(sources), beam_size), dtype=torch.long)
        settings = (ctypes.c_int64 * 6)(beam_size, n_best, min_length, *symbols)
        failed = self._kernels.search(
            *(self._sizes, self._addresses_of, self._epsilon, settings, alpha, len(sources)),
            *(ids.data_ptr(), offsets.data_ptr(), limits.data_ptr(), longest),
            *(written.data_ptr(), numbers.data_ptr(), lengths.data_ptr()),
        )
        if failed:
            raise MemoryError(f"not enough memory to search {len(sources)} sentences at once")
        return [
            [(ids[:n], log_probs[:n]) for ids, log_probs, n in zip(*ended, strict=True) if n]
            for ended in zip(written.tolist(), numbers.tolist(), lengths.tolist(), strict=True)
        ]

    def _check_lengths(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Refuse what would be read from beyond the tables of positions, or written before a target's beginning."""
        most_read, most_written = self._positions
        if max(sources) > most_read or max(targets) > most_written or min(targets) < 1:
            raise ValueError(
                f"sources of {max(sources)} tokens at most, for targets of {min(targets)} to {max(targets)}: the model has positions "
                f"for {most_read} and {most_written}, and writes 1 at least"
            )

    def _keep(self, tensor: Tensor) -> int:
        tensor = tensor.detach().contiguous()
        self._kept.append(tensor)
        return tensor.data_ptr()

    def _weight(self, weight: Float[Tensor, "N K"], bias: Tensor | None) -> Iterator[int | None]:
        """Pack one linear map: panels, scales, shifts, bias, as ``Addresses::weight`` takes them."""
        outputs, inputs = weight.shape
        self.weights += weight.numel()
        whole = -(-outputs // self._panel) * self._panel
        panels = torch.empty(whole * int(self._kernels.groups(inputs)), dtype=torch.int32)
        scale, shift = torch.empty(whole), torch.empty(whole, dtype=torch.int32)
        plain = weight.detach().contiguous()  # named, so that a copy lives until it is read
        self._kernels.pack(
            *(plain.data_ptr(), outputs, inputs),
            *(panels.data_ptr(), scale.data_ptr(), shift.data_ptr()),
        )
        yield self._keep(panels)
        yield self._keep(scale)
        yield self._keep(shift)
        yield None if bias is None else self._keep(nn.functional.pad(bias, (0, whole - outputs)))

    def _linear(self, *maps: nn.Linear) -> Iterator[int | None]:
        """Pack maps of one input as one."""
        weight = torch.cat([each.weight for each in maps])
        yield from self._weight(weight, torch.cat([each.bias for each in maps]))

    def _norm(self, norm: nn.LayerNorm | None) -> Iterator[int]:
        assert norm is not None
        yield self._keep(norm.weight)
        yield self._keep(norm.bias)

    def _attention(self, part: MultiHeadAttention, around: Residual) -> Iterator[int | None]:
        yield from self._linear(part.query)
        yield from self._linear(part.key, part.value)
        yield from self._linear(part.output)
        yield from self._norm(around.norm)

    def _feed_forward(self, part: FeedForward, around: Residual) -> Iterator[int | None]:
        yield from self._linear(part.inner)
        if part.gate is not None:
            yield from self._linear(part.gate)
        yield from self._linear(part.outer)
        yield from self._norm(around.norm)

    def _addresses(self, model: Transformer) -> Iterator[int | None]:
        """Give every address in the order in which ``read_model`` takes them."""
        for layer in model.encoder.layers:
            assert isinstance(layer, EncoderLayer)
            yield from self._attention(layer.self_attention, layer.around_attention)
            yield from self._feed_forward(layer.feed_forward, layer.around_feed_forward)
        for layer in model.decoder.layers:
            assert isinstance(layer, DecoderLayer)
            yield from self._attention(layer.self_attention, layer.around_self)
            yield from self._attention(layer.cross_attention, layer.around_cross)
            yield from self._feed_forward(layer.feed_forward, layer.around_feed_forward)
        if model.architecture.norm == "pre":
            yield from self._norm(model.encoder.final_norm)
            yield from self._norm(model.decoder.final_norm)
        outputs = model.output.weight.size(0)
        whole = -(-outputs // self._panel) * self._panel
        bias = torch.full((whole,), float("-inf"))  # places of no symbol have no probability
        bias[:outputs] = 0.0 if model.output.bias is None else model.output.bias.detach()
        *packed, _ = self._weight(model.output.weight, None)
        yield from (*packed, self._keep(bias))
        for embedding in (model.source_embedding, model.target_embedding):
            yield self._keep(embedding.table.weight)
        for embedding in (model.source_embedding, model.target_embedding):
            yield self._keep(_position_table(embedding))


def _position_table(embedding: TokenEmbedding) -> Tensor:
    assert isinstance(embedding.positions, SinusoidalPositions | LearnedPositions)
    return embedding.positions.table


def _panel_width() -> int:
    library = native.library()
    assert library is not None
    library.panel_width.restype = ctypes.c_int64
    return int(library.panel_width())
