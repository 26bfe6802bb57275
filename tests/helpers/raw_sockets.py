"""Conversations over plain sockets, byte by byte."""

import socket
import time


def converse(port: int, *pieces: bytes, every: float = 0.0, patience: float = 30.0) -> bytes:
    """Send pieces, each in a packet of its own, and return all that comes until the server closes or is quiet."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(every)
            while some := connection.recv(65_536):
                heard += some
        except (TimeoutError, ConnectionError):
            pass  # how a connection ends is no matter here, but when, and what was heard by then
    return heard
