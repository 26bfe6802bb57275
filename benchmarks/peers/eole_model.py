"""Eole's model, loss and optimizer, as its trainer calls them."""

import logging
import tempfile
from importlib.metadata import version
from pathlib import Path

import torch
from harness import BEGIN, DROPOUT, END, PAD, SMOOTHING, measure, padded, read_task

task = read_task()
sizes = task.sizes
logging.disable(logging.CRITICAL)

from eole.config.run import TrainConfig  # noqa: E402
from eole.inputters.inputter import build_vocab  # noqa: E402
from eole.models.model import get_model_class  # noqa: E402
from eole.utils.loss import LossCompute  # noqa: E402
from eole.utils.misc import get_autocast  # noqa: E402
from eole.utils.optimizers import Optimizer  # noqa: E402

scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)
words = ["<pad>", "<unk>", "<s>", "</s>", *map(str, range(4, task.vocabulary))]
(folder / "vocab").write_text("".join(f"{word}\t1\n" for word in words))
(folder / "text").write_text("4 5\n")
bf16 = task.mode.startswith("bf16")
config = TrainConfig(
    src_vocab=str(folder / "vocab"),
    tgt_vocab=str(folder / "vocab"),
    share_vocab=True,
    pad_token="<pad>",
    unk_token="<unk>",
    bos_token="<s>",
    eos_token="</s>",
    data={"corpus": {"path_src": str(folder / "text"), "path_tgt": str(folder / "text")}},
    model={
        "architecture": "transformer",
        "layers": sizes["layers"],
        "heads": sizes["heads"],
        "hidden_size": sizes["d_model"],
        "transformer_ff": sizes["d_ff"],
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {
            "word_vec_size": sizes["d_model"],
            "position_encoding_type": "SinusoidalInterleaved",
        },
    },
    training={
        "model_path": str(folder / "model"),
        "world_size": 0,
        "gpu_ranks": [],
        "optim": "adamw",
        "learning_rate": 1e-4,
        "adam_beta2": 0.98,
        "max_grad_norm": 1.0,
        "label_smoothing": SMOOTHING,
        "dropout": [DROPOUT],
        "attention_dropout": [0.0],
        "compute_dtype": "bf16" if bf16 else "fp32",
        "use_amp": bf16,
    },
)
vocabs = build_vocab(config, {"src": [], "tgt": []})
assert [vocabs["src"][word] for word in ("<pad>", "<s>", "</s>")] == [PAD, BEGIN, END]
model = get_model_class(config.model).for_training(
    config.model, vocabs, config.training, device_id=-1
)
model.train()
criterion = LossCompute.from_config(config, model, vocabs)
optimizer = Optimizer.from_config(model, config)


def step(pairs):
    source = padded([[*ids, END] for ids in pairs[0]])
    target = padded([[BEGIN, *ids, END] for ids in pairs[1]])
    lengths = torch.tensor([len(ids) + 1 for ids in pairs[0]])
    tokens = sum(len(ids) + 1 for ids in pairs[1])
    batch = {
        "src": source,
        "tgt": target,
        "srclen": lengths,
        "cid": [],
        "cid_line_number": [],
    }
    optimizer.zero_grad(set_to_none=True)
    with get_autocast(enabled=optimizer.amp):
        found = model(source, target, lengths, with_align=False)
        loss, _, _ = criterion(batch, found.dec_out, found.attns, estim=found.estim)
    loss = loss / tokens
    optimizer.backward(loss)
    optimizer.step()
    return float(loss.detach())


measure(
    task,
    step,
    version=version("eole"),
    parameters=sum(p.numel() for p in model.parameters()),
)
