"""The ``split`` command: a corpus becomes training, validation and test files."""

from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.flags import PairFlags
from interlingua.cli.parts import read_columns
from interlingua.cli.streams import note, print_json, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.corpus.formats import PairReader

__all__ = ["split"]

_CORPUS = PairFlags()


def split(
    *,
    output: Path,
    corpus: PairFlags = _CORPUS,
    valid: int | None = None,
    test: int | None = None,
    seed: int = 1,
    json: bool = False,
) -> None:
    """Split a corpus into train, valid and test files that share no source.

    Args:
        output: folder for train.SOURCE, train.TARGET, valid.SOURCE and so on.
        valid: validation pairs; by default a twentieth, 50 to 1,000; 0 for none.
        test: test pairs; the same.
        seed: another seed chooses other pairs.
        json: print the result as JSON.
    """
    if min(valid or 0, test or 0, seed) < 0:
        raise ConfigError("--valid, --test and --seed are whole numbers from 0 on")
    reader, languages = _open(corpus)
    from interlingua.corpus.split import write_split

    written = write_split(reader, output, languages=languages, valid=valid, test=test, seed=seed)
    for remark in reader.remarks():
        note(remark)
    if written.blank:
        note(f"{written.blank:,} pairs were left out because a side is blank")
    if json:
        print_json({"pairs": written.pairs, "files": written.files, "blank": written.blank})
        return
    for part, number in written.pairs.items():
        say(f"{output / part}.{languages[0]}, .{languages[1]}: {number:,} pairs\n")


def _open(corpus: PairFlags) -> "tuple[PairReader, tuple[str, str]]":
    from interlingua.corpus.formats import UNNAMED, PairReader, open_pairs
    from interlingua.corpus.parallel import language_of

    source, target, pairs = corpus.source, corpus.target, corpus.pairs
    found = (
        corpus.source_lang or (language_of(source) if source else None) or UNNAMED[0],
        corpus.target_lang or (language_of(target) if target else None) or UNNAMED[1],
    )
    languages = found if found[0] != found[1] else UNNAMED
    if source and target and not pairs:
        reader = PairReader((source, target), languages, None)
    elif pairs and not source and not target:
        reader = open_pairs(pairs, languages, read_columns(corpus.columns))
    else:
        raise ConfigError("name one corpus: --source FILE --target FILE, or --pairs FILE")
    _refuse_pipes(reader.paths)
    return reader, languages


def _refuse_pipes(paths: tuple[Path, ...]) -> None:
    for path in paths:
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a file in it")
        if str(path) == "-" or (path.exists() and not path.is_file()):
            raise ConfigError(f"{path}: can be read only once, and split reads twice; give a file")
