"""An answer that is no success: its status, its words, and when to come again."""

__all__ = ["Refusal"]


class Refusal(Exception):
    """Ends a request; ``message`` is what the client reads.

    Args:
        status: of HTTP.
        message: what is wrong, in the words that clients of LibreTranslate look for.
        retry_after: seconds, with 429 and 503.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """What goes with the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
