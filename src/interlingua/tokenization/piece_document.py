"""A piece tokenizer as a Hugging Face ``tokenizer.json``, and back.

The file is one that Hugging Face ``tokenizers`` opens, with the same ids for ordinary text. What its fields cannot say
stands under ``model.interlingua``. The special symbols are entries of the vocabulary and not "added tokens",
because those are searched for in the text: a sentence that holds ``</s>`` would end there.
"""

import base64
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from interlingua.errors import TokenizerError
from interlingua.tokenization.charsmap import Charsmap
from interlingua.tokenization.learnt_from import LearntFrom
from interlingua.tokenization.normalisation import Normaliser, SentencePieceNormaliser, as_form
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.segmentation import piece_ranks, whole_pattern
from interlingua.tokenization.text_form import LONGEST_WORD, Spacing
from interlingua.tokenization.vocabulary import SPACE_MARK, Specials, Vocabulary

__all__ = ["describe_pieces", "restore_pieces"]

_NEVER_CHOSEN = -1000.0
"""The Unigram score of special symbols and bytes in the file, so that no reader of it finds them in a text."""

Json = dict[str, Any]


def describe_pieces(tokenizer: PieceTokenizer) -> Json:
    """Return the document of ``tokenizer``."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": _normalizer(tokenizer),
        "pre_tokenizer": _pre_tokenizer(tokenizer.spacing),
        "post_processor": None,
        "decoder": _decoder(tokenizer.spacing),
        "model": _model(tokenizer) | {"interlingua": _own(tokenizer)},
    }


def restore_pieces(document: Json) -> PieceTokenizer:
    """Return the tokenizer of a document that :func:`describe_pieces` made."""
    model, own = document["model"], document["model"]["interlingua"]
    kind = own["kind"]
    if kind == "unigram":
        pieces = tuple(str(piece) for piece, _ in model["vocab"])
        scores = tuple(float(score) for _, score in model["vocab"])
    else:
        numbered = sorted((number, piece) for piece, number in model["vocab"].items())
        if [number for number, _ in numbered] != list(range(len(numbered))):
            raise TokenizerError("the vocabulary is damaged: its ids are not 0, 1, 2, ...")
        pieces = tuple(piece for _, piece in numbered)
        scores = tuple(map(float, own.get("scores", [-number for number, _ in numbered])))
    vocabulary = Vocabulary(
        pieces,
        scores,
        specials=Specials(*own["specials"]),
        hidden=frozenset(own.get("hidden", ())),
        whole=frozenset(own.get("whole", ())),
        byte_fallback=own["byte_fallback"],
    )
    spacing = Spacing(**{name: bool(own["spacing"][name]) for name in Spacing.__slots__})
    normaliser = _restore_normaliser(document, vocabulary)
    learnt_from = LearntFrom(**own["learnt_from"]) if "learnt_from" in own else None
    return PieceTokenizer(kind, vocabulary, normaliser, spacing, learnt_from)


def _own(tokenizer: PieceTokenizer) -> Json:
    vocabulary, specials = tokenizer.vocabulary, tokenizer.vocabulary.specials
    own: Json = {
        "format": 1,
        "kind": tokenizer.kind,
        "specials": [specials.pad, specials.unknown, specials.begin, specials.end],
        "byte_fallback": vocabulary.byte_fallback,
        "spacing": asdict(tokenizer.spacing),
    }
    normaliser = tokenizer.normaliser
    if isinstance(normaliser, Normaliser):
        own |= {"normalization": normaliser.form, "lowercase": normaliser.lowercase}
    if tokenizer.learnt_from is not None:
        own["learnt_from"] = asdict(tokenizer.learnt_from)
    if vocabulary.hidden:
        own["hidden"] = sorted(vocabulary.hidden)
    if vocabulary.whole:
        own["whole"] = sorted(vocabulary.whole)
    if tokenizer.kind == "bpe" and not _is_in_order(vocabulary):
        own["scores"] = list(vocabulary.scores)
    return own


def _is_in_order(vocabulary: Vocabulary) -> bool:
    """Whether the order of the ids says everything that the scores say."""
    merged = [vocabulary.scores[vocabulary.ids[piece]] for piece in piece_ranks(vocabulary)]
    return all(left > right for left, right in pairwise(merged))


def _restore_normaliser(
    document: Json, vocabulary: Vocabulary
) -> Normaliser | SentencePieceNormaliser:
    own = document["model"]["interlingua"]
    if "normalization" in own:
        return Normaliser(as_form(own["normalization"]), bool(own["lowercase"]))
    compiled = b"".join(
        base64.b64decode(step["precompiled_charsmap"], validate=True)
        for step in document["normalizer"]["normalizers"]
        if step["type"] == "Precompiled"
    )
    collapse = bool(own["spacing"]["collapse"])
    return SentencePieceNormaliser(Charsmap(compiled), collapse, whole_pattern(vocabulary.whole))


def _normalizer(tokenizer: PieceTokenizer) -> Json:
    normaliser = tokenizer.normaliser
    steps: list[Json] = []
    if isinstance(normaliser, Normaliser):
        steps += [{"type": name} for name in normaliser.steps()]
    else:
        if normaliser.charsmap.compiled:
            compiled = base64.b64encode(normaliser.charsmap.compiled).decode("ascii")
            steps.append({"type": "Precompiled", "precompiled_charsmap": compiled})
        if normaliser.collapse_spaces:
            steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
            steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    if not tokenizer.spacing.byte_level:
        if tokenizer.spacing.first_mark:
            steps.append({"type": "Prepend", "prepend": SPACE_MARK})
        steps.append({"type": "Replace", "pattern": {"String": " "}, "content": SPACE_MARK})
    return {"type": "Sequence", "normalizers": steps}


def _pre_tokenizer(spacing: Spacing) -> Json:
    if not spacing.byte_level:
        return _split_before(SPACE_MARK)
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    return {"type": "Sequence", "pretokenizers": [_split_before(" "), byte_level]}


def _split_before(mark: str) -> Json:
    pattern = {"String": mark}
    return {"type": "Split", "pattern": pattern, "behavior": "MergedWithNext", "invert": False}


def _decoder(spacing: Spacing) -> Json:
    if spacing.byte_level:
        flags = {"add_prefix_space": False, "trim_offsets": False, "use_regex": False}
        return {"type": "ByteLevel"} | flags
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": SPACE_MARK}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if spacing.first_mark:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _model(tokenizer: PieceTokenizer) -> Json:
    vocabulary = tokenizer.vocabulary
    ids = {piece: number for number, piece in enumerate(vocabulary.pieces)}
    unknown = vocabulary.specials.unknown
    if tokenizer.kind == "unigram":
        scores = [
            [piece, vocabulary.scores[number] if piece in vocabulary.ids else _NEVER_CHOSEN]
            for piece, number in ids.items()
        ]
        fallback = vocabulary.byte_fallback
        return {"type": "Unigram", "unk_id": unknown, "vocab": scores, "byte_fallback": fallback}
    if tokenizer.kind == "wordpiece":
        return {
            "type": "WordPiece",
            "unk_token": vocabulary.pieces[unknown],
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": LONGEST_WORD,
            "vocab": ids,
        }
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": vocabulary.pieces[unknown],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": vocabulary.byte_fallback,
        "ignore_merges": tokenizer.kind == "word",
        "vocab": ids,
        "merges": _merges(vocabulary) if tokenizer.kind == "bpe" else [],
    }


def _merges(vocabulary: Vocabulary) -> list[list[str]]:
    """Return every way to join two pieces to a third, in the order of the third.

    Hugging Face ranks pairs where SentencePiece and this package rank what the pair makes.
    """
    known, ranks = vocabulary.ids, piece_ranks(vocabulary)
    merges = []
    for piece in sorted(ranks, key=lambda piece: ranks[piece]):
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in known and right in known:
                merges.append([left, right])
    return merges
