"""Examine a model or a run: everything that can be wrong with it, each with what it means and what mends it."""

from pathlib import Path

from interlingua.checkpoints.model_folder import find_model_folder
from interlingua.checkpoints.sentences import SENTENCES, read_sentences
from interlingua.corpus.findings import Finding, Report
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction, in_words
from interlingua.errors import ConfigError, InterlinguaError, ModelError
from interlingua.examination.model_behaviour import examine_behaviour
from interlingua.examination.model_files import examine_model_files
from interlingua.examination.run_records import examine_run_records, text_of_run
from interlingua.training.run_folder import RunFolder
from interlingua.translator import Translator

__all__ = ["examine_model"]

_MOST_PAIRS = 64


def examine_model(
    path: Path, pairs: list[SentencePair] | None = None, direction: Direction | None = None
) -> Report:
    """Examine the files, the numbers and the behaviour of a model folder, and the records of a run folder.

    Args:
        path: model folder or run folder.
        pairs: text with its translation to try the model on; of a run, None takes its own validation text. Without text,
            sequences of tokens drawn by chance stand in, which tell less.
        direction: the languages of ``pairs``; without it a model of several pairs of languages is tried on the sentences that it keeps.

    Raises:
        ConfigError: the model is of several pairs of languages, and ``direction`` is none of them.
        ModelError: there is no such folder, or it is neither a model nor a run.
    """
    path = Path(path)
    if not path.is_dir():
        what = "is a file, not a folder" if path.exists() else "does not exist"
        raise ModelError(f"{path}: {what}; give a run folder or a model folder")
    findings: list[Finding] = []
    folder = RunFolder(path)
    is_run = any(
        place.exists()
        for place in (folder.config, folder.metrics, folder.corpus_lock, folder.checkpoints)
    )
    if is_run:
        findings += examine_run_records(folder)
        pairs = pairs if pairs is not None else text_of_run(folder, _MOST_PAIRS)
    try:
        model = find_model_folder(path)
    except ModelError as error:
        findings.append(_no_model(error))
        return Report(str(path), tuple(findings))
    of_files = examine_model_files(model)
    findings += of_files
    if not any(finding.severity == "error" for finding in of_files):
        findings += _behaviour(model, pairs or [], direction)
    return Report(str(path), tuple(findings))


def _behaviour(
    model: Path, pairs: list[SentencePair], direction: Direction | None
) -> list[Finding]:
    """Open the model and watch it; what keeps it from being opened is a finding too."""
    try:
        every = Translator.load_every(model, device="cpu")
    except InterlinguaError as error:
        return [
            Finding(
                "unusable-model",
                "error",
                (),
                f"The model cannot be opened: {error}",
                "copy the folder again from where it was trained, or train again",
            )
        ]
    translator = every[0]
    if translator.directions and direction is not None:
        found = [each for each in every if each.direction == direction]
        if not found:
            raise ConfigError(
                f"{model}: translates {in_words(translator.directions)}, and the text goes {direction}, by its names; say what it is: "
                "--source-lang, --target-lang"
            )
        translator = found[0]
    elif translator.directions:  # pairs of other languages would be found wrong
        pairs = list(read_sentences(model / SENTENCES, translator.direction))
    return examine_behaviour(translator, pairs[:_MOST_PAIRS])


def _no_model(error: ModelError) -> Finding:
    return Finding(
        "no-model",
        "warning",
        (),
        f"There is nothing to translate with yet: {error}",
        "go on training: interlingua train with the same command resumes",
    )
