"""The ``download`` command: a corpus or a test set by its name."""

from pathlib import Path

from interlingua.cli.streams import note, print_json, progress_bar, say
from interlingua.errors import ConfigError

__all__ = ["download"]


def download(
    name: str | None = None,
    *,
    source_lang: str | None = None,
    target_lang: str | None = None,
    output: Path = Path("data"),
    version: str = "latest",
    list: bool = False,
    catalogue: str | None = None,
    sha256: str | None = None,
    json: bool = False,
) -> None:
    """Fetch a corpus of OPUS, a test set of sacreBLEU, or any file; go on where it broke off.

    Args:
        name: such as Tatoeba, wmt14, or https://...; see --list.
        source_lang: language of the source, as the catalogue spells it.
        target_lang: language of the target.
        output: folder for the files and their corpus.lock.
        version: version of the corpus.
        list: print what there is in two languages, and fetch nothing.
        catalogue: address that answers as OPUS does.
        sha256: checksum that what is fetched must have.
        json: print the result as JSON.
    """
    from interlingua.corpus.download import CATALOGUE, Fetcher

    if (source_lang is None) != (target_lang is None):
        raise ConfigError("--source-lang and --target-lang belong together; give both")
    languages = (source_lang, target_lang) if source_lang and target_lang else None
    if list:
        if languages is None:
            raise ConfigError("--list needs --source-lang and --target-lang")
        _print_list(languages, catalogue or CATALOGUE, as_json=json)
        return
    if name is None:
        raise ConfigError("no corpus is named; see what there is with --list")
    with progress_bar(name, in_bytes=True) as progress:
        fetcher = Fetcher(
            output, catalogue=catalogue or CATALOGUE, sha256=sha256, say=note, progress=progress
        )
        files = fetcher.fetch(name, languages, version)
    lock = fetcher.entries(files)
    if json:
        print_json({"files": files, "lock": lock})
        return
    for path, entry in zip(files, lock.values(), strict=True):
        say(f"{path}: {entry['lines']:,} lines, {entry['size']:,} bytes\n")
    say(f"licence: {next(iter(lock.values()))['licence']}\n")


def _print_list(languages: tuple[str, str], catalogue: str, *, as_json: bool) -> None:
    from interlingua.corpus.download import list_catalogue, list_test_sets

    entries = list_catalogue(languages, catalogue=catalogue)
    sets = list_test_sets(languages)
    if as_json:
        corpora = [
            {"name": x.name, "version": x.version, "pairs": x.pairs, "bytes": x.size, "url": x.url}
            for x in entries
        ]
        print_json({"corpora": corpora, "test_sets": sets})
        return
    for entry in entries:
        pairs = "?" if entry.pairs is None else f"{entry.pairs:,}"
        size = "?" if entry.size is None else f"{entry.size / 1e6:,.1f} MB"
        say(f"{entry.name:<24} {entry.version:<14} {pairs:>14} pairs {size:>14}\n")
    say(f"test sets of sacreBLEU: {', '.join(sets) or 'none'}\n")
