"""The ``serve`` command: models on the network."""

from pathlib import Path
from typing import Literal

from interlingua.cli.flags import MachineFlags
from interlingua.cli.streams import note, say
from interlingua.errors import ConfigError, how_to_install
from interlingua.server.settings import ServerSettings

__all__ = ["serve"]


_LAST_PORT = 65_535
_LIMITS, _MACHINE = ServerSettings(), MachineFlags()


def serve(
    *model: Path,
    host: str = "127.0.0.1",
    port: int = 5000,
    dtype: Literal["auto", "float32", "bfloat16", "int8"] = "auto",
    new_key: str | None = None,
    limits: ServerSettings = _LIMITS,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Serve models on the network: LibreTranslate's API, and a page at http://127.0.0.1:5000.

    Args:
        model: run folders or model folders, one for each pair of languages.
        host: address to listen at; 0.0.0.0 for every one that the machine has.
        port: port to listen at; 0 for one that is free.
        dtype: numbers of the matrix products; bfloat16 and int8 are faster on a CPU, and not always the same words.
        new_key: make a key of this name, add its hash to the file of --api-keys, print it, and serve nothing.
    """
    if new_key is not None:
        if limits.api_keys is None:
            raise ConfigError("flag --new-key: name the file of keys too: --api-keys FILE")
        from interlingua.server.keys import add_key

        say(add_key(limits.api_keys, new_key) + "\n")
        return
    if not model:
        raise ConfigError("no model is given; name a run folder or a model folder")
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(
            f"flag --port: {port} is no port; give one from 1 to {_LAST_PORT}, or 0 for one that is free"
        )
    try:
        from interlingua.server.running import serve as run_server
    except ImportError as error:
        raise ConfigError(
            f"the server needs the package {error.name}, which is not installed; {how_to_install('serve')}"
        ) from None
    run_server(
        model,
        limits,
        host=host,
        port=port,
        device=machine.device,
        dtype=dtype,
        threads=machine.threads,
        say=note,
    )
