"""The ``distill`` command: what a teacher writes becomes the corpus that a smaller student learns from."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from interlingua.cli.flags import (
    MachineFlags,
    SearchFlags,
    SyntheticFlags,
    ValidFlags,
)
from interlingua.cli.streams import note, print_json, refuse_missing_text, refuse_odd_names, say
from interlingua.errors import ConfigError
from interlingua.files import given_twice

if TYPE_CHECKING:
    from interlingua.config import RunConfig
    from interlingua.training.synthetic import SyntheticCorpus

__all__ = ["DistillFlags", "distill"]

CONFIG, STEM, GENUINE = "student.toml", "distilled", "genuine"
N_BEST = 5
"""Candidates of which the nearest to the reference is taken, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class DistillFlags:
    """What is taken of a teacher, and the student that is to learn it."""

    n_best: int | None = None
    """With --target: of N candidates the nearest to the target line is taken. Usually 5, and no more than --beam-size."""
    nearness: Literal["chrf", "bleu"] = "chrf"
    """By which score of a sentence that is."""
    no_references: bool = False
    """The student learns only what the teacher wrote, and not what --target names beside it."""
    student: Literal["6-1", "6-2", "12-1", "12-2"] = "6-2"
    """Layers of the student's encoder and decoder; its width is half the teacher's."""
    width: int | None = None
    """Width of the student instead (d_model); its feed-forward sublayers are four times as wide."""


_DISTILL, _SEARCH, _SYNTHETIC = DistillFlags(), SearchFlags(), SyntheticFlags()
_VALID, _MACHINE = ValidFlags(), MachineFlags()


def distill(
    *teacher: Path,
    source: Path,
    target: Path | None = None,
    output: Path,
    how: DistillFlags = _DISTILL,
    search: SearchFlags = _SEARCH,
    keep: SyntheticFlags = _SYNTHETIC,
    valid: ValidFlags = _VALID,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Translate the sources of a corpus by a teacher, for a smaller student to learn from.

    Writes distilled.SOURCE and distilled.TARGET, and student.toml, which trains the student (Kim and Rush 2016). The same
    command goes on where it was stopped. What the teacher is least sure of goes, and what clean would drop. If some pairs are
    held out, genuine.SOURCE and genuine.TARGET have the others.

    Args:
        teacher: run folders or model folders; several, with the same vocabulary and languages, write together.
        source: source text of the training pairs, one sentence a line.
        target: its translation by people: of the best candidates of the teacher the nearest to it is taken, and the student
            learns it too, unless --no-references.
        output: folder for the corpus and the configuration.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    if not teacher:
        raise ConfigError("no teacher is given; name a run folder or a model folder")
    if (again := given_twice(teacher)) is not None:
        raise ConfigError(f"{again}: is given twice, and is one teacher only; name each once")
    read = (source, target, valid.valid_source, valid.valid_target, *keep.held_out)
    refuse_odd_names((*teacher, output, *read))
    for path in read:
        refuse_missing_text(path)
    options = _options(how, search, target)
    from interlingua.cli.synthetic import (
        check_flags,
        check_languages,
        in_words,
        languages_of,
        make_corpus,
        open_for,
        recipe_of,
        refuse_damaged,
        refuse_unequal,
        width_of,
    )
    from interlingua.cli.synthetic_folder import (
        TRANSLATED,
        check_output,
        describe,
        refuse_another_text,
        refuse_other_pairs,
        save_run,
        sides_in,
    )
    from interlingua.corpus.formats import UNNAMED
    from interlingua.training.synthetic import HELD_OUT, SyntheticCorpus, write_genuine

    check_flags(keep)
    refuse_unequal(valid.valid_source, valid.valid_target)
    refuse_damaged(keep.held_out)
    if len(teacher) > 1 and search.dtype != "auto":
        raise ConfigError("several teachers go without --dtype; leave it out")
    recipe = recipe_of(teacher[0], search, machine, options, ensemble=teacher[1:], to=to)
    translator = open_for(recipe, source)
    languages = translator.source_lang, translator.target_lang
    check_languages(teacher[0], *languages, source, target, to=to)
    if languages == UNNAMED:
        languages = languages_of(source, target)
    places = sides_in(output, STEM, *languages)
    job = SyntheticCorpus(
        text=source,
        translated=output / TRANSLATED / source.name,
        source=places[0],
        target=places[1],
        text_is="source",
        reference=target,
        nearness=how.nearness,
        lang=languages[1],
        keep=keep.keep,
        min_score=keep.min_score,
        held_out=tuple(filter(None, (valid.valid_source, *keep.held_out))),
    )
    # What people wrote comes behind, where there is any: a student of both is better than one of either (docs/results.md).
    genuine = (source, target) if target and not how.no_references else None
    width = width_of(teacher[0])
    config = _student(job, genuine, languages, how, valid, width, output)
    check_output(output, (STEM, GENUINE), CONFIG, read)
    refuse_another_text(output, source)
    chosen = {"nearness": how.nearness, "references": not how.no_references}
    refuse_other_pairs(output, job, **chosen)
    written = make_corpus(recipe, translator, job, keep)
    if written is None:
        return
    if genuine and written.dropped.get(HELD_OUT):  # else they would be learnt after all
        genuine = sides_in(output, GENUINE, *languages)
        write_genuine(job, *genuine)
        left = written.lines - written.dropped[HELD_OUT]
        note(
            f"{genuine[0]} and {genuine[1]}: the {left:,} pairs of {source} that are not held out, for the student"
        )
        config = _student(job, genuine, languages, how, valid, width, output)
    saved = save_run(config, output / CONFIG)
    told = describe(written, job, recipe, output, saved, **chosen, student=how.student)
    print_json(told) if keep.json else say(in_words(written, job))


def _options(how: DistillFlags, search: SearchFlags, target: Path | None) -> dict[str, object]:
    """Return how many candidates are searched for, and with what beam."""
    if how.n_best is None:
        most = N_BEST if search.beam_size is None else min(N_BEST, search.beam_size)
        n_best = most if target else 1
    else:
        n_best = how.n_best
    if n_best < 1:
        raise ConfigError(f"--n-best must be at least 1, not {n_best}")
    if n_best > 1 and target is None:
        raise ConfigError("--n-best needs --target, which tells the best of them; give it too")
    beam_size = max(N_BEST, n_best) if search.beam_size is None else search.beam_size
    if 1 <= beam_size < n_best:
        raise ConfigError(
            f"--n-best {n_best} needs as many hypotheses, and --beam-size keeps {beam_size}; raise it, or lower --n-best"
        )
    return {"n_best": n_best, "beam_size": beam_size}


def _student(
    job: "SyntheticCorpus",
    genuine: tuple[Path, Path] | None,
    languages: tuple[str, str],
    how: DistillFlags,
    valid: ValidFlags,
    teacher_width: int,
    output: Path,
) -> "RunConfig":
    """Return the configuration of a student, which learns the ``genuine`` pairs too.

    Raises:
        ConfigError: a width that cannot be built, or half of the validation text.
    """
    from interlingua.cli.synthetic_folder import RUN
    from interlingua.config_files import load_config

    encoder, decoder = how.student.split("-")
    width = how.width if how.width is not None else 2 * round(teacher_width / 4)
    if width < 2 or width % 2:
        raise ConfigError(f"--width must be even and at least 2, not {width}")
    heads = next(n for n in (8, 4, 2, 1) if width % n == 0 and (width // n >= 32 or n == 1))
    pairs = [(job.source, job.target), *([genuine] if genuine else [])]
    sources, targets = zip(*pairs, strict=True)
    chosen: dict[str, str | tuple[str, ...]] = {
        "run_dir": str(output / RUN),
        "corpus.source": tuple(map(str, sources)),
        "corpus.target": tuple(map(str, targets)),
        "corpus.source_lang": languages[0],
        "corpus.target_lang": languages[1],
        "model.encoder_layers": encoder,
        "model.decoder_layers": decoder,
        "model.d_model": str(width),
        "model.d_ff": str(4 * width),
        "model.heads": str(heads),
        "decoding.beam_size": "1",
        **valid.to_overrides(),
    }
    return load_config(None, chosen)
