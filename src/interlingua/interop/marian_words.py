"""A model and how to search it, in the words of ``MarianMTModel``: what transformers and transformers.js read alike."""

import json
from pathlib import Path
from typing import Any

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.interop.transformer_only import transformer_of

__all__ = ["model_words", "search_words", "write_words"]

Words = dict[str, Any]


def model_words(loaded: LoadedModel) -> Words:
    """Return what ``config.json`` says of the model."""
    a, pair = transformer_of(loaded).architecture, loaded.tokenizers
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": pair.source.vocabulary_size,
        "decoder_vocab_size": pair.target.vocabulary_size,
        "share_encoder_decoder_embeddings": a.tie == "three-way",
        "d_model": a.d_model,
        "encoder_layers": a.encoder_layers,
        "decoder_layers": a.decoder_layers,
        "encoder_attention_heads": a.heads,
        "decoder_attention_heads": a.heads,
        "encoder_ffn_dim": a.d_ff,
        "decoder_ffn_dim": a.d_ff,
        "activation_function": a.activation,
        "normalize_before": a.norm == "pre",
        "max_position_embeddings": a.max_positions,
        "scale_embedding": True,
        **_symbols(loaded),
    }


def search_words(loaded: LoadedModel, beam_size: int) -> Words:
    """Return what ``generation_config.json`` says: where to begin, where to end, what is never written."""
    target = loaded.tokenizers.target
    never = sorted({target.pad_id, target.begin_id} - {target.end_id})
    return {
        **_symbols(loaded),
        "bad_words_ids": [[number] for number in never],
        "max_length": loaded.max_length,
        "num_beams": beam_size,
    }


def write_words(path: Path, words: Words) -> None:
    """Write one of the JSON files."""
    path.write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _symbols(loaded: LoadedModel) -> Words:
    target = loaded.tokenizers.target
    return {
        "pad_token_id": target.pad_id,
        "bos_token_id": target.begin_id,
        "eos_token_id": target.end_id,
        "decoder_start_token_id": target.begin_id,
    }
