"""The ``back-translate`` command: text of the target language becomes a corpus with synthetic sources."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from interlingua.cli.flags import (
    MachineFlags,
    SearchFlags,
    SyntheticFlags,
    ValidFlags,
)
from interlingua.cli.streams import note, print_json, refuse_missing_text, refuse_odd_names, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.bulk.worker import Recipe
    from interlingua.config import RunConfig
    from interlingua.corpus.word_noise import WordNoise
    from interlingua.training.rounds import Role, Rounds, Side

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
    weight: float | None = None
    """How often an epoch has the synthetic pairs: 2 is twice, 0.5 a random half (None: once, or less so that three of four pairs are
    synthetic at most)."""
    source: Path | None = None
    """Source of the genuine pairs, for the configuration that is written."""
    target: Path | None = None
    """Target of the genuine pairs."""
    iterations: int | None = None
    """Train, and so many times: the forward model on what the reverse model wrote, and between two such rounds the reverse model
    on what the forward model wrote of --mono-source (Hoang et al. 2018)."""
    mono_source: Path | None = None
    """Text of the source language, one sentence a line; with --iterations of 2 or more."""
    config: Path | None = None
    """Configuration (TOML) of what is trained; of its corpus only the noise counts."""
    set: tuple[str, ...] = ()
    """SECTION.KEY=VALUE, any value of that configuration, of its corpus the noise; --section.key VALUE is the same."""


CONFIG, STEM = "train.toml", "back-translated"
MOST_SYNTHETIC = 3.0
"""Synthetic pairs that an epoch has for each genuine one at most, unless somebody says otherwise. Edunov et al. 2018 have 2.8: 226 million
beside five, which come sixteen times."""
OF_THE_MACHINE = (
    "training.threads",
    "training.device",
    "training.worker_timeout",
    "search.batch_tokens",
)
"""Settings that decide how long it takes, and nothing of what comes out."""

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
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> int:
    """Make synthetic sources for text of the target language, by a model of the opposite direction.

    Writes back-translated.SOURCE and back-translated.TARGET, and, given the genuine pairs, train.toml, which trains on both.
    The same command goes on where it was stopped. What the model is least sure of goes, and what clean would drop.
    With --iterations it trains as well, forward and reverse models in turn.

    Args:
        reverse_model: run folder or model folder, which translates the target language into the source language.
        mono: text of the target language, one sentence a line.
        output: folder for the corpus.
        to: language to translate into, of a model of several pairs (en), or both languages (ro-en).
    """
    from interlingua.cli.synthetic import check_flags, refuse_damaged, refuse_unequal

    _check(back)
    check_flags(keep)
    read = (back.source, back.target, valid.valid_source, valid.valid_target, *keep.held_out)
    refuse_odd_names((reverse_model, output, mono, back.mono_source, *read))
    for path in (mono, back.mono_source, back.config, *read):
        refuse_missing_text(path)
    refuse_unequal(back.source, back.target)
    refuse_unequal(valid.valid_source, valid.valid_target)
    refuse_damaged(keep.held_out)
    work = _Work(back, search, keep, machine, to)
    if back.iterations is not None:
        return _in_turn(work, reverse_model, mono, output, valid)
    found = work.make(reverse_model, mono, output, (back.source, back.target), valid)
    if found is None:
        return 0
    told, words = found
    if keep.json:
        print_json(told)
    else:
        say(words)
    return 0


back_translate.__name__ = "back-translate"  # what it is called


def _check(back: BackFlags) -> None:
    """Refuse flags that do not go together, or have no such value."""
    _check_mixture(back)
    for key in _keys(back):
        if key.startswith(("corpus.", "run_dir")) and key != "corpus.noise":
            raise ConfigError(
                f"--{key}: what is trained on, and where, follows from the other flags of back-translate, and of corpus.* only "
                "--corpus.noise counts; leave it out, or change train.toml afterwards"
            )
    if (back.source is None) != (back.target is None):
        raise ConfigError("--source and --target of the genuine pairs go together; give both")
    if back.iterations is None:
        if back.mono_source is not None:
            raise ConfigError("--mono-source goes with --iterations; give both")
        if back.source is None and (flags := _of_the_training(back)):
            raise ConfigError(
                f"{', '.join(flags)} {'is' if len(flags) == 1 else 'are'} for the configuration that trains on both corpora; give "
                "--source and --target of the genuine pairs too"
            )
        return
    if back.iterations < 1:
        raise ConfigError(f"--iterations must be at least 1, not {back.iterations}")
    if back.source is None:
        raise ConfigError(
            "--iterations trains on the genuine pairs too; give --source and --target"
        )
    if back.iterations > 1 and back.mono_source is None:
        raise ConfigError(
            "--iterations of 2 or more trains the reverse model too, on text of the source language; give --mono-source"
        )


def _check_mixture(back: BackFlags) -> None:
    """Refuse a tag or weight that no configuration takes, by the name of its flag."""
    from interlingua.config_files import load_config

    two = {f"corpus.{side}": ("genuine", "synthetic") for side in ("source", "target")}
    weights = f"1,{1.0 if back.weight is None else back.weight}"
    for flag, key, values in (
        ("--tag", "corpus.tags", f",{back.tag}"),
        ("--weight", "corpus.weights", weights),
    ):
        try:
            load_config(None, {**two, key: values})
        except ConfigError as error:
            told = str(error).partition("\n")[0]
            reason = told.removeprefix(f"flag --{key}: {key}").removesuffix(", or a list of them")
            raise ConfigError(f"{flag}{reason}") from None


def _of_the_training(back: BackFlags) -> list[str]:
    """Return the flags that were given and count in the configuration alone."""
    given = {"--weight": back.weight, "--config": back.config}
    return [
        *(flag for flag, value in given.items() if value is not None),
        *(f"--{key}" for key in _keys(back)),
    ]


def _keys(back: BackFlags) -> list[str]:
    """Return the keys of the configuration that were given."""
    return [each.partition("=")[0].replace("-", "_") for each in back.set]


@dataclass(frozen=True, slots=True)
class _Work:
    """How corpora are made, whichever model makes them of whichever text."""

    back: BackFlags
    search: SearchFlags
    keep: SyntheticFlags
    machine: MachineFlags
    to: str | None

    def recipe(self, model: Path) -> "Recipe":
        """Return how a model is opened and asked."""
        from interlingua.cli.synthetic import recipe_of

        options = _options(self.back, self.search)
        return recipe_of(model, self.search, self.machine, options, to=self.to)

    def asking(self, model: Path, first: Path) -> "_Work":
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
        from interlingua.cli.synthetic import (
            RUN,
            TRANSLATED,
            check_languages,
            check_output,
            describe,
            in_words,
            make_corpus,
            open_for,
            refuse_other_pairs,
            save_run,
            sides_in,
            write_run,
        )
        from interlingua.training.synthetic import SyntheticCorpus

        back, keep, recipe = self.back, self.keep, self.recipe(model)
        translator = open_for(recipe, mono)
        reads, writes = translator.source_lang, translator.target_lang
        check_languages(model, reads, writes, mono, *genuine, to=self.to)
        languages = _languages(reads, writes, genuine)
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
        from interlingua.corpus.formats import count_pairs

        source, target = genuine
        if source is None or target is None or synthetic == 0:
            return 1.0
        pairs = count_pairs(source, target)
        return min(1.0, float(f"{MOST_SYNTHETIC * pairs / synthetic:.2g}"))

    def an_epoch_has(self, side: "Side") -> float:
        """Return about how many synthetic pairs an epoch will have, of what a model writes for ``side``."""
        from interlingua.corpus.lines import count_lines

        kept = self.keep.keep * count_lines(side.mono)
        return kept * self.weight((side.source, side.target), round(kept))

    def config(
        self,
        synthetic: tuple[Path, Path] | None,
        languages: tuple[str, str] | None,
        genuine: tuple[Path | None, Path | None],
        valid: ValidFlags,
        run_dir: Path,
        weight: float = 1.0,
    ) -> "RunConfig":
        """Return a configuration that trains on the ``synthetic`` pairs, after the genuine ones if they are known.

        ``languages`` are those of the synthetic pairs.

        Raises:
            ConfigError: a tag or weight that the configuration does not take, or half of the validation text.
        """
        from interlingua.config_files import load_config

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

    def asked(self) -> "RunConfig":
        """Return what the user asks of the training; what it says of a corpus does not count."""
        from interlingua.cli.flags import RunFlags
        from interlingua.config_files import load_config

        overrides = RunFlags(set=self.back.set).to_overrides()
        if self.back.iterations is not None:  # else it is told to train, which comes later
            machine = {"threads": self.machine.threads, "device": self.machine.device}
            told = {name: value for name, value in machine.items() if value not in (None, "auto")}
            overrides = {**{f"training.{n}": str(value) for n, value in told.items()}, **overrides}
        return load_config(self.back.config, overrides)

    def settings(self) -> dict[str, Any]:
        """Return all that decides what comes out, besides the text."""
        asked = self.asked().model_dump(mode="json", exclude={"corpus", "run_dir"})
        sections = {**asked, "search": asdict(self.search)}
        every = {
            f"{section}.{name}": value
            for section, values in sections.items()
            for name, value in values.items()
        }
        return {
            **{key: value for key, value in every.items() if key not in OF_THE_MACHINE},
            "method": self.back.method,
            "temperature": self.back.temperature,
            "top_k": self.back.top_k,
            "seed": self.back.seed,
            "tag": self.back.tag,
            "weight": self.back.weight,
        }


def _in_turn(work: _Work, reverse_model: Path, mono: Path, output: Path, valid: ValidFlags) -> int:
    """Train forward and reverse models in turn; return the exit status."""
    from interlingua.cli.results import exit_status_of
    from interlingua.cli.synthetic import RUN, refuse_foreign
    from interlingua.config import StartConfig
    from interlingua.training.rounds import ROUNDS, describe_rounds, recall, train_in_turn

    keep = work.keep
    rounds = _rounds_of(work.back, reverse_model, mono, output, valid)
    refuse_foreign(output, lambda name: name == ROUNDS or name.startswith("round-"))
    if work.asked().start != StartConfig():
        raise ConfigError(
            "start: each training of --iterations begins with fresh weights; leave start.* out"
        )
    told = _what_decides(work, rounds, valid)
    held_out = ", ".join(map(str, keep.held_out)) or None
    filtered = {"keep": keep.keep, "min_score": keep.min_score, "held_out": held_out}
    done = recall(rounds, told, filtered)
    left = rounds.left(done)
    seconds = _tell_what_is_left(work, rounds, left) if left else 0.0
    if keep.dry_run:
        if keep.json:
            print_json({"rounds": done, "finished": not left, "seconds": seconds})
        elif not left:
            note(f"every round is done: nothing is left to do in {output}")
        return 0

    def make(model: Path, side: "Side", place: Path) -> Path:
        work.asking(model, reverse_model).make(
            model, side.mono, place, (side.source, side.target), _valid_of(side)
        )
        return place / CONFIG

    stopped = train_in_turn(rounds, make, RUN, told, done, filtered, note)
    if keep.json:
        print_json({"rounds": done, "finished": stopped is None})
    else:
        end = "stopped; the same command goes on\n" if stopped else ""
        say(describe_rounds(rounds, done) + end)
    return exit_status_of(stopped) if stopped else 0


def _rounds_of(
    back: BackFlags, reverse_model: Path, mono: Path, output: Path, valid: ValidFlags
) -> "Rounds":
    """Say what is trained in turn, on what."""
    from interlingua.training.rounds import Rounds, Side

    assert back.iterations is not None
    assert back.source is not None
    assert back.target is not None
    forward = Side(mono, back.source, back.target, valid.valid_source, valid.valid_target)
    reverse = None
    if back.mono_source is not None and back.iterations > 1:
        reverse = Side(
            back.mono_source, back.target, back.source, valid.valid_target, valid.valid_source
        )
    return Rounds(back.iterations, output, reverse_model, forward, reverse)


def _what_decides(work: _Work, rounds: "Rounds", valid: ValidFlags) -> dict[str, Any]:
    """Return the settings and the text that all rounds must have, by name."""
    from interlingua.cli.synthetic import RUN
    from interlingua.training.rounds import TEXT_OF_SOURCE, content_of

    forward, mono_source = rounds.forward, work.back.mono_source
    pairs = (forward.source, forward.target)
    genuine = work.config(None, None, pairs, valid, rounds.output / RUN)
    texts = (forward.mono, mono_source, *forward.named.values())
    return {
        "reverse_model": str(rounds.reverse_model),
        "text": str(forward.mono),
        **({TEXT_OF_SOURCE: str(mono_source)} if mono_source else {}),
        **{name: str(path) if path else None for name, path in forward.named.items()},
        "corpus.noise": genuine.corpus.noise,
        **content_of([path for path in texts if path is not None]),
        **work.settings(),
    }


def _valid_of(side: "Side") -> ValidFlags:
    return ValidFlags(side.valid_source, side.valid_target)


def _tell_what_is_left(
    work: _Work,
    rounds: "Rounds",
    left: "list[tuple[int, Role, Side]]",
) -> float:
    """Say what the rounds will still take, by the pace of the model that writes next, and return the seconds."""
    from interlingua.cli.bulk import waiting_parts
    from interlingua.cli.synthetic import (
        RUN,
        TRANSLATED,
        check_languages,
        measure_cost,
        open_for,
        refuse_unreadable,
    )
    from interlingua.training.rounds import seconds_of_trainings, seconds_spent, tell_cost

    number, role, side = left[0]
    for text in dict.fromkeys(each.mono for _, _, each in left):
        refuse_unreadable(text)  # that of the second training too, which comes after hours
    model = rounds.writer(number, role, RUN)
    recipe = work.asking(model, rounds.reverse_model).recipe(model)
    translator = open_for(recipe, side.mono)
    reads, writes = translator.source_lang, translator.target_lang
    for turn, other, each in left:
        languages = (reads, writes) if other == role else (writes, reads)
        by = rounds.writer(turn, other, RUN)
        to = work.asking(by, rounds.reverse_model).to
        check_languages(by, *languages, each.mono, each.source, each.target, to=to)
    place = rounds.folder(number, role)
    # Where all is translated and only the training is left, the pace is that of the whole text.
    waiting, whole = (
        waiting_parts(side.mono, place / name, recipe, work.keep.part_lines)
        for name in (TRANSLATED, "none")
    )
    cost = measure_cost(waiting or whole, recipe, translator)
    first, pace = cost.lines if waiting else 0, cost.seconds / max(cost.lines, 1)
    sides = [each for _, _, each in left]
    minutes = work.asked().training.minutes
    if minutes is not None:
        training, of = [60.0 * minutes] * len(left), "at most"
    else:
        synthetic = [work.an_epoch_has(each) for each in sides]
        genuine = (side.source, side.target)
        languages = _languages(reads, writes, genuine)
        training = seconds_of_trainings(
            sides,
            synthetic,
            lambda *stand_in: work.config(
                stand_in, languages, genuine, _valid_of(side), place / RUN
            ),
        )
        of = "or so"
    training[0] = max(0.0, training[0] - seconds_spent(place / RUN))
    words, seconds = tell_cost(rounds, left, training, of, first, pace)
    note(words)
    return seconds


def _languages(
    reads: str, writes: str, genuine: tuple[Path | None, Path | None]
) -> tuple[str, str]:
    """Return the languages of the pairs, which a model that reads the second and writes the first makes; if it names none, those of
    the genuine pairs.
    """
    from interlingua.cli.synthetic import languages_of
    from interlingua.corpus.formats import UNNAMED

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


def _noise(back: BackFlags) -> "WordNoise | None":
    from interlingua.corpus.word_noise import WordNoise

    return WordNoise(seed=back.seed) if back.method == "noised-beam" else None
