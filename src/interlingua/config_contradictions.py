"""Values of a configuration that are right alone and wrong together."""

import json
import re
from collections.abc import Iterator

from interlingua.config import (
    CorpusConfig,
    ModelConfig,
    RunConfig,
    StartConfig,
    TokenizationConfig,
)
from interlingua.directions import contradictions_in_directions

__all__ = ["ONLY_OF", "contradictions_in"]

_TAKEN = ("<pad>", "<unk>", "<s>", "</s>")
"""Symbols of every vocabulary that look like tags."""

_TRANSFORMER, _RECURRENT = ("transformer", "encoder", "decoder"), ("rnn", "lstm", "gru")
_BOTH = ("transformer", *_RECURRENT, "convolutional")
ONLY_OF = {
    **dict.fromkeys(("d_ff", "heads", "d_k", "d_v"), _TRANSFORMER),
    **dict.fromkeys(("attention_dropout", "activation_dropout"), _TRANSFORMER),
    **dict.fromkeys(("activation", "norm", "positions"), _TRANSFORMER),
    **dict.fromkeys(("attention", "bidirectional"), _RECURRENT),
    "kernel_width": ("convolutional",),
    "encoder_layers": (*_BOTH, "encoder"),
    "decoder_layers": (*_BOTH, "decoder"),
    "answers": ("encoder",),
}
"""Which kinds of model have a size or choice that not all have."""


def contradictions_in(config: RunConfig) -> Iterator[tuple[str, str]]:
    """Yield what is wrong together: a key, and why."""
    yield from _contradictions_in_corpus(config.corpus)
    yield from _contradictions_in_start(config.start)
    yield from _contradictions_in_tokenization(config.tokenization)
    yield from _contradictions_in_model(config)
    if config.training.shard and config.training.ema is not None:
        yield (
            "training.shard",
            "training.shard divides the weights, and training.ema keeps a whole mean of them; leave one out",
        )


def _contradictions_in_corpus(corpus: CorpusConfig) -> Iterator[tuple[str, str]]:
    for one, other in (("source", "target"), ("valid_source", "valid_target")):
        if bool(getattr(corpus, one)) != bool(getattr(corpus, other)):
            given, missing = (one, other) if getattr(corpus, one) else (other, one)
            first = getattr(corpus, given)[0]
            pairs = "pairs" if given in ("source", "target") else "valid_pairs"
            yield (
                f"corpus.{given}",
                f"corpus.{given} is given without corpus.{missing}; give both, or corpus.{pairs} "
                f"instead if {first} holds both sides",
            )
    if len(corpus.columns) == 1:
        yield ("corpus.columns", "corpus.columns has one name; give two, that of the source first")
    for name, what, several in (
        ("weights", "number", "numbers"),
        ("tags", "symbol", "symbols"),
        ("directions", "pair of languages", "pairs of languages"),
    ):
        given_for, files = len(getattr(corpus, name)), len(corpus.source) + len(corpus.pairs)
        if given_for not in (0, files):
            of = "corpus.source and corpus.pairs" if corpus.pairs else "corpus.source"
            yield (
                f"corpus.{name}",
                f"corpus.{name} has {given_for} {what if given_for == 1 else several} and {of} "
                f"{files} file{'s' * (files != 1)}; give one {what} for each file",
            )
    yield from _contradictions_in_noise(corpus)
    if corpus.weights and corpus.temperature is not None:
        yield (
            "corpus.temperature",
            "corpus.temperature and corpus.weights both say how often a file comes; take one",
        )
    yield from contradictions_in_directions(
        corpus.directions,
        corpus.valid_directions,
        valid_files=len(corpus.valid_source) + len(corpus.valid_pairs),
        languages=(corpus.source_lang, corpus.target_lang),
        tags=corpus.tags,
        serves_both_ways=bool(set(corpus.source) & set(corpus.target))
        or len(set(corpus.pairs)) < len(corpus.pairs),
    )
    for tag in corpus.tags:
        if tag in _TAKEN or re.fullmatch("<0x[0-9A-F]{2}>", tag):
            yield (
                "corpus.tags",
                f"corpus.tags holds {tag}, which means something else in every vocabulary; take another name",
            )


def _contradictions_in_noise(corpus: CorpusConfig) -> Iterator[tuple[str, str]]:
    if corpus.denoise and corpus.noise:
        yield (
            "corpus.noise",
            "corpus.noise and corpus.denoise both say how a source is spoiled; take one",
        )
    if corpus.valid_text and not corpus.text:
        yield "corpus.valid_text", "corpus.valid_text is given without corpus.text; give both"
    if not corpus.denoise:
        for name in ("denoise_span", "denoise_reach"):
            if getattr(corpus, name) != CorpusConfig.model_fields[name].default:
                yield f"corpus.{name}", f"corpus.{name} needs corpus.denoise; give it, such as 0.35"


def _contradictions_in_start(start: StartConfig) -> Iterator[tuple[str, str]]:
    vectors = start.source_vectors or start.target_vectors
    model = start.init_from or start.encoder_from
    if start.init_from is None:
        without_model = {"init_from", "encoder_from", "source_vectors", "target_vectors"}
        without_model |= {"freeze"} if vectors or model else set()
        without_model |= {"new_language"} if model else set()
        for name in start.model_fields_set - without_model:
            if getattr(start, name) != StartConfig.model_fields[name].default:
                yield (
                    f"start.{name}",
                    f"start.{name} is about a model to begin with, and none is given; give --init-from MODEL",
                )
    if vectors and model:
        name = "source_vectors" if start.source_vectors else "target_vectors"
        other = "init_from" if start.init_from else "encoder_from"
        yield (
            f"start.{name}",
            f"start.{name} does not go with start.{other}: that model has embeddings of its own; leave one out",
        )
    if start.init_from and start.encoder_from:
        yield (
            "start.encoder_from",
            "start.encoder_from and start.init_from both say what the encoder begins as; take one",
        )
    yield from _contradictions_in_tuning(start)


def _contradictions_in_tuning(start: StartConfig) -> Iterator[tuple[str, str]]:
    if bool(start.keep_source) != bool(start.keep_target):
        given, missing = (
            ("keep_source", "keep_target") if start.keep_source else ("keep_target", "keep_source")
        )
        yield (
            f"start.{given}",
            f"start.{given} is given without start.{missing}; give both",
        )
    yield from _contradictions_in_adapter(start)


def _contradictions_in_adapter(start: StartConfig) -> Iterator[tuple[str, str]]:
    if start.lora_rank is None:
        for name in ("lora_alpha", "lora_on"):
            if getattr(start, name):
                yield f"start.{name}", f"start.{name} needs start.lora_rank; give it, such as 8"
        return
    for name, why in (
        ("freeze", "an adapter freezes every weight anyway; choose with start.lora_on instead"),
        (
            "new_pieces",
            "an adapter has no room for new pieces; train all weights, or leave them out",
        ),
    ):
        if getattr(start, name):
            yield f"start.{name}", f"start.{name} does not go with start.lora_rank: {why}"


def _contradictions_in_tokenization(tokens: TokenizationConfig) -> Iterator[tuple[str, str]]:
    if tokens.byte_level and tokens.kind not in (None, "bpe"):
        yield (
            "tokenization.byte_level",
            f"tokenization.byte_level works with kind bpe, not {tokens.kind}",
        )
    if tokens.byte_level and tokens.lowercase:
        yield (
            "tokenization.lowercase",
            "tokenization.lowercase changes the text and tokenization.byte_level keeps it as it is; "
            "choose one of the two",
        )
    if tokens.target_kind is not None and tokens.shared:
        yield (
            "tokenization.target_kind",
            "tokenization.target_kind is for a vocabulary of the target's own, and tokenization.shared = true asks for one; leave one out",
        )
    if tokens.sampling and tokens.kind in ("word", "char"):
        yield (
            "tokenization.sampling",
            f"tokenization.sampling works with kind bpe, unigram or wordpiece, not {tokens.kind}: "
            "there is only one way to cut the text",
        )


def _contradictions_in_model(config: RunConfig) -> Iterator[tuple[str, str]]:
    model = config.model
    yield from _contradictions_in_task(config)
    for name, kinds in ONLY_OF.items():
        value = getattr(model, name)
        if model.kind not in kinds and value != ModelConfig.model_fields[name].default:
            yield (
                f"model.{name}",
                f"model.{name} = {json.dumps(value)} is for model.kind {' or '.join(kinds)}, not {model.kind}; "
                "leave it out",
            )
    if model.kernel_width is not None and not model.kernel_width % 2:
        yield (
            "model.kernel_width",
            f"model.kernel_width = {model.kernel_width} has no middle; take an odd number",
        )
    if (
        model.d_model
        and model.heads
        and model.d_model % model.heads
        and not (model.d_k and model.d_v)
    ):
        yield (
            "model.heads",
            f"model.heads = {model.heads} does not divide model.d_model = {model.d_model}; "
            "change one, or give model.d_k and model.d_v",
        )
    # A model that was imported may have two tokenizers with one vocabulary; one that a run begins with decides both.
    is_own = not config.start.init_from
    if is_own and model.tie == "three-way" and config.tokenization.shared is False:
        yield (
            "model.tie",
            "model.tie = three-way needs one vocabulary, and tokenization.shared = false asks for two; "
            'set model.tie to "target", or tokenization.shared to true',
        )
    if config.batching.max_length > model.max_positions:
        given = "max_length" in config.batching.model_fields_set
        yield (
            "batching.max_length" if given else "model.max_positions",
            f"batching.max_length = {config.batching.max_length} is more than model.max_positions = "
            f"{model.max_positions}; lower one or raise the other",
        )


def _contradictions_in_task(config: RunConfig) -> Iterator[tuple[str, str]]:
    """Compare what a model learns from with what its kind can learn."""
    corpus = config.corpus
    if config.model.kind == "encoder":
        yield from _contradictions_in_labels(config)
        return
    if corpus.mask != CorpusConfig.model_fields["mask"].default and not config.start.init_from:
        yield (
            "corpus.mask",
            "corpus.mask is for model.kind encoder, which guesses what is hidden; for others there is corpus.denoise",
        )
    if config.model.kind != "decoder":
        # what a run begins with decides the kind, and is asked by fine_tuning.inherit
        if corpus.text and not corpus.denoise and not config.start.init_from:
            yield (
                "corpus.text",
                "corpus.text is source and target at once, which teaches an encoder-decoder to copy and no more; add "
                "corpus.denoise, such as 0.35, or model.kind encoder or decoder",
            )
        return
    if not corpus.text:
        yield (
            "model.kind",
            "model.kind = decoder is a language model, which learns from text without a translation; give corpus.text",
        )
    for name in ("noise", "denoise", "tags"):
        if getattr(corpus, name):
            yield (
                f"corpus.{name}",
                f"corpus.{name} spoils or marks a source, and model.kind decoder reads none; leave it out",
            )
    if config.tokenization.shared is False:
        yield (
            "tokenization.shared",
            "tokenization.shared = false: model.kind decoder has one vocabulary; leave it out",
        )
    if 2 * config.batching.max_length > config.model.max_positions:
        yield (
            "model.max_positions",
            f"model.max_positions = {config.model.max_positions} holds no prompt and continuation of "
            f"batching.max_length = {config.batching.max_length} each; raise the one, or lower the other",
        )


def _contradictions_in_labels(config: RunConfig) -> Iterator[tuple[str, str]]:
    corpus, answers = config.corpus, config.model.answers
    if corpus.text and answers == "sequence":
        yield (
            "model.answers",
            "model.answers = sequence is for a class of each text, and corpus.text has none; leave it out, or give pairs",
        )
    if corpus.text and config.tokenization.shared is False:
        yield (
            "tokenization.shared",
            "tokenization.shared = false: what is guessed are words of the text itself; leave it out",
        )
    if not corpus.text and config.tokenization.shared and not config.start.init_from:
        yield (
            "tokenization.shared",
            "tokenization.shared = true: the answers of model.kind encoder have a vocabulary of their own; leave it out",
        )
    for name in ("noise", "denoise"):
        if getattr(corpus, name) and (corpus.text or answers == "tokens"):
            yield (
                f"corpus.{name}",
                f"corpus.{name} changes how many words a source has, and each has an answer of its own; leave it out",
            )
    if config.start.target_vectors:
        yield (
            "start.target_vectors",
            "start.target_vectors: model.kind encoder has no embeddings of its answers; give start.source_vectors",
        )
    for name in ("tags", "directions"):
        if getattr(corpus, name) and (corpus.text or answers == "tokens"):
            yield (
                f"corpus.{name}",
                f"corpus.{name} puts a symbol before a source, and each token of it has an answer of its own; leave it out",
            )
    if config.tokenization.sampling:
        yield (
            "tokenization.sampling",
            "tokenization.sampling cuts a source otherwise each time, and model.kind encoder counts its tokens; leave it out",
        )
