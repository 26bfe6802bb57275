"""One HTML file that translates: the model, its tokenizer and a small engine in plain JavaScript, nothing from elsewhere.

The engine is the ``.js`` files of ``html_page/``, put into the page as they stand there: the tokenizer, the
Transformer with its cache, greedy and beam search by the rules of ``decoding``, and a table of the cross-attention.
The page opens from a disk; its content security policy lets it run this script and reach nothing else.

The proof runs the script of the written page in Node.js; tests open the page itself in Chromium.
"""

import base64
import hashlib
import html
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from torch import Tensor

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.errors import ConfigError, ExportError
from interlingua.interop.proof import Output, Runtime, Sentence
from interlingua.interop.transformer_only import transformer_of
from interlingua.tokenization.normalisation import Normaliser, SentencePieceNormaliser
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = [
    "LARGEST",
    "NEVER_WRITTEN",
    "PACKAGES",
    "PAGE",
    "PRECISIONS",
    "PROGRAM",
    "runtime",
    "usage",
    "write",
]

PROGRAM = "the script of the page"
PRECISIONS: Mapping[str, float] = {"int8": 0.9, "float16": 0.99, "float32": 1.0}
PACKAGES: tuple[str, ...] = ()
NEVER_WRITTEN = True

PAGE = "index.html"
LARGEST = 8_000_000
"""Bytes of the page: more is no longer a file that one mails to somebody."""

_SCRIPTS = ("tokenizer.js", "model.js", "search.js", "translator.js", "heat_map.js", "page.js")

Json = dict[str, Any]


def write(loaded: LoadedModel, folder: Path, quantization: str) -> None:
    """See :class:`interlingua.interop.proof.Exporter`."""
    pair = loaded.tokenizers
    tokenizers: Json = {"source_tokenizer": describe_tokenizer(pair.source)}
    tokenizers["target_tokenizer"] = None if pair.shared else describe_tokenizer(pair.target)
    weights = _Weights(quantization)
    for name, tensor in loaded.model.state_dict().items():
        if not _is_stored_elsewhere(name, loaded):
            weights.add(name, tensor)
    described = {
        "format": 1,
        "architecture": loaded.model.architecture.to_dict(),
        "source_lang": loaded.source_lang,
        "target_lang": loaded.target_lang,
        "max_length": loaded.max_length,
        "decoding": loaded.decoding.model_dump(mode="json"),
        "tensors": weights.listed,
        **tokenizers,
    }
    page = _page(loaded, described, bytes(weights.content)).encode("utf-8")
    if len(page) > LARGEST:
        raise ExportError(_too_large(len(page), quantization))
    (folder / PAGE).write_bytes(page)


def runtime(folder: Path) -> Runtime:
    """See :class:`interlingua.interop.proof.Exporter`: the script of the page in Node.js.

    Raises:
        ConfigError: there is no Node.js here.
    """
    node = shutil.which("node")
    if node is None:
        raise ConfigError(
            "the proof of an HTML page needs Node.js 18 or newer, and there is no node here; "
            "install it, or export with --no-verify and compare in a browser"
        )

    def translate(sentences: Sequence[Sentence], beam_size: int, most: int) -> list[Output]:
        asked = [
            {"ids": each.ids, "beam_size": beam_size, "max_length": most} for each in sentences
        ]
        return [
            Output(tuple(one["tokens"]), one["score"], one["text"])
            for one in _ask(node, folder / PAGE, asked)
        ]

    return translate


def usage(loaded: LoadedModel, folder: Path) -> str:
    """See :class:`interlingua.interop.proof.Exporter`."""
    return (
        f"Open `{PAGE}` in a browser of 2023 or later (Chrome 111, Firefox 113, Safari 16.4), from a disk or a server. It needs\n"
        "no network and sends nothing. Text is cut and translated as by `interlingua translate`, and the table under a\n"
        "translation shows where the model looked."
    )


def describe_tokenizer(tokenizer: Tokenizer) -> Json:
    """Return what ``tokenizer.js`` needs to know.

    Raises:
        ExportError: a tokenizer from elsewhere, which the page cannot apply.
    """
    if not isinstance(tokenizer, PieceTokenizer):
        raise ExportError(
            "the page cannot apply a tokenizer that was not trained here; "
            "export with --format onnx or marian"
        )
    vocabulary, normaliser = tokenizer.vocabulary, tokenizer.normaliser
    spacing, specials = tokenizer.spacing, vocabulary.specials
    described: Json = {
        "kind": tokenizer.kind,
        "pieces": list(vocabulary.pieces),
        "scores": list(vocabulary.scores),
        "specials": [specials.pad, specials.unknown, specials.begin, specials.end],
        "hidden": sorted(vocabulary.hidden),
        "whole": sorted(vocabulary.whole),
        "byte_fallback": vocabulary.byte_fallback,
        "spacing": {name: getattr(spacing, name) for name in spacing.__slots__},
        "normalization": None,
        "lowercase": False,
        "charsmap_base64": "",
    }
    if isinstance(normaliser, Normaliser):
        described |= {"normalization": normaliser.form, "lowercase": normaliser.lowercase}
    elif isinstance(normaliser, SentencePieceNormaliser):
        compiled = base64.b64encode(normaliser.charsmap.compiled).decode("ascii")
        described["charsmap_base64"] = compiled
    return described


@dataclass
class _Weights:
    """Numbers of the model, one array after the other, each beginning at a multiple of four."""

    quantization: str
    content: bytearray = field(default_factory=bytearray)
    listed: list[Json] = field(default_factory=list)

    def add(self, name: str, tensor: Tensor) -> None:
        """Store one; vectors stay as they are, they are small and matter most."""
        values = tensor.detach().cpu().float().numpy()
        matrix = values.reshape(len(values), -1)
        is_matrix = values.ndim == 2
        entry: Json = {"name": name, "rows": matrix.shape[0], "columns": matrix.shape[1]}
        if is_matrix and self.quantization == "int8":
            steps = np.abs(matrix).max(axis=1) / 127
            steps = np.where(steps == 0, 1.0, steps).astype("<f4")
            codes = np.rint(matrix / steps[:, None]).astype(np.int8)
            entry |= {"dtype": "int8", "offset": self._put(codes), "steps": self._put(steps)}
        elif is_matrix and self.quantization == "float16":
            entry |= {"dtype": "float16", "offset": self._put(matrix.astype("<f2"))}
        else:
            entry |= {"dtype": "float32", "offset": self._put(matrix.astype("<f4"))}
        self.listed.append(entry)

    def _put(self, values: np.ndarray) -> int:
        offset = len(self.content)
        self.content += values.tobytes()
        self.content += bytes(-len(self.content) % 4)
        return offset


def _is_stored_elsewhere(name: str, loaded: LoadedModel) -> bool:
    """Tell whether a tensor is another one under a second name."""
    tie = transformer_of(loaded).architecture.tie
    if name == "output.weight":
        return tie != "none"
    return name == "source_embedding.table.weight" and tie == "three-way"


def _page(loaded: LoadedModel, described: Json, weights: bytes) -> str:
    script = "\n" + "\n".join(_read(name) for name in _SCRIPTS)
    style = _read("page.css")
    return Template(_read("page.html")).substitute(
        title=html.escape(f"{loaded.source_lang} to {loaded.target_lang}"),
        source_lang=html.escape(loaded.source_lang),
        target_lang=html.escape(loaded.target_lang),
        script=script,
        script_hash=_hash(script),
        style=style,
        style_hash=_hash(style),
        # Nothing in the data may look like the end of its element, or like a comment.
        model=json.dumps(described, ensure_ascii=False, separators=(",", ":")).replace(
            "<", "\\u003c"
        ),
        weights=base64.b64encode(weights).decode("ascii"),
    )


def _read(name: str) -> str:
    return (files("interlingua.interop") / "html_page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _too_large(size: int, quantization: str) -> str:
    smaller = {"float32": "float16 or int8", "float16": "int8"}.get(quantization)
    remedy = f"take --quantization {smaller}, or " if smaller else ""
    return (
        f"the page would have {size / 1e6:.1f} MB, and {LARGEST / 1e6:.0f} are the most: {remedy}"
        "train a smaller model (model.preset tiny), or export with --format onnx"
    )


def _ask(node: str, page: Path, asked: Sequence[Json]) -> list[Json]:
    """Give requests to the page's program, one a line, and return its answers."""
    with as_file(files("interlingua.interop") / "html_page" / "node_runtime.mjs") as program:
        done = subprocess.run(
            [node, str(program), str(page)],
            input="".join(json.dumps(each) + "\n" for each in asked),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        raise ExportError(
            f"{page}: its script fails in Node.js ({(done.stderr.strip().splitlines() or ['?'])[-1]}); "
            "Node.js 18 or newer is needed"
        )
    return [json.loads(line) for line in done.stdout.splitlines()]
