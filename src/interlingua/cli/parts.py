"""The parts of a corpus that several commands read: training, validation and test, each in any form."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.flags import PartsFlags
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.corpus.plain_sides import PlainSides

__all__ = ["plain_parts", "read_columns"]


@contextmanager
def plain_parts(
    flags: PartsFlags, verb: str
) -> "Iterator[tuple[PlainSides, dict[str, PlainSides]]]":
    """Yield the training part, and by their names ("validation", "test") those that are held out, as plain files.

    Args:
        flags: the files.
        verb: what is to be done with them, for a message: "examine".

    Raises:
        ConfigError: no corpus, or half of one, is named.
        CorpusError: a file is missing, damaged, or not of its form.
    """
    from interlingua.corpus.plain_sides import plain_sides

    columns = read_columns(flags.columns)
    training = _name_files("", flags.source, flags.target, flags.pairs)
    if not training:
        raise ConfigError(
            f"nothing to {verb}; name the two sides of a corpus: --source train.ro --target train.en, or one file "
            "with both: --pairs train.tsv"
        )
    held_out = {
        "validation": _name_files(
            "valid-", flags.valid_source, flags.valid_target, flags.valid_pairs
        ),
        "test": _name_files("test-", flags.test_source, flags.test_target, flags.test_pairs),
    }
    every = [training, *held_out.values()]
    if sum(str(path) == "-" for files in every for path in files) > 1:
        raise ConfigError("standard input (-) holds one corpus; name files for the others")
    languages = flags.source_lang, flags.target_lang
    with ExitStack() as opened:
        yield (
            opened.enter_context(plain_sides(training, languages, columns)),
            {
                name: opened.enter_context(plain_sides(files, languages, columns))
                for name, files in held_out.items()
                if files
            },
        )


def read_columns(told: str | None) -> tuple[str, str] | None:
    """Return the two columns that a flag names.

    Raises:
        ConfigError: not two.
    """
    if not told:
        return None
    match told.split(","):
        case [source, target]:
            return source, target
        case _:
            raise ConfigError(
                "--columns takes two names or numbers with a comma between: --columns 1,2"
            )


def _name_files(
    part: str, source: Path | None, target: Path | None, pairs: Path | None
) -> tuple[Path, ...]:
    """Return the files of a part: none, one with both sides, or two.

    Raises:
        ConfigError: one of two sides, or all three.
    """
    if pairs is not None:
        if source is not None or target is not None:
            raise ConfigError(f"give --{part}pairs, or --{part}source and --{part}target, not both")
        return (pairs,)
    if source is None and target is None:
        return ()
    if source is None or target is None:
        raise ConfigError(
            f"{source or target}: is one side only; give --{part}source and --{part}target"
        )
    return source, target
