"""The ``calibrate`` command: fit a confidence to pairs with references, and keep it with the model."""

import shlex
from pathlib import Path

from interlingua.cli.flags import MachineFlags
from interlingua.cli.streams import print_json, read_aligned, refuse_figure, refuse_unwritable, say
from interlingua.errors import ConfigError, ModelError

__all__ = ["calibrate"]

_MACHINE = MachineFlags()


def calibrate(
    model: Path,
    *,
    source: Path,
    reference: Path,
    diagram: Path | None = None,
    json: bool = False,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Fit how sure one may be of a translation, so that translate --confidence can tell.

    Give pairs that the model was not trained on, a hundred at least; the fit is judged on pairs that it did not see.

    Args:
        model: run folder or model folder, which gets the file calibration.json.
        source: text to translate, one sentence a line.
        reference: its translation, line by line.
        diagram: file for the reliability diagram (.png or .svg).
        json: print the figures as JSON.
    """
    refuse_figure(diagram)
    sources, (references,) = read_aligned(source, [reference])
    from interlingua.checkpoints.manifest import listed_sha256
    from interlingua.checkpoints.model_folder import (
        add_to_model_folder,
        find_model_folder,
        read_directions,
    )
    from interlingua.evaluation.calibration import calibrate as fit
    from interlingua.requests.confidence import CALIBRATION
    from interlingua.training.run_folder import RunFolder
    from interlingua.translator import Translator

    if read_directions(model):
        raise ConfigError(
            f"{model}: is of several pairs of languages, and a calibration is of one; calibrate a model of one pair"
        )
    folder = find_model_folder(model)
    refuse_unwritable(folder)
    with RunFolder(folder.parent).held():
        translator = Translator.load(model, device=machine.device, threads=machine.threads)
        weights = listed_sha256(folder, "model.safetensors")
        calibration, reliability = fit(translator, sources, references)
        if listed_sha256(folder, "model.safetensors") != weights:
            raise ModelError(f"{folder}: got other weights during the fit; calibrate again")
        add_to_model_folder(folder, CALIBRATION, calibration.to_json())
    if diagram is not None:
        from interlingua.inspection.canvas import write_figure
        from interlingua.inspection.reliability import draw_reliability

        write_figure(draw_reliability(reliability), diagram)
    told = {
        "pairs": calibration.pairs,
        "median_chrf": calibration.median_chrf,
        "calibration_error": reliability.error,
        "area_under_curve": reliability.area,
        "file": folder / CALIBRATION,
    }
    if json:
        print_json(told)
        return
    say(
        f"{calibration.pairs:,} pairs, median chrF {calibration.median_chrf:.2f}; on pairs held back from each fit: "
        f"expected calibration error {reliability.error:.3f}, area under the curve {reliability.area:.3f}\n"
        f'{folder / CALIBRATION}\nnext: interlingua translate {shlex.quote(str(model))} --confidence "..."\n'
    )
