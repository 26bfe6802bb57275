"""Two texts whose lines are translations of each other, held in memory as pairs: for texts that are small enough."""

import re
from collections.abc import Sequence
from pathlib import Path

from interlingua.config import LANGUAGE_CODE
from interlingua.corpus.packed import without_packing
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.scan import scan_parallel

__all__ = ["language_of", "read_parallel"]


def read_parallel(sources: Sequence[Path], targets: Sequence[Path]) -> list[SentencePair]:
    """Read the usable pairs of parallel files; ``scan_parallel`` also tells what is left out.

    Raises:
        CorpusError: see ``scan_parallel``.
    """
    return list(scan_parallel(sources, targets).pairs())


def language_of(path: Path) -> str | None:
    """Tell the language from the last suffix of a file name (``train.ro`` and ``train.ro.gz`` give ``ro``), or None."""
    suffix = Path(without_packing(path.name)).suffix.removeprefix(".")
    return suffix if suffix and re.match(LANGUAGE_CODE, suffix) else None
