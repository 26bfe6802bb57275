"""What a run will cost, said beforehand: from the sizes, and from some seconds of real updates."""

import json
import math
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count, islice
from pathlib import Path

import numpy as np
import torch

from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import RunConfig, TrainingConfig
from interlingua.hardware import (
    choose_device,
    prepare_cpu,
    total_memory,
)
from interlingua.training.assembling import trainer_of, translator_of, validator_of
from interlingua.training.data import TrainingData
from interlingua.training.expected_bleu import BleuBand
from interlingua.training.gradients import refuse_missing_integers
from interlingua.training.loop import Trainer
from interlingua.training.prepare import Prepared, prepare, run_dir_of
from interlingua.training.progress import in_words

__all__ = ["Plan", "plan"]

PROBE_BATCHES, PROBE_SECONDS = 20, 8.0
"""Batches that are timed, in whole updates: at least so many, and for at least so long, because the speed of a machine wavers."""
LONGEST_PROBE = 90.0
"""Seconds after which one timed update is enough: with a large model on a small machine it takes minutes."""
WARMUP = 3
"""Batches before the clock starts: the first ones allocate memory and choose kernels."""
LONGEST_START = 5.0
"""Starting Python and torch takes seconds that a run pays again; what this process worked before that is no start."""
_GROWTH = 1.08
"""A run's peak over that of the probe: batches of ever other shapes fray the heap (measured: 1.05 to 1.15)."""
_SLOWER = 1.06
"""A run's time over what the probe says: a probe of seconds meets fewer of the machine's bad moments (measured: 0.9 to
1.28, on average 1.1, over fifteen runs on a shared machine)."""
_BUSY = 0.1
"""Share of the time without a processor from which on a plan is worth little (measured once each: 0.17 beside tests on both of two cores, 0.0001 alone)."""
_FILLED = 0.9
"""Share of the memory that a run may take; the rest is for everything else."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run comes to; times in seconds, memory and disk in bytes."""

    parameters: int
    training_pairs: int
    target_tokens_an_epoch: int
    steps: int
    epochs: float
    seconds_a_step: float
    tokens_a_second: float
    seconds_to_prepare: float
    validations: int
    seconds_a_validation: float
    seconds: float
    memory: int
    total_memory: int | None
    disk: int
    free_disk: int
    chosen: tuple[str, ...]
    bleu: BleuBand | None
    """Of the validation text after a training to its end, where that can be told."""
    waited: float | None = None
    """Share of the time in which updates that were tried had no processor, as other programs had it; None where the system does not tell."""

    def to_json(self) -> str:
        """Give every figure by name."""
        return json.dumps(asdict(self), indent=2)

    def to_text(self) -> str:
        """Say it in words that a person can act on."""
        lines = [
            f"{self.training_pairs:,} pairs, {self.target_tokens_an_epoch:,} target tokens an epoch",
            f"{self.parameters:,} parameters",
            *(f"chosen: {reason}" for reason in self.chosen),
            f"{self.steps:,} updates ({self.epochs:.1f} epochs) at {self.seconds_a_step:.3f} s, "
            f"{self.tokens_a_second:,.0f} target tokens a second",
            f"{self.seconds_to_prepare:.0f} s of preparation, "
            f"{self.validations:,} validations at {self.seconds_a_validation:.1f} s",
            f"time: at most {in_words(self.seconds)}; early stopping may end it sooner, and a run can be "
            "stopped and resumed at any time",
            f"memory: {_size(self.memory)} at the peak"
            + (f", of {_size(self.total_memory)}" if self.total_memory else ""),
            f"disk: {_size(self.disk)} at most; {_size(self.free_disk)} are free",
        ]
        if self.bleu:
            lines.append(
                f"BLEU: {self.bleu} on the validation text after a training to its end, as other corpora came to"
            )
        else:
            lines.append(
                "BLEU: nothing is foretold; only of text like what was measured is it: 500 to 50,000 pairs of two languages with words, "
                "learnt from the beginning by a Transformer, without noise, tags and weights"
            )
        if self.waited and self.waited > _BUSY:
            lines.append(
                f"the machine was busy: other programs had the processor for {self.waited:.0%} of the time in which updates were tried, so that a "
                "run alone takes less time; plan again when it is quiet"
            )
        if self.total_memory and self.memory > _FILLED * self.total_memory:
            lines.append(
                "the memory is too small: lower batching.batch-tokens, or take a smaller model.preset"
            )
        if self.disk > self.free_disk:
            lines.append(
                "the disk is too small: lower training.keep-checkpoints, or free some room"
            )
        if self.seconds > 12 * 3600:
            lines.append(
                "that is long: a smaller model.preset, fewer training.steps or a limit such as "
                "training.minutes = 120 make it shorter"
            )
        return "\n".join(lines)


def plan(config: RunConfig, *, say: Callable[[str], None] = lambda _: None) -> Plan:
    """Make the choices of a run, try some updates and a validation, and reckon the whole.

    ``say`` is told what is being tried: with a large model an update can take half a minute.

    Nothing is left behind: the probe works in a temporary folder. ``disk`` counts one checkpoint and one model more
    than stay, because the new one is written before the old one goes.

    Raises:
        ConfigError, CorpusError, TrainingError: what training itself would raise.
    """
    seconds_to_start = min(time.process_time(), LONGEST_START)
    prepare_cpu(config.training.threads)
    device = choose_device(config.training.device)
    refuse_missing_integers(config.training, device)
    with tempfile.TemporaryDirectory(prefix="interlingua-plan-") as scratch:
        wanted = config.model_copy(update={"run_dir": Path(scratch) / "run"})
        say("preparing the corpus")
        started = time.perf_counter()
        prepared = prepare(wanted)
        seconds_to_prepare = seconds_to_start + time.perf_counter() - started
        prepared_bytes = sum(file.stat().st_size for file in _files(Path(scratch)))
        free_disk = _free_disk(run_dir_of(config))
        return _probe(
            prepared,
            device,
            seconds_to_prepare=seconds_to_prepare,
            prepared_bytes=prepared_bytes,
            free_disk=free_disk,
            say=say,
        )


def _probe(
    prepared: Prepared,
    device: torch.device,
    *,
    seconds_to_prepare: float,
    prepared_bytes: int,
    free_disk: int,
    say: Callable[[str], None],
) -> Plan:
    training = prepared.config.training
    trainer = trainer_of(prepared, device)
    # With small weights there are epochs without a pair.
    order = next(filter(len, map(prepared.training.order, count())))
    say("trying updates, the largest batch first")
    before = _on_processors()
    seconds_a_step, tokens_a_step = _time_updates(trainer, prepared, order)
    waited = _share_without(before, _on_processors())
    seconds_a_step *= _SLOWER
    say(f"an update takes {seconds_a_step:.2f} s; trying a validation")
    seconds_a_validation = _SLOWER * _time_validation(trainer, prepared)
    updates_an_epoch = max(1.0, len(order) / training.accumulate)
    every = training.validate_every or 1000
    steps = _steps(training, seconds_a_step + seconds_a_validation / every)
    validations = -(-steps // every)
    parameters = sum(p.numel() for p in parameters_of(trainer.model).values())
    kept = max(training.keep_checkpoints, training.average_last)
    checkpoints = min(kept, validations) + 1
    return Plan(
        parameters=parameters,
        training_pairs=len(prepared.training.shards),
        target_tokens_an_epoch=prepared.training.target_tokens,
        steps=steps,
        epochs=steps / updates_an_epoch,
        seconds_a_step=seconds_a_step,
        tokens_a_second=tokens_a_step / seconds_a_step,
        seconds_to_prepare=seconds_to_prepare,
        validations=validations,
        seconds_a_validation=seconds_a_validation,
        seconds=seconds_to_prepare
        + steps * seconds_a_step
        + (validations + 1) * seconds_a_validation,
        memory=round(_GROWTH * _peak_memory(device)),
        total_memory=total_memory(device),
        disk=prepared_bytes
        + parameters * 4 * ((3 if trainer.mean is None else 4) * checkpoints + 2),
        free_disk=free_disk,
        chosen=prepared.reasons,
        bleu=prepared.expected,
        waited=waited,
    )


def _steps(training: TrainingConfig, seconds_a_step: float) -> int:
    """Return the updates that ``training`` allows, by number or by time, whichever ends first."""
    limits = [training.steps] if training.steps else []
    if training.minutes:
        limits.append(int(60 * training.minutes / seconds_a_step))
    return max(1, min(limits, default=1))


def _time_updates(
    trainer: Trainer, prepared: Prepared, order: Sequence[np.ndarray]
) -> tuple[float, float]:
    """Return the seconds and the target tokens of an average update.

    The first update, before the clock starts, has the largest batch of the epoch: the peak of memory is real then.
    """
    chosen = chain([_largest(prepared.training, order)], _spread(order))
    times: list[float] = []
    tokens: list[int] = []
    together = prepared.config.training.accumulate
    warmup, fewest = (math.ceil(number / together) for number in (WARMUP, PROBE_BATCHES))
    while len(times) < warmup + fewest or sum(times[warmup:]) < PROBE_SECONDS:
        if len(times) > warmup and sum(times) > LONGEST_PROBE:
            break
        indices = list(islice(chosen, together))
        if trainer.gradient.captured:  # the first update of a shape is captured, which takes longer
            trainer.update([prepared.training.batch(pairs, 0) for pairs in indices])
        started = time.perf_counter()
        group = [prepared.training.batch(pairs, 0) for pairs in indices]
        trainer.update(group)
        times.append(time.perf_counter() - started)
        tokens.append(sum(batch.num_target_tokens for batch in group))
    times, tokens = times[warmup:], tokens[warmup:]
    return statistics.fmean(times), statistics.fmean(tokens)


def _on_processors() -> tuple[int, int] | None:
    """Return how long the threads of this process have had a processor, and how long they waited for one, in nanoseconds; Linux tells."""
    try:
        told = [
            file.read_text().split()[:2] for file in Path("/proc/self/task").glob("*/schedstat")
        ]
        return sum(int(had) for had, _ in told), sum(int(waited) for _, waited in told)
    except (OSError, ValueError):
        return None


def _share_without(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    """Return the share of the time between that was spent waiting for a processor."""
    if before is None or after is None:
        return None
    had, waited = (max(0, now - then) for now, then in zip(after, before, strict=True))
    return waited / (had + waited) if had + waited else None


def _spread(order: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield batches from all over an epoch, however many are taken: steps of the golden ratio leave no gaps."""
    for number in count():
        yield order[int(number * 0.6180339887498949 % 1.0 * len(order))]


def _largest(data: TrainingData, order: Sequence[np.ndarray]) -> np.ndarray:
    """Return the batch with the most padded tokens, both sides together."""
    source, target = data.shards.source_lengths, data.shards.target_lengths

    def padded(indices: np.ndarray) -> int:
        return len(indices) * (int(source[indices].max()) + int(target[indices].max()))

    return max(order, key=padded)


def _time_validation(trainer: Trainer, prepared: Prepared) -> float:
    """Time one validation and the checkpoint after it, as if the outputs had the length of the references.

    A model of a few updates never ends a sentence, so real decoding would take far longer than it will.
    """
    lengths = prepared.validation.shards
    ratio = float(lengths.target_lengths.mean()) / max(float(lengths.source_lengths.mean()), 1.0)
    limits = {"max_length_factor": max(1.2 * ratio, 0.1), "max_length_offset": 4}
    decoding = prepared.config.decoding.model_copy(update=limits)
    translator = translator_of(prepared, trainer, decoding)
    store = CheckpointStore(prepared.folder.checkpoints, keep=2)
    validator = validator_of(prepared, trainer, translator, lambda: False)
    started = time.perf_counter()
    measured = validator.measure(trainer.judged)
    if measured:
        validator.samples(trainer.judged, measured[1])
    trainer.save(store)
    return time.perf_counter() - started


def _peak_memory(device: torch.device) -> int:
    """Return the largest memory that this process has held, in bytes; of a graphics card with all else that is there."""
    if device.type == "cuda":
        free, whole = torch.cuda.mem_get_info(device)
        elsewhere = (
            whole - free - torch.cuda.memory_reserved(device)
        )  # of the driver, and of others
        return elsewhere + torch.cuda.max_memory_reserved(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _free_disk(run_dir: Path) -> int:
    """Return the free bytes where ``run_dir`` is or will be made."""
    place = run_dir.absolute()
    return shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _size(number: int) -> str:
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
