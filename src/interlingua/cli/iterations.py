"""Iterated back-translation on the command line: what it will cost, and each round told (``training.rounds``)."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interlingua.cli.back_flags import BackFlags
from interlingua.cli.back_translation import CONFIG, BackTranslation, languages_of_pairs
from interlingua.cli.bulk import measure_cost, waiting_parts
from interlingua.cli.flags import ValidFlags
from interlingua.cli.results import exit_status_of
from interlingua.cli.streams import note, print_json, say
from interlingua.cli.synthetic import check_languages, open_for, refuse_unreadable
from interlingua.cli.synthetic_folder import RUN, TRANSLATED, refuse_foreign
from interlingua.config import StartConfig
from interlingua.corpus.lines import count_lines
from interlingua.errors import ConfigError, CorpusError
from interlingua.training.rounds import (
    ROUNDS,
    TEXT_OF_SOURCE,
    Role,
    Rounds,
    Side,
    content_of,
    describe_rounds,
    recall,
    seconds_of_trainings,
    seconds_spent,
    tell_cost,
    train_in_turn,
)
from interlingua.training.synthetic import WAY_ON

__all__ = ["back_translate_in_turn"]

OF_THE_MACHINE = (
    "training.threads",
    "training.device",
    "training.worker_timeout",
    "search.batch_tokens",
)
"""Settings that decide how long it takes, and nothing of what comes out."""


def back_translate_in_turn(
    work: BackTranslation, reverse_model: Path, mono: Path, output: Path, valid: ValidFlags
) -> int:
    """Train forward and reverse models in turn; return the exit status."""
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

    def make(model: Path, side: Side, place: Path) -> Path:
        try:
            work.asking(model, reverse_model).make(
                model, side.mono, place, (side.source, side.target), _valid_of(side)
            )
        except CorpusError as error:
            raise CorpusError(str(error).replace(WAY_ON, _way_on(model, place))) from error
        return place / CONFIG

    stopped = train_in_turn(rounds, make, RUN, told, done, filtered, note)
    if keep.json:
        print_json({"rounds": done, "finished": stopped is None})
    else:
        end = "stopped; the same command goes on\n" if stopped else ""
        say(describe_rounds(rounds, done) + end)
    return exit_status_of(stopped) if stopped else 0


def _way_on(model: Path, place: Path) -> str:
    """Say what to do where the model that writes has not learnt enough; with another --output it would be trained as it was."""
    if not (model / "config.toml").exists():
        return WAY_ON
    run, translated = shlex.quote(str(model)), shlex.quote(str(place / TRANSLATED))
    return (
        f"Go on with its training (interlingua train {run}/config.toml --run-dir {run} --training.steps MORE), remove what it wrote "
        f"(rm -r {translated}), and run this command again"
    )


def _rounds_of(
    back: BackFlags, reverse_model: Path, mono: Path, output: Path, valid: ValidFlags
) -> Rounds:
    """Say what is trained in turn, on what."""
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


def _what_decides(work: BackTranslation, rounds: Rounds, valid: ValidFlags) -> dict[str, Any]:
    """Return the settings and the text that all rounds must have, by name."""
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
        **_settings_of(work),
    }


def _settings_of(work: BackTranslation) -> dict[str, Any]:
    """Return all that decides what comes out, besides the text."""
    asked = work.asked().model_dump(mode="json", exclude={"corpus", "run_dir"})
    sections = {**asked, "search": asdict(work.search)}
    every = {
        f"{section}.{name}": value
        for section, values in sections.items()
        for name, value in values.items()
    }
    back = work.back
    return {
        **{key: value for key, value in every.items() if key not in OF_THE_MACHINE},
        "method": back.method,
        "temperature": back.temperature,
        "top_k": back.top_k,
        "seed": back.seed,
        "tag": back.tag,
        "weight": back.weight,
    }


def _valid_of(side: Side) -> ValidFlags:
    return ValidFlags(side.valid_source, side.valid_target)


def _tell_what_is_left(
    work: BackTranslation,
    rounds: Rounds,
    left: list[tuple[int, Role, Side]],
) -> float:
    """Say what the rounds will still take, by the pace of the model that writes next, and return the seconds."""
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
        synthetic = [_synthetic_pairs(work, each) for each in sides]
        genuine = (side.source, side.target)
        languages = languages_of_pairs(reads, writes, genuine)
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


def _synthetic_pairs(work: BackTranslation, side: Side) -> float:
    """Return about how many synthetic pairs an epoch will have, of what a model writes for ``side``."""
    kept = work.keep.keep * count_lines(side.mono)
    return kept * work.weight((side.source, side.target), round(kept))
