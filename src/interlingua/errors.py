"""Every error that a user can cause, and the exit status that the command line gives it.

::

    InterlinguaError              1   something a user can mend
    ├── ConfigError               2   a flag, a configuration file or a value in it
    ├── CorpusError               3   text files: missing, unequal, wrong bytes, empty
    ├── TokenizerError            4   a tokenizer file, or a kind that cannot be trained
    ├── ModelError                5   a model or run folder: missing, damaged, wrong version
    ├── OutputError               6   something that could not be written
    ├── TrainingError             7   training that cannot go on (not-a-number loss, busy run folder)
    ├── ExportError               8   a model that another format cannot hold, or that translates otherwise there
    └── DownloadError             9   something that could not be fetched

Status 0 is success; 129, 130 and 143 are what a shell expects after SIGHUP, Ctrl-C and SIGTERM.
Each message says what is wrong, where, and what to do about it.
"""

__all__ = [
    "ConfigError",
    "CorpusError",
    "DownloadError",
    "ExportError",
    "InterlinguaError",
    "ModelError",
    "OutputError",
    "TokenizerError",
    "TrainingError",
    "how_to_install",
]


class InterlinguaError(Exception):
    """Something a user can mend; the command line prints the message, never a traceback."""

    exit_status = 1


class ConfigError(InterlinguaError):
    """A flag, a configuration file, or a value in it."""

    exit_status = 2


class CorpusError(InterlinguaError):
    """Text files that are missing, unequal, empty, or not UTF-8."""

    exit_status = 3


class TokenizerError(InterlinguaError):
    """A tokenizer file that cannot be read, or a vocabulary that cannot be trained."""

    exit_status = 4


class ModelError(InterlinguaError):
    """A model or run folder that is missing, damaged, or of another version."""

    exit_status = 5


class OutputError(InterlinguaError):
    """A file or folder that could not be written."""

    exit_status = 6


class TrainingError(InterlinguaError):
    """Training that cannot start or go on."""

    exit_status = 7


class ExportError(InterlinguaError):
    """A model that another format cannot hold, or that another program translates otherwise with."""

    exit_status = 8


class DownloadError(InterlinguaError):
    """Something that could not be fetched: no connection, no such corpus, another file than was asked for."""

    exit_status = 9


def how_to_install(extra: str) -> str:
    """Say how an extra is added, in the middle of a message: the program is on no package index yet."""
    return f"in the folder of this program's source, say: pip install '.[{extra}]'"
