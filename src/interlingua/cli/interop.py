"""The ``export`` and ``import`` commands: models of this package in other formats, and models of other programs here."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.streams import note, print_json, say

if TYPE_CHECKING:
    from interlingua.interop.export import Exported
    from interlingua.interop.import_model import ImportedModel

__all__ = ["export", "import_"]


def export(
    model: Path,
    *,
    format: str,  # the name of the flag
    output: Path,
    quantization: str | None = None,
    verify: tuple[Path, ...] = (),
    no_verify: bool = False,
    licence: str | None = None,
    json: bool = False,
    to: str | None = None,
) -> None:
    """Write a model in the format of another program, and prove that it translates the same there.

    Validation sentences go through both programs; if they disagree, nothing is written.

    Args:
        model: run folder or model folder.
        format: ctranslate2, marian, onnx, html or argos.
        output: folder to write, which must not be there yet.
        quantization: numbers of the weights, such as int8; by default the model's own, float32, and int8 for html.
        verify: file of source sentences for the proof, and a second one of their translations; by default the
            validation sentences kept with the model.
        no_verify: leave the proof out; the card then says so.
        licence: licence of the training data, for the card.
        json: print the result as JSON.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro): the copy is of this pair.
    """
    from interlingua.interop.export import export_model

    exported = export_model(
        model,
        output,
        format_name=format,
        quantization=quantization,
        verify=verify,
        is_proved=not no_verify,
        licence=licence,
        to=to,
        say=note,
    )
    print_json(_list(exported)) if json else say(_describe(exported))


def import_(
    path: Path,
    *,
    output: Path,
    source_lang: str | None = None,
    target_lang: str | None = None,
    target_tag: str | None = None,
    json: bool = False,
) -> None:
    """Bring in a model of another program: a folder of MarianMT (OPUS-MT), Marian or CTranslate2.

    Nothing in the folder is executed; what is not the Transformer of the paper is refused with the reason.

    Args:
        path: its folder.
        output: model folder to write, which must not be there yet.
        source_lang: language of the source, where the files do not tell.
        target_lang: language of the target, where the files do not tell.
        target_tag: of a model for several target languages, the one to use where a text has no tag of its own (fra).
        json: print the result as JSON.
    """
    from interlingua.interop.import_model import import_model

    imported = import_model(
        path,
        output,
        source_lang=source_lang,
        target_lang=target_lang,
        target_tag=target_tag,
        say=note,
    )
    if json:
        print_json(asdict(imported))
    else:
        say(_describe_import(imported))


import_.__name__ = "import"  # what it is called; Python keeps the word for itself


def _describe_import(imported: "ImportedModel") -> str:
    return (
        f"{imported.program}: {imported.source_lang} to {imported.target_lang}, "
        f"{imported.parameters:,} parameters, in {imported.folder}\n"
        f'next: interlingua translate {shlex.quote(str(imported.folder))} "..."\n'
    )


def _list(exported: "Exported") -> dict[str, object]:
    return {
        "folder": exported.folder,
        "format": exported.format,
        "quantization": exported.precision,
        "files": dict(exported.files),
        "proof": exported.proof.to_dict() if exported.proof else None,
    }


def _describe(exported: "Exported") -> str:
    proof = exported.proof.to_markdown() if exported.proof else "Not proved (--no-verify).\n"
    size = sum(size for _, size in exported.files)
    return f"{proof}\n{exported.folder}: {exported.format}, {exported.precision}, {size / 1e6:.1f} MB\n"
