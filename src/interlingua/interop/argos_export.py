"""A package that Argos Translate installs, and LibreTranslate with it: ``translate-FROM_TO-VERSION.argosmodel``.

The package is a ZIP archive of one folder: ``metadata.json``, ``model/`` for CTranslate2, ``sentencepiece.model`` for both
sides, ``minisbd/`` with a splitter of sentences, and ``README.md``. Both programs search with CTranslate2: a beam of 4
(``ARGOS_BEAM_SIZE``), scores divided by length to the power of 0.2.

The proof unpacks the package and does what Argos Translate does with it, with the same two libraries: cut by
SentencePiece, translate by CTranslate2, join by SentencePiece. ``make prove-argos`` has the programs themselves do it.
"""

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.errors import ExportError, TokenizerError
from interlingua.interop import ctranslate2_export
from interlingua.interop.proof import Output, Runtime, Sentence
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.sentencepiece_writing import write_sentencepiece

__all__ = ["NEVER_WRITTEN", "PACKAGES", "PRECISIONS", "PROGRAM", "runtime", "usage", "write"]

PROGRAM = "Argos Translate's libraries"
PRECISIONS: Mapping[str, float] = ctranslate2_export.PRECISIONS
PACKAGES: tuple[str, ...] = ("ctranslate2", "onnx", "sentencepiece")
NEVER_WRITTEN = ctranslate2_export.NEVER_WRITTEN

VERSION = "1.0"
_ARGOS_VERSION = "1.11"
"""The oldest that this was tried with."""

_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")

_NAMES = dict(
    pair.split(":")
    for pair in [
        "ar:Arabic",
        "cs:Czech",
        "da:Danish",
        "de:German",
        "el:Greek",
        "en:English",
        "es:Spanish",
        "fi:Finnish",
        "fr:French",
        "he:Hebrew",
        "hi:Hindi",
        "hu:Hungarian",
        "it:Italian",
        "ja:Japanese",
        "ko:Korean",
        "nl:Dutch",
        "pl:Polish",
        "pt:Portuguese",
        "ro:Romanian",
        "ru:Russian",
        "sv:Swedish",
        "tr:Turkish",
        "uk:Ukrainian",
        "zh:Chinese",
    ]
)
"""What is shown to people; a code without a name is shown itself."""


def write(loaded: LoadedModel, folder: Path, quantization: str) -> None:
    """See :class:`interlingua.interop.proof.Exporter`."""
    _refuse(loaded)
    name = f"translate-{loaded.source_lang}_{loaded.target_lang}-{VERSION.replace('.', '_')}"
    with TemporaryDirectory() as temporary:
        root = Path(temporary) / name
        (root / "minisbd").mkdir(parents=True)
        (root / "model").mkdir()
        try:
            source = loaded.tokenizers.source
            cutter = source.cutter if isinstance(source, RenumberedTokenizer) else source
            write_sentencepiece(cutter, root / "sentencepiece.model")
        except TokenizerError as error:
            raise ExportError(f"an Argos package needs a SentencePiece model: {error}") from error
        ctranslate2_export.write(loaded, root / "model", quantization)
        import onnx

        from interlingua.interop.argos_splitter import splitter_graph

        splitter = splitter_graph(loaded.source_lang)
        onnx.save(splitter, root / "minisbd" / f"{loaded.source_lang}.onnx")
        metadata = json.dumps(_metadata(loaded), indent=2, ensure_ascii=False) + "\n"
        (root / "metadata.json").write_text(metadata, encoding="utf-8")
        (root / "README.md").write_text(_readme(loaded), encoding="utf-8")
        _pack(root, folder / f"{name}.argosmodel")


def runtime(folder: Path) -> Runtime:
    """See :class:`interlingua.interop.proof.Exporter`."""
    import sentencepiece

    (package,) = folder.glob("*.argosmodel")
    with TemporaryDirectory() as unpacked, zipfile.ZipFile(package) as archive:
        archive.extractall(unpacked)  # it was written a moment ago, by us
        (root,) = Path(unpacked).iterdir()
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(root / "sentencepiece.model"))
        search = ctranslate2_export.runtime(root / "model")

    def translate(sentences: Sequence[Sentence], beam_size: int, most: int) -> list[Output]:
        cut = [
            Sentence(each.text, each.ids, tuple(pieces.encode(each.text, out_type=str)))
            for each in sentences
        ]
        outputs = search(cut, beam_size, most)
        texts = [pieces.decode(list(each.tokens)) for each in outputs]
        return [
            Output(each.tokens, each.score, text) for each, text in zip(outputs, texts, strict=True)
        ]

    return translate


def usage(loaded: LoadedModel, folder: Path) -> str:
    """See :class:`interlingua.interop.proof.Exporter`."""
    (package,) = folder.glob("*.argosmodel")
    pair = f"--from {loaded.source_lang} --to {loaded.target_lang}"
    return f"""With [Argos Translate](https://github.com/argosopentech/argos-translate) 1.11 or later:

    argospm install {package.name}
    argos-translate {pair} "..."

[LibreTranslate](https://github.com/LibreTranslate/LibreTranslate) serves what is installed for Argos Translate on the same machine.
Both cut a text into sentences first, here by the marks that end them, and search with a beam of 4 and scores divided by
length^0.2, where `interlingua translate` divides by ((5 + length) / 6)^{loaded.decoding.length_penalty}."""


def _refuse(loaded: LoadedModel) -> None:
    """Raise an ExportError for what a package cannot hold."""
    if not loaded.tokenizers.shared:
        raise ExportError(
            "an Argos package has one SentencePiece model for both sides, and this model has a tokenizer for each; "
            "train with tokenization.shared = true, or export with --format ctranslate2"
        )
    for code in (loaded.source_lang, loaded.target_lang):
        if not _CODE.fullmatch(code):
            raise ExportError(
                f"{code!r} is no language code, which an Argos package is named by; "
                "train with corpus.source_lang and corpus.target_lang such as ro and en"
            )


def _metadata(loaded: LoadedModel) -> dict[str, Any]:
    source, target = loaded.source_lang, loaded.target_lang
    return {
        "package_version": VERSION,
        "argos_version": _ARGOS_VERSION,
        "from_code": source,
        "from_name": _NAMES.get(source, source),
        "to_code": target,
        "to_name": _NAMES.get(target, target),
        "type": "translate",
    }


def _readme(loaded: LoadedModel) -> str:
    return (
        f"# {loaded.source_lang} to {loaded.target_lang}\n\nTrained with Interlingua. The card beside the package tells "
        "on what, how well it translates, and how that was proved.\n"
    )


def _pack(root: Path, package: Path) -> None:
    """Write the folder as a ZIP archive, in an order and with times that do not depend on the moment."""
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(root.parent).as_posix())
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, file.read_bytes())
