"""The ``adapt`` command: corrections learnt for good, if nothing is lost by it."""

import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.flags import MachineFlags
from interlingua.cli.streams import note, print_json, say
from interlingua.errors import ConfigError, CorpusError, TrainingError

if TYPE_CHECKING:
    from interlingua.checkpoints.model_folder import LoadedModel
    from interlingua.corpus.corrections import Correction
    from interlingua.training.comparison import Difference

__all__ = ["adapt"]

_MACHINE = MachineFlags()


def adapt(
    model: Path,
    *,
    corrections: Path | None = None,
    source: tuple[Path, ...] = (),
    target: tuple[Path, ...] = (),
    keep_source: tuple[Path, ...] = (),
    keep_target: tuple[Path, ...] = (),
    output: Path | None = None,
    json: bool = False,
    machine: MachineFlags = _MACHINE,
) -> int:
    """Train an adapter on corrections and old text; keep as much of it as forgets nothing.

    Args:
        model: run folder or model folder.
        corrections: folder of corrections; by default that of interlingua correct MODEL.
        source: old text to mix in; by default what the run learnt from.
        target: its translation.
        keep_source: text that it was not trained on, which decides; by default the run's validation text.
        keep_target: its translation.
        output: adapter folder, for translate --adapter; by default adapter beside the corrections.
        json: print what was measured as JSON.
    """
    for name, sources, targets in (("", source, target), ("keep-", keep_source, keep_target)):
        if len(sources) != len(targets):
            raise ConfigError(
                f"--{name}source names {len(sources)} and --{name}target {len(targets)} files; line N of one translates line N of the other, so "
                "give as many of both"
            )
    from interlingua.checkpoints.model_folder import load_model_folder
    from interlingua.cli.results import exit_status_of
    from interlingua.requests.remembering import default_folder
    from interlingua.training.lasting import adapt as learn
    from interlingua.training.old_text import OldText

    folder = corrections or default_folder(model)
    loaded = load_model_folder(model)
    if (kind := loaded.model.architecture.kind) != "transformer":
        raise ConfigError(
            f"{model}: an adapter is for the matrices of a Transformer, and the model is of the kind {kind}; follow the corrections with "
            "translate --corrections"
        )
    found = _usable(folder, loaded)
    old = OldText(source, target, keep_source, keep_target)
    kept = output or folder / "adapter"
    adapted = learn(
        model,
        loaded,
        found,
        old,
        kept,
        place=folder,
        device=machine.device,
        threads=machine.threads,
        say=note,
    )
    differences = adapted.differences
    if json:
        print_json(
            {
                "adapter": None if adapted.refused else kept,
                "refused": adapted.refused,
                "share": adapted.share,
                "corrections": len(found),
                "differences": [
                    asdict(each) | {"text": _name(each), "verdict": each.verdict}
                    for each in differences
                ],
            }
        )
    else:
        say("".join(f"{each.in_words(_name(each))}\n" for each in differences))
    if adapted.result.signal is not None:
        return exit_status_of(adapted.result)
    if adapted.refused:
        raise TrainingError(
            f"{kept}: the adapter is not kept, and nothing is changed: {adapted.refused}; translate --corrections {shlex.quote(str(folder))} follows the "
            "corrections without it, and more old text (--source, --target) or more corrections may make another one good"
        )
    if not json:
        into = _into(loaded, found)
        names = shlex.join(["translate", str(model), *into, "--adapter", str(kept)])
        part = "" if adapted.share == 1 else f", {adapted.share:.0%} of what was trained"
        say(f"kept: {kept}{part}\nnext: interlingua {names} ...\n")
    return 0


def _usable(folder: Path, loaded: "LoadedModel") -> "list[Correction]":
    """Return of each source the latest correction that the model can learn, and say how many it cannot."""
    from interlingua.corpus.corrections import every_correction
    from interlingua.directions import in_words
    from interlingua.requests.remembering import Spelled, spelling_of, try_to_spell

    every, damaged = every_correction(folder)
    if damaged:
        raise CorpusError(damaged[0])
    told = [each for each in every if each.direction in loaded.known]
    tried = [try_to_spell(each, loaded.tokenizers, loaded.max_length) for each in told]
    found = [each for each, made in zip(told, tried, strict=True) if isinstance(made, Spelled)]
    if not found:
        raise CorpusError(
            f"{folder}: holds no correction of {in_words(loaded.known)} that can be learnt; add some with interlingua correct"
        )
    if others := len(every) - len(told):
        note(
            f"{others:,} of {len(every):,} corrections are of none of the pairs of languages that the model was trained on, "
            f"{in_words(loaded.known)}; they are left out"
        )
    if len(found) < len(told):
        note(
            f"{len(told) - len(found):,} of {len(told):,} corrections have characters that the model does not know, are blank, or "
            "too long for it; they are left out"
        )
    spelling = partial(spelling_of, tokenizer=loaded.tokenizers.source)
    return list({each.place(spelling): each for each in found}.values())


def _into(loaded: "LoadedModel", corrections: "list[Correction]") -> list[str]:
    """Return what chooses a language of the corrections, where the model has several to choose from."""
    return ["--to", min(each.target_lang for each in corrections)] if loaded.directions else []


def _name(each: "Difference") -> str:
    """The run validates on the corrections, and keeps the text that was held out; of several pairs of languages it says which."""
    _, *direction = each.text.split()
    return " ".join(["held-out text" if each.is_of_kept else "corrections", *direction])
