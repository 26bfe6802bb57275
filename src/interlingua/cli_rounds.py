"""Iterated back-translation: a forward and a reverse model are trained in turn, each on what the other one wrote.

In every round the reverse model writes sources for text of the target language, and the forward model is trained on them and the
genuine pairs; before the next round the forward model does the same for the reverse one. Each training begins with fresh weights.

Source: Hoang et al. 2018, "Iterative back-translation for neural machine translation".
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from interlingua.cli_results import exit_status_of
from interlingua.cli_streams import note
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.errors import ConfigError, OutputError
from interlingua.files import write_text
from interlingua.training.plan import plan
from interlingua.training.progress import in_words as duration
from interlingua.training.run import TrainResult, train

__all__ = ["Rounds", "Side", "describe_rounds", "tell_cost", "train_in_turn"]

ROUNDS = "rounds.json"

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

    def folder(self, number: int, role: Role) -> Path:
        """Return where a training keeps its text and its run."""
        return self.output / f"round-{number}" / role

    def writer(self, number: int, role: Role, run: str) -> Path:
        """Return the model that writes the text for a training: the newest of the other direction."""
        if role == "reverse":
            return self.folder(number, "forward") / run
        return self.folder(number - 1, "reverse") / run if number > 1 else self.reverse_model


def tell_cost(
    rounds: Rounds,
    config: RunConfig,
    lines: Sequence[tuple[Path, int, float]],
) -> str:
    """Say what all rounds will take.

    Args:
        rounds: what is planned.
        config: a training on the genuine pairs alone.
        lines: texts to translate, with their number of lines and the seconds that one translation of them takes.
    """
    trainings = 2 * rounds.count - 1
    if config.training.minutes is not None:
        seconds, of = 60 * config.training.minutes, "at most"
    else:
        seconds, of = plan(config).seconds, "on the genuine pairs alone"
    translated = [
        f"{number:,} lines of {path} {times} {'time' if times == 1 else 'times'}"
        for (path, number, _), times in zip(lines, (rounds.count, rounds.count - 1), strict=False)
    ]
    spent = sum(
        each * times
        for (_, _, each), times in zip(lines, (rounds.count, rounds.count - 1), strict=False)
    )
    return (
        f"{rounds.count} {'round' if rounds.count == 1 else 'rounds'}: {trainings} "
        f"{'training' if trainings == 1 else 'trainings'} of {duration(seconds)} each {of}, and {' and '.join(translated)} "
        f"translated; about {duration(trainings * seconds + spent)} in all"
    )


def train_in_turn(
    rounds: Rounds, make: Make, run: str, told: dict[str, Any]
) -> tuple[int, list[dict[str, Any]]]:
    """Do every step that is not done yet; return the exit status, and what each training came to.

    Args:
        rounds: what is planned.
        make: writes the text of a training, and its configuration.
        run: name of the run in the folder of a training.
        told: the settings that decide; a folder that was begun with others is refused.

    Raises:
        ConfigError: the folder was begun with other settings.
        OutputError: it cannot be written.
    """
    path = rounds.output / ROUNDS
    done = _recall(path, told)
    for number, role, side in rounds.steps():
        if any((each["round"], each["model"]) == (number, role) for each in done):
            continue
        note(f"round {number} of {rounds.count}: the {role} model")
        place = rounds.folder(number, role)
        settings = make(rounds.writer(number, role, run), side, place)
        result = train(load_config(settings))
        if result.signal is not None:
            return exit_status_of(result), done
        done.append({"round": number, "model": role, **_figures(result)})
        content = {"version": 1, "settings": told, "done": done}
        write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return 0, done


def describe_rounds(done: Sequence[dict[str, Any]]) -> str:
    """Tell a person what each training came to, and which model is the best."""
    lines = []
    best: tuple[float, str] | None = None
    for each in done:
        bleu = each["validation"]["bleu"] if each["validation"] else 0.0
        lines.append(
            f"round {each['round']}, {each['model']}: validation BLEU {bleu:.2f}, {each['run']}"
        )
        if each["model"] == "forward" and (best is None or bleu > best[0]):
            best = (bleu, each["run"])
    if best is not None:
        lines.append(f'next: interlingua translate {best[1]} "..."')
    return "".join(f"{line}\n" for line in lines)


def _figures(result: TrainResult) -> dict[str, Any]:
    return {
        "run": str(result.run_dir),
        "steps": result.steps,
        "seconds": result.seconds,
        "validation": asdict(result.validation) if result.validation else None,
    }


def _recall(path: Path, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is done already; a longer chain of rounds goes on with a shorter one."""
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        before, done = content["settings"], content["done"]
        for name, value in told.items():
            if name in before and before[name] != value:
                raise ConfigError(
                    f"{path.parent}: was begun with {name} = {before[name]}, not {value}; give another --output"
                )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{path}: cannot be read ({error}); give another --output, or remove it"
        ) from error
    found: list[dict[str, Any]] = done
    return found
