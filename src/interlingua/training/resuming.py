"""An earlier run of the same name: what it was started with, what may be changed about it, moving it away."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from interlingua.checkpoints.store import had_none
from interlingua.config import RunConfig, TrainingConfig
from interlingua.config_contradictions import contradictions_in
from interlingua.config_files import load_config, save_config
from interlingua.corpus.corrections import CORRECTIONS
from interlingua.errors import ConfigError, ModelError, OutputError
from interlingua.files import (
    remove_folder,
    replace_file,
    temporary_neighbour,
    write_text,
)
from interlingua.training.run_folder import TOKENIZER_FILES, RunFolder
from interlingua.training.starting import is_same_start

__all__ = [
    "OF_THE_TEXT",
    "changed_settings",
    "earlier_config",
    "fixed_settings",
    "in_words",
    "machine_of",
    "refuse_text_within",
    "refuse_to_overwrite",
    "rename_aside",
    "resumed_config",
    "set_aside",
]

MAY_CHANGE = {
    *("steps", "epochs", "minutes", "patience", "validate_every", "validate_sentences"),
    *("average_last", "keep_checkpoints", "threads", "device", "dtype", "plain", "shard"),
    *("non_finite", "worker_timeout"),
    *("peak_learning_rate", "warmup_steps", "clip_norm"),
}
"""Settings of training that a resumed run takes anew: how long, where, and how large its steps are."""
_OFF = {"clip_norm", "ema", "epochs", "minutes", "temperature"}
"""Settings that none switches off; of others it leaves the choice, and a run has chosen."""
_NEVER_TYPED = {
    name for name, field in TrainingConfig.model_fields.items() if field.default is not None
}
"""Settings that all stand together only in the file that a run has written itself."""
_OF_THE_MACHINE = ("threads", "device", "worker_timeout")
"""What has to be known before a run can be looked into."""
OF_THE_TEXT = (
    *("source_lang", "target_lang", "directions", "valid_directions", "valid_size"),
    *("weights", "temperature", "tags"),
    *("noise", "denoise", "denoise_span", "denoise_reach", "mask"),
)
"""Settings of the corpus that its files do not tell."""
_OF_THE_START = ("freeze", "lora_rank", "lora_alpha", "lora_on")
"""Settings of the start that decide what is trained at all."""


def earlier_config(folder: RunFolder) -> RunConfig | None:
    """Return the resolved configuration of the run in ``folder``, if there is one.

    Raises:
        ModelError: the folder holds a run whose configuration cannot be read.
    """
    if not folder.config.exists():
        return None
    try:
        return load_config(folder.config)
    except ConfigError as error:
        raise ModelError(
            f"{folder.path}: the configuration of the run there cannot be read ({error}); "
            "use --fresh to start anew"
        ) from error


def machine_of(asked: RunConfig, folder: RunFolder) -> TrainingConfig:
    """Return ``asked.training`` with what it leaves out of the machine (``_OF_THE_MACHINE``) as the run in ``folder`` has it.

    Raises:
        ModelError: the configuration of the run cannot be read.
    """
    earlier = earlier_config(folder)
    if earlier is None or not folder.has_checkpoints():
        return asked.training
    kept = {
        name: getattr(earlier.training, name)
        for name in _OF_THE_MACHINE
        if name not in asked.training.model_fields_set or getattr(asked.training, name) is None
    }
    return asked.training.model_copy(update=kept)


def resumed_config(asked: RunConfig, folder: RunFolder) -> RunConfig:
    """Return ``asked``, or, if training has begun in ``folder``, that run's configuration brought up to it.

    In a resumed run every choice that was made stays, and what is asked for must agree with it. Only what was set on
    purpose counts; a setting left out is what the run has. The corpus is compared by its content, not here.

    Raises:
        ConfigError: a setting differs that cannot be changed in the middle of a run.
        ModelError: the configuration of the run cannot be read.
    """
    earlier = earlier_config(folder)
    if earlier is None or not folder.has_checkpoints():
        return asked
    _refuse_edits(earlier, folder)
    sections, different = {}, []
    for section in ("corpus", "start", "tokenization", "batching", "model", "training", "decoding"):
        before, now = getattr(earlier, section), getattr(asked, section)
        changed = {
            name: getattr(now, name)
            for name in type(now).model_fields
            if name in now.model_fields_set and getattr(now, name) != getattr(before, name)
        }
        for name, value in changed.items():
            free = section == "decoding" or (section == "training" and name in MAY_CHANGE)
            if section == "corpus" and name not in ("embedded", "valid_size"):
                free = True
            if name in ("init_from", "encoder_from") and getattr(before, name) and value:
                free = is_same_start(folder, value)  # it may lie elsewhere now
            if not free and (value is not None or name in _OFF):
                was = in_words(getattr(before, name))
                different.append(f"{section}.{name} = {was}, not {in_words(value)}")
        taken = {
            name: value for name, value in changed.items() if value is not None or name in _OFF
        }
        if section == "training" and "epochs" in taken and not _asks_for_steps(now, taken):
            taken["steps"] = None  # the number that followed from the earlier epochs
        sections[section] = before.model_copy(update=taken)
    if different:
        raise ConfigError(
            f"{folder.path}: was started with {'; '.join(different)}; use --fresh to start anew, "
            "or another --run-dir"
        )
    merged = earlier.model_copy(update={"run_dir": folder.path, **sections})
    _refuse_contradictions(merged, folder)
    return merged


def in_words(value: object) -> str:
    """Write the value of a setting for a person."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "nothing"
    return str(value)


def _asks_for_steps(asked: TrainingConfig, changed: Container[str]) -> bool:
    """Tell whether a number of updates is meant; in the file of the run itself one stands, whoever chose it."""
    is_own_file = asked.model_fields_set >= _NEVER_TYPED
    return "steps" in changed or ("steps" in asked.model_fields_set and not is_own_file)


def refuse_to_overwrite(folder: RunFolder) -> None:
    """Refuse to begin anew over a model that was trained here, when all checkpoints that training could go on from are gone.

    A run that was killed between its first model and its first checkpoint has left a note of it, and begins again.

    Raises:
        ConfigError: there is a model, and no such note.
    """
    if folder.has_checkpoints() or not folder.model.exists():
        return
    if not had_none(folder.checkpoints):
        raise ConfigError(
            f"{folder.path}: holds a trained model, and no checkpoints to go on from; put them back, or use --fresh, which starts anew "
            "and keeps this run under another name, or use another --run-dir"
        )


def fixed_settings(config: RunConfig, folder: RunFolder) -> dict[str, Any]:
    """Return what no update of a run may change: settings by their full names, and the checksum of each file of its tokenizers."""
    tree = config.model_dump(mode="json")
    training = {name: value for name, value in tree["training"].items() if name not in MAY_CHANGE}
    sections = {
        **{name: tree[name] for name in ("tokenization", "batching", "model")},
        "training": training,
        "corpus": {name: tree["corpus"][name] for name in OF_THE_TEXT},
        "start": {name: tree["start"][name] for name in _OF_THE_START},
    }
    files = folder.tokenizer_checksums()
    return {
        **{
            f"{part}.{name}": each for part, some in sections.items() for name, each in some.items()
        },
        **{f"tokenizer/{name}": checksum for name, checksum in files.items()},
    }


def changed_settings(began: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the name and the earlier value of each of the :func:`fixed_settings` that is another now.

    Earlier versions had fewer settings, and listed whatever lay beside a tokenizer, of which nothing was learnt.
    """
    for name, value in began.items():
        if now.get(name) != value and (name in now or _is_tokenizer(name)):
            yield name, value


def _is_tokenizer(name: str) -> bool:
    return name.removeprefix("tokenizer/") in TOKENIZER_FILES


def _refuse_edits(earlier: RunConfig, folder: RunFolder) -> None:
    """Refuse to go on with a configuration or tokenizer that somebody changed in the run folder since its last start.

    Raises:
        ConfigError: what the weights were learnt with is no longer there; the message has both values.
    """
    try:
        known = folder.read_settings()
    except ModelError:
        return  # it is written again
    began = known[-1].get("fixed", {}) if known else {}
    now = fixed_settings(earlier, folder)
    for name, value in changed_settings(began, now):
        if _is_tokenizer(name):
            raise ConfigError(
                f"{folder.path / name}: is not what the run learnt with ({'gone' if name not in now else 'changed'}); "
                f"copy it from {folder.model}, or use --fresh to start anew"
            )
        raise ConfigError(
            f"{folder.config}: {name} is {now.get(name)}, and the run was started with {value}; put that back, or use --fresh "
            "to start anew"
        )


def _refuse_contradictions(merged: RunConfig, folder: RunFolder) -> None:
    """Refuse what may change but does not go with what stays; the corpus is compared by its content."""
    for key, reason in contradictions_in(merged):
        if key.startswith("training."):
            raise ConfigError(f"{folder.path}: goes on as it was started, and {reason}")


def refuse_text_within(run: Path, text: Iterable[Path]) -> None:
    """Refuse text that lies in a run which is to be set aside: it would no longer be where it was named.

    Raises:
        ConfigError: there is some.
    """
    for path in text:
        if run.resolve() in path.resolve().parents:
            raise ConfigError(
                f"{path}: lies in the folder of the run that --fresh puts aside; copy the text elsewhere and name that, or give another "
                "--run-dir"
            )


def set_aside(path: Path) -> Path | None:
    """Rename an existing run to NAME.1 (or the next free number); return its new name.

    Its configuration then names the new folder, so that training from it does not go on in the other one. What people corrected
    is then in both: it is of the text, not of these weights, and whoever serves with it knows it by its old name.

    Raises:
        OutputError: it is not a run, or cannot be renamed; or its corrections cannot be copied.
        TrainingError: another process is training in it.
    """
    if not path.exists():
        return None
    if not path.name:
        raise OutputError(
            f"{path}: has no name that .1 could be put after; choose another --run-dir"
        )
    told = RunFolder(path).corrections / CORRECTIONS
    with ExitStack() as held:
        held.enter_context(RunFolder(path).locked())
        copy = None  # made before the run is renamed: whoever is interrupted has not lost what was told
        if told.is_file():
            copy = temporary_neighbour(path)
            held.callback(remove_folder, copy)
            with replace_file(RunFolder(copy).corrections / CORRECTIONS) as file:
                file.write(told.read_bytes())
        new = rename_aside(path)
        if copy:
            copy.rename(path)
    moved = RunFolder(new)
    try:
        config = earlier_config(moved)
    except ModelError:
        return new  # its configuration could not be read before, and is kept as it is
    if config is not None:
        save_config(config.model_copy(update={"run_dir": new}), moved.config)
    _name_anew(moved, path)
    return new


def rename_aside(path: Path) -> Path:
    """Rename a folder to NAME.1 (or the next free number); return its new name.

    Raises:
        OutputError: it cannot be renamed.
    """
    number = 1
    while (new := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    try:
        return path.rename(new)
    except OSError as error:
        raise OutputError(f"{path}: cannot be renamed ({error.strerror})") from error


def _name_anew(moved: RunFolder, before: Path) -> None:
    """Have the names of texts that lie in a run follow it, as another run will lie where it was."""
    with suppress(OSError, ValueError, AttributeError):  # what cannot be read is kept as it is
        entries = json.loads(moved.corpus_lock.read_text(encoding="utf-8"))
        places = {
            name: moved.path / Path(name).relative_to(before)
            for name in entries
            if Path(name).is_relative_to(before)
        }
        if places:
            named = {
                places[name].as_posix() if name in places else name: entry
                for name, entry in entries.items()
            }
            write_text(moved.corpus_lock, json.dumps(named, indent=2) + "\n")
