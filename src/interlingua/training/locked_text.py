"""The text that a run was made from, by its ``corpus.lock``: where each file is now, and whether it holds what it held."""

import json
from contextlib import suppress
from pathlib import Path

from interlingua.config import RunConfig
from interlingua.corpus.fingerprint import fingerprint
from interlingua.errors import CorpusError
from interlingua.training.corpus_of_run import SEEN
from interlingua.training.run_folder import RunFolder
from interlingua.training.unpacking import RECORD

__all__ = ["holds_still", "locked_text", "places_before"]


def locked_text(folder: RunFolder, config: RunConfig) -> dict[Path, str]:
    """Return the SHA-256 of each file of a run, by where it is now, with those that some were unpacked from.

    What lay in the run lies in it still, wherever the run is; what a run named from the folder that it was trained in is looked for
    in the present one.

    Raises:
        CorpusError: the lock cannot be read.
    """
    try:
        locked = json.loads(folder.corpus_lock.read_text(encoding="utf-8"))
        files = {name: entry["sha256"] for name, entry in locked.items()}
        for entry in locked.values():
            files |= {each["path"]: each["sha256"] for each in entry.get("unpacked_from", ())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(
            f"{folder.corpus_lock}: cannot be read ({error}); take a whole copy of the run"
        ) from error
    return {_place_now(name, folder, config): sha256 for name, sha256 in files.items()}


def holds_still(path: Path, sha256: str | None) -> bool:
    """Tell whether a file has this SHA-256.

    Raises:
        CorpusError: it is not there, or cannot be read.
    """
    return fingerprint([path])[path.as_posix()]["sha256"] == sha256


def places_before(folder: RunFolder) -> frozenset[str]:
    """Return where the files of a run lay when it was prepared, as absolute paths; what is not known any more is left out."""
    found: set[str] = set()
    for path in (folder.shards / SEEN, folder.corpus / RECORD):
        with suppress(OSError, ValueError, AttributeError):  # there need be none
            content = json.loads(path.read_text(encoding="utf-8"))
            found |= content.get("seen", content).keys()
    return frozenset(found)


def _place_now(name: str, folder: RunFolder, config: RunConfig) -> Path:
    path = Path(name)
    if config.run_dir is not None and path.is_relative_to(config.run_dir):
        return folder.path / path.relative_to(config.run_dir)
    return path
