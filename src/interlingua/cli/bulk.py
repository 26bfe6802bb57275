"""The ``translate`` command on whole files and folders, restartable, here or on a Ray cluster."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.bulk.parts import FileJob, Part, find_files, only_one
from interlingua.bulk.worker import Recipe, Worker, open_translator
from interlingua.checkpoints.adapter_folder import find_adapter_folder
from interlingua.checkpoints.manifest import MANIFEST, check_manifest, listed_files
from interlingua.checkpoints.model_folder import find_model_folder
from interlingua.checkpoints.sentences import SENTENCES
from interlingua.cli.flags import ShowFlags
from interlingua.cli.marks import note_opened
from interlingua.cli.streams import note, progress_bar
from interlingua.corpus.corrections import every_correction
from interlingua.errors import ConfigError
from interlingua.requests.confidence import CALIBRATION
from interlingua.training.progress import in_words as duration
from interlingua.translator import Translator

__all__ = ["Cost", "measure_cost", "translate_files", "waiting_parts"]

SAMPLE_LINES = 64
"""Lines that are translated to tell how long all will take."""


def translate_files(
    source: str | None,
    output: str,
    recipe: Recipe,
    flags: ShowFlags,
    translator: Translator | None = None,
) -> Counter[str]:
    """Translate a file or every file of a folder into the folder ``output``, and return the marks of this run.

    What a former run of the same command finished is not done again. ``translator`` works here, if it was opened by the recipe
    before.

    Raises:
        ConfigError: no file or no folder is given, or the folder belongs to another command.
        CorpusError: a file is missing or not UTF-8; nothing is translated then.
        OutputError: something cannot be written.
        ModelError: a model that cannot be read.
    """
    if source in (None, "-") or output == "-":
        raise ConfigError(
            "files are translated from --input FILE_OR_FOLDER to --output FOLDER; give both"
        )
    folder = Path(output)
    files = find_files(Path(str(source)))
    _note_folders_inside(Path(str(source)))
    if folder.resolve() in (file.resolve().parent for file in files):
        raise ConfigError(f"{folder}: holds the text itself; give another --output")
    asked, earlier = _fingerprints(recipe)
    with only_one(folder):
        jobs = [FileJob(file, folder, asked, flags.part_lines, earlier) for file in files]
        if recipe.form != "scored":  # which takes the ends of lines away
            for remark in filter(None, (job.remark for job in jobs)):
                note(remark)
        marks = _work(jobs, recipe, flags, translator)
    note(f"{sum(job.num_lines for job in jobs):,} lines in {_files(len(jobs))} of {folder}")
    return marks


def waiting_parts(source: Path, output: Path, recipe: Recipe, part_lines: int) -> list[Part]:
    """Return what ``translate_files`` would have to translate of one file; nothing is written.

    Raises:
        CorpusError: the file is missing, or not UTF-8.
        ConfigError: the folder belongs to another command.
        OutputError: it holds a file of that name which no such command wrote.
    """
    asked, earlier = _fingerprints(recipe)
    return FileJob(source, output, asked, part_lines, earlier).waiting()


@dataclass(frozen=True, slots=True)
class Cost:
    """How long it takes to translate a text, found out by some of its lines."""

    lines: int
    seconds: float
    sampled: int
    sample_seconds: float

    def in_words(self) -> str:
        """Tell it to a person."""
        return (
            f"{self.lines:,} lines to translate, about {duration(self.seconds)} "
            f"({self.sampled} of them took {self.sample_seconds:.1f} s)"
        )


def measure_cost(waiting: Sequence[Part], recipe: Recipe, translator: Translator) -> Cost:
    """Translate a few lines from all over the text, and reckon how long all will take."""
    parts = [waiting[place * len(waiting) // 4] for place in range(4)]
    lines = [line for part in dict.fromkeys(parts) for line in part.read()]
    most = min(SAMPLE_LINES, len(lines))
    spread = [lines[place * len(lines) // most] for place in range(most)]
    sample = [line for line in spread if line.strip()]
    started = time.monotonic()
    translator.translate(sample, **recipe.options)
    seconds = time.monotonic() - started
    taken = sum(len(line.encode("utf-8")) + 1 for line in sample)
    whole = sum(part.end - part.start for part in waiting)
    number = sum(part.num_lines for part in waiting)
    return Cost(number, seconds * whole / max(taken, 1), len(sample), seconds)


def _work(
    jobs: Sequence[FileJob], recipe: Recipe, flags: ShowFlags, translator: Translator | None
) -> Counter[str]:
    marks = Counter[str]()
    for job in jobs:
        job.begin()
    by_source = {str(job.source.absolute()): job for job in jobs}
    waiting = [part for job in jobs for part in job.waiting()]
    left = Counter(part.source for part in waiting)
    whole = sum(job.num_lines for job in jobs)
    done = whole - sum(part.num_lines for part in waiting)
    if done:
        note(f"{done:,} of {whole:,} lines were translated before")
    with progress_bar("lines") as progress:
        for part, text, found in _translate(waiting, recipe, flags, translator):
            by_source[part.source].keep(part, text)
            marks.update(found)
            left[part.source] -= 1
            if not left[part.source]:
                by_source[part.source].finish()
            done += part.num_lines
            progress(done, whole)
    for job in jobs:  # what was stopped just before its end, and files without a line
        job.finish()
    return marks


def _translate(
    parts: Sequence[Part], recipe: Recipe, flags: ShowFlags, translator: Translator | None
) -> Iterator[tuple[Part, str, Counter[str]]]:
    if not parts:
        return
    if flags.ray or flags.ray_address:
        from interlingua.bulk.ray_data import translate_on_ray

        yield from translate_on_ray(
            parts, recipe, address=flags.ray_address, workers=flags.ray_workers
        )
        return
    if translator is None:
        translator = open_translator(recipe)
        note_opened(translator)
    worker = Worker(recipe, translator)
    for part in parts:
        yield part, *worker.translate(part)


def _note_folders_inside(source: Path) -> None:
    """Say which folders in a folder of text are left out."""
    if source.is_dir():
        inside = [x.name for x in source.iterdir() if x.is_dir() and not x.name.startswith(".")]
        if inside:
            what = "folder inside it is" if len(inside) == 1 else "folders inside it are"
            note(
                f"{source}: {len(inside):,} {what} left out ({min(inside)}); translate each with a command of its own"
            )


def _fingerprints(recipe: Recipe) -> tuple[dict[str, object], dict[str, object]]:
    """Tell what a translation depends on besides the text, and the same as earlier versions told it."""
    ignored = {"README.md", SENTENCES}
    if not recipe.options.get("confidence"):
        ignored.add(CALIBRATION)

    def decisive(folder: Path) -> str:
        check_manifest(folder)
        files = {name: sha for name, sha in listed_files(folder).items() if name not in ignored}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()

    def whole(folder: Path) -> str:
        return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()

    return _fingerprint(recipe, decisive), _fingerprint(recipe, whole)


def _fingerprint(recipe: Recipe, checksum: Callable[[Path], str]) -> dict[str, object]:
    options = {name: value for name, value in recipe.options.items() if value is not None}
    if not options.get("sample"):  # chance falls otherwise on other batches
        options.pop("batch_tokens", None)  # of the machine, not of the answer
    if glossary := recipe.options.get("glossary"):
        options["glossary"] = [[term.source, term.target] for term in glossary.terms]
    further = [checksum(find_model_folder(model)) for model in recipe.ensemble]
    return {
        "model": checksum(find_model_folder(recipe.model)),
        **({"to": recipe.to} if recipe.to else {}),
        **({"ensemble": further} if further else {}),
        "adapter": checksum(find_adapter_folder(recipe.adapter)) if recipe.adapter else None,
        "dtype": recipe.dtype,
        "options": options,
        "json": recipe.form == "json",
        **({"corrections": _content_of(recipe.corrections)} if recipe.corrections else {}),
        **({"form": recipe.form} if recipe.form == "scored" else {}),
    }


def _content_of(corrections: Path) -> str:
    """Return a checksum of what a folder of corrections holds."""
    every, _ = every_correction(corrections)
    return hashlib.sha256("".join(each.to_json() for each in every).encode()).hexdigest()


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
