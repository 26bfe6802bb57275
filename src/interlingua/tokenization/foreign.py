"""Tokenizers that other tools made, with the ids that those tools give."""

import re
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from interlingua.errors import TokenizerError
from interlingua.tokenization.document import read_bytes, read_tokenizer
from interlingua.tokenization.huggingface import HuggingFaceTokenizer
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.sentencepiece_model import read_sentencepiece
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["load_any", "load_sentencepiece", "load_subword_nmt", "load_wordpiece"]

_VERSION_LINE = re.compile(r"#version: *(\d+)\.(\d+)\s*")


def load_any(path: Path) -> Tokenizer:
    """Read a tokenizer of any kind that this package knows, recognised by what the file holds.

    A ``tokenizer.json``, a SentencePiece ``.model`` or ``.spm``, merges of subword-nmt, or a WordPiece vocabulary.

    Raises:
        TokenizerError: the file is missing, damaged, or none of these.
    """
    path = Path(path)
    content = read_bytes(path)
    start = content[:4096].lstrip()
    if start.startswith(b"{"):
        return read_tokenizer(path)
    # A SentencePiece model begins with the field "pieces": number 1, length-delimited.
    if (
        content[:1] == b"\x0a"
        and b"\0" not in content[:2]
        and len(content) > 2
        and content[2] == 0x0A
    ):
        return load_sentencepiece(path)
    lines = _read_lines(path, content)
    if _VERSION_LINE.fullmatch(lines[0]) or all(line.count(" ") == 1 for line in lines):
        return load_subword_nmt(path)
    if "[UNK]" in lines:
        return load_wordpiece(path)
    raise TokenizerError(
        f"{path}: is no tokenizer that is known here; give a tokenizer.json, a SentencePiece model, "
        "a list of subword-nmt merges, or a WordPiece vocabulary with [UNK]"
    )


def load_subword_nmt(codes_path: Path) -> SubwordNmtTokenizer:
    """Read merges that ``subword-nmt learn-bpe`` wrote, "#version: 0.1" or "0.2".

    Raises:
        TokenizerError: the file is missing, or a line is not a pair.
    """
    path = Path(codes_path)
    lines = _read_lines(path, read_bytes(path))
    named = _VERSION_LINE.fullmatch(lines[0])
    version = (int(named[1]), int(named[2])) if named else (0, 1)
    merges = []
    for number, line in enumerate(lines[bool(named) :], start=1 + bool(named)):
        parts = line.rstrip("\r ").split(" ")
        if len(parts) != 2 or not all(parts):
            raise TokenizerError(
                f"{path}: line {number} is not two symbols with a space between them; "
                "give the list of merges that subword-nmt learn-bpe writes"
            )
        merges.append((parts[0], parts[1]))
    return SubwordNmtTokenizer(merges, version)


def load_wordpiece(vocab_path: Path, lowercase: bool = True) -> HuggingFaceTokenizer:
    """Read a BERT vocabulary, one piece a line; with ``lowercase`` accents are removed too, as BERT does.

    Raises:
        TokenizerError: the file is missing or has no ``[UNK]``.
    """
    path = Path(vocab_path)
    lines = [line.rstrip("\r") for line in _read_lines(path, read_bytes(path))]
    vocabulary = {piece: number for number, piece in enumerate(lines)}
    if "[UNK]" not in vocabulary:
        raise TokenizerError(f"{path}: has no [UNK]; give a WordPiece vocabulary, one piece a line")
    backend = tokenizers.Tokenizer(
        models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)
    )
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    return HuggingFaceTokenizer(backend, str(path))


def load_sentencepiece(model_path: Path) -> PieceTokenizer:
    """Read a SentencePiece model (BPE, Unigram, word or character).

    Special symbols that the model lacks (often the padding) are added after its last id.

    Raises:
        TokenizerError: the file is missing, damaged, or uses what is not known here.
    """
    path = Path(model_path)
    content = read_bytes(path)
    try:
        return read_sentencepiece(content)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None


def _read_lines(path: Path, content: bytes) -> list[str]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TokenizerError(
            f"{path}: byte {error.start} is not UTF-8; it is damaged, or no tokenizer that is known here"
        ) from None
    lines = text.removesuffix("\n").split("\n")
    if lines == [""]:
        raise TokenizerError(f"{path}: is empty; copy it again from where it was made")
    return lines
