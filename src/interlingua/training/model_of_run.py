"""Which weights the model folder of a run holds: the best ones, or a mean that validates as well."""

import json
from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor

from interlingua.checkpoints.average import average_weights
from interlingua.checkpoints.manifest import check_manifest, intact_files
from interlingua.checkpoints.model_card import weights_sentence
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.errors import ModelError
from interlingua.files import write_text
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.loop import Trainer
from interlingua.training.model_card import scores_sentence
from interlingua.training.resuming import rename_aside
from interlingua.training.run_folder import RunFolder
from interlingua.training.saved_form import SavedForm
from interlingua.training.validation import Validation, Validator, read_validation

__all__ = ["ModelOfRun"]


class ModelOfRun:
    """The model folder of a run, and what its validation came to.

    Args:
        folder: of the run.
        trainer: whose weights it holds.
        store: the checkpoints of the run.
        saved: writes weights of the trainer.
        say: tells a person.
    """

    def __init__(
        self,
        folder: RunFolder,
        trainer: Trainer,
        store: CheckpointStore,
        saved: SavedForm,
        say: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self.trainer = trainer
        self.store = store
        self.saved = saved
        self.say = say
        self.last: Validation | None = None

    def validation(self) -> Validation | None:
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

    def keep(self, validation: Validation, is_best: bool) -> None:
        """Keep the best weights; a mean that an earlier end of the run left gives way to them, as in a run without that end.

        Raises:
            OutputError: the place cannot be written, or does not hold what was written to it.
        """
        best = self.trainer.best.step
        if is_best or not self.folder.model.exists():
            made_of = _made_of(self.trainer.state.step)
            self._write(parameters_of(self.trainer.judged), validation, made_of)
        elif not self._holds_best() and (weights := self._best_weights()):
            self._write(weights, read_validation(self.folder.metrics, best), _made_of(best))

    def keep_unvalidated(self) -> None:
        """Keep the present weights, if nothing is kept yet.

        Raises:
            OutputError: see :meth:`keep`.
        """
        if not self.folder.model.exists():
            self._write(parameters_of(self.trainer.judged), None, "of the last update")

    def average(self, validator: Validator, *, last: int, anew: bool) -> None:
        """Put the mean of the ``last`` checkpoints into the model folder if it validates as well.

        Unless it is to be made ``anew``, a mean that is there stays, and what was put beside it: this one, or that of ``interlingua average``.

        Raises:
            OutputError: see :meth:`keep`.
        """
        steps = self.store.whole_steps()[-last:]
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
            self._write(weights, validation, made_of)
            self.say(
                f"mean of the last {len(steps)} checkpoints: validation loss {validation.loss:.3f}, "
                f"BLEU {validation.bleu:.2f}: kept"
            )
        elif measured:
            best = f"step {self.trainer.best.step:,}"
            self.say(
                f"mean of the last {len(steps)} checkpoints: validation loss {measured[0].loss:.3f}, "
                f"BLEU {measured[0].bleu:.2f}; "
                f"{best if self._holds_best() else f'what {self.folder.model} holds'} is better and stays"
            )
        _set_weights(model, own)

    def mend(self) -> None:
        """Write the model folder again if it is gone or damaged: around its own weights if they are whole, else with the best ones.

        Where those are not kept the present ones are written, and what was there, perhaps more than they are, goes aside.

        Raises:
            ModelError: the disk does not give a file, which may be as good as ever.
            OutputError: see :meth:`keep`.
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
            self.say(f"{reason}; the folder is written again around its weights")
            return
        step, weights = self.trainer.best.step, self._best_weights()
        if weights is None:
            step, weights = self.trainer.state.step, parameters_of(self.trainer.judged)
            if model.exists():
                reason += f"; the folder is now {rename_aside(model)}"
        self._write(weights, read_validation(self.folder.metrics, step), _made_of(step))
        self.say(f"{reason}; it is written again, with the weights of step {step:,}")

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

    def _write(
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
