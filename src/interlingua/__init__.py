"""Interlingua turns a parallel corpus into a translator with the Transformer of Vaswani et al. 2017.

The rooms, in the order that data passes through them; a room imports only rooms above it:

* ``corpus``: parallel text -> pairs of strings
* ``tokenization``: strings <-> ids
* ``batching``: ids -> padded tensors
* ``model``: the paper, one section a file
* ``kernels``: the same numbers, faster
* ``checkpoints``: weights <-> disk
* ``decoding``: model + ids -> ids
* ``requests``: what a text asks for besides
* ``translator``: text -> text
* ``bulk``: whole files and folders, part by part
* ``evaluation``: text + references -> scores
* ``training``: all of the above -> weights
* ``inspection``: one translation, opened up
* ``examination``: what is wrong with a model, a run or the machine
* ``interop``: other people's formats, in and out
* ``server``: HTTP, and the page
* ``cli``: one short function a command
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlingua.config import RunConfig
    from interlingua.errors import InterlinguaError
    from interlingua.model.transformer import Transformer
    from interlingua.requests.translation import Translation
    from interlingua.training.run import train
    from interlingua.translator import Translator

__version__ = "0.1.0"

__all__ = ["InterlinguaError", "RunConfig", "Transformer", "Translation", "Translator", "train"]

_HOMES = {
    "InterlinguaError": "interlingua.errors",
    "RunConfig": "interlingua.config",
    "Transformer": "interlingua.model.transformer",
    "Translation": "interlingua.requests.translation",
    "Translator": "interlingua.translator",
    "train": "interlingua.training.run",
}


def __dir__() -> list[str]:
    """List the public names, which are not here before they are used."""
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``--help`` never waits for torch."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'interlingua' has no attribute {name!r}")
