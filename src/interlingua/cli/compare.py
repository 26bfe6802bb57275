"""The ``compare`` command: systems side by side, with what is more than chance, and a page of what changed."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.flags import MachineFlags
from interlingua.cli.marks import note_other_languages, note_zero_shot, towards_text
from interlingua.cli.streams import note, open_named, read_aligned, say
from interlingua.corpus.lines import one_line
from interlingua.errors import ConfigError, CorpusError
from interlingua.files import given_twice, is_there, refuse_to_write_over, spelled_out

if TYPE_CHECKING:
    from interlingua.evaluation.systems import SystemOutputs, SystemsTable, TestSet

__all__ = ["MeasureFlags", "compare"]


@dataclass(frozen=True, slots=True)
class MeasureFlags:
    """By what systems are measured."""

    metrics: str = "bleu,chrf"
    """Any of bleu, chrf, chrf++, ter, rouge1, rouge2, rougel, wer, exact, comet (the installed comet-score), with commas between."""
    metric_command: tuple[str, ...] = ()
    """NAME=COMMAND that reads source, tab, output, tab, reference a line and writes a number a line."""
    comet: str = ""
    """Arguments for comet-score: --comet="--model Unbabel/wmt22-comet-da --gpus 0"."""


_MEASURE, _MACHINE = MeasureFlags(), MachineFlags()


def compare(
    *system: str,
    source: tuple[Path, ...],
    reference: tuple[Path, ...],
    output: Path | None = None,
    latex: Path | None = None,
    measure: MeasureFlags = _MEASURE,
    json: bool = False,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Compare systems on test sets: scores with significance, what changed, a LaTeX table.

    Args:
        system: NAME=PATH,PATH,... with a model or run a seed, or a file with what it says; the first is compared with.
        source: text to translate; several are several test sets.
        reference: its translation, line by line, one a source.
        output: page (HTML) to write, of the first two systems: what changed, sentence by sentence.
        latex: file to write the table to, with means, deviations and daggers.
        json: print every figure as JSON.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    named = [_Named.read(each) for each in system]
    _check(named, source, reference)
    written = [path for path in (output, latex) if path is not None]
    refuse_to_write_over(
        [*source, *reference, *(path for each in named for path in each.paths)], written
    )
    from interlingua.corpus.parallel import language_of
    from interlingua.evaluation.external import read_metrics, try_out
    from interlingua.evaluation.systems import compare_systems

    metrics, programs = read_metrics(measure.metrics, measure.metric_command, measure.comet)
    test_sets = _read_test_sets(source, reference)
    are_files = not any(path.is_dir() for each in named for path in each.paths)
    # A model knows its language, and files are of one test set.
    by_name = language_of(reference[0]) if are_files else None
    said = _read_files(named, test_sets, source)
    for each in named:
        each.check_models(to)
    try_out(programs, test_sets[0].sources, test_sets[0].references)
    # Both are opened before anything is translated: an hour of work must not end at a place that cannot be written.
    with open_named(output) as write_page, open_named(latex) as write_latex:
        texts = tuple(zip(source, reference, strict=True))
        translated = [each.translate(said, test_sets, machine, to, texts) for each in named]
        systems = [outputs for outputs, _ in translated]
        target_lang = next((lang for _, lang in translated if lang), by_name)
        table = compare_systems(
            systems, test_sets, metrics, segment_metrics=programs, target_lang=target_lang
        )
        # Told first: where the disk is full by now, page or LaTeX cannot take their places.
        say(table.to_json() if json else table.to_text())
        if write_page:
            write_page(_page(table, systems, test_sets, target_lang))
        if write_latex:
            write_latex(table.to_latex())
    if table.failures:
        raise ConfigError("; ".join(table.failures))


@dataclass(frozen=True, slots=True)
class _Named:
    """A system as it was typed: a name, and a model, run or file a seed."""

    name: str
    paths: tuple[Path, ...]

    @classmethod
    def read(cls, typed: str) -> "_Named":
        """Read ``NAME=PATH,PATH`` or a path.

        Raises:
            ConfigError: nothing is there, or the same twice.
        """
        path = Path(typed)
        if is_there(path):
            return cls(spelled_out(path).name, (path,))
        name, equals, listed = typed.partition("=")
        paths = tuple(map(Path, (listed if equals else typed).split(",")))
        for path in paths:
            if not is_there(path):
                raise ConfigError(
                    f"{path}: does not exist; a system is a model, a run, a file with translations, or NAME=PATH,PATH"
                )
        if (again := given_twice(paths)) is not None:
            raise ConfigError(
                f"{again}: is given twice for one system, and is one seed only; name each seed once"
            )
        return cls(name if equals else paths[0].name, paths)

    def check_models(self, to: str | None) -> None:
        """Refuse models that cannot be opened, before another one translates, and those that are one and the same.

        Raises:
            ModelError: a model that is damaged or not there yet.
            ConfigError: one that does not know the languages, or has the weights of another seed.
        """
        from interlingua.checkpoints.adapter_folder import weights_sha256
        from interlingua.checkpoints.model_folder import check_model_folder

        seen: dict[str, Path] = {}
        for path in filter(Path.is_dir, self.paths):
            check_model_folder(path, to)
            other = seen.setdefault(weights_sha256(path), path)
            if other is not path:
                raise ConfigError(
                    f"{path}: has the weights of {other}, and both are one seed of {self.name} only; leave one out, or train one with "
                    "another --training.seed"
                )

    def translate(
        self,
        said: dict[Path, tuple[str, ...]],
        test_sets: "list[TestSet]",
        machine: MachineFlags,
        to: str | None,
        texts: tuple[tuple[Path, Path], ...],
    ) -> "tuple[SystemOutputs, str | None]":
        """Return what every seed says of every test set, and in which language, if a model says it; ``said`` is what files say.

        ``texts`` are the source and the reference of each test set.

        Raises:
            ModelError: a model that cannot be read.
        """
        from interlingua.evaluation.systems import SystemOutputs

        found = [
            ((said[path],), None) if path in said else _outputs(path, test_sets, machine, to, texts)
            for path in self.paths
        ]
        first: dict[tuple[tuple[str, ...], ...], Path] = {}
        for path, (outputs, _) in zip(self.paths, found, strict=True):
            other = first.setdefault(outputs, path)
            if other is not path:
                note(
                    f"{path}: says what {other} says, line by line; if both are of one seed, leave one out: the test would take copies "
                    "for seeds that agree"
                )
        language = next((lang for _, lang in found if lang), None)
        return SystemOutputs(self.name, tuple(outputs for outputs, _ in found)), language


def _read_files(
    named: list[_Named], test_sets: "list[TestSet]", sources: tuple[Path, ...]
) -> dict[Path, tuple[str, ...]]:
    """Return what files say: one of another length is to be found before a model translates for minutes.

    Raises:
        ConfigError: a file of translations, and several test sets.
        CorpusError: a file that cannot be read, or of another length than the test set.
    """
    from interlingua.corpus.lines import read_lines, report_carriage_returns

    said = {}
    for path in (path for each in named for path in each.paths if not path.is_dir()):
        if len(test_sets) > 1:
            raise ConfigError(
                f"{path}: holds the translation of one test set, and {len(test_sets)} are given; name models, or one "
                "test set"
            )
        said[path] = lines = tuple(read_lines(path))
        if len(lines) != len(test_sets[0].sources):
            raise CorpusError(
                f"{path}: has {len(lines):,} lines, and {sources[0]} has {len(test_sets[0].sources):,}; a file of translations "
                "corresponds to the source line by line"
            )
        if remark := report_carriage_returns(path, lines):
            note(remark)
    return said


def _outputs(
    path: Path,
    test_sets: "list[TestSet]",
    machine: MachineFlags,
    to: str | None,
    texts: tuple[tuple[Path, Path], ...],
) -> tuple[tuple[tuple[str, ...], ...], str | None]:
    from interlingua.translator import Translator

    loaded = Translator.load(path, device=machine.device, threads=machine.threads, to=to)
    outputs = []
    for test_set, (source, reference) in zip(test_sets, texts, strict=True):
        one = towards_text(loaded, to, source)[0] if loaded.directions else loaded
        note_zero_shot(one)
        note_other_languages(one, path, source, reference)
        outputs.append(tuple(one_line(each.text) for each in one.translate(test_set.sources)))
    return tuple(outputs), loaded.target_lang


def _check(named: list[_Named], source: tuple[Path, ...], reference: tuple[Path, ...]) -> None:
    for path in (*source, *reference):
        if "=" in str(path) and not is_there(path):
            raise ConfigError(
                f"{path}: looks like a system, and stands behind --source or --reference, which take every file that follows; write the "
                "systems first"
            )
    if len(named) < 2:
        raise ConfigError(
            "give two systems or more; the first is the one that others are compared with"
        )
    names = [each.name for each in named]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two systems are called {name}; write NAME=PATH for each")
    if len(source) != len(reference):
        raise ConfigError(
            f"{len(source)} sources and {len(reference)} references are given; each test set has one of both"
        )


def _read_test_sets(source: tuple[Path, ...], reference: tuple[Path, ...]) -> "list[TestSet]":
    from interlingua.evaluation.systems import TestSet

    test_sets = []
    for name, one, other in zip(_short_names(source), source, reference, strict=True):
        sources, (references,) = read_aligned(one, [other])
        test_sets.append(TestSet(name, tuple(sources), tuple(references)))
    return test_sets


def _short_names(paths: tuple[Path, ...]) -> list[str]:
    """Return the names of files without their suffixes, with so many folders before them as tell them apart."""
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join((*path.parts[:-1], path.stem)[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    if len(set(paths)) < len(paths):
        raise ConfigError("a source is given twice; name each test set once")
    return list(map(str, paths))  # only their suffixes differ


def _page(
    table: "SystemsTable",
    systems: "list[SystemOutputs]",
    test_sets: "list[TestSet]",
    target_lang: str | None,
) -> str:
    """Compare the first seeds of the first two systems."""
    from interlingua.evaluation.changes import find_changes
    from interlingua.evaluation.comparison_page import ComparedText, write_comparison

    one, other = systems[:2]
    texts = []
    for number, test_set in enumerate(test_sets):
        changes = find_changes(
            test_set.sources,
            test_set.references,
            one.outputs[0][number],
            other.outputs[0][number],
            target_lang=target_lang,
        )
        figures = tuple(each for each in table.figures if each.test_set == test_set.name)
        texts.append(
            ComparedText(
                test_set.name, figures, changes, table.test_of(other.name), max(table.seeds[:2])
            )
        )
    return write_comparison(one.name, other.name, texts)
