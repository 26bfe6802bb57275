"""A run, from files to a model folder, in the order that data passes."""

from contextlib import closing, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from torch import Tensor

from interlingua.checkpoints.average import average_weights
from interlingua.checkpoints.model_folder import (
    BuildModel,
    LoadedModel,
    build,
    check_parts,
    save_model_folder,
)
from interlingua.checkpoints.sentences import MOST_SENTENCES
from interlingua.checkpoints.store import Checkpoint, CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import RunConfig
from interlingua.hardware import choose_device, choose_dtype, prepare_cpu
from interlingua.kernels import native
from interlingua.model.transformer import Transformer
from interlingua.training.automatic import architecture_of
from interlingua.training.card import write_card
from interlingua.training.corpus_of_run import read_corpus
from interlingua.training.loop import Trainer
from interlingua.training.metrics_log import MetricsLog, forget_after
from interlingua.training.prepare import Prepared, prepare_locked, run_dir_of
from interlingua.training.progress import TrainingProgress
from interlingua.training.resuming import resumed_config, set_aside
from interlingua.training.run_folder import RunFolder
from interlingua.training.stopping import listen_for_stop
from interlingua.training.validation import (
    Validation,
    Validator,
    read_validation,
    spread_pairs,
)
from interlingua.training.workers import Workers, is_restarted, join_workers
from interlingua.translator import Translator

__all__ = ["TrainResult", "train"]


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What a run came to."""

    run_dir: Path
    model_dir: Path
    steps: int
    seconds: float
    validation: Validation | None
    """That of the model in the folder; if an earlier start wrote it, the best validation of the run."""
    reason: str
    reasons: tuple[str, ...]
    """The choices that were made from the corpus, and why."""
    signal: int | None
    """The signal that stopped it, if one did."""
    worker: int = 0
    """Which process of a run under torchrun this is; 0 is the one that reports."""


def train(
    config: RunConfig,
    *,
    fresh: bool = False,
    build_model: BuildModel = Transformer,
    console: Console | None = None,
) -> TrainResult:
    """Turn a parallel corpus into a translator; continue a run that was interrupted.

    Args:
        config: what to do; ``None`` fields are chosen from the corpus.
        fresh: rename an existing run of that name and start anew.
        build_model: makes the model, for parts of your own; ``Transformer`` by default.
        console: where progress goes, by default standard error.

    Raises:
        ConfigError: settings that contradict each other, or differ from those of the run being resumed.
        CorpusError: text that cannot be used.
        OutputError: a full disk, a folder that cannot be written.
        TrainingError: a loss that is not a number, another trainer in the same folder.
    """
    prepare_cpu(config.training.threads)
    device = choose_device(config.training.device)
    with join_workers(device, config.training.worker_timeout) as workers:
        if not workers.is_first:
            console = Console(quiet=True)
        progress = TrainingProgress(console or Console(stderr=True))
        folder = RunFolder(run_dir_of(config))
        if not workers.is_first:
            workers.wait()  # the first process prepares the corpus
        fresh = fresh and workers.is_first and not is_restarted()
        if not fresh:
            config = resumed_config(config, folder)
        corpus = (
            None
            if config.corpus.embedded
            else read_corpus(config, folder, progress.say, writes=workers.is_first)
        )
        if fresh and (old := set_aside(folder.path)):
            progress.say(f"{folder.path}: the earlier run is now {old}")
        with folder.locked() if workers.is_first else nullcontext():
            prepared = prepare_locked(
                config,
                folder,
                corpus,
                device=device,
                say=progress.say,
                writes=workers.is_first,
            )
            if workers.is_first:
                workers.wait()
            torch.manual_seed(prepared.config.training.seed)
            model = build(architecture_of(prepared.config.model), prepared.tokenizers, build_model)
            return _Run(prepared, model, device, progress, workers).go()


class _Run:
    """One training run under way: the trainer, and what it leaves in the run folder."""

    def __init__(
        self,
        prepared: Prepared,
        model: Transformer,
        device: torch.device,
        progress: TrainingProgress,
        workers: Workers,
    ) -> None:
        config = prepared.config
        self.workers = workers
        self.prepared = prepared
        self.folder = prepared.folder
        self.progress = progress
        keep = max(config.training.keep_checkpoints, config.training.average_last)
        self.store = CheckpointStore(self.folder.checkpoints, keep)
        mean = deepcopy(model) if config.training.ema is not None else None
        self.trainer = Trainer(
            model,
            prepared.training,
            config.training,
            device=device,
            dtype=choose_dtype(config.training.dtype, device),
            mean=mean,
            workers=workers,
            say=progress.say,
        )
        self.translator = Translator(
            self.trainer.judged,
            prepared.tokenizers,
            source_lang=prepared.source_lang,
            target_lang=prepared.target_lang,
            decoding=config.decoding,
            device=device,
            max_source_length=config.batching.max_length,
        )
        self.parameters = sum(p.numel() for p in parameters_of(model).values())
        self.last: Validation | None = None

    def go(self) -> TrainResult:
        config = self.prepared.config.training
        checkpoint = self._checkpoint()
        if self.workers.is_first:
            validated = checkpoint.state["validated"] if checkpoint else None
            for path in (self.folder.metrics, self.folder.samples):
                forget_after(path, checkpoint.step if checkpoint else 0, validated)
        if checkpoint:
            self.trainer.resume(checkpoint)
            self.progress.say(f"{self.folder.path}: continues after step {checkpoint.step:,}")
        self.prepared.training.order_ahead(self.trainer.state.cursor.epoch)
        self.progress.say(
            f"{self.parameters:,} parameters, {torch.get_num_threads()} threads, "
            f"{str(self.trainer.dtype).removeprefix('torch.')} on {self.trainer.device}, "
            + ("plain references" if config.plain else native.describe())
        )
        if self.workers.is_first:
            self.folder.write_environment(kernels=native.describe())
        log = MetricsLog(
            self.folder.metrics,
            self.folder.tensorboard,
            step=self.trainer.state.step,
            say=self.progress.say,
        )
        with listen_for_stop() as stop, self.progress, closing(log):
            validator = Validator(
                self.prepared.validation,
                self.translator,
                num_sentences=config.validate_sentences,
                dtype=self.trainer.dtype,
                interrupted=stop,
                plain=config.plain,
            )
            reason = self.trainer.run(
                metrics=log,
                samples=self.folder.samples,
                store=self.store,
                validator=validator,
                progress=self.progress,
                stop=stop,
                on_validation=self._keep,
            )
            if not self.workers.is_first:
                pass
            elif not stop():
                with stop.rescued_by(lambda: None, nullcontext()):  # all is saved already
                    self._average(validator)
            elif not self.folder.model.exists():
                self._write_model(parameters_of(self.trainer.judged), None, "of the last update")
            self.workers.wait()
        if checkpoint and self.trainer.state.step == checkpoint.step and not stop():
            reason += " (as it was before: nothing is left to train; --fresh starts anew)"
        self.progress.say(f"{reason}; the model is in {self.folder.model}")
        return TrainResult(
            run_dir=self.folder.path,
            model_dir=self.folder.model,
            steps=self.trainer.state.step,
            seconds=self.trainer.state.seconds,
            validation=self.last or read_validation(self.folder.metrics, self.trainer.best.step),
            reason=reason,
            reasons=self.prepared.reasons,
            signal=stop.number,
            worker=self.workers.rank,
        )

    def _checkpoint(self) -> Checkpoint | None:
        """Return where to continue: what the first process found, so that all continue at one place."""
        found = self.store.latest(self.progress.say) if self.workers.is_first else None
        step = self.workers.from_first(found.step if found else None)
        found = self.store.load(step) if step is not None and found is None else found
        if found and "parts" in found.state:  # earlier versions did not tell
            check_parts(self.folder.checkpoints, found.state["parts"], self.trainer.model)
        return found

    def _keep(self, validation: Validation, is_best: bool) -> None:
        if is_best or not self.folder.model.exists():
            weights = parameters_of(self.trainer.judged)
            self._write_model(weights, validation, f"those of step {self.trainer.state.step:,}")

    def _average(self, validator: Validator) -> None:
        """Put the mean of the last checkpoints into the model folder if it validates as well."""
        steps = self.store.whole_steps()[-self.prepared.config.training.average_last :]
        if len(steps) < 2 or self.trainer.mean is not None:
            return
        model = self.trainer.model
        own = {name: tensor.clone() for name, tensor in parameters_of(model).items()}
        weights = average_weights(self.store, steps)
        _set_weights(model, weights)
        measured = validator.measure(model)
        if measured and self.trainer.best.is_matched_by(measured[0]):
            validation = measured[0]
            self._write_model(weights, validation, f"the mean of {len(steps)} checkpoints")
            self.progress.say(
                f"mean of the last {len(steps)} checkpoints: validation loss {validation.loss:.3f}, "
                f"BLEU {validation.bleu:.2f}: kept"
            )
        elif measured:
            self.progress.say(
                f"mean of the last {len(steps)} checkpoints: validation loss {measured[0].loss:.3f}, "
                f"BLEU {measured[0].bleu:.2f}; "
                f"step {self.trainer.best.step:,} is better and stays"
            )
        _set_weights(model, own)

    def _write_model(
        self, weights: dict[str, Tensor], validation: Validation | None, made_of: str
    ) -> None:
        prepared = self.prepared
        self.last = validation or self.last
        card = write_card(
            prepared.config,
            source_lang=prepared.source_lang,
            target_lang=prepared.target_lang,
            parameters=self.parameters,
            corpus=[path.name for path in prepared.files],
            pairs=len(prepared.training.shards),
            validation=validation,
            made_of=made_of,
        )
        loaded = LoadedModel(
            model=self.trainer.model,
            tokenizers=prepared.tokenizers,
            source_lang=prepared.source_lang,
            target_lang=prepared.target_lang,
            decoding=prepared.config.decoding,
            max_length=prepared.config.batching.max_length,
            sentences=tuple(spread_pairs(prepared.validation.pairs, MOST_SENTENCES)),
        )
        save_model_folder(self.folder.model, loaded, weights, card)


def _set_weights(model: Transformer, weights: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in parameters_of(model).items():
            parameter.copy_(weights[name])
