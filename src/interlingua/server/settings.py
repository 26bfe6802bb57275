"""Every limit of the server, with its default."""

from dataclasses import dataclass, fields

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
    max_waiting: int = 1_024
    """Sentences that may wait for a model; beyond them a request is refused with 503."""
    batch_chars: int = 16_000
    """Characters that are decoded together at most."""
    deadline: float = 30.0
    """Seconds until a request that has not been answered is given up, with 503."""
    stop_within: float = 10.0
    """Seconds that requests have to end when the server is told to stop."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that the Host header may have, besides localhost, this machine's name and plain addresses."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not 0 < value < 1e12:
                flag = field.name.replace("_", "-")
                raise ConfigError(f"flag --{flag}: {value} must be more than 0")

    @property
    def retry_after(self) -> int:
        """Seconds after which a refused client may come again."""
        return 1
