"""torch.nn.Transformer in an ordinary loop: what somebody writes who has read the documentation.

Its dropout falls on attention weights and inside the feed-forward layers too, and has no switch.
"""

import math

import torch
from harness import DROPOUT, PAD, compiled, read_task, smoothed_loss, train, with_ends
from torch import Tensor, nn


class Model(nn.Module):
    """Embeddings, sines, torch.nn.Transformer, a tied output."""

    def __init__(self, vocabulary: int, sizes: dict[str, int]) -> None:
        super().__init__()
        width = sizes["d_model"]
        self.table = nn.Embedding(vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        position = torch.arange(512)[:, None]
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        sines = torch.zeros(512, width)
        sines[:, 0::2], sines[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("sines", sines)
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            width,
            sizes["heads"],
            sizes["layers"],
            sizes["layers"],
            sizes["d_ff"],
            DROPOUT,
            batch_first=True,
        )

    def embed(self, ids: Tensor) -> Tensor:
        scaled = self.table(ids) * math.sqrt(self.table.embedding_dim)
        return self.dropout(scaled + self.sines[: ids.size(1)])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        hidden_source, hidden_target = source == PAD, target == PAD
        size = (target.size(1), target.size(1))
        ahead = torch.ones(size, dtype=torch.bool, device=target.device).triu(1)
        hidden = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=ahead,
            src_key_padding_mask=hidden_source,
            tgt_key_padding_mask=hidden_target,
            memory_key_padding_mask=hidden_source,
        )
        return nn.functional.linear(hidden, self.table.weight)


task = read_task()
model = Model(task.vocabulary, task.sizes)
call = compiled(model, task.mode)


def loss_of(batch):
    source, target_in, target_out = with_ends(batch)
    return smoothed_loss(call(source, target_in), target_out)


train(task, model, loss_of)
