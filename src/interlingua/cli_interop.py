"""The ``export`` and ``import`` commands: models of this package in other formats, and models of other programs here."""

from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli_streams import note, print_json, say

if TYPE_CHECKING:
    from interlingua.interop.export import Exported

__all__ = ["export"]


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
) -> None:
    """Write a model in the format of another program, and prove that it translates the same there.

    Validation sentences go through both programs; if they disagree, nothing is written.

    Args:
        model: run folder or model folder.
        format: ctranslate2, onnx, html or argos.
        output: folder to write, which must not be there yet.
        quantization: numbers of the weights, such as int8; by default the model's own, float32, and int8 for html.
        verify: file of source sentences for the proof, and a second one of their translations; by default the
            validation sentences kept with the model.
        no_verify: leave the proof out; the card then says so.
        licence: licence of the training data, for the card.
        json: print the result as JSON.
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
        say=note,
    )
    print_json(_list(exported)) if json else say(_describe(exported))


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
