"""Folders of Marian itself, made up: the layout that its source and transformers' converter name, random numbers.

The same numbers are put into a MarianMTModel of transformers, which is then what an import must agree with. Its table of
positions is Marian's, and no target may hold the symbol that transformers adds, as Marian has none.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from marian_folders import ENGLISH, GERMAN, number, pieces_of, train_spm, transformers

SIDES = {
    "encoder": (("self_attn", "self"),),
    "decoder": (("self_attn", "self"), ("encoder_attn", "context")),
}
OPTIONS: dict[str, object] = {
    "bert-train-type-embeddings": "true",
    "dec-cell": "gru",
    "dim-emb": 32,
    "dim-rnn": 1024,
    "dim-vocabs": [0, 0],
    "dec-depth": 2,
    "enc-depth": 2,
    "input-types": [],
    "layer-normalization": "false",
    "lemma-dim-emb": 0,
    "right-left": "false",
    "tied-embeddings": "false",
    "tied-embeddings-all": "true",
    "tied-embeddings-src": "false",
    "transformer-aan-activation": "swish",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-dim-ffn": 48,
    "transformer-ffn-activation": "swish",
    "transformer-ffn-depth": 2,
    "transformer-guided-alignment-layer": "last",
    "transformer-heads": 4,
    "transformer-no-projection": "false",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": '""',
    "transformer-preprocess": '""',
    "transformer-tied-layers": [],
    "transformer-train-positions": "false",
    "type": "transformer",
    "ulr": "false",
    "version": "v1.9.0 ba94c5b9 2020-05-17 10:42:17 +0100",
}


def train_vocabulary(texts: list[str], kind: str, size: int) -> bytes:
    """Train as Marian does: the end symbol first, then the unknown one, no others."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
    )
    return model.getvalue()


def write_options(options: dict[str, object]) -> str:
    """Write YAML as yaml-cpp does: a list on lines of its own, an empty one too."""
    lines = []
    for name, value in options.items():
        if isinstance(value, list):
            lines.append(f"{name}:")
            lines += [f"  - {each}" for each in value] or ["  []"]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines)


def write_list(pieces: dict[str, int]) -> str:
    """Write a vocabulary as yaml-cpp does: quotes where YAML needs them."""
    lines = []
    for piece, identity in pieces.items():
        plain = all(each.isalpha() or each in "\u2581</>" for each in piece)
        told = piece if plain else json.dumps(piece, ensure_ascii=identity % 2 == 0)
        if piece == "'":
            told = "''''"
        lines.append(
            f"? {told}\n: {identity}"
            if len(piece) > 5 and identity % 3 == 0
            else f"{told}: {identity}"
        )
    return "\n".join(lines) + "\n"


def save_npz(path: Path, arrays: dict[str, np.ndarray], options: dict[str, object]) -> None:
    text = write_options(options).encode() + b"\0"
    np.savez(path, **{**arrays, "special:model.yml": np.frombuffer(text, np.int8)})


def make_npz_folder(
    folder: Path,
    *,
    separate: bool = False,
    listed: bool = False,
    tags: tuple[str, ...] = (),
    kind: str = "unigram",
    seed: int = 0,
    layers: tuple[int, int] = (2, 2),
    tied_output: bool = True,
    **changes: object,
) -> Any:
    """Write a whole folder, and return the MarianMTModel that has the same numbers; ``changes`` go to the options."""
    folder.mkdir(parents=True)
    rows = _write_vocabularies(folder, separate=separate, listed=listed, tags=tags, kind=kind)
    tie = {"tied-embeddings-all": "true"}
    if separate:
        tie = {"tied-embeddings-all": "false", "tied-embeddings": str(tied_output).lower()}
    depth = {"enc-depth": layers[0], "dec-depth": layers[1], "dim-vocabs": list(rows)}
    options = {
        **OPTIONS,
        **tie,
        **depth,
        **{name.replace("_", "-"): v for name, v in changes.items()},
    }
    model = _random_model(options, rows, separate=separate, tied_output=tied_output, seed=seed)
    arrays = _arrays(model, rows, separate=separate, tied_output=tied_output)
    save_npz(folder / "model.npz", arrays, options)
    return model


def _write_vocabularies(
    folder: Path, *, separate: bool, listed: bool, tags: tuple[str, ...], kind: str
) -> tuple[int, int]:
    (folder / "decoder.yml").write_text(
        "models:\n  - /data/model.npz\nbeam-size: 4\nnormalize: 0.6\n"
    )
    if listed:
        models = train_spm(ENGLISH, kind, 120), train_spm(GERMAN, kind, 110)
        for side, model in zip(("source", "target"), models, strict=True):
            (folder / f"{side}.spm").write_bytes(model)
        # Like in OPUS-MT, some pieces of the SentencePiece models never made it into the vocabulary.
        mine, other = (pieces_of(model)[:-3] for model in models)
        lists = (
            [number(mine, 0, tags), number(other, 1)]
            if separate
            else [number([*mine, *other], 0, tags)]
        )
        for each in lists:
            each.pop("<pad>")
        names = ["opus.src.vocab.yml", "opus.trg.vocab.yml"] if separate else ["opus.vocab.yml"]
        for name, each in zip(names, lists, strict=True):
            (folder / name).write_text(write_list(each), encoding="utf-8")
        return len(lists[0]), len(lists[-1])
    if not separate:
        both = train_vocabulary([*ENGLISH, *GERMAN, *tags], kind, 160)
        (folder / "vocab.spm").write_bytes(both)
        return (len(pieces_of(both)),) * 2
    models = train_vocabulary(ENGLISH, kind, 120), train_vocabulary(GERMAN, kind, 105)
    for language, model in zip(("en", "de"), models, strict=True):
        (folder / f"vocab.{language}.spm").write_bytes(model)
    with (folder / "decoder.yml").open("a") as file:
        file.write("vocabs:\n  - /elsewhere/vocab.en.spm\n  - ../../vocab.de.spm\n")
    return len(pieces_of(models[0])), len(pieces_of(models[1]))


def _random_model(
    options: dict[str, object],
    rows: tuple[int, int],
    *,
    separate: bool,
    tied_output: bool,
    seed: int,
) -> Any:
    sides = {
        f"{side}_{name}": options[option.replace("SIDE", side[:3])]
        for side in SIDES
        for name, option in (
            ("layers", "SIDE-depth"),
            ("attention_heads", "transformer-heads"),
            ("ffn_dim", "transformer-dim-ffn"),
        )
    }
    pad = max(rows)  # it has one for both sides
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=pad + 1,
            decoder_vocab_size=pad + 1,
            share_encoder_decoder_embeddings=not separate,
            tie_word_embeddings=tied_output,
            d_model=options["dim-emb"],
            activation_function=options["transformer-ffn-activation"],
            scale_embedding=True,
            max_position_embeddings=64,
            pad_token_id=pad,
            decoder_start_token_id=pad,
            eos_token_id=0,
            forced_eos_token_id=None,
            attn_implementation="eager",
            **sides,
        )
    ).eval()
    half = int(str(options["dim-emb"])) // 2
    angles = np.arange(64)[:, None] * np.exp(-np.log(10000.0) / (half - 1) * np.arange(half))
    table = torch.tensor(np.concatenate((np.sin(angles), np.cos(angles)), axis=1)).float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "positions" in name:
                parameter.copy_(table)
            else:
                more = 0.3 if parameter.dim() == 1 else 0.15
                parameter.add_(torch.randn_like(parameter), alpha=more)
        tables = {
            id(m.weight): m.weight for m in model.modules() if isinstance(m, torch.nn.Embedding)
        }
        for each in tables.values():
            if len(each) == pad + 1:
                each[-1] = 0
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, rows[1] :] = -1e9
    return model


def _arrays(
    model: Any, rows: tuple[int, int], *, separate: bool, tied_output: bool
) -> dict[str, np.ndarray]:
    state = {name: each.detach().numpy() for name, each in model.state_dict().items()}
    bias = state["final_logits_bias"][:, : rows[1]]
    arrays = {"decoder_ff_logit_out_b": np.ascontiguousarray(bias)}
    if separate:
        arrays["encoder_Wemb"] = state["model.encoder.embed_tokens.weight"][: rows[0]]
        arrays["decoder_Wemb"] = state["model.decoder.embed_tokens.weight"][: rows[1]]
    else:
        arrays["Wemb"] = state["model.shared.weight"][: rows[0]]
    if not tied_output:
        arrays["decoder_ff_logit_out_W"] = np.ascontiguousarray(
            state["lm_head.weight"][: rows[1]].T
        )
    for side, blocks in SIDES.items():
        layers = model.config.encoder_layers if side == "encoder" else model.config.decoder_layers
        for layer in range(layers):
            here, there = f"model.{side}.layers.{layer}", f"{side}_l{layer + 1}"
            names = {f"{there}_ffn_{a}": f"{here}.fc{a[1]}" for a in ("W1", "W2")}
            norms = {f"{there}_ffn_ffn_ln": f"{here}.final_layer_norm"}
            for theirs, block in blocks:
                for letter, part in (("q", "q"), ("k", "k"), ("v", "v"), ("o", "out")):
                    names[f"{there}_{block}_W{letter}"] = f"{here}.{theirs}.{part}_proj"
                norms[f"{there}_{block}_Wo_ln"] = f"{here}.{theirs}_layer_norm"
            for name, full in names.items():
                arrays[name] = np.ascontiguousarray(state[f"{full}.weight"].T)
                arrays[name[:-2] + "b" + name[-1]] = state[f"{full}.bias"][None]
            for name, full in norms.items():
                arrays[f"{name}_scale"] = state[f"{full}.weight"][None]
                arrays[f"{name}_bias"] = state[f"{full}.bias"][None]
    return arrays
