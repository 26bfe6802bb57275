"""A run, from files to a model folder, in the order that data passes."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from torch import Tensor

from interlingua.checkpoints.average import average_weights
from interlingua.checkpoints.manifest import check_manifest, intact_files, listed_sha256
from interlingua.checkpoints.model_card import weights_sentence
from interlingua.checkpoints.model_folder import (
    BuildModel,
    check_parts,
    keep_decoding,
)
from interlingua.checkpoints.store import Checkpoint, CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import RunConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.errors import InterlinguaError, ModelError
from interlingua.files import write_text
from interlingua.hardware import choose_device, prepare_cpu
from interlingua.kernels import devices
from interlingua.model.building import build_encoder_decoder
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.requests.confidence import CALIBRATION
from interlingua.training.assembling import trainer_of, translator_of, validator_of
from interlingua.training.borrowed_encoder import take_encoder
from interlingua.training.comparison import (
    OUTPUTS,
    Difference,
    compare_with_start,
    keep_outputs,
    read_differences,
    texts_to_compare,
    write_differences,
)
from interlingua.training.corpus_of_run import read_corpus
from interlingua.training.directions_of_run import pairs_by_direction
from interlingua.training.expected_bleu import BleuBand
from interlingua.training.fine_tuning import learns_another_task, open_start
from interlingua.training.metrics_log import MetricsLog, forget_after
from interlingua.training.model_card import scores_sentence
from interlingua.training.prepare import Prepared, prepare_locked, run_dir_of
from interlingua.training.progress import TrainingProgress
from interlingua.training.resuming import (
    fixed_settings,
    machine_of,
    rename_aside,
    resumed_config,
    set_aside,
)
from interlingua.training.run_folder import RunFolder
from interlingua.training.saved_form import SavedForm
from interlingua.training.starting import Start, check_is_still_there, take_weights
from interlingua.training.stopping import PERFECT_VALIDATIONS, StopSignal, listen_for_stop
from interlingua.training.validation import Validation, Validator, read_validation
from interlingua.training.word_vectors import take_word_vectors
from interlingua.training.workers import ALONE, Workers, join_workers
from interlingua.translator import Translator

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
        self.store = CheckpointStore(self.folder.checkpoints, keep)
        self.trainer = trainer_of(
            prepared, device, workers=workers, build_model=build_model, say=progress.say
        )
        self.translator = translator_of(prepared, self.trainer)
        self.saved = SavedForm(prepared, self.trainer.model, build_model)
        self.parameters = self.saved.parameters
        self.last: Validation | None = None

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
            validation=self._validation(),
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

    def _validation(self) -> Validation | None:
        """Return that of the model in the folder, as far as it is known."""
        if self.last:
            return self.last
        with suppress(OSError, ValueError, AttributeError, TypeError):
            kept = Validation.of_record(json.loads(self.folder.validation.read_text("utf-8")))
            if scores_sentence(kept) in self._card():  # else it is of other weights
                return kept
        if not self._holds_best():
            return None
        return read_validation(self.folder.metrics, self.trainer.best.step)

    def _train(self, log: MetricsLog, stop: StopSignal) -> tuple[str, tuple[Difference, ...]]:
        """Train until there is a reason to stop; return it, and what changed against the starting model."""
        validator = validator_of(self.prepared, self.trainer, self.translator, stop)
        start = self.prepared.start
        with self.workers.first_alone():
            if start and start.is_whole and self.workers.is_first:
                with stop.rescued_by(lambda: None, nullcontext()):
                    self._ask_starting_model(start, stop)
        differences: tuple[Difference, ...] = ()
        before = self.trainer.state
        reason = self.trainer.run(
            metrics=log,
            samples=self.folder.samples,
            store=self.store,
            validator=validator,
            progress=self.progress,
            stop=stop,
            on_validation=self._keep,
        )
        with self.workers.first_alone():
            if not self.workers.is_first:
                pass
            elif not stop():
                with stop.rescued_by(lambda: None, nullcontext()):  # all is saved already
                    self._average(validator, anew=self.trainer.state != before)
                    differences = self._compare(stop)
            elif not self.folder.model.exists():
                self._write_model(parameters_of(self.trainer.judged), None, "of the last update")
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
                    self._mend_model()
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
            f"{str(self.trainer.dtype).removeprefix('torch.')} on {self.trainer.device}, "
            + self._ways_to_compute()
        )
        if self.workers.is_first:
            start = self.prepared.start
            environment = self.folder.write_environment(
                kernels=self._ways_to_compute(),
                started_from=start.origin if start else None,
                device=self.trainer.device,
                dtype=self.trainer.dtype,
                processes=self.workers.size,
            )
            config, step = self.prepared.config, self.trainer.state.step
            training = config.training.model_dump(mode="json")
            fixed = fixed_settings(config, self.folder)
            self.folder.keep_settings(step, training, environment, fixed)
        return checkpoint.step if checkpoint else None

    def _mend_model(self) -> None:
        """Write the model folder again if it is gone or damaged: around its own weights if they are whole, else with the best ones.

        Where those are not kept the present ones are written, and what was there, perhaps more than they are, goes aside.

        Raises:
            ModelError: the disk does not give a file, which may be as good as ever.
        """
        model = self.folder.model
        try:
            check_manifest(model)
            return
        except ModelError as error:
            reason = str(error) if model.exists() else f"{model}: does not exist"
        whole = intact_files(model)
        if "model.safetensors" in whole:
            self.saved.mend(whole, self._card())
            self.progress.say(f"{reason}; the folder is written again around its weights")
            return
        step, weights = self.trainer.best.step, self._best_weights()
        if weights is None:
            step, weights = self.trainer.state.step, parameters_of(self.trainer.judged)
            if model.exists():
                reason += f"; the folder is now {rename_aside(model)}"
        self._write_model(weights, read_validation(self.folder.metrics, step), _made_of(step))
        self.progress.say(f"{reason}; it is written again, with the weights of step {step:,}")

    def _best_weights(self) -> dict[str, Tensor] | None:
        """Return the weights of the best validation, if their checkpoint is kept and whole."""
        step = self.trainer.best.step
        if step not in self.store.steps():
            return None
        try:
            best = self.store.load(step)
        except ModelError:
            return None
        return {
            name: best.moments.get(f"mean/{name}", best.weights[name])
            for name in parameters_of(self.trainer.judged)
        }

    def _holds_best(self) -> bool:
        """Tell whether the model folder says that it holds the weights of the best validation, not a mean of several."""
        return weights_sentence(_made_of(self.trainer.best.step)) in self._card()

    def _card(self) -> str:
        """Return the card of the model folder; nothing where it cannot be read."""
        try:
            return (self.folder.model / "README.md").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

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
                (self.folder.start / OUTPUTS).unlink(missing_ok=True)
            take_weights(trainer.model, start, self.prepared.tokenizers, self.build_model)
            trainer.state = replace(trainer.state, validated=-1)
        else:
            take_encoder(trainer.model, start, self.build_model)
        if trainer.mean is not None:
            trainer.mean.load_state_dict(trainer.model.state_dict())

    def _ask_starting_model(self, start: Start, stop: StopSignal) -> None:
        """Keep what the starting model says to the texts that are compared at the end, once."""
        path = self.folder.start / OUTPUTS
        if path.exists():
            return
        try:
            translator = Translator.load_every(
                start.model, device=str(self.trainer.device), build_model=self.build_model
            )[0]
            check_is_still_there(start)
        except InterlinguaError as error:
            self.progress.say(f"no comparison with the starting model will be made: {error}")
            return
        data = self.prepared.validation
        by_direction = pairs_by_direction(data.shards, data.shown, data.directions)
        is_another = learns_another_task(self.prepared.config, start)
        validation: dict[Direction | None, Sequence[SentencePair]] = {
            None: () if is_another else data.shown
        }
        if by_direction:
            validation = dict(by_direction.items())
        texts = texts_to_compare(validation, self.prepared.config.start, translator.known)
        if not texts:
            return
        self.progress.say(
            f"the starting model translates {sum(len(text.sources) for text in texts):,} sentences, to compare"
        )
        keep_outputs(path, texts, translator, stop)

    def _compare(self, stop: StopSignal) -> tuple[Difference, ...]:
        """Compare the model in the folder with the one that the run began with."""
        if self.prepared.start is None or not (self.folder.start / OUTPUTS).exists():
            return ()
        sha256 = listed_sha256(self.folder.model, "model.safetensors")
        known = read_differences(self.folder.comparison, sha256)
        if known is not None:
            return known
        translator = Translator.load_every(
            self.folder.model, device=str(self.trainer.device), build_model=self.build_model
        )[0]
        try:
            found = compare_with_start(self.folder.start / OUTPUTS, translator, stop)
        except ModelError as error:
            self.progress.say(str(error))
            return ()
        if found is None:
            return ()
        write_differences(self.folder.comparison, found, sha256)
        return tuple(found)

    def _checkpoint(self) -> Checkpoint | None:
        """Return where to continue: what the first process found, so that all continue at one place."""
        found = self.store.latest(self.progress.say) if self.workers.is_first else None
        step = self.workers.from_first(found.step if found else None)
        if step is None and (every := self.store.steps()):
            raise ModelError(
                f"{self.folder.checkpoints}: none of the {len(every):,} checkpoints is whole, and the model folder is not to be lost; "
                "put a whole copy there, or say --fresh, which starts anew and keeps this run under another name"
            )
        found = self.store.load(step) if step is not None and found is None else found
        if found and "parts" in found.state:  # earlier versions did not tell
            check_parts(self.folder.checkpoints, found.state["parts"], self.trainer.model)
        return found

    def _keep(self, validation: Validation, is_best: bool) -> None:
        """Keep the best weights; a mean that an earlier end of the run left gives way to them, as in a run without that end."""
        best = self.trainer.best.step
        if is_best or not self.folder.model.exists():
            made_of = _made_of(self.trainer.state.step)
            self._write_model(parameters_of(self.trainer.judged), validation, made_of)
        elif not self._holds_best() and (weights := self._best_weights()):
            self._write_model(weights, read_validation(self.folder.metrics, best), _made_of(best))

    def _average(self, validator: Validator, *, anew: bool) -> None:
        """Put the mean of the last checkpoints into the model folder if it validates as well.

        Unless it is to be made ``anew``, a mean that is there stays, and what was put beside it: this one, or that of ``interlingua average``.
        """
        steps = self.store.whole_steps()[-self.prepared.config.training.average_last :]
        if len(steps) < 2 or self.trainer.mean is not None:
            return
        made_of = f"the mean of {len(steps)} checkpoints up to step {steps[-1]:,}"
        kept = (weights_sentence(made_of), f" to {steps[-1]}).")
        if not anew and any(words in self._card() for words in kept):
            return
        model = self.trainer.model
        own = {name: tensor.clone() for name, tensor in parameters_of(model).items()}
        weights = average_weights(self.store, steps)
        _set_weights(model, weights)
        measured = validator.measure(model)
        if measured and self.trainer.best.is_matched_by(measured[0]):
            validation = measured[0]
            self._write_model(weights, validation, made_of)
            self.progress.say(
                f"mean of the last {len(steps)} checkpoints: validation loss {validation.loss:.3f}, "
                f"BLEU {validation.bleu:.2f}: kept"
            )
        elif measured:
            best = f"step {self.trainer.best.step:,}"
            self.progress.say(
                f"mean of the last {len(steps)} checkpoints: validation loss {measured[0].loss:.3f}, "
                f"BLEU {measured[0].bleu:.2f}; "
                f"{best if self._holds_best() else f'what {self.folder.model} holds'} is better and stays"
            )
        _set_weights(model, own)

    def _write_model(
        self, weights: dict[str, Tensor], validation: Validation | None, made_of: str
    ) -> None:
        self.last = validation or self.last
        if validation:  # before the model, whose card has the same figures: a later start then knows whether they are its own
            record = validation.record()
            write_text(self.folder.validation, json.dumps(record) + "\n")
            validation = Validation.of_record(record)
        self.saved.write(weights, validation, made_of)


def _made_of(step: int) -> str:
    """Say which weights a model folder of one update holds."""
    return f"those of step {step:,}" if step else "as they were"


def _set_weights(model: EncoderDecoder, weights: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in parameters_of(model).items():
            parameter.copy_(weights[name])
