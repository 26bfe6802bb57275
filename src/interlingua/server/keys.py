"""Keys of those who may ask: only their hashes are kept, and all are compared in the same time."""

import secrets
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from interlingua.errors import ConfigError
from interlingua.files import write_text

__all__ = ["KeyRing", "add_key"]


class KeyRing:
    """The keys that open a server; without any it is open to all.

    Args:
        hashes: SHA-256 of each key. A key has 256 random bits, so that no salt and no slow hash would add anything.
    """

    def __init__(self, hashes: Sequence[bytes] = ()) -> None:
        self._hashes = tuple(hashes)

    @property
    def is_needed(self) -> bool:
        """Whether a request needs a key."""
        return bool(self._hashes)

    def opens(self, key: str) -> bool:
        """Tell whether a key is one of ours; every hash is looked at, whichever it is."""
        found = sha256(key.encode("utf-8", "surrogatepass")).digest()
        matches = [compare_digest(found, each) for each in self._hashes]
        return any(matches)

    @classmethod
    def read(cls, path: Path) -> "KeyRing":
        """Read a file of keys: a name and a hash a line.

        Raises:
            ConfigError: the file is missing or damaged, or holds no key.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            hashes = [bytes.fromhex(line.split()[1]) for line in lines if line.strip()]
        except (OSError, ValueError, IndexError) as error:
            raise ConfigError(
                f"{path}: no file of keys ({error}); make one with: interlingua serve --new-key NAME --api-keys FILE"
            ) from error
        if not hashes or any(len(each) != sha256().digest_size for each in hashes):
            raise ConfigError(f"{path}: holds no key, or a damaged one; make a new file")
        return cls(hashes)


def add_key(path: Path, name: str) -> str:
    """Make a key, add its hash to a file, and return it: it is nowhere else.

    Raises:
        ConfigError: the name is empty, holds a space, or is there already.
        OutputError: the file cannot be written.
    """
    if not name or name.split() != [name]:
        raise ConfigError(f"flag --new-key: {name!r} is no name of one word")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if name in (line.split()[0] for line in before.splitlines() if line.strip()):
        raise ConfigError(f"{path}: has a key of the name {name} already; choose another name")
    key = secrets.token_urlsafe(32)
    write_text(path, f"{before}{name} {sha256(key.encode()).hexdigest()}\n")
    path.chmod(0o600)
    return key
