"""What our trainer cannot pass: the matrix products of the weights alone, forward and backward, with nothing between them.

Every real token takes part and no padding; what is multiplied lies in memory before the clock starts. Attention, loss,
dropout, normalisation and the optimizer cost nothing here. A library with faster products would raise it.
"""

import sys

import torch
from harness import DEVICE, measure, read_task

from interlingua.hardware import prepare_cpu
from interlingua.kernels.matrix_products import in_integers, product, product_over_rows
from interlingua.kernels.projected_cross_entropy import FEWEST_ROWS, LOGITS, LOGITS_ON_CARD

prepare_cpu(int(sys.argv[4]))
task = read_task()
dtype = torch.float32 if task.mode.startswith("fp32") else torch.bfloat16
d, f, layers = (task.sizes[name] for name in ("d_model", "d_ff", "layers"))
LAYER = [(3 * d, d), (d, d), (f, d), (d, f)]
"""The matrices of self-attention and feed-forward, each (width of what comes out, width of what goes in)."""


def weights_of(shapes):
    return [0.02 * torch.randn(out, into, device=DEVICE).to(dtype) for out, into in shapes]


encoder = weights_of(layers * LAYER)
memory = weights_of(layers * [(2 * d, d)])
"""Keys and values of the cross-attention, from the encoder's tokens."""
decoder = weights_of(layers * [*LAYER, (d, d), (d, d)] + [(task.vocabulary, d)])
most = max(sum(len(ids) + 1 for ids in side) for batch in task.batches for side in batch)
widths = {width for weight in (*encoder, *memory, *decoder) for width in weight.shape}
values = {width: torch.randn(most, width, device=DEVICE).to(dtype) for width in widths}


PIECE = max(FEWEST_ROWS, (LOGITS if DEVICE == "cpu" else LOGITS_ON_CARD) // task.vocabulary)
"""Tokens at a time through the vocabulary, as ours does: all of its outputs would not fit into a cache."""


def pieces(tokens, weight):
    """Yield the rows of ``weight``'s inputs that are multiplied at once."""
    size = PIECE if len(weight) == task.vocabulary else max(tokens, 1)
    for first in range(0, tokens, size):
        yield slice(first, min(first + size, tokens))


def step(batch):
    """Multiply all that an update multiplies by weights: the output, the gradient of the input, that of the weight."""
    sources, targets = (sum(len(ids) + 1 for ids in side) for side in batch)
    for tokens, weights in ((sources, encoder), (sources, memory), (targets, decoder)):
        for weight in weights:
            for rows in pieces(tokens, weight):
                product(values[weight.shape[1]][rows], weight.T)
        for weight in reversed(weights):
            for rows in pieces(tokens, weight):
                out, into = (values[width][rows] for width in weight.shape)
                product(out, weight, stochastic=len(weight) == task.vocabulary)
                product_over_rows(out, into, stochastic=len(weight) == task.vocabulary)
    return 0.0


with in_integers(task.mode == "int8"):
    measure(task, step)
