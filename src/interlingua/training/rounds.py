"""Iterated back-translation: a forward and a reverse model are trained in turn, each on what the other one wrote.

In every round the reverse model writes sources for text of the target language, and the forward model is trained on them and the
genuine pairs; before the next round the forward model does the same for the reverse one. Each training begins with fresh weights.

Source: Hoang et al. 2018, "Iterative back-translation for neural machine translation".
"""

import json
import math
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.formats import UNNAMED, PairReader, count_pairs
from interlingua.corpus.lines import count_lines, read_blocks, write_lines
from interlingua.errors import ConfigError, OutputError, TrainingError
from interlingua.files import write_text
from interlingua.training.loop import WAY_OUT
from interlingua.training.plan import plan
from interlingua.training.progress import in_words as duration
from interlingua.training.run import TrainResult, train
from interlingua.training.run_folder import RunFolder

__all__ = [
    "TEXT_OF_SOURCE",
    "Rounds",
    "Side",
    "content_of",
    "describe_rounds",
    "recall",
    "seconds_of_trainings",
    "seconds_spent",
    "tell_cost",
    "train_in_turn",
]

ROUNDS = "rounds.json"
MOST_STAND_INS = 200_000
"""Synthetic pairs of an epoch that are planned with; no choice depends on more, and time goes by the number of pairs from there on."""
TEXT_OF_SOURCE = "text_of_source"
_FLAGS = {"text": "--mono", TEXT_OF_SOURCE: "--mono-source"}
"""What is called otherwise on the command line."""

Role = Literal["forward", "reverse"]
Make = Callable[[Path, "Side", Path], Path]
"""Has a model translate the text of a side into a folder, and returns the configuration that trains on the result."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two models learns from.

    Attributes:
        mono: text of its target language.
        source, target: the genuine pairs, in its direction.
        valid_source, valid_target: to validate on.
    """

    mono: Path
    source: Path
    target: Path
    valid_source: Path | None
    valid_target: Path | None

    @property
    def named(self) -> dict[str, Path | None]:
        """The pairs, by what they are for."""
        return {
            "source": self.source,
            "target": self.target,
            "valid_source": self.valid_source,
            "valid_target": self.valid_target,
        }


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often the two are trained, and on what.

    Attributes:
        count: rounds; the reverse model is trained once less, as it is given at first.
        output: folder of all rounds.
        reverse_model: the first reverse model.
        forward: text of the model that is wanted.
        reverse: text of the other one; None where there is only one round.
    """

    count: int
    output: Path
    reverse_model: Path
    forward: Side
    reverse: Side | None

    def steps(self) -> Iterator[tuple[int, Role, Side]]:
        """Yield what is trained, one after the other."""
        for number in range(1, self.count + 1):
            yield number, "forward", self.forward
            if self.reverse is not None and number < self.count:
                yield number, "reverse", self.reverse

    def left(self, done: Sequence[dict[str, Any]]) -> list[tuple[int, Role, Side]]:
        """Return what is still to be trained after ``done``."""
        trained = {(each["round"], each["model"]) for each in done}
        return [step for step in self.steps() if step[:2] not in trained]

    def folder(self, number: int, role: Role) -> Path:
        """Return where a training keeps its text and its run."""
        return self.output / f"round-{number}" / role

    def writer(self, number: int, role: Role, run: str) -> Path:
        """Return the model that writes the text for a training: the newest of the other direction."""
        if role == "reverse":
            return self.folder(number, "forward") / run
        return self.folder(number - 1, "reverse") / run if number > 1 else self.reverse_model


def seconds_of_trainings(
    sides: Sequence[Side], synthetic: Sequence[float], configure: Callable[[Path, Path], RunConfig]
) -> list[float]:
    """Return how long each training will take, by a plan of the first of them.

    Args:
        sides: what each learns from.
        synthetic: how many synthetic pairs an epoch of each has.
        configure: returns the first training, on synthetic pairs in two files of which an epoch has each once.
    """
    with TemporaryDirectory() as scratch:
        source, target = Path(scratch, "stand-in.source"), Path(scratch, "stand-in.target")
        written = _stand_in(sides[0], min(round(synthetic[0]), MOST_STAND_INS), source, target)
        config = configure(source, target)
        planned = plan(config).seconds
    if config.training.steps is not None:
        return [planned] * len(sides)
    # So many epochs: each pair takes its time.
    pairs = count_pairs(sides[0].source, sides[0].target)
    return [planned * (pairs + number) / max(1, pairs + written) for number in synthetic]


def tell_cost(
    rounds: Rounds,
    left: Sequence[tuple[int, Role, Side]],
    training: Sequence[float],
    of: str,
    first: int,
    pace: float,
) -> tuple[str, float]:
    """Return in words what the rounds will still take, and the seconds of it all.

    Args:
        rounds: what is planned.
        left: what is still to be trained.
        training: seconds that each of these still takes.
        of: how sure that is: ``at most``, ``or so``.
        first: lines that are still to be translated for the first of these.
        pace: seconds that a line of them takes; models that are not there yet are taken to be as fast.
    """
    sides = [side for _, _, side in left]
    reading = [first, *(count_lines(side.mono) for side in sides[1:])]
    texts = [
        f"{number:,} lines of {side.mono}"
        for side, number in zip(sides, reading, strict=True)
        if number
    ]
    times = Counter(texts)
    translated = [f"{text} {_times(number)}" for text, number in times.items()]
    spent = sum(training) + pace * sum(reading)
    reads = f", and {' and '.join(translated)} to translate" if translated else ""
    words = (
        f"{_number(rounds.count, 'round')}, {_number(len(left), 'training')} to go of {duration(max(training))} each {of}"
        f"{reads}; about {duration(spent)} in all"
    )
    return words, spent


def _stand_in(side: Side, number: int, source: Path, target: Path) -> int:
    """Write as many pairs as a model will for ``side``, its sentences beside the genuine sources, again and again; return how many."""
    pairs = PairReader((side.source, side.target), UNNAMED, None)
    genuine = [pair.source for pair in islice(pairs, number)]
    sentences = (
        line for block in read_blocks(side.mono, 10_000) for line in block.lines if line.strip()
    )
    some = list(islice(sentences, number))
    if not genuine or not some:
        number = 0
    write_lines(target, islice(cycle(some), number))
    write_lines(source, islice(cycle(genuine), number))
    return number


def seconds_spent(run: Path) -> float:
    """Return how long a run has been trained already; 0 if it has not begun."""
    seconds = 0.0
    with suppress(OSError, ValueError, AttributeError):
        for line in RunFolder(run).metrics.read_text(encoding="utf-8").splitlines():
            seconds = json.loads(line).get("seconds", seconds)
    return seconds


def recall(rounds: Rounds, told: dict[str, Any], filtered: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is done already; a longer chain of rounds goes on with a shorter one.

    Args:
        rounds: what is planned.
        told: the settings that decide.
        filtered: those that may be others for a training that has not begun.

    Raises:
        ConfigError: the folder was begun with other settings or other text.
        OutputError: what it holds cannot be read.
    """
    path = rounds.output / ROUNDS
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        before, done = content["settings"], content["done"]
        begun = content.get("begun")
        has_run = begun is not None and Path(begun["run"]).exists()
        for name, value in _that_count(rounds, told, done, begun if has_run else None).items():
            if name in before and before[name] != value:
                raise ConfigError(
                    f"{path.parent}: was begun with {_FLAGS.get(name, name)} = {before[name]}, not {value}; give another --output"
                )
        if has_run:
            _check_begun(begun, filtered)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{path}: cannot be read ({error}); give another --output, or remove it"
        ) from error
    found: list[dict[str, Any]] = done
    return found


def _check_begun(begun: dict[str, Any], filtered: dict[str, Any]) -> None:
    """Refuse to filter the text anew that an unfinished training reads."""
    for name, value in filtered.items():
        before = begun.get(name)
        if before != value:
            flag = f"--{name.replace('_', '-')}"
            how = f"without {flag}" if before is None else f"with {flag} {before}"
            raise ConfigError(
                f"{begun['run']}: this training was begun {how}; go on like that, as "
                "another one counts from the next training on, or remove the folder, which begins this one anew"
            )


def content_of(files: Sequence[Path]) -> dict[str, str]:
    """Return the beginning of the SHA-256 of each file."""
    return {
        _content_name(path): fingerprint([path])[path.as_posix()]["sha256"][:12] for path in files
    }


def _content_name(path: Path) -> str:
    return f"content of {path}"


def train_in_turn(
    rounds: Rounds,
    make: Make,
    run: str,
    told: dict[str, Any],
    done: list[dict[str, Any]],
    filtered: dict[str, Any],
    say: Callable[[str], None],
) -> TrainResult | None:
    """Do every step that is not done yet; return the training that a signal stopped, if one did.

    Args:
        rounds: what is planned.
        make: writes the text of a training, and its configuration.
        run: name of the run in the folder of a training.
        told: the settings that decide.
        done: what each training before came to; those that follow are added.
        filtered: settings that may be others for the next training, and are told with each.
        say: takes what a person should know meanwhile.

    Raises:
        OutputError: the folder cannot be written.
        TrainingError: a training cannot go on; the message says how, as these rounds keep to the settings that they were begun with.
    """
    left, before = rounds.left(done), len(done)
    started = time.monotonic()
    for index, (number, role, side) in enumerate(left):
        spent, ahead = time.monotonic() - started, len(left) - index
        wait = f", about {duration(spent / index * ahead)} left" if index else ""
        nth = f"training {before + index + 1} of {before + len(left)}"
        say(f"round {number} of {rounds.count}: the {role} model, {nth}{wait}")
        place = rounds.folder(number, role)
        settings = make(rounds.writer(number, role, run), side, place)
        begun = {"round": number, "model": role, **filtered, "run": str(place / run)}
        _keep(rounds, told, done, begun)
        try:
            result = train(load_config(settings))
        except TrainingError as error:
            raise TrainingError(str(error).replace(WAY_OUT, _way_out(settings))) from error
        if result.signal is not None:
            return result
        done.append(begun | _figures(result))
        _keep(rounds, told, done, None)
    return None


def _way_out(settings: Path) -> str:
    """Say what to do where the weights of a training are spoilt; ``loop.WAY_OUT`` would be refused here."""
    command = f"interlingua train {shlex.quote(str(settings))}"
    return (
        f"Finish this training by hand with a lower rate than it chose: {command} --training.peak-learning-rate RATE; it resumes from "
        "the last checkpoint. Then run this command again. If that ends the same way, its weights are spoilt: delete the newest folder in the "
        "run's checkpoints, and it resumes from the one before, or add --fresh to that command"
    )


def _keep(
    rounds: Rounds,
    told: dict[str, Any],
    done: Sequence[dict[str, Any]],
    begun: dict[str, Any] | None,
) -> None:
    """Write down what decides, what is done, and which training is under way, before it can have learnt anything."""
    content = {
        "version": 1,
        "settings": _that_count(rounds, told, done, begun),
        "done": done,
        "begun": begun,
    }
    write_text(rounds.output / ROUNDS, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _that_count(
    rounds: Rounds,
    told: dict[str, Any],
    done: Sequence[dict[str, Any]],
    begun: dict[str, Any] | None,
) -> dict[str, Any]:
    """Leave out the text of the reverse model while no training has read what was made of it, so that another can still be given."""
    trained = [*done, *([begun] if begun else [])]
    if TEXT_OF_SOURCE not in told or any(each["model"] == "reverse" for each in trained):
        return told
    read = filter(None, (rounds.forward.mono, *rounds.forward.named.values()))
    unread = {TEXT_OF_SOURCE, _content_name(Path(told[TEXT_OF_SOURCE]))}
    unread -= set(map(_content_name, read))  # the same file may have another use
    return {name: value for name, value in told.items() if name not in unread}


def describe_rounds(rounds: Rounds, done: Sequence[dict[str, Any]]) -> str:
    """Tell a person what each training came to, and which model is the best, if one text validated all."""
    figures = [_figure(each["validation"]) for each in done]
    lines = [
        f"round {each['round']}, {each['model']}: validation {told}, {each['run']}"
        for each, (told, _) in zip(done, figures, strict=True)
    ]
    forward = [number for number, each in enumerate(done) if each["model"] == "forward"]
    if not forward:
        return "".join(f"{line}\n" for line in lines)
    chosen = max(reversed(forward), key=lambda number: figures[number][1])  # the latest of equals
    if rounds.forward.valid_source is None and len(forward) > 1:
        lines.append(
            "each was validated on a part of its own text, so that these figures cannot be compared; --valid-source and "
            "--valid-target make them so"
        )
        chosen = forward[-1]
    run = shlex.quote(str(done[chosen]["run"]))
    lines.append(f'next: interlingua translate {run} "..."')
    return "".join(f"{line}\n" for line in lines)


def _figure(validation: dict[str, Any] | None) -> tuple[str, float]:
    """Return what a training is judged by, in words too: its BLEU, or chrF where no reference is long enough for BLEU."""
    if validation is None:  # behind every one that is known
        return "unknown", -math.inf
    name = "chrF" if validation.get("too_short_for_bleu") else "BLEU"
    value = validation[name.lower()]
    return f"{name} {value:.2f}", value


def _figures(result: TrainResult) -> dict[str, Any]:
    return {
        "run": str(result.run_dir),
        "steps": result.steps,
        "seconds": result.seconds,
        "validation": asdict(result.validation) if result.validation else None,
    }


def _number(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
