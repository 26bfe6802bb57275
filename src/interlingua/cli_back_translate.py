"""The ``back-translate`` command: text of the target language becomes a corpus with synthetic sources."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from interlingua.cli_flags import MachineFlags, SearchFlags, SyntheticFlags, ValidFlags
from interlingua.cli_streams import print_json, refuse_missing_text, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.config import RunConfig
    from interlingua.corpus.word_noise import WordNoise
    from interlingua.requests.request import TranslateOptions
    from interlingua.training.synthetic import SyntheticCorpus

__all__ = ["BackFlags", "back_translate"]


@dataclass(frozen=True, slots=True)
class BackFlags:
    """How sources are made of monolingual text, and what they are mixed with."""

    method: Literal["beam", "sample", "noised-beam"] = "beam"
    """beam: the likeliest sources; sample: drawn by their probability; noised-beam: the likeliest, with words dropped,
    blanked out and moved (Edunov et al. 2018)."""
    temperature: float | None = None
    """Of samples: below 1 safer, above 1 more varied."""
    top_k: int | None = None
    """Draw among the N likeliest tokens only."""
    seed: int = 1
    """Of samples and of noise."""
    tag: str = "<bt>"
    """Symbol before every synthetic source in training (Caswell et al. 2019); "" for none."""
    weight: float = 1.0
    """How often an epoch has the synthetic pairs: 2 is twice, 0.5 a random half."""
    source: Path | None = None
    """Source of the genuine pairs, for the configuration that is written."""
    target: Path | None = None
    """Target of the genuine pairs."""


CONFIG = "train.toml"

_BACK, _SEARCH, _SYNTHETIC = BackFlags(), SearchFlags(), SyntheticFlags()
_VALID, _MACHINE = ValidFlags(), MachineFlags()


def back_translate(
    reverse_model: Path,
    *,
    mono: Path,
    output: Path,
    back: BackFlags = _BACK,
    search: SearchFlags = _SEARCH,
    keep: SyntheticFlags = _SYNTHETIC,
    valid: ValidFlags = _VALID,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Make synthetic sources for text of the target language, by a model of the opposite direction.

    Writes back-translated.SOURCE and back-translated.TARGET, and, given the genuine pairs, train.toml, which trains on both.
    The same command goes on where it was stopped. What the model is least sure of goes, and what clean would drop.

    Args:
        reverse_model: run folder or model folder, which translates the target language into the source language.
        mono: text of the target language, one sentence a line.
        output: folder for the corpus.
    """
    if (back.source is None) != (back.target is None):
        raise ConfigError("--source and --target of the genuine pairs go together; give both")
    for path in (mono, back.source, back.target, valid.valid_source, valid.valid_target):
        refuse_missing_text(path)
    from interlingua.bulk.worker import Recipe, open_translator
    from interlingua.cli_synthetic import (
        RUN,
        TRANSLATED,
        check_languages,
        check_output,
        describe,
        in_words,
        make_corpus,
        save_run,
    )
    from interlingua.training.synthetic import SyntheticCorpus

    recipe = Recipe(
        model=reverse_model,
        adapter=None,
        device=machine.device,
        dtype=search.dtype,
        threads=machine.threads,
        options=_options(back, search),
        form="scored",
    )
    translator = open_translator(recipe)
    check_languages(reverse_model, translator, mono, back.source)
    job = SyntheticCorpus(
        text=mono,
        translated=output / TRANSLATED / mono.name,
        source=output / f"back-translated.{translator.target_lang}",
        target=output / f"back-translated.{translator.source_lang}",
        text_is="target",
        keep=keep.keep,
        min_score=keep.min_score,
        noise=_noise(back),
    )
    config = _config(job, back, valid, output / RUN)
    own = (job.source.name, job.target.name, CONFIG, RUN)
    read = (back.source, back.target, valid.valid_source, valid.valid_target)
    check_output(output, own, (mono, *read))
    written = make_corpus(recipe, translator, job, keep)
    if written is None:
        return
    told = describe(
        written, job, recipe, output, method=back.method, tag=back.tag, weight=back.weight
    )
    if back.source is not None:
        save_run(config, output / CONFIG)
    if keep.json:
        print_json(told)
        return
    say(in_words(written, job))


back_translate.__name__ = "back-translate"  # what it is called


def _options(back: BackFlags, search: SearchFlags) -> "TranslateOptions":
    options: dict[str, object] = {
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "batch_tokens": search.batch_tokens,
    }
    drawn = {"temperature": back.temperature, "top_k": back.top_k}
    if back.method == "sample":
        options |= {"sample": True, "seed": back.seed, **drawn}
        options["beam_size"] = search.beam_size or 1
    elif given := [name for name, value in drawn.items() if value is not None]:
        raise ConfigError(
            f"--{given[0].replace('_', '-')} is of samples; add --method sample, or leave it out"
        )
    return cast("TranslateOptions", {name: x for name, x in options.items() if x is not None})


def _noise(back: BackFlags) -> "WordNoise | None":
    from interlingua.corpus.word_noise import WordNoise

    return WordNoise(seed=back.seed) if back.method == "noised-beam" else None


def _config(
    job: "SyntheticCorpus", back: BackFlags, valid: ValidFlags, run_dir: Path
) -> "RunConfig":
    """Return a configuration that trains on the synthetic pairs, after the genuine ones if they are known.

    Raises:
        ConfigError: a tag or weight that the configuration does not take, or half of the validation text.
    """
    from interlingua.config_files import load_config

    pairs = [(back.source, back.target), (job.source, job.target)]
    known = [pair for pair in pairs if None not in pair]
    genuine = len(known) - 1
    chosen: dict[str, str | tuple[str, ...]] = {
        "run_dir": str(run_dir),
        "corpus.source": tuple(str(source) for source, _ in known),
        "corpus.target": tuple(str(target) for _, target in known),
        "corpus.weights": ",".join([*("1" for _ in range(genuine)), f"{back.weight:g}"]),
        "corpus.tags": ",".join([*("" for _ in range(genuine)), back.tag]),
        "corpus.source_lang": job.source.suffix.removeprefix("."),
        "corpus.target_lang": job.target.suffix.removeprefix("."),
    }
    for name in ("valid_source", "valid_target"):
        if (path := getattr(valid, name)) is not None:
            chosen[f"corpus.{name}"] = str(path)
    return load_config(None, chosen)
