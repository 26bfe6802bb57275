"""transformers' MarianMTModel with torch's AdamW."""

import transformers
from harness import (
    BEGIN,
    DROPOUT,
    END,
    PAD,
    compiled,
    read_task,
    smoothed_loss,
    train,
    with_ends,
)
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


def loss_of(batch):
    source, target_in, target_out = with_ends(batch)
    found = call(input_ids=source, attention_mask=source != PAD, decoder_input_ids=target_in)
    return smoothed_loss(found.logits, target_out)


train(task, model, loss_of, version=transformers.__version__)
