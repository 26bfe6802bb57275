"""The folder that ``back-translate`` and ``distill`` write: whose it is, its pairs, its report, and the configuration to train on them."""

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interlingua.bulk.parts import begun_in
from interlingua.bulk.worker import Recipe
from interlingua.cli.streams import note
from interlingua.config import RunConfig
from interlingua.config_files import save_config, write_config
from interlingua.errors import ConfigError, OutputError
from interlingua.files import write_text
from interlingua.training.resuming import in_words
from interlingua.training.run_folder import RunFolder
from interlingua.training.synthetic import SyntheticCorpus, Written

__all__ = [
    "RUN",
    "TRANSLATED",
    "check_output",
    "describe",
    "refuse_another_text",
    "refuse_foreign",
    "refuse_other_pairs",
    "save_run",
    "sides_in",
    "write_run",
]

TRANSLATED, REPORT, RUN = "translated", "report.json", "run"


def check_output(
    output: Path, stems: Sequence[str], config: str, read: Sequence[Path | None]
) -> None:
    """Refuse a folder that holds what this command neither writes nor wrote, or what it reads.

    Args:
        output: the folder.
        stems: what the names of its pairs begin with; which languages they end in may have been told otherwise before.
        config: name of the configuration that it writes; the run of that, and those that ``--fresh`` set aside, are its own too.
        read: files that the command reads.

    Raises:
        OutputError: such a folder, or a file of that name.
    """
    place = output.resolve()
    for path in filter(None, read):
        if place in path.resolve().parents:
            raise OutputError(f"{output}: holds {path}, which is read; give another --output")
    pairs = "|".join(map(re.escape, stems))
    own = re.compile(
        rf"{TRANSLATED}|{re.escape(REPORT)}|{re.escape(config)}|({pairs})\..+|{RUN}(\.\d+)?"
    )
    refuse_foreign(output, lambda name: own.fullmatch(name) is not None)


def refuse_foreign(output: Path, is_own: Callable[[str], bool]) -> None:
    """Raise an OutputError for a file, and for a folder that holds a name that this command does not write."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file; give the name of a folder")
    if output.is_dir():
        names = {each.name for each in output.iterdir() if not each.name.startswith(".")}
        if others := {name for name in names if not is_own(name)}:
            raise OutputError(
                f"{output}: holds {min(others)}, which this command did not write; give another --output"
            )


def refuse_another_text(output: Path, text: Path) -> None:
    """Raise a ConfigError for a folder in which a text of another name was translated; ``FileJob`` knows other content of the same name."""
    if others := [name for name in begun_in(output / TRANSLATED) if name != text.name]:
        raise ConfigError(
            f"{output}: is of another text, {others[0]}, whose translation is in {output / TRANSLATED}; give another --output for {text}"
        )


def refuse_other_pairs(output: Path, job: SyntheticCorpus, **settings: Any) -> None:
    """Refuse to choose other pairs than a training that has begun in ``output`` reads.

    Args:
        output: the folder, with the report of the pairs that are there.
        job: what is asked for.
        settings: more that decides which pairs there are, by the names of the report.

    Raises:
        ConfigError: it says what differs.
    """
    run, before = output / RUN, _reported(output)
    if not RunFolder(run).has_checkpoints():
        return
    for name, value in {**_filter_of(job), **settings}.items():
        if name in before and before[name] != value:
            raise ConfigError(
                f"{run}: learns from pairs that were made with {name} = {in_words(before[name])}, not {in_words(value)}; go on like that, "
                "rename or remove that folder, or give another --output"
            )


def sides_in(output: Path, stem: str, source_lang: str, target_lang: str) -> tuple[Path, Path]:
    """Return where the two sides of a corpus go; their suffixes are the languages, which may be the same."""
    names = (stem, stem) if source_lang != target_lang else (f"{stem}.source", f"{stem}.target")
    return output / f"{names[0]}.{source_lang}", output / f"{names[1]}.{target_lang}"


def save_run(config: RunConfig, path: Path) -> str | None:
    """Do what ``write_run`` does, and say what comes next."""
    written = write_run(config, path)
    note(f"next: interlingua train {shlex.quote(str(path))}")
    return written


def write_run(config: RunConfig, path: Path) -> str | None:
    """Write a configuration that ``train`` takes, unless somebody changed the one that is there.

    What a model that it begins with decides is left open.

    Returns:
        The SHA-256 of what was written, for the report beside it, by which the next call knows a change; None if nothing was.
    """
    whole = not config.start.begins_with_a_model
    now = _sha256(write_config(config, whole=whole).encode())
    own = (now, _reported(path.parent).get("config_sha256"))
    if path.is_file() and _sha256(path.read_bytes()) not in own:
        note(
            f"{path}: is not as this command wrote it, and stays; remove it to have it written anew"
        )
        return None
    save_config(config, path, whole=whole)
    return now


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def describe(
    written: Written,
    job: SyntheticCorpus,
    recipe: Recipe,
    output: Path,
    config_sha256: str | None,
    **settings: Any,
) -> dict[str, Any]:
    """Keep in ``report.json`` what the corpus came to and how it was made, and return it."""
    options = {name: value for name, value in recipe.options.items() if value is not None}
    told = {
        **asdict(written),
        "source": str(job.source),
        "target": str(job.target),
        "models": [str(model) for model in (recipe.model, *recipe.ensemble)],
        "text": str(job.text),
        **_filter_of(job),
        "options": options,
        **settings,
        "config_sha256": config_sha256 or _reported(output).get("config_sha256"),
    }
    write_text(output / REPORT, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return told


def _filter_of(job: SyntheticCorpus) -> dict[str, Any]:
    return {
        "reference": str(job.reference) if job.reference else None,
        "keep": job.keep,
        "min_score": job.min_score,
        "held_out": list(map(str, job.held_out)),
    }


def _reported(output: Path) -> dict[str, Any]:
    """Return what the report of a folder tells; nothing where there is none that can be read."""
    try:
        told = json.loads((output / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}
