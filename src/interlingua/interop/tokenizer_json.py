"""A ``tokenizer.json`` for other readers: Hugging Face ``tokenizers``, and transformers.js, whose Marian models need one.

It is ours with what :class:`Translator` does around it: the end symbol after every source, special symbols left out of a text.
What Marian keeps in two files, SentencePiece models that cut and ``vocab.json`` that numbers, is one list here: scores and
merges of the source's SentencePiece model, under the ids of the vocabulary. A piece that the SentencePiece model has and the
vocabulary has not is unknown to ``MarianTokenizer``, and spelled in smaller pieces by this file.
"""

import json
from pathlib import Path
from typing import Any

from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.piece_document import describe_pieces
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.tagged import TaggedTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.vocabulary import SPACE_MARK

__all__ = ["is_one_for_readers", "write_tokenizer_json"]

Json = dict[str, Any]

_NEVER_CHOSEN = -1000.0
"""The Unigram score of what no source becomes."""


def is_one_for_readers(pair: TokenizerPair) -> bool:
    """Tell whether one file can do for both sides: a reader cuts sources with it, and joins the pieces of targets."""
    source, target = pair.source, pair.target
    if isinstance(source, RenumberedTokenizer) and isinstance(target, RenumberedTokenizer):
        return source.pieces == target.pieces
    return pair.shared


def write_tokenizer_json(path: Path, tokenizer: Tokenizer) -> None:
    """Write a ``tokenizer.json`` that does what :class:`Translator` does around its own."""
    before = _tag_of(tokenizer)
    if isinstance(tokenizer, TaggedTokenizer):
        tokenizer = tokenizer.plain
    if isinstance(tokenizer, RenumberedTokenizer):
        document = _renumbered(tokenizer)
    else:
        tokenizer.save(path)
        document = json.loads(path.read_text(encoding="utf-8"))
    specials = {tokenizer.pad_id, tokenizer.unknown_id, tokenizer.begin_id, tokenizer.end_id}
    known = {token["id"] for token in document.get("added_tokens", [])}
    document["added_tokens"] = [
        *document.get("added_tokens", []),
        *(_special(tokenizer, number) for number in sorted(specials - known)),
    ]
    end = tokenizer.tokens([tokenizer.end_id])[0]
    added = {end: tokenizer.end_id, **before}
    first = [_symbol(tag) for tag in before]
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [*first, _text("A"), _symbol(end)],
        "pair": [*first, _text("A"), _text("B"), _symbol(end)],
        "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in added.items()},
    }
    document["pre_tokenizer"] = _for_all_readers(document["pre_tokenizer"])
    document["model"].pop("interlingua", None)
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def _renumbered(tokenizer: RenumberedTokenizer) -> Json:
    """Put the cutter's model under the ids of the vocabulary."""
    document = describe_pieces(tokenizer.cutter)
    model = document["model"]
    ids = {piece: number for number, piece in enumerate(tokenizer.pieces)}
    special = {tokenizer.pad_id, tokenizer.unknown_id, tokenizer.begin_id, tokenizer.end_id}
    if model["type"] == "Unigram":
        scores = {piece: score for piece, score in model["vocab"] if ids.get(piece) not in special}
        model["vocab"] = [[piece, scores.get(piece, _NEVER_CHOSEN)] for piece in tokenizer.pieces]
        model["unk_id"] = tokenizer.unknown_id
    else:
        model["vocab"] = ids
        model["unk_token"] = tokenizer.pieces[tokenizer.unknown_id]
        model["merges"] = [
            [left, right]
            for left, right in model["merges"]
            if left in ids and right in ids and left + right in ids
        ]
    tags = [_special(tokenizer, ids[tag]) | {"special": False} for tag in tokenizer.tags]
    return document | {"added_tokens": tags}


def _tag_of(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the tag that every source begins with, and its id, if there is one."""
    if isinstance(tokenizer, TaggedTokenizer):
        return {tokenizer.tag: tokenizer.tag_id}
    if not isinstance(tokenizer, RenumberedTokenizer) or not tokenizer.default_tag:
        return {}
    return {tokenizer.default_tag: tokenizer.pieces.index(tokenizer.default_tag)}


def _for_all_readers(pre_tokenizer: Any) -> Any:
    """Split before a mark in the one way that transformers.js does it too: by what lies between marks."""
    if not isinstance(pre_tokenizer, dict):
        return pre_tokenizer
    if pre_tokenizer["type"] == "Sequence":
        steps = [_for_all_readers(step) for step in pre_tokenizer["pretokenizers"]]
        return pre_tokenizer | {"pretokenizers": steps}
    if pre_tokenizer.get("behavior") != "MergedWithNext":
        return pre_tokenizer
    mark = pre_tokenizer["pattern"].get("String", "")
    if mark not in (SPACE_MARK, " "):
        return pre_tokenizer
    words = {"Regex": f"{mark}[^{mark}]*|[^{mark}]+"}
    return pre_tokenizer | {"pattern": words, "behavior": "Isolated"}


def _text(which: str) -> Json:
    return {"Sequence": {"id": which, "type_id": 0}}


def _symbol(piece: str) -> Json:
    return {"SpecialToken": {"id": piece, "type_id": 0}}


def _special(tokenizer: Tokenizer, number: int) -> Json:
    """Mark a piece as one that is left out of a text."""
    return {
        "id": number,
        "content": tokenizer.tokens([number])[0],
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
