"""Gradients of the processes of one machine, averaged in memory that all of them see.

Sent through gloo they pass two sockets, and a core that sends does not compute meanwhile. Here each process writes its own gradients
down once, averages one part of everybody's, and has the mean in its place.
"""

import mmap
import os
import sys
from collections.abc import Sequence

import torch
from torch import Tensor, distributed, nn

__all__ = ["SharedGradients"]

_CHUNK = 65_536
"""Numbers that are averaged at a time: they stay in a core's own cache from one step of it to the next."""


class SharedGradients:
    """A place for the gradients of every process, mapped into all of them."""

    def __init__(
        self, parameters: Sequence[nn.Parameter], rank: int, places: Sequence[Tensor]
    ) -> None:
        self._parameters = parameters
        self._rank = rank
        self._places = places
        own = torch.split(places[rank], [parameter.numel() for parameter in parameters])
        self._own = [part.view(p.shape) for part, p in zip(own, parameters, strict=True)]

    @classmethod
    def between(
        cls, parameters: Sequence[nn.Parameter], rank: int, size: int
    ) -> "SharedGradients | None":
        """Return it to all processes, or to none of them where they cannot share memory: on several machines, with parameters on a
        GPU or not in float32, on another system than Linux, or with too little memory. All processes must ask.
        """
        numbers = sum(parameter.numel() for parameter in parameters)
        length = size * numbers * torch.float32.itemsize
        is_possible = (
            sys.platform == "linux"
            and os.environ.get("LOCAL_WORLD_SIZE") == str(size)
            and all(p.device.type == "cpu" and p.dtype == torch.float32 for p in parameters)
        )
        created = _create(length) if rank == 0 and is_possible else None
        where = [f"/proc/{os.getpid()}/fd/{created}" if created is not None else ""]
        distributed.broadcast_object_list(where, src=0)
        memory = _map(where[0], length) if is_possible and where[0] else None
        number_without = torch.tensor(int(memory is None))
        distributed.all_reduce(number_without)
        if created is not None:
            os.close(created)  # what is mapped stays, until the last process ends, however it does
        if memory is None or number_without:
            return None
        for parameter in parameters:
            distributed.broadcast(parameter.detach(), src=0)
        places = torch.frombuffer(memory, dtype=torch.float32).view(size, numbers)
        return cls(parameters, rank, places.unbind())

    @torch.no_grad()
    def average(self) -> None:
        """Put the mean over the processes in the place of every parameter's gradient. All processes must call it.

        Everybody's numbers are added in the order of ranks: all have the same mean to the last bit, in every run.
        """
        for parameter, own in zip(self._parameters, self._own, strict=True):
            if parameter.grad is None:
                own.zero_()
            else:
                own.copy_(parameter.grad)
            parameter.grad = own
        distributed.barrier()
        size, numbers = len(self._places), self._places[0].numel()
        part = range(self._rank * numbers // size, (self._rank + 1) * numbers // size)
        for start in part[::_CHUNK]:
            chunk = slice(start, min(start + _CHUNK, part.stop))
            first, *others = (place[chunk] for place in self._places)
            mean = first.clone()
            for other in others:
                mean += other
            mean /= size
            for place in self._places:
                place[chunk] = mean
        distributed.barrier()


def _create(length: int) -> int | None:
    """Return memory that has a descriptor and no name, or None if there is too little of it.

    It is taken at once: otherwise its lack would be a bus error in the midst of an update.
    """
    try:
        file = os.memfd_create("gradients")
    except OSError:
        return None
    try:
        os.posix_fallocate(file, 0, length)
    except OSError:
        os.close(file)
        return None
    return file


def _map(path: str, length: int) -> mmap.mmap | None:
    """Return the memory that another process's descriptor stands for, or None if it cannot be had."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return mmap.mmap(file, length)  # asks that the file be so long
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)
