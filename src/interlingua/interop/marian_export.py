"""A MarianMT folder, as the Hugging Face Hub wants it: opened by ``MarianMTModel`` and ``MarianTokenizer``.

What is the paper's model here is the paper's model there, but for the order of features (``marian_layout``), and for
the tokenizer: SentencePiece models cut, ``vocab.json`` numbers. ``tokenizer.json``, which transformers.js reads, holds both.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.checkpoints.weights import parameters_of
from interlingua.errors import ExportError, TokenizerError
from interlingua.interop.marian_layout import FINAL_BIAS, POSITIONS, correspondence, half_and_half
from interlingua.interop.marian_words import model_words, search_words, write_words
from interlingua.interop.proof import Output, Runtime, Sentence
from interlingua.interop.tokenizer_json import write_tokenizer_json
from interlingua.interop.transformer_only import transformer_of
from interlingua.tokenization.pair import SHARED_NAME
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.sentencepiece_writing import describe_sentencepiece
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["NEVER_WRITTEN", "PACKAGES", "PRECISIONS", "PROGRAM", "runtime", "usage", "write"]

PROGRAM = "transformers"
PRECISIONS: Mapping[str, float] = {"float32": 1.0, "float16": 0.99, "bfloat16": 0.95}
PACKAGES: tuple[str, ...] = ("transformers", "sentencepiece")
NEVER_WRITTEN = True

_AT_ONCE = 16


def write(loaded: LoadedModel, folder: Path, quantization: str) -> None:
    """See :class:`interlingua.interop.proof.Exporter`."""
    from safetensors.torch import save

    _refuse(loaded)
    models = [_spm(side) for side in (loaded.tokenizers.source, loaded.tokenizers.target)]
    vocabularies = [
        {piece: number for number, piece in enumerate(side.all_tokens())}
        for side in (loaded.tokenizers.source, loaded.tokenizers.target)
    ]
    separate = vocabularies[0] != vocabularies[1]
    for side, model in zip(("source", "target"), models, strict=True):
        (folder / f"{side}.spm").write_bytes(model)
    write_words(folder / "vocab.json", vocabularies[0])
    if separate:
        write_words(folder / "target_vocab.json", vocabularies[1])
    if not separate:
        write_tokenizer_json(folder / SHARED_NAME, loaded.tokenizers.source)
    write_words(folder / "tokenizer_config.json", _tokenizer_config(loaded, separate))
    write_words(folder / "config.json", _config(loaded, quantization))
    write_words(folder / "generation_config.json", _search(loaded))
    dtype = getattr(torch, quantization)
    tensors = {name: tensor.to(dtype) for name, tensor in _tensors(loaded).items()}
    (folder / "model.safetensors").write_bytes(save(tensors, metadata={"format": "pt"}))


def runtime(folder: Path) -> Runtime:
    """See :class:`interlingua.interop.proof.Exporter`."""
    import warnings

    from transformers import MarianMTModel, MarianTokenizer
    from transformers.utils import logging

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends sacremoses, which changes no id
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        tokenizer = MarianTokenizer.from_pretrained(folder)
        model: Any = MarianMTModel.from_pretrained(folder, dtype=torch.float32)
        model.eval()

    def translate(sentences: Sequence[Sentence], beam_size: int, most: int) -> list[Output]:
        outputs: list[Output] = []
        for number, sentence in enumerate(sentences, 1):
            for symbol in tokenizer.all_special_tokens:
                if symbol in sentence.text:
                    raise ExportError(
                        f"sentence {number} to verify with holds {symbol}, which MarianTokenizer takes for the symbol of "
                        "that name, and not for text; leave that sentence out"
                    )
        for start in range(0, len(sentences), _AT_ONCE):
            texts = [sentence.text for sentence in sentences[start : start + _AT_ONCE]]
            with torch.inference_mode():
                outputs += _translate(model, tokenizer, texts, beam_size, most)
        return outputs

    return translate


def usage(loaded: LoadedModel, folder: Path) -> str:
    """See :class:`interlingua.interop.proof.Exporter`."""
    return f"""With [transformers](https://huggingface.co/docs/transformers):

    from transformers import MarianMTModel, MarianTokenizer
    tokenizer, model = MarianTokenizer.from_pretrained("FOLDER"), MarianMTModel.from_pretrained("FOLDER")
    batch = tokenizer(["text in {loaded.source_lang}"], return_tensors="pt", padding=True)
    tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)

`generate` divides scores by length^alpha and not by ((5 + length) / 6)^alpha, and a special symbol in a text (`</s>`)
is the symbol to `MarianTokenizer`, not text."""


def _refuse(loaded: LoadedModel) -> None:
    a, source, target = (
        transformer_of(loaded).architecture,
        loaded.tokenizers.source,
        loaded.tokenizers.target,
    )
    reasons = {
        "normalises after every sublayer (model.norm)": a.norm == "post",
        "knows relu, gelu and swish (model.activation)": a.activation != "swiglu",
        "takes heads of d_model / heads only": a.query_width * a.heads
        == a.value_width * a.heads
        == a.d_model,
        "has one padding and one end symbol for both sides": (source.pad_id, source.end_id)
        == (target.pad_id, target.end_id),
    }
    for reason, holds in reasons.items():
        if not holds:
            raise ExportError(
                f"MarianMT {reason}, and this model is another; export it to ctranslate2"
            )


def _spm(tokenizer: Tokenizer) -> bytes:
    cutter = tokenizer.cutter if isinstance(tokenizer, RenumberedTokenizer) else tokenizer
    try:
        return describe_sentencepiece(cutter)
    except TokenizerError as error:
        raise ExportError(f"MarianMT needs SentencePiece models: {error}") from error


def _tensors(loaded: LoadedModel) -> dict[str, Tensor]:
    ours = parameters_of(loaded.model)
    tensors = {
        place.theirs: half_and_half(ours[place.ours], place.axis)
        for place in correspondence(transformer_of(loaded).architecture)
    }
    if transformer_of(loaded).architecture.positions == "learned":
        tensors |= {theirs: half_and_half(ours[name], 1) for name, theirs in POSITIONS.items()}
    bias = ours.get("output.bias", torch.zeros(loaded.tokenizers.target.vocabulary_size))
    tensors[FINAL_BIAS] = bias[None].clone()
    return tensors


def _config(loaded: LoadedModel, quantization: str) -> dict[str, Any]:
    a = transformer_of(loaded).architecture
    return {
        **model_words(loaded),
        "tie_word_embeddings": a.tie != "none",
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "dropout": a.dropout,
        "attention_dropout": a.attention_dropout,
        "activation_dropout": a.activation_dropout,
        "init_std": 0.02,
        "static_position_embeddings": True,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "forced_eos_token_id": None,
        "dtype": quantization,
    }


def _search(loaded: LoadedModel) -> dict[str, Any]:
    decoding = loaded.decoding
    return search_words(loaded, decoding.beam_size) | {"length_penalty": decoding.length_penalty}


def _tokenizer_config(loaded: LoadedModel, separate: bool) -> dict[str, Any]:
    source = loaded.tokenizers.source
    unknown, end, pad = source.tokens([source.unknown_id, source.end_id, source.pad_id])
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": loaded.source_lang,
        "target_lang": loaded.target_lang,
        "separate_vocabs": separate,
        "model_max_length": loaded.max_length,
        "unk_token": unknown,
        "eos_token": end,
        "pad_token": pad,
        "clean_up_tokenization_spaces": False,
    }


def _translate(
    model: Any, tokenizer: Any, texts: list[str], beam_size: int, most: int
) -> list[Output]:
    batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True)
    written = model.generate(
        **batch,
        num_beams=beam_size,
        length_penalty=0.0,
        early_stopping=False,
        do_sample=False,
        max_new_tokens=most,
        max_length=None,
    )
    pad, end = model.config.pad_token_id, model.config.eos_token_id
    logits = model(**batch, decoder_input_ids=written[:, :-1]).logits.double().log_softmax(-1)
    outputs = []
    for row, ids in enumerate(written[:, 1:].tolist()):
        kept = ids[: ids.index(end)] if end in ids else [each for each in ids if each != pad]
        counted = kept + [end] * (end in ids)
        score = sum(float(logits[row, place, each]) for place, each in enumerate(counted))
        tokens = tuple(tokenizer._convert_id_to_token(each) for each in kept)
        text = tokenizer.decode(kept, skip_special_tokens=True)
        outputs.append(Output(tokens, score, text))
    return outputs
