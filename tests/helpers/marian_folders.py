"""MarianMT folders with random weights, written by transformers itself, with SentencePiece models trained on the spot."""

import io
import json
import random
from pathlib import Path

import pytest
import sentencepiece
import torch

transformers = pytest.importorskip("transformers", reason="needs the test extra: transformers")

ENGLISH = [
    "the cat sleeps in our garden",
    "the dog runs after the red ball",
    "she bought two old books and a painting",
    "who are you, and what do you want?",
    "I do not know; nobody knows.",
    "The House of 1,234 windows (and 5 doors) is for sale!",
    "“Quoted” – dashes — and … dots",
]
GERMAN = [
    "die Katze schläft in unserem Garten",
    "der Hund läuft dem roten Ball nach",
    "Anna kaufte zwei alte Bücher und ein Gemälde",
    "wer bist du, und was willst du?",
    "ich weiß es nicht; niemand weiß es.",
    "Das Haus mit 1.234 Fenstern (und 5 Türen) wird verkauft!",
    "„Zitate“ – Striche — und … Punkte",
]


def train_spm(texts: list[str], kind: str, size: int, *, byte_fallback: bool = False) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        byte_fallback=byte_fallback,
        minloglevel=2,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(len(processor))]


def number(pieces: list[str], seed: int, extra: tuple[str, ...] = ()) -> dict[str, int]:
    """Number pieces as OPUS-MT does: the end and the unknown symbol, all others in no order, then padding."""
    rest = sorted({*pieces, *extra} - {"<unk>", "<s>", "</s>", "<pad>"})
    random.Random(seed).shuffle(rest)
    return {piece: place for place, piece in enumerate(["</s>", "<unk>", *rest, "<pad>"])}


def make_marian_folder(
    folder: Path,
    *,
    separate: bool = False,
    tags: tuple[str, ...] = (),
    seed: int = 0,
    kind: str = "unigram",
    bias: bool = True,
    byte_fallback: bool = False,
    **changes: object,
) -> Path:
    """Write a whole folder; ``changes`` go to MarianConfig."""
    folder.mkdir(parents=True)
    size = 400 if byte_fallback else 120
    source = train_spm(ENGLISH, kind, size, byte_fallback=byte_fallback)
    target = train_spm(GERMAN, kind, size - 10, byte_fallback=byte_fallback)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    # Like in OPUS-MT, some pieces of the SentencePiece models never made it into the vocabulary.
    mine, other = pieces_of(source), pieces_of(target)
    if separate:
        vocabularies = number(mine[:-3], seed), number(other[:-2], seed + 1)
        size = min(map(len, vocabularies))
        for each in vocabularies:  # one padding id for both sides
            last = len(each) - 1
            other_piece = next(piece for piece, place in each.items() if place == size - 1)
            each["<pad>"], each[other_piece] = size - 1, last
            if last == size - 1:
                each["<pad>"] = last
        (folder / "target_vocab.json").write_text(json.dumps(vocabularies[1]))
    else:
        both = number([*mine[:-3], *other[:-2]], seed, tags)
        vocabularies = both, both
    (folder / "vocab.json").write_text(json.dumps(vocabularies[0]))
    told = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(
        json.dumps(told | {"tokenizer_class": "MarianTokenizer"})
    )
    pad = vocabularies[0]["<pad>"]
    settings: dict[str, object] = {
        "vocab_size": len(vocabularies[0]),
        "decoder_vocab_size": len(vocabularies[1]),
        "share_encoder_decoder_embeddings": not separate,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "activation_function": "swish",
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": 64,
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
        "bad_words_ids": [[pad]],
        "num_beams": 4,
    }
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(
        transformers.MarianConfig(**(settings | changes))  # type: ignore[arg-type]
    ).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "positions" not in name:
                parameter.add_(
                    torch.randn_like(parameter), alpha=0.3 if parameter.dim() == 1 else 0.15
                )
        if bias:
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
    model.save_pretrained(folder)
    return folder
