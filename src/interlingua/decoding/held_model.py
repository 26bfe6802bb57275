"""A model in memory, once for all who translate with it: as modules, packed for search, or both."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal, get_args

import torch
from torch import nn

from interlingua.decoding.protocol import SequenceModel
from interlingua.errors import ConfigError, ModelError
from interlingua.hardware import release_freed_memory
from interlingua.kernels import native
from interlingua.kernels.search import CompiledSearch, can_search, precisions
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.transformer import Transformer

__all__ = ["HeldModel", "Precision", "evaluating", "pack"]

Precision = Literal["auto", "float32", "bfloat16", "int8"]


class HeldModel:
    """A model and, where there is one, its packed copy; may be used by many threads at once.

    Args:
        model: moved to ``device``, if it is made of modules.
        device: where to compute.
        compiled: the same model, packed for search.
    """

    def __init__(
        self, model: SequenceModel[Any], device: torch.device, compiled: CompiledSearch | None
    ) -> None:
        self.compiled = compiled
        self._model = model.to(device) if isinstance(model, nn.Module) else model
        self._read_again: Callable[[], EncoderDecoder] | None = None
        self._reading = Lock()

    @property
    def model(self) -> SequenceModel[Any]:
        """The model itself; one that was let go is read from its folder when it is asked for.

        Raises:
            ModelError: the folder is gone, or holds another model by now.
        """
        with self._reading:
            if self._read_again is not None:
                self._model, self._read_again = self._read_again(), None
            return self._model

    def let_go(self, read: Callable[[], EncoderDecoder], where: object) -> None:
        """Keep only what is packed: a second copy of the weights is most of what a translator would take.

        Args:
            read: gives the model again.
            where: it is read from, for messages.
        """
        compiled = self.compiled
        assert compiled is not None
        del self._model

        def read_again() -> EncoderDecoder:
            # Whoever asks next may want gradients, even if a search asks first.
            with torch.inference_mode(False):
                model = read()
            if not isinstance(model, Transformer) or not compiled.is_of(model):
                raise ModelError(
                    f"{where}: holds another model than when it was opened; open it again"
                )
            return model

        self._read_again = read_again
        release_freed_memory()


def pack(
    model: nn.Module, device: torch.device, dtype: Precision, *, plain: bool
) -> CompiledSearch | None:
    """Pack a model as ``dtype`` asks; None where only the model itself can be searched.

    Raises:
        ConfigError: it cannot be had.
    """
    if dtype not in get_args(Precision):
        raise ConfigError(f"dtype is {dtype!r}; it takes {', '.join(get_args(Precision))}")
    wanted = "float32" if dtype == "auto" else dtype
    possible = not plain and device.type == "cpu" and can_search(model)
    if possible and isinstance(model, Transformer) and wanted in precisions():
        return CompiledSearch(model, wanted)
    if wanted == "float32":
        return None
    if device.type != "cpu":
        raise ConfigError(
            f"dtype {wanted} is for the kernels, which compute on a CPU, and the device is {device.type}; give the device cpu, or leave "
            "dtype out"
        )
    if not possible:
        raise ConfigError(
            f"dtype {wanted} is for the kernels, which are for a Transformer of the usual parts on a CPU, and not for "
            f"{'a plain search' if plain else 'this model'}; leave it out"
        )
    here = ", ".join(precisions()) or f"none: {native.describe()}"
    raise ConfigError(f"this machine has no kernels for {wanted} (it has {here}); leave dtype out")


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Switch dropout off, and back on for a model that is in training."""
    if isinstance(model, nn.Module) and model.training:
        model.eval()
        try:
            yield
        finally:
            model.train()
    else:
        yield
