"""Every limit of the server, with its default."""

from dataclasses import dataclass, fields
from pathlib import Path

from interlingua.errors import ConfigError

__all__ = ["ServerSettings"]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server allows; each is a flag of ``interlingua serve``.

    Raises:
        ConfigError: a number that is not above 0.
    """

    max_body: int = 1_000_000
    """Bytes of a request."""
    max_chars: int = 5_000
    """Characters of one text."""
    max_texts: int = 128
    """Texts of one request."""
    max_inspected: int = 500
    """Characters of a sentence that is inspected."""
    max_alternatives: int = 9
    """Alternatives to one translation."""
    max_waiting: int = 256
    """Requests that may wait for a model; beyond them a request is refused with 503."""
    max_waiting_chars: int = 2_000_000
    """Characters that may wait for a model."""
    batch_chars: int = 16_000
    """Characters that are decoded together at most."""
    batch_seconds: float = 0.25
    """Seconds that a batch should take at most, by what the last ones took."""
    deadline: float = 30.0
    """Seconds until a request that has not been answered is given up, with 503."""
    max_file: int = 5_000_000
    """Bytes of a file."""
    file_deadline: float = 300.0
    """Seconds that the translation of a file may take."""
    max_per_client: int = 128
    """Requests that are answered at a time to one address; beyond them 429."""
    stop_within: float = 10.0
    """Seconds that requests have to end when the server is told to stop."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that the Host header may have, besides localhost, this machine's name and plain addresses."""

    api_keys: Path | None = None
    """File of the keys that requests need; made by --new-key."""
    suggestions: Path | None = None
    """File that better translations are added to; without it /suggest is refused."""
    corrections: Path | None = None
    """Folder of corrections, made by interlingua correct, that are followed at once, also those that come later."""
    log_requests: bool = False
    """Whether a line of JSON a request is written to standard error; never a text."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if (
                not isinstance(value, bool)
                and isinstance(value, int | float)
                and not 0 < value < 1e12
            ):
                flag = field.name.replace("_", "-")
                raise ConfigError(f"flag --{flag}: {value} must be more than 0")
