"""The training loop: batches in, weights out, and everything on disk that a resume needs."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

import torch
from torch import Tensor

from interlingua.batching.batch import Batch
from interlingua.checkpoints.model_folder import parts_of
from interlingua.checkpoints.store import Checkpoint, CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import TrainingConfig
from interlingua.errors import ModelError, OutputError, TrainingError
from interlingua.hardware import is_lack_of_memory
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.checkpoint_of_run import check_checkpoint
from interlingua.training.data import Cursor, TrainingData
from interlingua.training.dividing import copy_weights
from interlingua.training.gradients import GradientOfUpdate, Measured
from interlingua.training.meter import Meter
from interlingua.training.metrics_log import MetricsLog, append_record
from interlingua.training.optimizer import Adam, moments_of, restore_moments
from interlingua.training.progress import TrainingProgress
from interlingua.training.schedule import learning_rate, paper_peak
from interlingua.training.stopping import BestSoFar, StopSignal
from interlingua.training.train_state import TrainState
from interlingua.training.validation import Validation, Validator
from interlingua.training.workers import ALONE, Workers

__all__ = ["Trainer"]

MOST_SKIPPED = 10
"""So many updates in a row without a finite loss end the run, whatever the policy."""
WAY_OUT = (
    "Lower training.peak_learning_rate or lengthen training.warmup_steps, then run the same command again: it resumes from the "
    "last checkpoint, if there is one. If that ends the same way, its weights are spoilt: delete the newest folder in the run's checkpoints, and it "
    "resumes from the one before, or use --fresh"
)
"""What to do where the weights are spoilt, or soon would be."""
NUMBERS_SAVED = 7e6
"""Parameters a second, about, that are saved on a busy laptop: twelve bytes each, hashed, written, and read back."""


class Trainer:
    """Takes a model from one state to the next until there is a reason to stop."""

    def __init__(
        self,
        model: EncoderDecoder,
        data: TrainingData,
        config: TrainingConfig,
        *,
        device: torch.device,
        dtype: torch.dtype,
        mean: EncoderDecoder | None = None,
        workers: Workers = ALONE,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        divided = config.shard and workers.size > 1
        self.learner = (deepcopy(model) if divided else model).to(device).train()
        """What learns: the model, or a copy that is divided among the processes."""
        self.home = torch.device("cpu") if divided and not workers.is_first else device
        """Where the whole model is: of a divided one only the first process needs it at hand."""
        self.model = model.to(self.home) if divided else self.learner
        """Whole: what is validated and saved."""
        self.mean = mean.to(device) if mean is not None else None
        """Where the running mean of the weights is kept, if there is one."""
        self.data = data
        self.config = config
        self.device = device
        self.dtype = dtype
        self.workers = workers
        self.say = say
        self.gradient = GradientOfUpdate(
            self.learner, config, workers, device=device, dtype=dtype, say=say
        )
        self.optimizer = Adam(self.learner, config, self.gradient.shared)
        self.changing = RLock()
        """Held while weights, moments and state change together, and while they are saved."""
        self.is_whole = True
        """False while they change or are recorded, after an exception in the middle of it, and when a loss has ended the run."""
        self.settings: Mapping[str, Any] = {}
        """What no update of the run may change, by name: each checkpoint tells it, and one that tells otherwise is of another run."""
        self.rate = 0.0
        """Learning rate of the last update."""
        self.told_rates: Mapping[int, float] = {}
        """Learning rates of updates that are made again, for what the clock said when they were made first."""
        self.state = TrainState()
        self.saved: TrainState | None = None
        """Where training stood when it was last saved or loaded."""
        self.best = BestSoFar(by_loss=data.learns_from_text)
        self.clock = time.monotonic()
        """Up to here the time of training is counted."""

    def check(self, place: Path, checkpoint: Checkpoint) -> None:
        """Refuse a checkpoint, which lies at ``place``, that this training cannot have written.

        Raises:
            ModelError: it is of another model, or lacks something.
        """
        learn = (n for n, p in self.learner.named_parameters() if p.requires_grad)
        check_checkpoint(
            place,
            checkpoint,
            parameters=parameters_of(self.model),
            trained=frozenset(learn),
            has_mean=self.mean is not None,
        )

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue where ``checkpoint`` was written."""
        with torch.no_grad():
            for name, parameter in parameters_of(self.model).items():
                parameter.copy_(checkpoint.weights[name])
            for name, parameter in self._mean_weights().items():
                parameter.copy_(checkpoint.moments[f"mean/{name}"])
        self.gradient.release()  # captured steps know where the old moments lie
        restore_moments(self.optimizer, self.learner, checkpoint.moments)
        self.state = TrainState.read(checkpoint.step, checkpoint.state)
        self.saved = self.state
        self.best = BestSoFar(**checkpoint.state["best"])

    def save(
        self, store: CheckpointStore, alone: AbstractContextManager[None] | None = None
    ) -> None:
        """Write a checkpoint of this moment, once for all processes; all must ask for it, unless the first one is about to leave.

        ``alone`` (:meth:`Workers.first_alone`) is where the others wait while the first one writes.
        """
        with self.changing:
            self._gather()
            is_first = self.workers.is_first
            moments = moments_of(self.optimizer, self.learner, keep=is_first)
            with alone or nullcontext():
                if not is_first:
                    return
                means = {f"mean/{name}": mean for name, mean in self._mean_weights().items()}
                store.save(
                    self.state.step,
                    parameters_of(self.model),
                    moments | means,
                    asdict(self.state)
                    | {
                        "best": self.best.to_dict(),
                        "parts": parts_of(self.model),
                        "settings": dict(self.settings),
                    },
                )
                self.saved = self.state

    @contextmanager
    def _rescued(self, stop: StopSignal, store: CheckpointStore) -> Iterator[None]:
        """Save and leave from the middle of an update too, if it does not end soon after the signal.

        Of several processes the first one has all that a checkpoint needs, and the others follow it. Where the model is divided
        none has: there whoever stops them waits for the end of an update.
        """
        if self.learner is not self.model:
            yield
        elif self.workers.is_first:
            numbers = sum(each.numel() for each in parameters_of(self.model).values())
            takes = numbers / NUMBERS_SAVED
            with stop.rescued_by(lambda: self._rescue(store), self.changing, takes=takes):
                yield
        else:
            with stop.rescued_by(lambda: None, nullcontext(), follows=True):
                try:
                    yield
                except RuntimeError:  # the first one, which this one was waiting for, is gone
                    if stop.number is None:
                        raise
                    raise SystemExit(128 + stop.number) from None

    @contextmanager
    def _kept_on_error(self, store: CheckpointStore) -> Iterator[None]:
        """Save the last finished update before an error ends the run, unless the disk or the weights may be what is wrong.

        Weights may be where the update before was left out, or a validation found nothing to translate with.
        Of several processes the first one saves. A divided model could be saved by all together only, and one alone has the error.
        """
        try:
            yield
        except OutputError:
            raise
        except (Exception, SystemExit):  # the latter where what shows the progress is gone
            can_save = self.workers.is_first and self.learner is self.model
            if can_save and self.state.step and not self.state.skipped_in_a_row:
                try:
                    self._rescue(store)
                except Exception as another:  # it does not hide the first
                    self.say(f"the last finished update could not be saved either: {another}")
            raise

    def _rescue(self, store: CheckpointStore) -> None:
        if self.is_whole and self.state not in (self.saved, TrainState()):
            self.save(store)

    @property
    def progress(self) -> float:
        """Share of the training that is done: by steps or by time, whichever is nearer its end."""
        done = self.state.step / self.config.steps if self.config.steps else 0.0
        if self.config.minutes:
            done = max(done, self.state.seconds / (60.0 * self.config.minutes))
        return min(done, 1.0)

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of update ``step``."""
        if step in self.told_rates:
            return self.told_rates[step]
        warmup = self.config.warmup_steps or 4000
        return learning_rate(
            step,
            peak=self.config.peak_learning_rate
            or paper_peak(self.model.architecture.d_model, warmup),
            warmup_steps=warmup,
            schedule=self.config.schedule or "inverse-sqrt",
            progress=self.progress,
        )

    def update(
        self,
        batches: list[Batch],
        cursor: Cursor | None = None,
        record: Callable[[Measured], None] = lambda _: None,
    ) -> Measured:
        """Make one update from the sum of ``batches``; ``cursor`` is where the data then stands.

        ``record`` is told what was measured before anybody may save what the update led to.
        An update whose loss or gradient is no finite number changes nothing, and is left out or ends the run.

        Raises:
            TrainingError: such an update, when it is to end the run; the weights are as they were.
        """
        step = self.state.step + 1
        measured = self.gradient.compute(batches, _mix(self.config.seed, step))
        num_tokens = sum(batch.num_target_tokens for batch in batches)
        is_counted = self.workers.is_first and not measured.suspects
        keeps_rate = self.workers.is_first and self.config.follows_clock
        seconds = self._counted_time()
        with self.changing:
            if self.gradient.shared:
                self.gradient.shared.meet()  # nobody changes what another one may be saving
            self.is_whole = False
            left_out: str | TrainingError = ""
            if measured.suspects:
                left_out = self._leave_out(step, measured)
            else:
                self.rate = self.learning_rate(step)
                self.gradient.take(self.optimizer, self.rate)
                self._follow(step)
                self.state = replace(self.state, skipped_in_a_row=0)
            self.state = replace(
                self.state,
                step=step,
                cursor=cursor or self.state.cursor,
                seconds=seconds,
                target_tokens=self.state.target_tokens + num_tokens,
                losses=(*self.state.losses, measured.loss) if is_counted else self.state.losses,
                rates=(*self.state.rates, self.rate) if keeps_rate else (),
            )
            record(measured)
            self.is_whole = not isinstance(left_out, TrainingError)
        if isinstance(left_out, TrainingError):
            raise left_out
        if left_out:  # nobody who saves may wait until it is read
            self.say(left_out)
        self.gradient.clear()
        return measured

    @property
    def judged(self) -> EncoderDecoder:
        """The model that is validated and kept: the running mean, if there is one."""
        return self.model if self.mean is None else self.mean

    def _gather(self) -> None:
        """Bring the whole model up to what was learnt; if that is divided, all processes must ask for it."""
        if self.learner is not self.model:
            copy_weights(self.learner, self.model)

    def _mean_weights(self) -> dict[str, Tensor]:
        return {} if self.mean is None else parameters_of(self.mean)

    @torch.no_grad()
    def _follow(self, step: int) -> None:
        """Move the running mean towards the weights, faster at first, when there is little to remember."""
        if self.mean is None or self.config.ema is None:
            return
        decay = min(self.config.ema, (1 + step) / (10 + step))
        now = parameters_of(self.model)
        for name, mean in self._mean_weights().items():
            mean.lerp_(now[name], 1 - decay)

    def _leave_out(self, step: int, measured: Measured) -> str | TrainingError:
        """Count an update that cannot be made; return what is to be said of it, or the error that ends the run, if it is to end."""
        in_a_row = self.state.skipped_in_a_row + 1
        skipped = self.state.skipped + 1
        self.state = replace(self.state, skipped=skipped, skipped_in_a_row=in_a_row)
        shown = measured.suspects[:10]
        more = len(measured.suspects) - len(shown)
        found = (
            f"step {step:,}: the loss is {measured.loss} and the gradient's norm {measured.norm} "
            f"(training pairs {', '.join(f'{pair:,}' for pair in shown)}{f' and {more:,} more' if more else ''}, counted "
            f"from 0: lines {', '.join(f'{self.data.shards.line(pair):,}' for pair in shown)} of the text)"
        )
        if self.config.non_finite == "stop" or in_a_row >= MOST_SKIPPED:
            again = "" if in_a_row == 1 else f", the {in_a_row}th in a row"
            return TrainingError(f"{found}{again}; the weights were left as they were. {WAY_OUT}")
        return f"{found}; this update is left out, {skipped:,} so far in this run"

    def run(
        self,
        *,
        metrics: MetricsLog,
        samples: Path,
        store: CheckpointStore,
        validator: Validator,
        progress: TrainingProgress,
        stop: StopSignal,
        on_validation: Callable[[Validation, bool], None],
        until: int | None = None,
    ) -> str:
        """Train until there is a reason to stop, and return the reason.

        ``on_validation`` gets each validation, and whether it is the best so far. With ``until`` nothing else but a signal ends
        the training, and it is left as it then stands, neither validated nor saved.
        """

        def validate() -> None:
            self._gather()
            with self._sound(), self.workers.first_alone():
                measured = self._measured(validator) if self.workers.is_first else None
                seen = list(validator.samples(self.judged, measured[1])) if measured else []
            told = ""
            with self.changing:  # whoever saves now must find all of a validation or nothing of it
                with self.workers.first_alone():
                    if measured:
                        self.is_whole = False
                        validation = measured[0]
                        is_best = self.take_in(validation, metrics)
                        _append_samples(samples, self.state.step, seen)
                        seconds = self.state.seconds + time.monotonic() - self.clock
                        self.state = replace(self.state, seconds=seconds)
                        on_validation(validation, is_best)
                        self.is_whole = True
                        told = _in_words(self.state.step, validation, is_best)
                found = (self.state, self.best, measured is not None)
                self.state, self.best, is_measured = self.workers.from_first(found)
                if is_measured:  # else the run was told to stop, and is saved at its end
                    self.save(store, self.workers.first_alone())
            if told:  # not before: whoever saves does not wait until it is read
                progress.say(told)
            self.clock = time.monotonic()
            meter.restart(self.state)

        if self.learner is not self.model:
            copy_weights(self.model, self.learner)
        meter = Meter(metrics, progress)
        meter.restart(self.state)
        self.clock = time.monotonic()
        supply = self._groups()
        every = self.config.validate_every or 1000
        with ExitStack() as kept:
            if until is None:
                kept.enter_context(self._rescued(stop, store))
                kept.enter_context(self._kept_on_error(store))
            while (reason := self._finished(stop, until)) is None:
                if self.state.step % every == 0 and self.state.validated != self.state.step:
                    validate()
                    continue
                batches, cursor = next(supply)
                self.update(batches, cursor, partial(self._record, meter))
                meter.show()
            self.gradient.release()
            if until is None and self.state.validated != self.state.step:
                self._end(stop, store, validate)
        return reason

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Say how to go on where the model turns out to be no model; what is learnt of it is then not saved.

        Raises:
            TrainingError: nothing can be translated with the weights.
        """
        try:
            yield
        except ModelError as error:
            if not self.state.step:  # then another model is what is wrong
                raise
            self.is_whole = False
            raise TrainingError(f"step {self.state.step:,}: {error}. {WAY_OUT}") from error

    def _measured(self, validator: Validator) -> tuple[Validation, list[str]] | None:
        """Validate; where memory is short, without what makes the next updates faster."""
        try:
            return validator.measure(self.judged)
        except (RuntimeError, MemoryError) as error:
            if not is_lack_of_memory(error) or not self.gradient.release(for_good=True):
                raise
        return validator.measure(self.judged)

    def _end(self, stop: StopSignal, store: CheckpointStore, validate: Callable[[], None]) -> None:
        """Validate the last update, which saves it; if the run is told to stop, before or meanwhile, save it only."""
        if not self._is_told_to_stop(stop):
            validate()
        if self.state.validated != self.state.step:
            self.save(store, self.workers.first_alone())

    def _record(self, meter: Meter, measured: Measured) -> None:
        if self.workers.is_first:
            self.state = meter.record(self.state, measured, rate=self.rate, done=self.progress)

    def _groups(self) -> Iterator[tuple[list[Batch], Cursor]]:
        stream = self.data.batches(self.state.cursor)
        while True:
            group = list(islice(stream, self.config.accumulate))
            yield [batch for batch, _ in group], group[-1][1]

    def _counted_time(self) -> float:
        """Return the seconds of training so far; the processes of a run share one clock, as the schedule hangs on it."""
        before, self.clock = self.clock, time.monotonic()
        return self.workers.agree(self.state.seconds + self.clock - before)

    def _finished(self, stop: StopSignal, until: int | None) -> str | None:
        if self._is_told_to_stop(stop):
            return f"stopped by {stop}"
        if until is not None:
            is_done = self.state.step >= until
            return f"step {until:,}, as far as was asked for, is done" if is_done else None
        if self.config.steps and self.state.step >= self.config.steps:
            return f"step {self.config.steps:,}, the last one, is done"
        if self.config.minutes and self.state.seconds >= 60 * self.config.minutes:
            return f"{self.config.minutes:g} minutes of training are over"
        return self.best.reason_to_stop(self.config.patience or 10)

    def _is_told_to_stop(self, stop: StopSignal) -> bool:
        """Tell whether any process of the run was told to; then all are."""
        told = int(self.workers.agree(float(stop.number or 0)))
        if told:  # a signal that comes at this moment is not forgotten: it counts next time
            stop.number = told
        return bool(told)

    def take_in(self, validation: Validation, metrics: MetricsLog) -> bool:
        """Record a validation; tell whether it is the best so far."""
        is_best = self.best.update(self.state.step, validation)
        metrics.write(
            {"step": self.state.step, "epoch": self.state.cursor.epoch, "kind": "validation"}
            | validation.record()
        )
        self.state = replace(self.state, validated=self.state.step, losses=())
        return is_best


def _append_samples(path: Path, step: int, samples: list[dict[str, Any]]) -> None:
    for number, sample in enumerate(samples, 1):
        append_record(path, {"step": step, "sample": number} | sample)


def _in_words(step: int, validation: Validation, is_best: bool) -> str:
    return (
        f"step {step:,}: validation loss {validation.loss:.3f}, {validation.in_words()}, "
        f"exact {validation.exact:.1f} %" + (" (best so far)" if is_best else "")
    )


def _mix(seed: int, step: int) -> int:
    """Return a seed for one update; multiplying by an odd constant spreads neighbours apart."""
    return (seed * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9) % (1 << 63)
