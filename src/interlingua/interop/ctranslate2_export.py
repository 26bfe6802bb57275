"""A folder for CTranslate2, written with that package's own specification of the Transformer.

The layout: queries, keys and values of self-attention are one matrix, keys and values of cross-attention another; the
positions are written out, so that no convention of sines and cosines is left to guess; equal tensors are stored once.
``return_attention`` gives the mean of the heads of the last decoder layer but one, where attention is nearest to a word
alignment (Garg et al. 2019, "Jointly Learning to Align and Translate with Transformer Models", section 4.2).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.errors import ExportError
from interlingua.interop.proof import Output, Runtime, Sentence
from interlingua.interop.tokenizer_json import write_tokenizer_json
from interlingua.interop.transformer_only import transformer_of
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import DecoderLayer
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import EncoderLayer
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import LearnedPositions, SinusoidalPositions
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.tagged import TaggedTokenizer

__all__ = ["NEVER_WRITTEN", "PACKAGES", "PRECISIONS", "PROGRAM", "runtime", "usage", "write"]

PROGRAM = "CTranslate2"
PRECISIONS: Mapping[str, float] = {
    "float32": 1.0,
    "int8": 0.9,
    "int8_float32": 0.9,
    "int8_float16": 0.9,
    "int8_bfloat16": 0.9,
    "int16": 0.9,  # processors without it compute with int8
    "float16": 0.99,
    "bfloat16": 0.95,
}
PACKAGES: tuple[str, ...] = ("ctranslate2",)
NEVER_WRITTEN = False

CUT, JOIN = "cut.json", "join.json"
"""What other programs cut the source and join the target with, where our own file is none that they know."""

_ACTIVATIONS = {"relu": 0, "swish": 2, "swiglu": 2, "gelu": 3}
"""CTranslate2's numbers; swiglu is swish with a second matrix beside it."""


def write(loaded: LoadedModel, folder: Path, quantization: str) -> None:
    """See :class:`interlingua.interop.proof.Exporter`."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    model = transformer_of(loaded)
    a = model.architecture
    if not a.query_width == a.value_width == a.d_model // a.heads:
        raise ExportError(
            f"CTranslate2 takes heads of d_model / heads only, not d_k {a.query_width} and d_v {a.value_width}"
        )
    spec = TransformerSpec.from_config(
        (a.encoder_layers, a.decoder_layers),
        a.heads,
        pre_norm=a.norm == "pre",
        activation=Activation(_ACTIVATIONS[a.activation]),
        alignment_layer=max(a.decoder_layers - 2, 0),
        alignment_heads=0,
        ffn_glu=a.activation == "swiglu",
    )
    _set_side(spec.encoder, spec.encoder.embeddings[0], model.source_embedding, model.encoder)
    for there, layer in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        assert isinstance(layer, EncoderLayer)
        _set_self_attention(there.self_attention, layer.self_attention, layer.around_attention.norm)
        _set_feed_forward(there.ffn, layer.feed_forward, layer.around_feed_forward.norm)
    _set_side(spec.decoder, spec.decoder.embeddings, model.target_embedding, model.decoder)
    for there, layer in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        assert isinstance(layer, DecoderLayer)
        _set_self_attention(there.self_attention, layer.self_attention, layer.around_self.norm)
        _set_cross_attention(there.attention, layer.cross_attention, layer.around_cross.norm)
        _set_feed_forward(there.ffn, layer.feed_forward, layer.around_feed_forward.norm)
    _set_linear(spec.decoder.projection, model.output)
    _set_vocabularies(spec, loaded)
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)
    spec.save(str(folder))
    loaded.tokenizers.save(folder)
    if isinstance(
        loaded.tokenizers.source, RenumberedTokenizer
    ):  # whose own file nobody else reads
        write_tokenizer_json(folder / CUT, loaded.tokenizers.source)
        write_tokenizer_json(folder / JOIN, loaded.tokenizers.target)


def runtime(folder: Path) -> Runtime:
    """See :class:`interlingua.interop.proof.Exporter`."""
    import ctranslate2

    translator = ctranslate2.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=1)

    def translate(sentences: Sequence[Sentence], beam_size: int, most: int) -> list[Output]:
        sources = [list(sentence.tokens) for sentence in sentences]
        results = translator.translate_batch(
            sources,
            beam_size=beam_size,
            length_penalty=0,
            max_decoding_length=most,
            min_decoding_length=0,
            max_batch_size=1024,
            batch_type="tokens",
            return_scores=True,
        )
        return [Output(tuple(one.hypotheses[0]), float(one.scores[0])) for one in results]

    return translate


def usage(loaded: LoadedModel, folder: Path) -> str:
    """See :class:`interlingua.interop.proof.Exporter`."""
    one = loaded.tokenizers.shared
    reads, writes = (
        "tokenizer.json" if one else f"{side}_tokenizer.json" for side in ("source", "target")
    )
    source = loaded.tokenizers.source
    tag = ""
    if isinstance(source, TaggedTokenizer):
        tag = source.tag
    elif isinstance(source, RenumberedTokenizer):
        reads, writes, tag = CUT, JOIN, source.default_tag
    first = f" The first token of every source is `{tag}`." if tag else ""
    if isinstance(source, SubwordNmtTokenizer):
        return f"""With [CTranslate2](https://opennmt.net/CTranslate2/), which takes and gives tokens. Those of this model are made by merges of subword-nmt: `interlingua tokenize FOLDER` cuts
text into them, as that program's `apply-bpe` does.{first}"""
    return f"""With [CTranslate2](https://opennmt.net/CTranslate2/), which takes and gives tokens, and Hugging Face's `tokenizers`, which cuts and joins them:

    import ctranslate2
    from tokenizers import Tokenizer

    cut, join = Tokenizer.from_file("FOLDER/{reads}"), Tokenizer.from_file("FOLDER/{writes}")
    translator = ctranslate2.Translator("FOLDER")
    tokens = cut.encode("TEXT", add_special_tokens=False).tokens
    (found,) = translator.translate_batch([tokens], beam_size={loaded.decoding.beam_size}, min_decoding_length=0)
    print(join.decode([join.token_to_id(token) for token in found.hypotheses[0]]))

The end symbol is added there.{first} Its search differs from Interlingua's: `length_penalty` divides by length^alpha and not by
((5 + length) / 6)^alpha, and 1 is its default."""


def _set_side(spec: Any, embeddings: Any, ours: TokenEmbedding, stack: nn.Module) -> None:
    """Set the tables of a side, and the norm after its layers if they are normalised before their sublayers."""
    embeddings.weight = _array(ours.table.weight)
    spec.scale_embeddings = True
    assert isinstance(ours.positions, SinusoidalPositions | LearnedPositions)
    table = ours.positions.table
    spec.position_encodings.encodings = _array(table)
    if isinstance(stack.final_norm, nn.LayerNorm):
        _set_norm(spec.layer_norm, stack.final_norm)


def _set_self_attention(spec: Any, ours: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear[0], ours.query, ours.key, ours.value)
    _set_linear(spec.linear[1], ours.output)
    _set_norm(spec.layer_norm, norm)


def _set_cross_attention(spec: Any, ours: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear[0], ours.query)
    _set_linear(spec.linear[1], ours.key, ours.value)
    _set_linear(spec.linear[2], ours.output)
    _set_norm(spec.layer_norm, norm)


def _set_feed_forward(spec: Any, ours: FeedForward, norm: nn.LayerNorm) -> None:
    if ours.gate is not None:
        _set_linear(spec.linear_0, ours.gate)
        _set_linear(spec.linear_0_noact, ours.inner)
    else:
        _set_linear(spec.linear_0, ours.inner)
    _set_linear(spec.linear_1, ours.outer)
    _set_norm(spec.layer_norm, norm)


def _set_linear(spec: Any, *parts: nn.Linear) -> None:
    """Set one matrix, or several one above the other."""
    spec.weight = np.concatenate([_array(part.weight) for part in parts])
    if parts[0].bias is not None:
        spec.bias = np.concatenate([_array(part.bias) for part in parts])


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _set_vocabularies(spec: Any, loaded: LoadedModel) -> None:
    source, target = loaded.tokenizers.source, loaded.tokenizers.target
    pieces = [side.all_tokens() for side in (source, target)]
    end, other_end = pieces[0][source.end_id], pieces[1][target.end_id]
    if end != other_end:
        raise ExportError(
            f"CTranslate2 has one end symbol, and the source's is {end!r} and the target's {other_end!r}"
        )
    spec.register_source_vocabulary(pieces[0])
    spec.register_target_vocabulary(pieces[1])
    spec.config.unk_token = pieces[1][target.unknown_id]
    spec.config.bos_token = pieces[1][target.begin_id]
    spec.config.eos_token = other_end
    spec.config.decoder_start_token = pieces[1][target.begin_id]
    spec.config.add_source_eos = True
    (norm, *_) = [part for part in loaded.model.modules() if isinstance(part, nn.LayerNorm)]
    spec.config.add_attribute("layer_norm_epsilon", norm.eps)
    spec.config.add_attribute("source_lang", loaded.source_lang)  # read by `interlingua import`
    spec.config.add_attribute("target_lang", loaded.target_lang)


def _array(tensor: Tensor) -> np.ndarray:
    # A copy: quantisation there multiplies in place, which would change the model that the export is compared with.
    return tensor.detach().cpu().float().numpy().copy()
