"""Weights, gradients and moments in memory that all processes of one machine see.

Sent through gloo, gradients pass two sockets, and a core that sends does not compute meanwhile; then every process would update
all weights, to the same end. Here each writes its gradients down once, averages one part of everybody's, and updates
that part of the weights, which the others see (what is divided is what Rajbhandari et al. 2020, ZeRO, divide first).
"""

import mmap
import os
from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, distributed, nn

__all__ = ["SharedParameters"]

_CHUNK = 65_536
"""Numbers that are averaged at a time: they stay in a core's own cache from one step of it to the next."""


class SharedParameters:
    """The parameters of one model in all processes, and who updates which part of them."""

    def __init__(
        self, parameters: Sequence[nn.Parameter], rank: int, size: int, memory: mmap.mmap
    ) -> None:
        self._parameters = parameters
        self._rank = rank
        self._memory = memory
        self._numbers = sum(parameter.numel() for parameter in parameters)
        self._part = range(rank * self._numbers // size, (rank + 1) * self._numbers // size)
        """The numbers, counted through all parameters, that this process averages and updates."""
        self._gradients = [self._flat(row) for row in range(size)]
        self._own = self._shaped(rank)
        moments = zip(self._shaped(size), self._shaped(size + 1), strict=True)
        self._moments: dict[Tensor, dict[str, Tensor]] = {
            parameter: {"exp_avg": mean, "exp_avg_sq": square}
            for parameter, (mean, square) in zip(parameters, moments, strict=True)
        }
        self._inside: dict[Tensor, slice] = {}
        """What of each parameter, laid flat, lies in that part."""
        start = 0
        for parameter, place in zip(parameters, self._shaped(size + 2), strict=True):
            if rank == 0:
                place.copy_(parameter.detach())
            parameter.data = place
            end = start + parameter.numel()
            first, last = (min(max(start, at), end) for at in (self._part.start, self._part.stop))
            self._inside[parameter] = slice(first - start, last - start)
            start = end
        for parameter, own in zip(parameters, self._own, strict=True):
            parameter.register_post_accumulate_grad_hook(partial(_move, own))  # type: ignore[no-untyped-call]
        self.meet()

    @classmethod
    def between(
        cls, parameters: Sequence[nn.Parameter], rank: int, size: int
    ) -> "SharedParameters | None":
        """Return it to all processes, or to none of them where they cannot share memory: on several machines, with parameters on a
        GPU or not in float32, on another system than Linux (or with a Python that was built for an old one), or with too little memory. All processes must ask.

        The parameters are then those of the first process, and in all processes the same memory.
        """
        numbers = sum(parameter.numel() for parameter in parameters)
        length = (size + 3) * numbers * torch.float32.itemsize
        is_possible = (
            hasattr(os, "memfd_create")  # Linux, and a Python that was built for it
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
        return None if memory is None or number_without else cls(parameters, rank, size, memory)

    @torch.no_grad()
    def average(self, limit: float) -> float:
        """Put the mean gradient over the processes, clipped to ``limit``, in the place of this process's part of the gradients.

        Everybody's numbers are added in the order of ranks: the mean is the same in every run. All processes must call it.

        Returns:
            The norm of the whole mean gradient before it was clipped, the same in all processes.
        """
        for parameter, own in zip(self._parameters, self._own, strict=True):
            if parameter.grad is None:
                parameter.grad = own.zero_()
            _move(own, parameter)
        self.meet()
        squares = 0.0
        for start in self._part[::_CHUNK]:
            chunk = slice(start, min(start + _CHUNK, self._part.stop))
            first, *others = (place[chunk] for place in self._gradients)
            mean = first.clone()
            for other in others:
                mean += other
            mean /= len(self._gradients)
            squares += float(torch.linalg.vector_norm(mean)) ** 2
            self._gradients[self._rank][chunk] = mean
        total = torch.tensor(squares, dtype=torch.float64)
        distributed.all_reduce(total)
        norm = float(total.sqrt())
        share = limit / (norm + 1e-6)  # as torch's clip_grad_norm_ has it
        if share < 1:
            self._gradients[self._rank][self._part.start : self._part.stop] *= share
        return norm

    def parts_of(self, tensors: Mapping[Tensor, Tensor]) -> list[Tensor]:
        """Return those numbers of tensors, given by their parameters, that this process updates: flat, and maybe none."""
        return [tensor.detach().view(-1)[self._inside[p]] for p, tensor in tensors.items()]

    def moments_of(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return Adam's running means of ``parameter``, by their names."""
        return self._moments[parameter]

    def meet(self) -> None:
        """Wait until all processes are here."""
        distributed.barrier()

    def _flat(self, row: int) -> Tensor:
        """Return one of the rows of ``numbers`` in the memory."""
        size = torch.float32.itemsize
        return torch.frombuffer(
            self._memory,
            dtype=torch.float32,
            count=self._numbers,
            offset=row * self._numbers * size,
        )

    def _shaped(self, row: int) -> list[Tensor]:
        """Return a row as tensors like the parameters, each of a storage of its own: whoever copies one copies no other."""
        found, place = [], row * self._numbers * torch.float32.itemsize
        for parameter in self._parameters:
            flat = torch.frombuffer(
                self._memory, dtype=torch.float32, count=parameter.numel(), offset=place
            )
            found.append(flat.view(parameter.shape))
            place += flat.nbytes
        return found


@torch.no_grad()
def _move(own: Tensor, parameter: Tensor) -> None:
    """Have ``own`` hold the gradient: called as soon as it is there, while it still lies in the cache and its memory serves the next one."""
    if parameter.grad is not None and parameter.grad is not own:
        parameter.grad = own.copy_(parameter.grad)


def _create(length: int) -> int | None:
    """Return memory that has a descriptor and no name, or None if there is too little of it.

    It is taken at once: otherwise its lack would be a bus error in the midst of an update.
    """
    try:
        file = os.memfd_create("parameters")
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
