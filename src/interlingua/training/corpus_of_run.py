"""The text that a run reads: which files, which languages, whether it is still the same."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.config import CorpusConfig, RunConfig
from interlingua.corpus.embedded import write_embedded
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.parallel import language_of, read_parallel_text
from interlingua.corpus.split import split_validation
from interlingua.errors import ConfigError
from interlingua.files import write_text
from interlingua.training.run_folder import RunFolder

__all__ = ["RunCorpus", "is_locked_to", "languages_of", "lock_corpus", "read_corpus"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunCorpus:
    """Pairs for training and for validation, and the files they came from."""

    training: list[SentencePair]
    validation: list[SentencePair]
    files: tuple[Path, ...]


def languages_of(corpus: CorpusConfig) -> tuple[str, str]:
    """Return the languages that were given, or that the file names tell, or just "source" and "target"."""
    named = {
        "demo-ro-en": ("ro", "en"),
        "copy": ("digits", "copy"),
        "reverse": ("digits", "reverse"),
    }
    if corpus.embedded:
        source, target = named[corpus.embedded]
    else:
        source = (language_of(corpus.source[0]) if corpus.source else None) or "source"
        target = (language_of(corpus.target[0]) if corpus.target else None) or "target"
        if source == target:  # a suffix such as .txt tells no language
            source, target = "source", "target"
    return corpus.source_lang or source, corpus.target_lang or target


def read_corpus(config: RunConfig, folder: RunFolder, say: Say) -> RunCorpus:
    """Read the pairs of a run; write the embedded corpus first, if that is what it reads.

    Raises:
        ConfigError: an embedded corpus and files are both asked for.
        CorpusError: text that cannot be used.
        OutputError: the embedded corpus cannot be written.
    """
    corpus = config.corpus
    if corpus.embedded:
        if corpus.source or corpus.target:
            raise ConfigError(
                f'corpus.embedded = "{corpus.embedded}" and corpus.source are both given; take one'
            )
        files = write_embedded(corpus.embedded, folder.corpus, config.training.seed)
        corpus = corpus.model_copy(
            update={
                "source": (files.train_source,),
                "target": (files.train_target,),
                "valid_source": (files.valid_source,),
                "valid_target": (files.valid_target,),
            }
        )
    text = read_parallel_text(corpus.source, corpus.target)
    if report := text.report():
        say(report)
    paths = (*corpus.source, *corpus.target, *corpus.valid_source, *corpus.valid_target)
    if corpus.valid_source or corpus.valid_target:
        held_back = read_parallel_text(corpus.valid_source, corpus.valid_target)
        say(f"{len(text.pairs):,} training pairs, {len(held_back.pairs):,} validation pairs")
        return RunCorpus(text.pairs, held_back.pairs, paths)
    training, validation = split_validation(text.pairs, corpus.valid_size, config.training.seed)
    say(
        f"{len(training):,} training pairs; {len(validation):,} more held back for validation, "
        "because no validation files were given"
    )
    return RunCorpus(training, validation, paths)


def lock_corpus(folder: RunFolder, files: Sequence[Path]) -> None:
    """Write what identifies the files of a run."""
    write_text(folder.corpus_lock, json.dumps(fingerprint(files), indent=2) + "\n")


def is_locked_to(folder: RunFolder, files: Sequence[Path]) -> bool:
    """Tell whether a run was made from these files, wherever they lie now: what they hold decides."""
    try:
        locked = json.loads(folder.corpus_lock.read_text(encoding="utf-8"))
        before = [entry["sha256"] for entry in locked.values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return before == [entry["sha256"] for entry in fingerprint(files).values()]
