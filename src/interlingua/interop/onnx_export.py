"""The folder that transformers.js opens: graphs in ``onnx/``, and how to cut text and search beside them.

::

    config.json             the model in the words of MarianMTModel, which is the paper's model too
    generation_config.json  where to begin, where to end, what is never written
    tokenizer.json          with the end symbol put after every source, and the special symbols left out of a text
    tokenizer_config.json   read by MarianTokenizer
    onnx/                   the graphs; "_quantized" in their names for int8

A model with a vocabulary for each side has ``source_tokenizer.json`` and ``target_tokenizer.json`` in place of
``tokenizer.json``: onnxruntime does not mind, the translation pipeline of transformers.js knows one tokenizer only.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.errors import ExportError
from interlingua.interop.marian_words import model_words, search_words, write_words
from interlingua.interop.proof import Output, Runtime, Sentence
from interlingua.interop.tokenizer_json import is_one_for_readers, write_tokenizer_json
from interlingua.interop.transformer_only import transformer_of
from interlingua.tokenization.pair import SHARED_NAME, SOURCE_NAME, TARGET_NAME
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer

__all__ = ["NEVER_WRITTEN", "PACKAGES", "PRECISIONS", "PROGRAM", "runtime", "usage", "write"]

PROGRAM = "ONNX Runtime"
PRECISIONS: Mapping[str, float] = {"float32": 1.0, "int8": 0.9}
PACKAGES: tuple[str, ...] = ("onnx", "onnxruntime")
NEVER_WRITTEN = True

_LARGEST = 2_000_000_000
"""Bytes of weights: a protocol buffer ends at 2 GiB."""

_AT_ONCE = 50

Json = dict[str, Any]


def write(loaded: LoadedModel, folder: Path, quantization: str) -> None:
    """See :class:`interlingua.interop.proof.Exporter`."""
    _refuse(loaded)
    import onnx

    from interlingua.interop.onnx_model import DECODERS, decoder_graph, encoder_graph

    graphs, int8 = folder / "onnx", quantization == "int8"
    suffix = "_quantized" if int8 else ""
    graphs.mkdir()
    onnx.save(encoder_graph(transformer_of(loaded), int8), graphs / f"encoder_model{suffix}.onnx")
    for kind in DECODERS:
        onnx.save(
            decoder_graph(transformer_of(loaded), kind, int8), graphs / f"{kind}{suffix}.onnx"
        )
    write_words(folder / "config.json", _config(loaded))
    write_words(folder / "generation_config.json", _search(loaded))
    write_words(folder / "tokenizer_config.json", _tokenizer_config(loaded))
    pair = loaded.tokenizers
    if is_one_for_readers(pair):
        write_tokenizer_json(folder / SHARED_NAME, pair.source)
    else:
        write_tokenizer_json(folder / SOURCE_NAME, pair.source)
        write_tokenizer_json(folder / TARGET_NAME, pair.target)


def runtime(folder: Path) -> Runtime:
    """See :class:`interlingua.interop.proof.Exporter`: the merged decoder in onnxruntime, under the common search."""
    import torch

    from interlingua.batching.batch import pad_sources
    from interlingua.decoding.next_token import never_written
    from interlingua.interop.onnx_runtime import OnnxModel
    from interlingua.interop.plain_search import plain_search
    from interlingua.tokenization.pair import TokenizerPair

    pair = TokenizerPair.load(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    pad, begin, end = (config[f"{name}_token_id"] for name in ("pad", "bos", "eos"))
    source_pad, source_end = (config[f"source_{name}_token_id"] for name in ("pad", "eos"))
    model = OnnxModel(folder / "onnx", source_pad=source_pad)
    banned = never_written(pad, begin, end, "cpu").tolist()

    def translate(sentences: Sequence[Sentence], beam_size: int, most: int) -> list[Output]:
        outputs = []
        for start in range(0, len(sentences), _AT_ONCE):
            ids = [list(each.ids) for each in sentences[start : start + _AT_ONCE]]
            padded = pad_sources(ids, pad=source_pad, end=source_end)
            with torch.inference_mode():
                found = plain_search(
                    model,
                    padded,
                    begin_id=begin,
                    end_id=end,
                    never=banned,
                    beam_size=beam_size,
                    max_length=most,
                )
            outputs += [
                Output(tuple(pair.target.tokens(list(one.ids))), one.total) for one in found
            ]
        return outputs

    return translate


def usage(loaded: LoadedModel, folder: Path) -> str:
    """See :class:`interlingua.interop.proof.Exporter`."""
    int8 = (folder / "onnx" / "encoder_model_quantized.onnx").exists()
    files = (
        "The graphs (opset 17; batch and lengths are free) are called, and call their inputs and outputs, as Optimum and\n"
        "transformers.js do; any ONNX runtime opens them."
    )
    if not is_one_for_readers(loaded.tokenizers):
        return (
            f"{files} The two sides have a tokenizer each, which the translation pipeline of transformers.js\n"
            "does not know: cut with `source_tokenizer.json`, join with `target_tokenizer.json`."
        )
    dtype = "q8" if int8 else "fp32"
    return f"""In JavaScript, with [transformers.js](https://huggingface.co/docs/transformers.js), from a folder FOLDER of `env.localModelPath`:

    import {{ env, pipeline }} from "@huggingface/transformers";
    env.allowRemoteModels = false;
    const translator = await pipeline("translation", "FOLDER", {{ dtype: "{dtype}" }});
    console.log(await translator("...", {{ max_new_tokens: {loaded.max_length} }}));

Its search is greedy; Interlingua's has a beam of {loaded.decoding.beam_size}. A text that contains `</s>` or another special symbol is cut there.
{files}"""


def _refuse(loaded: LoadedModel) -> None:
    """Raise an ExportError for what the format cannot hold."""
    size = sum(4 * each.numel() for each in loaded.model.parameters())
    if size > _LARGEST:
        raise ExportError(
            f"the model has {size / 1e9:.1f} GB of weights, and an .onnx file holds 2; export it with --format ctranslate2"
        )
    if isinstance(loaded.tokenizers.source, SubwordNmtTokenizer):
        raise ExportError(
            "transformers.js cannot cut text as subword-nmt does; export with --format ctranslate2, or train with a "
            "bpe or unigram vocabulary"
        )


def _config(loaded: LoadedModel) -> Json:
    source = loaded.tokenizers.source
    return {
        **model_words(loaded),
        # These two are ours: the file of a tokenizer tells no special symbols.
        "source_pad_token_id": source.pad_id,
        "source_eos_token_id": source.end_id,
    }


def _search(loaded: LoadedModel) -> Json:
    """Say how to search; there is one beam, because transformers.js has no more."""
    return search_words(loaded, beam_size=1) | {"do_sample": False}


def _tokenizer_config(loaded: LoadedModel) -> Json:
    target = loaded.tokenizers.target
    names = ("pad_token", target.pad_id), ("unk_token", target.unknown_id)
    ends = ("bos_token", target.begin_id), ("eos_token", target.end_id)
    return {
        "tokenizer_class": "MarianTokenizer",
        **{name: target.tokens([number])[0] for name, number in (*names, *ends)},
        "source_lang": loaded.source_lang,
        "target_lang": loaded.target_lang,
        "separate_vocabs": not is_one_for_readers(loaded.tokenizers),
        "model_max_length": loaded.max_length,
        "clean_up_tokenization_spaces": False,
    }
