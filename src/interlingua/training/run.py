"""A run, from files to a model folder, in the order that data passes."""

from collections.abc import Mapping
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from interlingua.checkpoints.model_folder import (
    BuildModel,
    check_parts,
    keep_decoding,
    parts_of,
)
from interlingua.checkpoints.store import Checkpoint, CheckpointStore
from interlingua.config import RunConfig
from interlingua.errors import ModelError
from interlingua.hardware import choose_device, prepare_cpu
from interlingua.kernels import devices
from interlingua.model.building import build_encoder_decoder
from interlingua.requests.confidence import CALIBRATION
from interlingua.training.assembling import trainer_of, translator_of, validator_of
from interlingua.training.borrowed_encoder import take_encoder
from interlingua.training.checkpoint_of_run import refuse_another_run
from interlingua.training.comparison import Difference
from interlingua.training.corpus_of_run import read_corpus
from interlingua.training.expected_bleu import BleuBand
from interlingua.training.fine_tuning import open_start
from interlingua.training.gradients import refuse_missing_integers
from interlingua.training.metrics_log import MetricsLog, forget_after
from interlingua.training.model_of_run import ModelOfRun
from interlingua.training.prepare import Prepared, prepare_locked, run_dir_of
from interlingua.training.progress import TrainingProgress
from interlingua.training.resuming import (
    fixed_settings,
    machine_of,
    refuse_text_within,
    resumed_config,
    set_aside,
)
from interlingua.training.run_folder import RunFolder
from interlingua.training.saved_form import SavedForm
from interlingua.training.start_comparison import StartComparison
from interlingua.training.starting import Start, take_weights
from interlingua.training.stopping import PERFECT_VALIDATIONS, StopSignal, listen_for_stop
from interlingua.training.validation import Validation
from interlingua.training.word_vectors import take_word_vectors
from interlingua.training.workers import ALONE, Workers, join_workers

__all__ = ["TrainResult", "train", "train_again"]


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What a run came to."""

    run_dir: Path
    model_dir: Path
    steps: int
    seconds: float
    validation: Validation | None
    """That of the model in the folder, if it is known: not of what ``interlingua average`` wrote there."""
    reason: str
    reasons: tuple[str, ...]
    """The choices that were made from the corpus, and why."""
    expected: BleuBand | None
    """What validation BLEU it should come to if it is trained to its end, where that can be told."""
    signal: int | None
    """The signal that stopped it, if one did."""
    differences: tuple[Difference, ...] = ()
    """What changed against the model that it began with, if it did not begin with fresh weights."""
    worker: int = 0
    """Which process of a run under torchrun this is; 0 is the one that reports."""


def train(
    config: RunConfig,
    *,
    fresh: bool = False,
    build_model: BuildModel = build_encoder_decoder,
    console: Console | None = None,
) -> TrainResult:
    """Turn a parallel corpus into a translator; continue a run that was interrupted.

    Args:
        config: what to do; ``None`` fields are chosen from the corpus.
        fresh: rename an existing run of that name and start anew.
        build_model: makes the model, for parts of your own; ``build_encoder_decoder`` by default.
        console: where progress goes, by default standard error.

    Raises:
        ConfigError: settings that contradict each other, or differ from those of the run being resumed.
        CorpusError: text that cannot be used.
        OutputError: a full disk, a folder that cannot be written.
        TrainingError: a loss that is not a number, another trainer in the same folder.
    """
    folder = RunFolder(run_dir_of(config))
    moved = f"{folder.path.absolute()}: the earlier run is set aside"
    machine = config.training if fresh else machine_of(config, folder)
    prepare_cpu(machine.threads)
    device = choose_device(machine.device)
    refuse_missing_integers(machine, device)
    with join_workers(device, machine.worker_timeout) as workers:
        if not workers.is_first:
            console = Console(quiet=True)
        progress = TrainingProgress(console or Console(stderr=True))
        with ExitStack() as held:
            with workers.first_alone():  # it prepares the corpus
                # Once a launch: the run that those lost had begun anew is the one to go on with.
                fresh = fresh and workers.is_first and not workers.is_noted(moved)
                if not fresh:
                    config = resumed_config(config, folder)
                start = open_start(config, folder, fresh=fresh, build_model=build_model)
                corpus = (
                    None
                    if config.corpus.embedded
                    else read_corpus(
                        config, folder, progress.say, writes=workers.is_first, fresh=fresh
                    )
                )
                if fresh:
                    refuse_text_within(folder.path, corpus.named if corpus else ())
                    if old := set_aside(folder.path):
                        progress.say(f"{folder.path}: the earlier run is now {old}")
                    workers.note(moved)
                if workers.is_first:
                    held.enter_context(folder.locked())
                prepared = prepare_locked(
                    config,
                    folder,
                    corpus,
                    start=start,
                    device=device,
                    say=progress.say,
                    writes=workers.is_first,
                )
                del corpus  # what was found out about each line
            return _Run(prepared, device, progress, workers, build_model).go()


def train_again(
    prepared: Prepared,
    until: int,
    *,
    rates: Mapping[int, float],
    build_model: BuildModel = build_encoder_decoder,
    progress: TrainingProgress,
) -> int | None:
    """Train the first updates of a run that was prepared, in its folder; return the signal that stopped it, if one did.

    The folder then holds ``metrics.jsonl`` up to the update ``until``, and ``environment.json``. ``rates`` are learning rates of updates
    that the clock decided, and need not decide again.

    Raises:
        ModelError: the model that the run began with is gone or another one.
        TrainingError: a loss that is not a number.
    """
    device = choose_device(prepared.config.training.device)
    run = _Run(prepared, device, progress, ALONE, build_model)
    run.trainer.told_rates = rates
    return run.go_until(until)


class _Run:
    """One training run under way: the trainer, and what it leaves in the run folder."""

    def __init__(
        self,
        prepared: Prepared,
        device: torch.device,
        progress: TrainingProgress,
        workers: Workers,
        build_model: BuildModel,
    ) -> None:
        config = prepared.config
        self.build_model = build_model
        self.workers = workers
        self.prepared = prepared
        self.folder = prepared.folder
        self.progress = progress
        keep = max(config.training.keep_checkpoints, config.training.average_last)
        settings = fixed_settings(config, self.folder)
        is_ours = partial(refuse_another_run, settings=settings)
        self.store = CheckpointStore(self.folder.checkpoints, keep, is_ours)
        self.trainer = trainer_of(
            prepared, device, workers=workers, build_model=build_model, say=progress.say
        )
        self.trainer.settings = settings
        self.translator = translator_of(prepared, self.trainer)
        self.saved = SavedForm(prepared, self.trainer.model, build_model)
        self.model = ModelOfRun(self.folder, self.trainer, self.store, self.saved, progress.say)
        self.comparison = StartComparison(
            prepared, str(self.trainer.device), build_model, progress.say
        )

    def go(self) -> TrainResult:
        begun = self._begin()
        log = self._open_log()
        with listen_for_stop() as stop, ExitStack() as ending:
            with self.progress, closing(log):
                reason, differences = self._train(log, stop)
                ending.enter_context(stop.last_words())
            if self.trainer.state.step == begun and not stop():
                reason += f" (as it was before: nothing is left to train; {self._ways_on()})"
            self.progress.say(f"{reason}; the model is in {self.folder.model}")
        return TrainResult(
            run_dir=self.folder.path,
            model_dir=self.folder.model,
            steps=self.trainer.state.step,
            seconds=self.trainer.state.seconds,
            validation=self.model.validation(),
            reason=reason,
            reasons=self.prepared.reasons,
            expected=self.prepared.expected,
            signal=stop.number,
            differences=differences,
            worker=self.workers.rank,
        )

    def _ways_on(self) -> str:
        """Say how to go on all the same."""
        if self.trainer.best.perfect >= PERFECT_VALIDATIONS:
            return "--fresh starts anew"
        limits = ("steps", "epochs", "minutes")
        names = [name for name in limits if getattr(self.prepared.config.training, name)]
        return f"larger training.{', '.join([*names, 'patience'])} would go on, --fresh starts anew"

    def _train(self, log: MetricsLog, stop: StopSignal) -> tuple[str, tuple[Difference, ...]]:
        """Train until there is a reason to stop; return it, and what changed against the starting model."""
        validator = validator_of(self.prepared, self.trainer, self.translator, stop)
        with self.workers.first_alone():
            if self.workers.is_first:
                with stop.rescued_by(lambda: None, nullcontext()):
                    self.comparison.ask(stop)
        differences: tuple[Difference, ...] = ()
        before = self.trainer.state
        reason = self.trainer.run(
            metrics=log,
            samples=self.folder.samples,
            store=self.store,
            validator=validator,
            progress=self.progress,
            stop=stop,
            on_validation=self.model.keep,
        )
        with self.workers.first_alone():
            if not self.workers.is_first:
                pass
            elif not stop():
                with stop.rescued_by(lambda: None, nullcontext()):  # all is saved already
                    self.model.average(
                        validator,
                        last=self.prepared.config.training.average_last,
                        anew=self.trainer.state != before,
                    )
                    differences = self.comparison.compare(stop)
            else:
                self.model.keep_unvalidated()
        return reason, differences

    def go_until(self, step: int) -> int | None:
        """Train up to an update, and no further; return the signal that stopped it before, if one did."""
        self._begin()
        with listen_for_stop() as stop, self.progress, closing(self._open_log()) as log:
            self.trainer.run(
                metrics=log,
                samples=self.folder.samples,
                store=self.store,
                validator=validator_of(self.prepared, self.trainer, self.translator, stop),
                progress=self.progress,
                stop=stop,
                on_validation=lambda _, __: None,
                until=step,
            )
        return stop.number

    def _open_log(self) -> MetricsLog:
        return MetricsLog(
            self.folder.metrics,
            self.folder.tensorboard,
            step=self.trainer.state.step,
            say=self.progress.say,
        )

    def _begin(self) -> int | None:
        """Continue from a checkpoint, or begin; return the step of the checkpoint, which itself is not kept in memory."""
        checkpoint = self._checkpoint()
        if self.workers.is_first:
            validated = checkpoint.state["validated"] if checkpoint else None
            for path in (self.folder.metrics, self.folder.samples):
                forget_after(path, checkpoint.step if checkpoint else -1, validated)
        if checkpoint:
            self.trainer.resume(checkpoint)
            self.progress.say(f"{self.folder.path}: continues after step {checkpoint.step:,}")
            with self.workers.first_alone():
                if self.workers.is_first and self.trainer.best.bleu >= 0:  # else none was validated
                    self.model.mend()
                    decoding = self.prepared.config.decoding
                    keep_decoding(self.folder.model, decoding, fitted=[CALIBRATION])
        elif self.prepared.start:
            self._take_start(self.prepared.start)
        elif self.prepared.word_vectors:
            with (
                self.workers.first_alone()
            ):  # whose table is everybody's, where parameters are shared
                if self.workers.is_first or not self.trainer.gradient.shared:
                    take_word_vectors(self.trainer.model, self.prepared.word_vectors)
            if self.trainer.mean is not None:
                self.trainer.mean.load_state_dict(self.trainer.model.state_dict())
        self.prepared.training.order_ahead(self.trainer.state.cursor.epoch)
        self.progress.say(
            f"{self.saved.describe()}, {torch.get_num_threads()} threads, "
            f"{self._arithmetic_in_words()} on {self.trainer.device}, {self._ways_to_compute()}"
        )
        if self.workers.is_first:
            self._keep_environment()
        return checkpoint.step if checkpoint else None

    def _keep_environment(self) -> None:
        """Keep on what machine and by which settings the run goes on from here."""
        start = self.prepared.start
        environment = self.folder.write_environment(
            kernels=self._ways_to_compute(),
            started_from=start.origin if start else None,
            device=self.trainer.device,
            arithmetic=self._arithmetic(),
            processes=self.workers.size,
        )
        config = self.prepared.config
        training = config.training.model_dump(mode="json")
        fixed = dict(self.trainer.settings)
        changed = self.folder.keep_settings(self.trainer.state.step, training, environment, fixed)
        if changed:
            self.progress.say(
                f"need not be equal to the last bit from here on: {'; '.join(changed)}"
            )

    def _arithmetic(self) -> str:
        """Name the arithmetic of products of matrices, as ``training.dtype`` does."""
        is_int8 = self.trainer.config.dtype == "int8"
        return "int8" if is_int8 else str(self.trainer.dtype).removeprefix("torch.")

    def _arithmetic_in_words(self) -> str:
        of_all = str(self.trainer.dtype).removeprefix("torch.")
        of_products = self._arithmetic()
        return of_all if of_all == of_products else f"{of_all} with products in {of_products}"

    def _ways_to_compute(self) -> str:
        if self.prepared.config.training.plain:
            return "plain references"
        if self.trainer.learner is not self.trainer.model:
            return f"weights divided among {self.workers.size} processes"
        return devices.describe(self.trainer.device)

    def _take_start(self, start: Start) -> None:
        """Begin with the weights of another model, which are then validated before anything is learnt, or with its encoder."""
        trainer = self.trainer
        if start.is_whole:
            if self.workers.is_first:  # of another model, perhaps, with which a run came to nothing
                self.comparison.forget()
            take_weights(trainer.model, start, self.prepared.tokenizers, self.build_model)
            trainer.state = replace(trainer.state, validated=-1)
        else:
            take_encoder(trainer.model, start, self.build_model)
        if trainer.mean is not None:
            trainer.mean.load_state_dict(trainer.model.state_dict())

    def _check(self, checkpoint: Checkpoint) -> None:
        if checkpoint.state.get("parts") in (None, parts_of(self.trainer.model)):
            self.trainer.check(self.store.path(checkpoint.step), checkpoint)

    def _checkpoint(self) -> Checkpoint | None:
        """Return where to continue: what the first process found, so that all continue at one place."""
        is_first = self.workers.is_first
        found = self.store.latest(self.progress.say, self._check) if is_first else None
        step = self.workers.from_first(found.step if found else None)
        if step is None and (every := self.store.steps()):
            raise ModelError(
                f"{self.folder.checkpoints}: none of the {len(every):,} checkpoints is whole and of this run, and the model folder is not to be lost; "
                "put a whole copy there, or say --fresh, which starts anew and keeps this run under another name"
            )
        found = self.store.load(step) if step is not None and found is None else found
        if found and "parts" in found.state:  # earlier versions did not tell
            check_parts(self.folder.checkpoints, found.state["parts"], self.trainer.model)
        return found
