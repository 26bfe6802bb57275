"""What the server and its workers say to each other: JSON objects, each behind its length in four bytes."""

import json
import struct
from asyncio import IncompleteReadError, StreamReader
from typing import Any, BinaryIO

__all__ = ["pack", "read_frame", "receive"]

_LENGTH = struct.Struct(">I")

Message = dict[str, Any]


def pack(message: Message) -> bytes:
    """Return the frame of a message."""
    content = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return _LENGTH.pack(len(content)) + content


def read_frame(stream: BinaryIO) -> Message | None:
    """Wait for the next message; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    content = stream.read(_LENGTH.unpack(head)[0])
    return json.loads(content) if content else None


async def receive(stream: StreamReader) -> Message | None:
    """Do what :func:`read_frame` does without holding up the event loop."""
    try:
        head = await stream.readexactly(_LENGTH.size)
        return json.loads(await stream.readexactly(_LENGTH.unpack(head)[0]))
    except (IncompleteReadError, ConnectionError):
        return None
