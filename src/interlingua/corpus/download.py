"""Corpora and test sets by their names: found in a catalogue, brought here, checked, and written down in ``corpus.lock``.

A name is that of a corpus of OPUS (Tiedemann 2012), of a test set that sacreBLEU knows, or an address. Each gives two files of
lines, ``NAME.SOURCE-TARGET.SOURCE`` and ``NAME.SOURCE-TARGET.TARGET``, but for an address, whose file stays as it is.
"""

import copy
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from interlingua.corpus.archives import list_members, take_members
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.lines import read_lines, write_lines
from interlingua.corpus.transfer import Progress, Transfer, fetch, fetch_json
from interlingua.errors import ConfigError, CorpusError, DownloadError, OutputError
from interlingua.files import write_text

__all__ = ["CATALOGUE", "NOT_STATED", "Entry", "Fetcher", "list_catalogue", "list_test_sets"]

CATALOGUE = "https://opus.nlpl.eu/opusapi/"
LOCK = "corpus.lock"
NOT_STATED = "not stated: see the page of the corpus"

Json = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """One corpus of a catalogue, in one pair of languages."""

    name: str
    version: str
    pairs: int | None
    size: int | None
    """Bytes of the archive, about."""
    url: str

    @classmethod
    def of(cls, found: Any) -> "Entry":
        """Read what the catalogue says.

        Raises:
            DownloadError: it is not of the known form.
        """
        try:
            pairs, size = found.get("alignment_pairs"), found.get("size")
            return cls(
                name=str(found["corpus"]),
                version=str(found["version"]),
                pairs=int(pairs) if pairs not in (None, "") else None,
                size=int(size) * 1024 if size not in (None, "") else None,
                url=str(found["url"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DownloadError(
                f"the catalogue has an entry of an unknown form ({str(found)[:60]}); is it another catalogue?"
            ) from error


def list_catalogue(
    languages: tuple[str, str],
    *,
    catalogue: str = CATALOGUE,
    name: str | None = None,
    version: str = "latest",
) -> list[Entry]:
    """Return what a catalogue has in two languages, the largest first.

    Raises:
        DownloadError: it cannot be reached, or answers something else.
    """
    asked = {
        **({"corpus": name} if name else {}),
        "source": languages[0],
        "target": languages[1],
        "preprocessing": "moses",
        "version": version,
    }
    found = fetch_json(f"{catalogue}?{urlencode(asked)}")
    if not isinstance(found, dict) or not isinstance(found.get("corpora"), list):
        raise DownloadError(f"{catalogue}: does not answer as OPUS does; is it another catalogue?")
    entries = [Entry.of(each) for each in found["corpora"]]
    return sorted(entries, key=lambda entry: (-(entry.pairs or 0), entry.name))


def list_test_sets(languages: tuple[str, str]) -> list[str]:
    """Return the names of the test sets that sacreBLEU has in two languages, in this direction."""
    from sacrebleu.dataset import DATASETS

    return sorted(
        name for name, known in DATASETS.items() if "-".join(languages) in known.langpairs
    )


class Fetcher:
    """Brings corpora into one folder.

    Attributes:
        folder: where they go; its ``corpus.lock`` says what they are and where they came from.

    Raises:
        ConfigError: ``sha256`` is no SHA-256.
    """

    def __init__(
        self,
        folder: Path,
        *,
        catalogue: str = CATALOGUE,
        sha256: str | None = None,
        say: Say = lambda _: None,
        progress: Progress = lambda _done, _whole: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
            raise ConfigError(
                f"flag --sha256: {sha256!r} is no SHA-256, which has 64 hexadecimal digits"
            )
        self.folder = folder
        self._catalogue = catalogue
        self._sha256 = sha256.lower() if sha256 else None
        self._say = say
        self._progress = progress
        self._pause = pause

    def fetch(
        self, name: str, languages: tuple[str, str] | None, version: str = "latest"
    ) -> list[Path]:
        """Bring the corpus ``name``, unless it is here; return its files.

        Raises:
            DownloadError: it cannot be had.
            CorpusError: what came is no such corpus.
            OutputError: it cannot be written.
        """
        if "://" in name:
            return self._fetch_address(name)
        if languages is None:
            raise DownloadError(
                f"{name}: say in which languages: --source-lang en --target-lang de"
            )
        if name in list_test_sets(languages) or name in list_test_sets(languages[::-1]):
            return self._fetch_test_set(name, languages)
        return self._fetch_opus(name, languages, version)

    def entries(self, files: Sequence[Path]) -> dict[str, Json]:
        """Return what ``corpus.lock`` says of some files."""
        lock = self._read_lock()
        return {path.as_posix(): lock[path.as_posix()] for path in files}

    def _fetch_opus(self, name: str, languages: tuple[str, str], version: str) -> list[Path]:
        entries = list_catalogue(languages, catalogue=self._catalogue, name=name, version=version)
        if not entries:
            raise DownloadError(
                f"{name}: the catalogue has no such corpus in {languages[0]} and {languages[1]}"
                + (f" of version {version}" if version != "latest" else "")
                + "; see what there is: interlingua download --list "
                f"--source-lang {languages[0]} --target-lang {languages[1]}"
            )
        entry = entries[0]
        stem = _safe(f"{entry.name}.{languages[0]}-{languages[1]}")
        files = [self.folder / f"{stem}.{_safe(language)}" for language in languages]
        if self._has(entry.url, files):
            return files
        archive = self.folder / f"{stem}.zip"
        came = self._bring(entry.url, archive)
        try:
            licence = _unpack_moses(archive, languages, files)
        finally:
            archive.unlink(missing_ok=True)
        self._lock(entry.url, came, files, {"version": entry.version, "licence": licence})
        return files

    def _fetch_test_set(self, name: str, languages: tuple[str, str]) -> list[Path]:
        from sacrebleu.dataset import DATASETS

        pair = "-".join(languages)
        known: Any = DATASETS[name]
        if pair not in known.langpairs:
            raise DownloadError(
                f"{name}: is a test set from {languages[1]} to {languages[0]}; swap --source-lang and --target-lang"
            )
        stem = _safe(f"{name.replace('/', '_')}.{pair}")
        files = [self.folder / f"{stem}.{_safe(language)}" for language in languages]
        if self._has(known.data[0], files):
            return files
        with tempfile.TemporaryDirectory(prefix="interlingua-test-set-") as scratch:
            raw = Path(scratch) / "raw"
            raw.mkdir()
            first = None
            for url, md5 in zip(known.data, known.md5 or [None] * len(known.data), strict=True):
                place = raw / known._get_tarball_filename(url)
                # It arrives in the folder, where a broken transfer is kept for the next time.
                arrived = self.folder / place.name
                came = self._bring(url, arrived)
                first = first or came
                _check_md5(url, arrived, md5)
                _put_raw(arrived, place)
                arrived.unlink(missing_ok=True)
            assert first is not None
            sides = _read_test_set(known, pair, Path(scratch), raw)
        for path, lines in zip(files, sides, strict=True):
            write_lines(path, lines)
        self._lock(known.data[0], first, files, {"licence": NOT_STATED})
        return files

    def _fetch_address(self, url: str) -> list[Path]:
        name = _safe(unquote(urlsplit(url).path.rpartition("/")[2])) or "corpus"
        path = self.folder / name
        if not self._has(url, [path]):
            known = self._read_lock().items()
            is_own = any(
                Path(name).name == path.name and of.get("url") == url for name, of in known
            )
            if path.exists() and not is_own:
                raise OutputError(
                    f"{path}: is there already, and {LOCK} does not say that it is from {url}; give another --output, or move it"
                )
            came = self._bring(url, path)
            self._lock(url, came, [path], {"licence": NOT_STATED})
        return [path]

    def _bring(self, url: str, path: Path) -> Transfer:
        expected = self._sha256 or self._locked_checksum(url)
        came = fetch(
            url,
            path,
            sha256=expected,
            say=self._say,
            progress=self._progress,
            pause=self._pause,
        )
        self._say(f"{url}: {came.size:,} bytes, SHA-256 {came.sha256}")
        return came

    def _read_lock(self) -> Json:
        try:
            known = json.loads((self.folder / LOCK).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise CorpusError(
                f"{self.folder / LOCK}: cannot be read ({error}); remove it"
            ) from error
        if not isinstance(known, dict) or not all(isinstance(x, dict) for x in known.values()):
            raise CorpusError(f"{self.folder / LOCK}: is not of the known form; remove it")
        return known

    def _locked_checksum(self, url: str) -> str | None:
        """Return what the file at an address was when it was brought the last time."""
        for entry in self._read_lock().values():
            if entry.get("url") == url:
                return entry.get("url_sha256")
        return None

    def _has(self, url: str, files: Sequence[Path]) -> bool:
        """Tell whether the files are here and are what they were when they came from ``url``."""
        lock = self._read_lock()
        for path in files:
            entry = lock.get(path.as_posix(), {})
            if entry.get("url") != url or not path.is_file():
                return False
            if fingerprint([path])[path.as_posix()]["sha256"] != entry.get("sha256"):
                return False
        self._say(f"{' and '.join(map(str, files))}: already here, and what corpus.lock says")
        return True

    def _lock(self, url: str, came: Transfer, files: Sequence[Path], more: Json) -> None:
        lock = self._read_lock()
        for name, found in fingerprint(files).items():
            lock[name] = {**found, "url": url, "url_sha256": came.sha256, **more}
        write_text(self.folder / LOCK, json.dumps(lock, indent=2, ensure_ascii=False) + "\n")


def _unpack_moses(archive: Path, languages: tuple[str, str], files: Sequence[Path]) -> str:
    """Take the two sides and the licence out of an archive of OPUS; return the licence in one line."""
    names = list_members(archive)
    places: dict[str, Path] = {}
    for language, path in zip(languages, files, strict=True):
        found = [name for name in names if name.endswith(f".{language}")]
        if len(found) != 1:
            raise CorpusError(
                f"{archive.name}: holds {len(found)} files that end in .{language}, not one ({', '.join(names[:5])}); "
                "is it a Moses archive of these languages?"
            )
        places[found[0]] = path
    licence = next((name for name in names if name.rpartition("/")[2].upper() == "LICENSE"), None)
    text = files[0].with_name(f"{files[0].stem}.LICENSE")
    if licence:
        places[licence] = text
    take_members(archive, places)
    counts = [found["lines"] for found in fingerprint(files).values()]
    if counts[0] != counts[1]:
        raise CorpusError(
            f"{archive.name}: its two sides have {counts[0]:,} and {counts[1]:,} lines; the corpus is damaged at its origin"
        )
    return _first_line(text) if licence else NOT_STATED


def _first_line(path: Path) -> str:
    text = path.read_bytes()[:10_000].decode("utf-8", "replace")
    lines = (" ".join(line.split()) for line in text.splitlines())
    return next((line[:200] for line in lines if line), NOT_STATED)


def _check_md5(url: str, path: Path, expected: str | None) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if expected is not None and found != expected:
        path.unlink(missing_ok=True)
        raise DownloadError(
            f"{url}: has the MD5 {found}, not {expected}, which sacreBLEU knows it by; try again later"
        )


def _put_raw(arrived: Path, place: Path) -> None:
    """Put a file where sacreBLEU looks for it, and what it holds beside it."""
    place.write_bytes(arrived.read_bytes())
    if re.search(r"\.(tgz|tar\.gz|tar|zip)$", arrived.name):
        members = list_members(arrived)
        take_members(arrived, {name: place.parent / name for name in members})


def _read_test_set(known: Any, pair: str, scratch: Path, raw: Path) -> tuple[list[str], list[str]]:
    """Let sacreBLEU make text of what was brought, in ``scratch`` instead of its own folder."""
    ours = copy.copy(known)
    ours._outdir, ours._rawdir = str(scratch), str(raw)
    try:
        ours.process_to_text(pair)
        source, reference = ours.get_source_file(pair), ours.get_reference_files(pair)[0]
    except Exception as error:
        raise CorpusError(
            f"{known.name}: sacreBLEU cannot read what was brought ({type(error).__name__}: {error}); "
            "the test set was changed at its origin"
        ) from error
    return read_lines(Path(source)), read_lines(Path(reference))


def _safe(name: str) -> str:
    """Return a name that is that of a file in its folder and nothing else."""
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".-")[:150]
