"""How ``back-translate`` makes a corpus of a text, and the configuration that trains on it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlingua.bulk.worker import Recipe
from interlingua.cli.back_flags import BackFlags
from interlingua.cli.flags import MachineFlags, RunFlags, SearchFlags, SyntheticFlags, ValidFlags
from interlingua.cli.streams import note
from interlingua.cli.synthetic import (
    check_languages,
    in_words,
    languages_of,
    make_corpus,
    open_for,
    recipe_of,
)
from interlingua.cli.synthetic_folder import (
    RUN,
    TRANSLATED,
    check_output,
    describe,
    refuse_other_pairs,
    save_run,
    sides_in,
    write_run,
)
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.formats import UNNAMED, count_pairs
from interlingua.corpus.word_noise import WordNoise
from interlingua.errors import ConfigError
from interlingua.training.synthetic import SyntheticCorpus

__all__ = ["CONFIG", "BackTranslation", "languages_of_pairs"]

CONFIG, STEM = "train.toml", "back-translated"
MOST_SYNTHETIC = 3.0
"""Synthetic pairs that an epoch has for each genuine one at most, unless somebody says otherwise. Edunov et al. 2018 have 2.8: 226 million
beside five, which come sixteen times."""


@dataclass(frozen=True, slots=True)
class BackTranslation:
    """How corpora are made, whichever model makes them of whichever text."""

    back: BackFlags
    search: SearchFlags
    keep: SyntheticFlags
    machine: MachineFlags
    to: str | None

    def recipe(self, model: Path) -> Recipe:
        """Return how a model is opened and asked."""
        options = _options(self.back, self.search)
        return recipe_of(model, self.search, self.machine, options, to=self.to)

    def asking(self, model: Path, first: Path) -> "BackTranslation":
        """Return the same for one model of a chain; only the first can be of several pairs of languages."""
        return replace(self, to=self.to if model == first else None)

    def make(
        self,
        model: Path,
        mono: Path,
        output: Path,
        genuine: tuple[Path | None, Path | None],
        valid: ValidFlags,
    ) -> tuple[dict[str, Any], str] | None:
        """Write one corpus and its configuration; return what to tell of it, or None after a dry run."""
        back, keep, recipe = self.back, self.keep, self.recipe(model)
        translator = open_for(recipe, mono)
        reads, writes = translator.source_lang, translator.target_lang
        check_languages(model, reads, writes, mono, *genuine, to=self.to)
        languages = languages_of_pairs(reads, writes, genuine)
        places = sides_in(output, STEM, *languages)
        job = SyntheticCorpus(
            text=mono,
            translated=output / TRANSLATED / mono.name,
            source=places[0],
            target=places[1],
            text_is="target",
            keep=keep.keep,
            min_score=keep.min_score,
            noise=_noise(back),
            held_out=tuple(filter(None, (valid.valid_target, *keep.held_out))),
        )
        # what it refuses, before work is done
        self.config(places, languages, genuine, valid, output / RUN)
        read = (mono, *genuine, valid.valid_source, valid.valid_target, *keep.held_out)
        check_output(output, (STEM,), CONFIG, read)
        drawn = {} if back.method == "beam" else {"seed": back.seed}
        refuse_other_pairs(output, job, method=back.method, **drawn)
        written = make_corpus(recipe, translator, job, keep)
        if written is None:
            return None
        weight = self.weight(genuine, written.pairs)
        saved = None
        if genuine[0] is not None:
            if back.weight is None and weight < 1.0:
                note(
                    f"--weight {weight:g}: an epoch has three synthetic pairs for each genuine one, others each time"
                )
            save = save_run if back.iterations is None else write_run  # rounds train it themselves
            config = self.config(places, languages, genuine, valid, output / RUN, weight)
            saved = save(config, output / CONFIG)
        told = describe(
            written,
            job,
            recipe,
            output,
            saved,
            method=back.method,
            tag=back.tag,
            weight=weight,
            **drawn,
        )
        return told, in_words(written, job)

    def weight(self, genuine: tuple[Path | None, Path | None], synthetic: int) -> float:
        """Return how often an epoch has each of so many synthetic pairs, beside the genuine ones if they are known."""
        if self.back.weight is not None:
            return self.back.weight
        source, target = genuine
        if source is None or target is None or synthetic == 0:
            return 1.0
        pairs = count_pairs(source, target)
        return min(1.0, float(f"{MOST_SYNTHETIC * pairs / synthetic:.2g}"))

    def config(
        self,
        synthetic: tuple[Path, Path] | None,
        languages: tuple[str, str] | None,
        genuine: tuple[Path | None, Path | None],
        valid: ValidFlags,
        run_dir: Path,
        weight: float = 1.0,
    ) -> RunConfig:
        """Return a configuration that trains on the ``synthetic`` pairs, after the genuine ones if they are known.

        ``languages`` are those of the synthetic pairs.

        Raises:
            ConfigError: a tag or weight that the configuration does not take, or half of the validation text.
        """
        pairs = [genuine, *([synthetic] if synthetic else [])]
        known = [pair for pair in pairs if None not in pair]
        chosen: dict[str, str | tuple[str, ...]] = {
            "run_dir": str(run_dir),
            "corpus.source": tuple(str(source) for source, _ in known),
            "corpus.target": tuple(str(target) for _, target in known),
            **valid.to_overrides(),
        }
        if languages is not None:
            others = len(known) - 1
            chosen |= {
                "corpus.weights": ",".join(["1"] * others + [f"{weight:g}"]),
                "corpus.tags": ",".join([""] * others + [self.back.tag]),
                "corpus.source_lang": languages[0],
                "corpus.target_lang": languages[1],
            }
        asked, mixed = self.asked(), load_config(None, chosen)
        corpus = mixed.corpus.model_copy(update={"noise": asked.corpus.noise})
        return asked.model_copy(update={"run_dir": mixed.run_dir, "corpus": corpus})

    def asked(self) -> RunConfig:
        """Return what the user asks of the training; what it says of a corpus does not count."""
        overrides = RunFlags(set=self.back.set).to_overrides()
        if self.back.iterations is not None:  # else it is told to train, which comes later
            machine = {"threads": self.machine.threads, "device": self.machine.device}
            told = {name: value for name, value in machine.items() if value not in (None, "auto")}
            overrides = {**{f"training.{n}": str(value) for n, value in told.items()}, **overrides}
        return load_config(self.back.config, overrides)


def languages_of_pairs(
    reads: str, writes: str, genuine: tuple[Path | None, Path | None]
) -> tuple[str, str]:
    """Return the languages of the pairs, which a model that reads the second and writes the first makes; if it names none, those of
    the genuine pairs.
    """
    return (writes, reads) if (reads, writes) != UNNAMED else languages_of(*genuine)


def _options(back: BackFlags, search: SearchFlags) -> dict[str, object]:
    """Return what sampling asks for."""
    drawn = {"temperature": back.temperature, "top_k": back.top_k}
    if back.method == "sample":
        beam_size = 1 if search.beam_size is None else search.beam_size
        return {"beam_size": beam_size, "sample": True, "seed": back.seed, **drawn}
    if given := [name for name, value in drawn.items() if value is not None]:
        raise ConfigError(
            f"--{given[0].replace('_', '-')} is of samples; add --method sample, or leave it out"
        )
    return {}


def _noise(back: BackFlags) -> WordNoise | None:
    return WordNoise(seed=back.seed) if back.method == "noised-beam" else None
