"""torch.nn.Transformer in an ordinary loop: what somebody writes who has read the documentation.

Its dropout falls on attention weights and inside the feed-forward layers too, and has no switch.
"""

import math

import torch
from harness import DROPOUT, PAD, SMOOTHING, autocast, compiled, measure, read_task, with_ends
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
        ahead = torch.ones(target.size(1), target.size(1), dtype=torch.bool).triu(1)
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
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=SMOOTHING)


def step(batch):
    source, target_in, target_out, _ = with_ends(batch)
    optimizer.zero_grad()
    with autocast(task.mode):
        logits = call(source, target_in)
        loss = criterion(logits.flatten(0, 1), target_out.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


measure(task, step, parameters=sum(p.numel() for p in model.parameters()))
