"""What the last updates did, for the bar and for ``metrics.jsonl``."""

from dataclasses import dataclass, replace

from interlingua.training.gradients import Measured
from interlingua.training.metrics_log import MetricsLog
from interlingua.training.progress import TrainingProgress
from interlingua.training.train_state import TrainState

__all__ = ["LOG_EVERY", "Meter"]

LOG_EVERY = 20
LOG_SECONDS = 20.0
"""Updates between two records, and seconds between two signs of life: a large model on a CPU must not be silent
for minutes, but what is recorded does not depend on the clock."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the bar is told."""

    step: int
    done: float
    speed: float
    loss: float


class Meter:
    """Averages over the last updates."""

    def __init__(self, metrics: MetricsLog, progress: TrainingProgress) -> None:
        self.metrics = metrics
        self.progress = progress
        self.before = TrainState()
        self.shown: _Shown | None = None

    def restart(self, state: TrainState) -> None:
        """Measure from here, so that the time of a validation does not count as training."""
        self.before = state

    def record(
        self, state: TrainState, measured: Measured, *, rate: float, done: float
    ) -> TrainState:
        """Take in one update; every now and then, write the mean of the last ones, to be shown next.

        Args:
            state: where training stands after the update.
            measured: its loss and norm.
            rate: its learning rate.
            done: share of the training that is done.

        Returns:
            the state, without the losses that are written.
        """
        if measured.suspects:
            self.metrics.write(
                {
                    "step": state.step,
                    "epoch": state.cursor.epoch,
                    "kind": "left-out",
                    "loss": str(measured.loss),
                    "gradient_norm": str(measured.norm),
                    "pairs": list(measured.suspects),
                }
            )
        seconds = state.seconds - self.before.seconds
        is_due = state.step % LOG_EVERY == 0
        if not is_due and seconds < LOG_SECONDS:
            return state
        speed = (state.target_tokens - self.before.target_tokens) / max(seconds, 1e-9)
        mean = sum(state.losses) / len(state.losses) if state.losses else float("nan")
        if is_due:
            self.metrics.write(
                {
                    "step": state.step,
                    "epoch": state.cursor.epoch,
                    "kind": "training",
                    "loss": mean if state.losses else None,
                    "gradient_norm": None if measured.suspects else round(measured.norm, 4),
                    "learning_rate": None if measured.suspects else rate,
                    "tokens_per_second": round(speed, 1),
                    "seconds": round(state.seconds, 2),
                }
                | ({"learning_rates": state.rates} if state.rates else {}),
            )
            state = replace(state, losses=(), rates=())
        self.shown = _Shown(state.step, done, speed, mean)
        self.restart(state)
        return state

    def show(self) -> None:
        """Show what was measured since the last time, when all of it is recorded: who watches may have gone."""
        if self.shown:
            shown, self.shown = self.shown, None
            self.progress.update(
                step=shown.step, done=shown.done, speed=shown.speed, loss=shown.loss
            )
