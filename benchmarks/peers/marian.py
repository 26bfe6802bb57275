"""transformers' MarianMTModel with torch's AdamW."""

import torch
import transformers
from harness import (
    BEGIN,
    DROPOUT,
    END,
    PAD,
    SMOOTHING,
    autocast,
    compiled,
    measure,
    read_task,
    with_ends,
)
from torch import nn
from transformers import MarianConfig, MarianMTModel

task = read_task()
sizes = task.sizes
model = MarianMTModel(
    MarianConfig(
        vocab_size=task.vocabulary,
        decoder_vocab_size=task.vocabulary,
        d_model=sizes["d_model"],
        encoder_layers=sizes["layers"],
        decoder_layers=sizes["layers"],
        encoder_attention_heads=sizes["heads"],
        decoder_attention_heads=sizes["heads"],
        encoder_ffn_dim=sizes["d_ff"],
        decoder_ffn_dim=sizes["d_ff"],
        activation_function="relu",
        dropout=DROPOUT,
        max_position_embeddings=512,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=END,
        use_cache=False,
    )
).train()
call = compiled(model, task.mode)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=SMOOTHING)


def step(batch):
    source, target_in, target_out, _ = with_ends(batch)
    optimizer.zero_grad()
    with autocast(task.mode):
        logits = call(
            input_ids=source,
            attention_mask=source != PAD,
            decoder_input_ids=target_in,
        ).logits
        loss = criterion(logits.flatten(0, 1), target_out.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


measure(
    task,
    step,
    version=transformers.__version__,
    parameters=sum(p.numel() for p in model.parameters()),
)
