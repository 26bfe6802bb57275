"""JoeyNMT's model, loss and optimizer, as its trainer calls them."""

from types import SimpleNamespace

import joeynmt
import torch
from harness import BEGIN, DROPOUT, END, PAD, SMOOTHING, autocast, measure, padded, read_task
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.vocabulary import Vocabulary
from torch import nn

task = read_task()
sizes = task.sizes
special = SimpleNamespace(
    unk_token="<unk>",
    pad_token="<pad>",
    bos_token="<s>",
    eos_token="</s>",
    sep_token=None,
    lang_tags=[],
    unk_id=1,
    pad_id=PAD,
    bos_id=BEGIN,
    eos_id=END,
    sep_id=None,
)


class Words(Vocabulary):
    """Ids without words; the special symbols in our order."""

    def add_tokens(self, tokens):
        first = ["<pad>", "<unk>", "<s>", "</s>"]
        self._itos = first + [str(i) for i in range(4, task.vocabulary)]
        self._stoi = {token: i for i, token in enumerate(self._itos)}


vocabulary = Words([], special)
part = {
    "type": "transformer",
    "num_layers": sizes["layers"],
    "num_heads": sizes["heads"],
    "embeddings": {"embedding_dim": sizes["d_model"], "scale": True, "dropout": DROPOUT},
    "hidden_size": sizes["d_model"],
    "ff_size": sizes["d_ff"],
    "dropout": DROPOUT,
    "layer_norm": "post",
}
model = build_model(
    {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": part,
        "decoder": part,
    },
    vocabulary,
    vocabulary,
).train()
model.loss_function = ("crossentropy", SMOOTHING)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)


def step(pairs):
    source = padded([[*ids, END] for ids in pairs[0]])
    target = padded([[BEGIN, *ids, END] for ids in pairs[1]])
    batch = Batch(
        src=source,
        src_length=torch.tensor([len(ids) + 1 for ids in pairs[0]]),
        src_prompt_mask=None,
        trg=target,
        trg_prompt_mask=None,
        indices=torch.arange(len(source)),
        device=torch.device("cpu"),
        pad_index=PAD,
        eos_index=END,
    )
    optimizer.zero_grad()
    with autocast(task.mode):
        total, _, _, _ = model(return_type="loss", **vars(batch))
        loss = batch.normalize(total, "tokens")
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


measure(
    task,
    step,
    version=joeynmt.__version__,
    parameters=sum(p.numel() for p in model.parameters()),
)
