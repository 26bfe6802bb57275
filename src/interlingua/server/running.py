"""The application on a socket, until it is told to stop."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from interlingua.errors import ConfigError
from interlingua.server.app import create_app
from interlingua.server.collector import spare_the_collector
from interlingua.server.engine import Engine
from interlingua.server.keys import KeyRing
from interlingua.server.log import hear_only_ourselves, hear_the_loop
from interlingua.server.protocol import PatientProtocol
from interlingua.server.settings import ServerSettings

__all__ = ["serve"]


def serve(
    models: Sequence[Path],
    settings: ServerSettings,
    *,
    host: str,
    port: int,
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
    say: Callable[[str], None],
) -> None:
    """Serve the models until the process is told to stop (SIGINT, SIGTERM).

    Args:
        models: run folders or model folders.
        settings: limits.
        host: address to listen at.
        port: port; 0 takes one that is free.
        device: where to compute.
        dtype: of the matrix products.
        threads: of the worker.
        say: gets one line when requests are taken.

    Raises:
        ConfigError: the address cannot be had.
        ModelError: a model cannot be opened.
    """
    keys = KeyRing.read(settings.api_keys) if settings.api_keys else KeyRing()
    listening = _listen(host, port)
    engine = Engine(models, settings, device=device, dtype=dtype, threads=threads)
    with listening, asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(engine, settings, keys, listening, say))


async def _serve(
    engine: Engine,
    settings: ServerSettings,
    keys: KeyRing,
    listening: socket.socket,
    say: Callable[[str], None],
) -> None:
    hear_only_ourselves()
    hear_the_loop(asyncio.get_running_loop())
    try:
        await engine.start()
        config = uvicorn.Config(
            create_app(engine, settings, keys),
            http=PatientProtocol,
            timeout_keep_alive=5,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=max(1, int(settings.stop_within) - 1),
        )
        address, port = listening.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        pairs = ", ".join(f"{model.source} to {model.target}" for model in engine.models)
        spare_the_collector()
        listening.listen(1024)
        say(f"serving {pairs} at http://{shown}:{port}")
        await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        await engine.stop()


def _listen(host: str, port: int) -> socket.socket:
    """Take the address before the models are loaded, which takes long."""
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with ExitStack() as opened:
            listening = opened.enter_context(socket.socket(family, kind, protocol))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            opened.pop_all()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(
            f"{host}:{port} cannot be listened at ({error}); choose another --host or --port"
        ) from error
    return listening
