"""The corpora that the program writes itself, so that it can be tried on a machine without any data."""

import tempfile
from pathlib import Path
from typing import Literal

from interlingua.corpus.demo_grammar import write_demo_corpus
from interlingua.corpus.digits import write_digit_corpus
from interlingua.corpus.pairs import CorpusFiles
from interlingua.files import replace_file

__all__ = ["EmbeddedName", "write_embedded"]

EmbeddedName = Literal["demo-ro-en", "copy", "reverse"]


def write_embedded(name: EmbeddedName, folder: Path, seed: int) -> CorpusFiles:
    """Write an embedded corpus into ``folder``, and say where its six files are.

    The files depend on ``name`` and ``seed`` alone. A file that already holds the right bytes is left as it is, so
    that a second call changes nothing, not even a modification time.

    Raises:
        OutputError: the folder cannot be written.
    """
    with tempfile.TemporaryDirectory() as scratch:
        fresh = _write(name, Path(scratch), seed)
        files = CorpusFiles.in_folder(folder, fresh.source_lang, fresh.target_lang)
        for fresh_part, part in zip(fresh.parts, files.parts, strict=True):
            for fresh_path, path in zip(fresh_part, part, strict=True):
                _put(fresh_path.read_bytes(), path)
    return files


def _write(name: EmbeddedName, folder: Path, seed: int) -> CorpusFiles:
    if name == "demo-ro-en":
        return write_demo_corpus(folder, seed)
    return write_digit_corpus(folder, name, seed)


def _put(data: bytes, path: Path) -> None:
    if path.is_file() and path.read_bytes() == data:
        return
    with replace_file(path) as file:
        file.write(data)
