"""JoeyNMT's model, loss and optimizer, as its trainer calls them."""

from types import SimpleNamespace

import joeynmt
import torch
from harness import BEGIN, DROPOUT, END, PAD, SMOOTHING, padded, read_task, train
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.vocabulary import Vocabulary

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


def loss_of(pairs):
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
    total, _, _, _ = model(return_type="loss", **vars(batch))
    return batch.normalize(total, "tokens")


train(task, model, loss_of, version=joeynmt.__version__)
