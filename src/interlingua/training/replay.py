"""A run trained again from its own folder: do the first updates give the losses that it wrote down?

The ids in ``shards/`` are what was trained on, so that the text is needed only to say that it is still the same. The
updates are made by the loop that made them first, in a temporary folder; the run itself is not touched.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from signal import Signals
from typing import Any, Literal

from rich.console import Console

from interlingua.checkpoints.model_folder import BuildModel
from interlingua.config import RunConfig, TrainingConfig
from interlingua.errors import ConfigError, CorpusError, ModelError
from interlingua.hardware import choose_device, prepare_cpu
from interlingua.model.building import build_encoder_decoder
from interlingua.training.locked_text import holds_still, locked_text, places_before
from interlingua.training.meter import LOG_EVERY
from interlingua.training.prepare import Prepared, reopen
from interlingua.training.progress import TrainingProgress
from interlingua.training.run import train_again
from interlingua.training.run_folder import MACHINE, RunFolder, other_machine

__all__ = ["TOLERANCE", "LossPair", "Replayed", "compare_losses", "replay"]

TOLERANCE = 0.02
"""By so much of itself a loss may differ where another machine, or the clock, had a say in it."""

_OLD_DECIMALS = 4
"""Earlier versions wrote no more of a loss; validations still do."""


@dataclass(frozen=True, slots=True)
class LossPair:
    """A loss that a run wrote down, and the one that came out now."""

    step: int
    kind: Literal["training", "validation"]
    """``training``: the mean of the updates since the record before; ``validation``: of the held-back pairs."""
    before: float | None
    """None: no update had a loss that is a number."""
    now: float | None
    is_equal: bool
    """Bit for bit, as far as the run wrote it down."""

    @property
    def difference(self) -> float:
        """How far the two are apart, in parts of the first; infinite if only one is a number."""
        if self.before is None or self.now is None:
            return 0.0 if self.before is self.now else float("inf")
        return abs(self.now - self.before) / max(abs(self.before), 1e-9)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What training again has shown."""

    run: Path
    steps: int
    """The last update whose loss was compared."""
    losses: tuple[LossPair, ...]
    reasons: tuple[str, ...]
    """Why the last bits need not be the same; none if they must."""
    signal: int | None = None
    """The signal that stopped it, if one did."""

    @property
    def is_equal(self) -> bool | None:
        """Whether all losses are equal to the last bit; None if it was stopped before one differed."""
        if not all(pair.is_equal for pair in self.losses):
            return False
        return True if self.signal is None else None

    @property
    def differs(self) -> LossPair | None:
        """The first loss that is not what it should be: equal, or within ``TOLERANCE`` if there are ``reasons``."""
        for pair in self.losses:
            if not pair.is_equal and (not self.reasons or pair.difference > TOLERANCE):
                return pair
        return None

    def to_text(self) -> str:
        """Tell a person."""
        lines = [
            f"step {pair.step:>6,} {pair.kind:<10} {_number(pair.before)}  {_number(pair.now)}  {_verdict(pair)}"
            for pair in self.losses
        ]
        lines += [f"need not be equal to the last bit: {reason}" for reason in self.reasons]
        lines.append(self._conclusion())
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Tell a program."""
        found = self.differs
        return {
            "run": self.run,
            "steps": self.steps,
            "equal": self.is_equal,
            "signal": self._signal_name,
            "tolerance": TOLERANCE if self.reasons else 0.0,
            "differs_at": found.step if found else None,
            "reasons": self.reasons,
            "losses": [asdict(pair) for pair in self.losses],
        }

    @property
    def _signal_name(self) -> str | None:
        return None if self.signal is None else Signals(self.signal).name

    def _conclusion(self) -> str:
        if found := self.differs:
            since = max((p.step for p in self.losses if p.step < found.step), default=0)
            where = f"update {found.step:,}"
            if found.kind == "training":
                where = f"one of the updates {since + 1:,} to {found.step:,}"
            return f"{self.run}: differs first at {where}"
        if self.signal is not None:
            return (
                f"{self.run}: stopped by {self._signal_name}; "
                f"nothing is said of what follows update {self.steps:,}"
            )
        told = f"{self.run}: the first {self.steps:,} updates give the same losses, "
        if self.is_equal:
            return f"{told}{len(self.losses)} of {len(self.losses)} to the last bit that was written down"
        largest = max(pair.difference for pair in self.losses)
        return f"{told}but for {100 * largest:.2g}% at most; up to {TOLERANCE:.0%} is taken for the same"


def replay(
    run: Path,
    *,
    steps: int = 100,
    build_model: BuildModel = build_encoder_decoder,
    console: Console | None = None,
) -> Replayed:
    """Train the first updates of a run again, and compare the losses with those in its ``metrics.jsonl``.

    Args:
        run: the run folder; nothing in it is written.
        steps: updates, rounded up to the next record of the run; no more than the run has records of before it was first resumed
            with other settings or on another machine. They are made on another device where that of the run is not to be had.
        build_model: what made the model, if it was none of this package's own.
        console: where progress goes, by default standard error.

    Raises:
        ConfigError: no update is asked for, or torchrun started this process.
        ModelError: there is no run, it has no records, or the model that it began with is gone.
        CorpusError: a text that it was trained on has been changed where it was, or its shards are damaged.
    """
    if steps < 1:
        raise ConfigError(f"--steps must be at least 1, not {steps}")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            "a run is replayed in one process, also one of several; start it without torchrun"
        )
    folder = RunFolder(run)
    progress = TrainingProgress(console or Console(stderr=True))
    prepared = reopen(folder)
    records, remedy = read_losses(folder), "train the run further, then replay it"
    untold: tuple[str, ...] = ()
    if settings := folder.read_settings():
        first, *later = settings
        prepared = _with_training(prepared, first["training"])
        environment = first["environment"]
        if begun := first["after"]:  # by an earlier version, or the file was damaged since
            later = settings
            untold = (
                f"{folder.settings.name} does not tell where the first {begun:,} updates were made, and by what settings; those of what "
                "came next are taken",
            )
        if later:
            end = later[0]["after"]
            records = [record for record in records if record["step"] <= end]
            remedy = "such a beginning cannot be replayed"
        if later and not untold:
            progress.say(f"{end:,} updates were made before {_changes(first, later[0])}")
    else:
        environment = _read_environment(folder)
    prepared = _on_what_is_here(prepared)
    if not any(record["kind"] == "training" for record in records):
        raise ModelError(
            f"{folder.metrics}: has no loss of training to compare with, which is written every {LOG_EVERY} updates; {remedy}"
        )
    last, rates = _last_record(records, steps), _rates_of(records)
    for remark in check_text(folder, prepared.config):
        progress.say(remark)
    prepare_cpu(prepared.config.training.threads or environment.get("threads"))
    with tempfile.TemporaryDirectory(prefix="interlingua-replay-") as scratch:
        again = RunFolder(Path(scratch))
        signal = train_again(
            replace(prepared, folder=again),
            last,
            rates=rates,
            build_model=build_model,
            progress=progress,
        )
        found = read_losses(again)
        reasons = (
            *(untold or _other_machine(environment, _read_environment(again))),
            *_clock(prepared.config, last, rates),
            *_gpu(prepared.config),
        )
    # What was validated at the last step came after its record, and is not made again.
    wanted = [
        r for r in records if r["step"] < last or (r["step"], r["kind"]) == (last, "training")
    ]
    if signal is not None:
        wanted = wanted[: len(found)]
        last = wanted[-1]["step"] if wanted else 0
    return Replayed(run, last, compare_losses(wanted, found), reasons, signal)


def compare_losses(
    before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]
) -> tuple[LossPair, ...]:
    """Put the losses of two sets of records beside each other; one that is missing now differs."""
    again = {(record["kind"], record["step"]): record["loss"] for record in now}
    pairs = []
    for record in before:
        kind, step, then = record["kind"], record["step"], record["loss"]
        loss = again.get((kind, step))
        as_written = {loss} if loss is None else {loss, round(loss, _OLD_DECIMALS)}
        is_equal = then in as_written and (kind, step) in again
        pairs.append(LossPair(step, kind, then, loss, is_equal))
    return tuple(pairs)


def read_losses(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the records of a run that hold a loss, in their order, with the learning rates that the clock decided; none if it has none.

    Raises:
        ModelError: the file cannot be read.
    """
    try:
        lines = folder.metrics.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder.metrics}: cannot be read ({error})") from error
    found = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record = json.loads(line)
            if record["kind"] in ("training", "validation"):
                kept = {name: record[name] for name in ("kind", "step", "loss")}
                rates = record.get("learning_rates")
                found.append(kept | ({"learning_rates": rates} if rates else {}))
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{folder.metrics}, line {number}: is no record of a run ({error}); take a whole copy of the run"
            ) from error
    return found


def check_text(folder: RunFolder, config: RunConfig) -> list[str]:
    """Compare the text of a run with its lock; return what a user should know.

    Another text where the run is now need not be a changed one: from another folder its names may mean other files.

    Raises:
        CorpusError: a file that the run was made from holds something else, or the lock cannot be read.
    """
    remarks, made_from = [], places_before(folder)
    for path, sha256 in locked_text(folder, config).items():
        if not path.is_file():
            remarks.append(f"{path}: is not there any more; its ids in {folder.shards} are")
        elif not holds_still(path, sha256):
            if os.path.abspath(path) in made_from or path.is_relative_to(folder.path):
                raise CorpusError(
                    f"{path}: is not the text that {folder.path} was trained on, by the SHA-256 in {folder.corpus_lock}; "
                    "put that text back, or train anew"
                )
            remarks.append(
                f"{path}: is another text than the one that the run read elsewhere; its ids in {folder.shards} are there"
            )
    return remarks


def _last_record(records: Sequence[dict[str, Any]], steps: int) -> int:
    """Return the first recorded update from ``steps`` on, or the last one of all."""
    recorded = [record["step"] for record in records if record["kind"] == "training"]
    return next((step for step in recorded if step >= steps), recorded[-1])


def _read_environment(folder: RunFolder) -> dict[str, Any]:
    try:
        told = json.loads(folder.environment.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{folder.environment}: cannot be read ({error}); take a whole copy of the run"
        ) from error
    return told if isinstance(told, dict) else {}


def _other_machine(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say in what the machine, or what computes on it, is another one than the run wrote down."""
    found = other_machine(before, now)
    if untold := [name for name in MACHINE if name not in before]:
        found.append(f"environment.json does not tell {', '.join(untold)}")
    return found


def _rates_of(records: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Return the learning rate of each update that the clock decided, as far as the run wrote them down."""
    found: dict[int, float] = {}
    for record in records:
        rates = record.get("learning_rates", ())
        found |= dict(enumerate(rates, start=record["step"] - len(rates) + 1))
    return found


def _clock(config: RunConfig, last: int, rates: Mapping[int, float]) -> list[str]:
    """Say that the clock decided how large the updates were, if it did and the run did not write down how."""
    training = config.training
    if not training.follows_clock or all(step in rates for step in range(1, last + 1)):
        return []
    return [
        f"training.minutes = {training.minutes:g} with training.schedule = {training.schedule}: "
        "the learning rate follows the clock, and an earlier version did not write it down"
    ]


def _gpu(config: RunConfig) -> list[str]:
    """Say that a graphics card computes, if it does: some of its sums are added up in another order each time."""
    device = choose_device(config.training.device).type
    return [] if device == "cpu" else [f"{device}: to the last bit a run is the same on a CPU only"]


def _with_training(prepared: Prepared, training: dict[str, Any]) -> Prepared:
    """Return a run with other settings of training, such as those that it began with, of those that matter for a loss."""
    config = prepared.config
    whole = config.training.model_dump() | training
    update = {"training": TrainingConfig.model_validate(whole)}
    return replace(prepared, config=config.model_copy(update=update))


def _on_what_is_here(prepared: Prepared) -> Prepared:
    """Return a run on its own device, or on the best one here if that is not to be had; the other machine is told afterwards."""
    try:
        choose_device(prepared.config.training.device)
    except ConfigError:
        return _with_training(prepared, {"device": "auto"})
    return prepared


def _changes(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Name what a run was resumed with that it had not begun with."""
    changed = [
        f"{prefix}{name} = {value}"
        for section, prefix in (("training", "training."), ("environment", ""))
        for name, value in now[section].items()
        if before[section].get(name) != value
    ]
    return f"it went on with {', '.join(sorted(changed))}"


def _number(loss: float | None) -> str:
    return "none" if loss is None else f"{loss:.9g}"


def _verdict(pair: LossPair) -> str:
    if pair.is_equal:
        return "equal"
    return "missing" if pair.now is None else f"differs by {100 * pair.difference:.2g}%"
