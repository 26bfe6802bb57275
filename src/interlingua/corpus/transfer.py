"""One file over HTTP: taken up where it broke off, never pieced together from two versions, whole or not at all.

What has arrived lies in ``NAME.part`` with ``NAME.part.json`` beside it, which says of what. A transfer goes on only if the server
vouches that the file is still the one it was (``If-Range`` with its ETag or date), and otherwise begins anew.

Source: RFC 9110, sections 8.8 (validators), 13.1.5 (If-Range) and 14 (ranges).
"""

import hashlib
import http.client
import json
import re
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from interlingua.errors import DownloadError, OutputError
from interlingua.files import write_text

__all__ = ["Progress", "Transfer", "fetch", "fetch_json"]

_PIECE = 1 << 16
_PATIENCE = 30.0
"""Seconds without a byte, after which a connection counts as broken."""
_LONGEST_JSON = 64 * 2**20
_WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504})

Progress = Callable[[int, int | None], None]
"""Is told the bytes that are there, and how many there will be, if the server says so."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Transfer:
    """What arrived: bytes and SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Begun:
    """Of what the first part of a file has arrived."""

    url: str
    validator: str
    size: int | None


class _Broken(Exception):
    """A transfer that may succeed when it is tried again."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


def fetch(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    attempts: int = 6,
    say: Say = lambda _: None,
    progress: Progress = lambda _done, _whole: None,
    pause: Callable[[float], None] = time.sleep,
) -> Transfer:
    """Bring a file here; if a part of it is here already, bring the rest.

    Args:
        url: http or https.
        path: where it goes.
        sha256: what it must be, in hexadecimal.
        attempts: how often it is tried at most, the first time included; waiting 1, 2, 4 ... seconds between.
        say: is told of each new attempt.
        progress: is told how far it is.
        pause: waits.

    Raises:
        DownloadError: the server cannot be reached, refuses, sends something else, or breaks off again and again;
            what has arrived stays, and the next call goes on there.
        OutputError: the file cannot be written.
    """
    _check_address(url)
    part = path.with_name(f"{path.name}.part")
    for attempt in range(attempts):
        try:
            _go_on(url, part, progress)
            break
        except _Broken as error:
            if attempt + 1 == attempts:
                raise DownloadError(
                    f"{url}: {error}, {attempts} times; what has arrived is kept, and the same command goes on there"
                ) from error
            wait = min(2.0**attempt if error.wait is None else error.wait, 60.0)
            say(f"{url}: {error}; trying again in {wait:g} s")
            pause(wait)
        except OSError as error:
            raise OutputError(
                f"{part}: cannot be written ({error.strerror or error}); free some room, and the same command goes on"
            ) from error
    found = Transfer(part.stat().st_size, _digest(part))
    if sha256 is not None and found.sha256 != sha256.lower():
        _forget(part)
        raise DownloadError(
            f"{url}: has the SHA-256 {found.sha256}, not {sha256.lower()}: the file was changed at its origin or on "
            "the way; if the new one is meant, leave out --sha256, or remove it from corpus.lock"
        )
    try:
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
    _forget(part)
    return found


def fetch_json(url: str) -> Any:
    """Ask a server for a JSON document, once.

    Raises:
        DownloadError: the server cannot be reached, refuses, or answers something else.
    """
    _check_address(url)
    try:
        with closing(_ask(url, {})) as answer:
            data = answer.read(_LONGEST_JSON + 1)
    except (_Broken, OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url}: {_why(error)}; try again later") from error
    try:
        if len(data) > _LONGEST_JSON:
            raise ValueError("it is too long")
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DownloadError(
            f"{url}: answers no JSON but {_show(data)}; is this the address of a catalogue?"
        ) from error


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise DownloadError(f"{url}: is no address of the web; it begins with https:// or http://")


def _go_on(url: str, part: Path, progress: Progress) -> None:
    """Bring what is missing of a file, in one answer of the server."""
    begun = _begun(part, url)
    here = part.stat().st_size if begun else 0
    if begun and here == begun.size:
        return
    headers = {"Range": f"bytes={here}-", "If-Range": begun.validator} if begun and here else {}
    try:
        answer = _ask(url, headers)
    except HTTPError as error:
        if error.code != 416:
            raise DownloadError(_refusal(url, error.code)) from error
        _forget(part)  # what is here is longer than the file
        raise _Broken("has become shorter than what had arrived", wait=0.0) from error
    with closing(answer):
        length = _number(answer.headers.get("Content-Length"))
        if answer.status == 206:
            start, whole = _range_of(answer.headers.get("Content-Range", ""))
            if start != here or (
                begun and begun.size is not None and whole not in (None, begun.size)
            ):
                _forget(part)
                raise _Broken("sent another part than it was asked for", wait=0.0)
        else:
            here, whole = 0, length
            _refuse_a_page(url, part, answer)
        _check_room(part, None if whole is None else whole - here)
        if not here:
            _begin(part, _Begun(url, _validator_of(answer.headers), whole))
        _copy(answer, part, here, whole, progress)


def _copy(
    answer: http.client.HTTPResponse, part: Path, here: int, whole: int | None, progress: Progress
) -> None:
    with part.open("ab" if here else "wb") as file:
        while True:
            try:
                piece = answer.read(_PIECE)
            except (http.client.HTTPException, OSError) as error:
                raise _Broken(f"broke off after {here:,} bytes ({_reason(error)})") from error
            if not piece:
                break
            file.write(piece)
            here += len(piece)
            progress(here, whole)
    if whole is not None and here != whole:
        raise _Broken(f"broke off after {here:,} of {whole:,} bytes")


def _ask(url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    """Ask, and tell apart what is worth another attempt."""
    agent = {"User-Agent": "interlingua", "Accept-Encoding": "identity"}
    try:
        answer: http.client.HTTPResponse = urlopen(
            Request(url, headers=agent | headers), timeout=_PATIENCE
        )
        return answer
    except HTTPError as error:
        if error.code in _WORTH_RETRYING:
            with closing(error):
                wait = _number(error.headers.get("Retry-After"))
                raise _Broken(
                    f"the server answered {error.code} {error.reason}",
                    wait=None if wait is None else float(wait),
                ) from error
        raise
    except URLError as error:
        reason = error.reason
        if isinstance(reason, TimeoutError):
            raise _Broken(f"the server did not answer within {_PATIENCE:g} s") from error
        if isinstance(reason, socket.gaierror | ConnectionRefusedError) or not isinstance(
            reason, ConnectionError
        ):
            raise DownloadError(_unreachable(url, reason)) from error
        raise _Broken(f"the connection broke ({_reason(error)})") from error
    except TimeoutError as error:
        raise _Broken(f"the server did not answer within {_PATIENCE:g} s") from error
    except (http.client.HTTPException, ConnectionError) as error:
        raise _Broken(f"the connection broke ({_reason(error)})") from error
    except ValueError as error:
        raise DownloadError(f"{url}: is no address of the web ({error})") from error


def _refusal(url: str, code: int) -> str:
    words = http.client.responses.get(code, "")
    advice = "check the name" if code in (404, 410) else "see the page of the corpus"
    return f"{url}: the server answered {code} {words}; {advice}"


def _unreachable(url: str, reason: object) -> str:
    host = urlsplit(url).netloc
    words = getattr(reason, "strerror", None) or reason
    return f"{host}: cannot be reached ({words}); a download needs the internet: check the connection and the address"


def _why(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered {error.code} {error.reason}"
    return str(error) if isinstance(error, _Broken) else f"broke off ({_reason(error)})"


def _reason(error: BaseException) -> str:
    words = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
    return str(words) or type(error).__name__


def _refuse_a_page(url: str, part: Path, answer: http.client.HTTPResponse) -> None:
    """Raise a DownloadError if the server sends a page for people: a login, an error that calls itself a success."""
    if answer.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
        shown = _show(answer.read(2000))
        _forget(part)
        raise DownloadError(
            f"{url}: sends a web page and no corpus ({shown}); open the address in a browser to see what it wants"
        )


def _show(data: bytes) -> str:
    """Quote the beginning of something, as text."""
    text = re.sub(r"<[^>]*>", " ", data[:2000].decode("utf-8", "replace"))
    words = " ".join(re.sub(r"[^\x20-\x7e\u00a0-\ud7ff]", " ", text).split())
    return f'"{words[:60]}"' if words else "nothing"


def _check_room(part: Path, missing: int | None) -> None:
    part.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(part.parent).free
    if missing is not None and missing > free:
        raise OutputError(
            f"{part.parent}: has {free:,} bytes free, and {missing:,} more are needed; free some room"
        )


def _validator_of(headers: Any) -> str:
    """Return what vouches for a version: a strong ETag or else the date of the last change; empty if there is none."""
    etag: str = headers.get("ETag", "")
    if etag.startswith('"'):
        return etag
    changed: str = headers.get("Last-Modified", "")
    return changed


def _range_of(header: str) -> tuple[int, int | None]:
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header.strip())
    if not found:
        return -1, None
    return int(found[1]), None if found[2] == "*" else int(found[2])


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _begin(part: Path, begun: _Begun) -> None:
    part.unlink(missing_ok=True)
    write_text(_note_of(part), json.dumps(asdict(begun)) + "\n")


def _begun(part: Path, url: str) -> _Begun | None:
    """Return of what a part is here, if it can be gone on with."""
    try:
        begun = _Begun(**json.loads(_note_of(part).read_text(encoding="utf-8")))
        if begun.url == url and begun.validator and part.is_file():
            return begun
    except (OSError, ValueError, TypeError):
        pass  # no note, or a damaged one: the part is fetched from its beginning
    _forget(part)
    return None


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note_of(part).unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
