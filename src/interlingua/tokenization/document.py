"""One ``tokenizer.json`` on disk: found, read, recognised, written."""

import json
import stat
from pathlib import Path
from typing import Any

from interlingua.errors import TokenizerError
from interlingua.files import write_text
from interlingua.tokenization.huggingface import HuggingFaceTokenizer
from interlingua.tokenization.piece_document import restore_pieces
from interlingua.tokenization.renumbered import KIND, RenumberedTokenizer
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["FORMAT", "OWN_KEY", "read_bytes", "read_tokenizer", "write_document"]

OWN_KEY = "interlingua"
"""Inside ``model``: what Hugging Face's fields cannot say. Hugging Face leaves fields alone that it does not know."""

_LARGEST = 1 << 28

FORMAT = 1
"""The newest format that this version reads and the one it writes."""


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a ``tokenizer.json``; raise a TokenizerError if it is missing, damaged, or something else."""
    text = _decode(path, read_bytes(path))
    try:
        document = json.loads(text)
    except ValueError as error:
        where = (
            f"line {error.lineno}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else "a number"
        )
        raise TokenizerError(
            f"{path}: is not whole JSON ({where}); it was cut off or is not a tokenizer.json: make or copy it again"
        ) from None
    except RecursionError:
        raise TokenizerError(
            f"{path}: is nested too deeply for a tokenizer.json; copy it again"
        ) from None
    model = document.get("model") if isinstance(document, dict) else None
    if not isinstance(model, dict):
        raise TokenizerError(
            f'{path}: is JSON, but not a tokenizer.json (it has no "model"); give the file that training wrote'
        )
    if OWN_KEY not in model:
        return HuggingFaceTokenizer.from_text(text, path)
    return _restore(document, path)


def write_document(path: Path, document: dict[str, Any]) -> None:
    """Write ``document`` whole or not at all; equal documents are equal bytes."""
    write_text(path, json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_bytes(path: Path) -> bytes:
    """Return the content of a tokenizer file; raise a TokenizerError that says why it cannot be read."""
    try:
        found = path.stat()
        if found.st_size > _LARGEST or not (
            stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
        ):
            raise TokenizerError(
                f"{path}: is not a file of at most {_LARGEST:,} bytes, so it is no tokenizer"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise TokenizerError(
            f"{path}: no such file; train a tokenizer first, or correct the path"
        ) from None
    except IsADirectoryError:
        raise TokenizerError(f"{path}: is a folder; give the tokenizer file inside it") from None
    except OSError as error:
        raise TokenizerError(
            f"{path}: cannot be read ({error.strerror}); check its rights"
        ) from None


def _restore(document: dict[str, Any], path: Path) -> Tokenizer:
    own = document["model"][OWN_KEY]
    version = own.get("format") if isinstance(own, dict) else None
    if version != FORMAT:
        raise TokenizerError(
            f"{path}: has format {version!r}, and this version of Interlingua reads format {FORMAT}; "
            "update Interlingua, or train the tokenizer again"
        )
    try:
        if own["kind"] == SubwordNmtTokenizer.kind:
            return SubwordNmtTokenizer.from_document(document)
        if own["kind"] == KIND:
            return RenumberedTokenizer.from_document(document)
        return restore_pieces(document)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise TokenizerError(
            f"{path}: is damaged ({type(error).__name__}: {error}); copy it again from where it was made"
        ) from None


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(
            f"{path}: byte {error.start} is not UTF-8, so this is not a tokenizer.json; "
            "a SentencePiece model or a list of merges must be imported first"
        ) from None
