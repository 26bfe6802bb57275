"""The two ends of a fine-tuned run: what the starting model says, and what became better or worse of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.checkpoints.manifest import listed_sha256
from interlingua.checkpoints.model_folder import BuildModel
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.errors import ConfigError, InterlinguaError, ModelError
from interlingua.evaluation.bootstrap import check_seed
from interlingua.training.comparison import (
    OUTPUTS,
    Difference,
    compare_with_start,
    keep_outputs,
    read_differences,
    texts_to_compare,
    write_differences,
)
from interlingua.training.directions_of_run import pairs_by_direction
from interlingua.training.fine_tuning import learns_another_task
from interlingua.training.prepare import Prepared
from interlingua.training.starting import check_is_still_there
from interlingua.translator import Translator

__all__ = ["StartComparison"]


@dataclass(frozen=True, slots=True)
class StartComparison:
    """The model of a run against the one that it begins with, on texts that both translate; nothing, where a run has fresh weights."""

    prepared: Prepared
    device: str
    build_model: BuildModel
    say: Callable[[str], None]

    def ask(self, is_told_to_stop: Callable[[], bool]) -> None:
        """Keep what the starting model says, once; say so where it cannot be asked.

        Raises:
            CorpusError: text that the model should not forget cannot be read.
            OutputError: what it says cannot be written.
        """
        start, path = self.prepared.start, self.prepared.folder.start / OUTPUTS
        if start is None or not start.is_whole or path.exists():
            return
        try:
            translator = self._translator(start.model)
            check_is_still_there(start)
            check_seed()
        except InterlinguaError as error:
            self.say(f"no comparison with the starting model will be made: {error}")
            return
        data = self.prepared.validation
        by_direction = pairs_by_direction(data.shards, data.shown, data.directions)
        is_another = learns_another_task(self.prepared.config, start)
        validation: dict[Direction | None, Sequence[SentencePair]] = {
            None: () if is_another else data.shown
        }
        if by_direction:
            validation = dict(by_direction.items())
        known = [each for each in translator.known if each in self.prepared.directions]
        texts = texts_to_compare(validation, self.prepared.config.start, known, self.say)
        if not texts:
            return
        self.say(
            f"the starting model translates {sum(len(text.sources) for text in texts):,} sentences, to compare"
        )
        keep_outputs(path, texts, translator, is_told_to_stop)

    def compare(self, is_told_to_stop: Callable[[], bool]) -> tuple[Difference, ...]:
        """Translate the same texts with the model in the folder; return what is better and worse, nothing if the starting model was not asked.

        Raises:
            OutputError: the comparison cannot be written.
        """
        folder = self.prepared.folder
        if self.prepared.start is None or not (folder.start / OUTPUTS).exists():
            return ()
        sha256 = listed_sha256(folder.model, "model.safetensors")
        known = read_differences(folder.comparison, sha256)
        if known is not None:
            return known
        translator = self._translator(folder.model)
        try:
            found = compare_with_start(folder.start / OUTPUTS, translator, is_told_to_stop)
        except (ModelError, ConfigError) as error:  # the latter: a seed of the bootstrap, set since
            self.say(str(error))
            return ()
        if found is None:
            return ()
        write_differences(folder.comparison, found, sha256)
        return tuple(found)

    def forget(self) -> None:
        """Forget what a starting model said: it may have been another one."""
        (self.prepared.folder.start / OUTPUTS).unlink(missing_ok=True)

    def _translator(self, model: Path) -> Translator:
        every = Translator.load_every(model, device=self.device, build_model=self.build_model)
        return every[0]
