"""What a person sees while a model trains: a bar on a terminal, plain lines elsewhere."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

__all__ = ["TrainingProgress", "in_words"]

PLAIN_SECONDS = 15.0


class TrainingProgress:
    """Shows the share that is done, the time that is left, tokens a second, and the loss."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.last_line = 0.0
        self.started = time.monotonic()
        self.first_done: float | None = None
        self.bar = Progress(
            TextColumn("step {task.fields[step]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[speed]:,.0f} tokens/s  loss {task.fields[loss]:.3f}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task: TaskID = self.bar.add_task("", total=1.0, step=0, speed=0.0, loss=0.0)

    def __enter__(self) -> "TrainingProgress":
        self.started = time.monotonic()
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def update(self, *, step: int, done: float, speed: float, loss: float) -> None:
        """Show that ``done`` (0 to 1) of the training is over."""
        self.bar.update(self.task, completed=done, step=f"{step:,}", speed=speed, loss=loss)
        now = time.monotonic()
        if self.first_done is None:
            self.first_done = done
        if not self.console.is_terminal and now - self.last_line >= PLAIN_SECONDS:
            self.last_line = now
            ahead = done - self.first_done
            left = f"  {in_words((now - self.started) * (1 - done) / ahead)} left" if ahead else ""
            self.say(f"step {step:,}  {done:.0%}{left}  {speed:,.0f} tokens/s  loss {loss:.3f}")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def in_words(seconds: float) -> str:
    """Write a length of time, in the unit that a person would take."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
