"""Interlingua's own trainer on the same ids."""

import sys
from types import SimpleNamespace

import torch
from harness import BEGIN, DEVICE, DROPOUT, END, PAD, measure, read_task

import interlingua
from interlingua.batching.batch import make_batch
from interlingua.config import TrainingConfig
from interlingua.hardware import choose_dtype, prepare_cpu
from interlingua.kernels import devices
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.training.loop import Trainer
from interlingua.training.workers import join_workers

prepare_cpu(int(sys.argv[4]))
task = read_task()
sizes = task.sizes
model = Transformer(
    Architecture(
        encoder_layers=sizes["layers"],
        decoder_layers=sizes["layers"],
        d_model=sizes["d_model"],
        d_ff=sizes["d_ff"],
        heads=sizes["heads"],
        dropout=DROPOUT,
        tie="three-way",
    ),
    source_vocabulary=task.vocabulary,
    target_vocabulary=task.vocabulary,
    source_pad=PAD,
    target_pad=PAD,
)
arithmetic = {"bf16": "bfloat16", "fp32": "float32", "int8": "int8"}[task.mode.split("-")[0]]
config = TrainingConfig(
    steps=10**6,
    peak_learning_rate=1e-4,
    warmup_steps=1,
    plain=task.mode.endswith("plain"),
    dtype=arithmetic,
)
device = torch.device(DEVICE)
with join_workers(device, patience=600.0) as workers:
    trainer = Trainer(
        model,
        SimpleNamespace(learns_from_text=False),  # batches are handed over one by one
        config,
        device=device,
        dtype=choose_dtype(arithmetic, device),
        workers=workers,
        say=lambda words: print(words, file=sys.stderr),
    )

    def graphs():
        captured = trainer.gradient.captured
        return {} if captured is None else {"graphs": len(captured.steps)}

    def step(pairs):
        batch = make_batch(
            *pairs,
            range(len(pairs[0])),
            source_pad=PAD,
            source_end=END,
            target_pad=PAD,
            target_begin=BEGIN,
            target_end=END,
        )
        return trainer.update([batch]).loss

    measure(
        task,
        step,
        report=print if workers.is_first else (lambda _: None),
        at_the_end=graphs,
        version=f"{interlingua.__version__}, {devices.describe(device)}",
        parameters=sum(p.numel() for p in model.parameters()),
    )
