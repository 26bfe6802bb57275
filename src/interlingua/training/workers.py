"""Several processes that train one model: ``torchrun --nproc-per-node 2 -m interlingua train ...``.

There is one global order of batches, whatever the number of processes: each takes every n-th row of a batch, and the
gradients are added up. So a run gives the same losses with one process or with eight, but for rounding and dropout.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from interlingua.batching.batch import Batch
from interlingua.errors import ConfigError, TrainingError
from interlingua.training.dividing import divide
from interlingua.training.shared_parameters import SharedParameters

T = TypeVar("T")

PULSE = 10.0
"""Seconds between two signs of life of a process that works while the others wait."""

LET_GO = 0.5
"""Seconds that threads of gloo have to let go of the last numbers that were told."""

__all__ = ["ALONE", "Workers", "is_restarted", "join_workers"]


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes of one run, and which of them this is; the first one writes everything."""

    rank: int = 0
    size: int = 1
    patience: float = 1800.0
    """Seconds after which a process that says nothing is given up."""
    launch: Store | None = None
    """What torchrun keeps, also while it starts lost processes anew; none of a process that was started by itself."""

    @property
    def is_first(self) -> bool:
        """Tell whether this process writes checkpoints, metrics and the model."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """Return the rows of a batch that this process computes; it may be none of them."""
        return batch if self.size == 1 else batch.rows(slice(self.rank, None, self.size))

    def wrap(
        self, objective: nn.Module, device: torch.device, *, divided: bool = False
    ) -> nn.Module:
        """Return ``objective`` so that gradients are averaged over the processes while they are computed.

        ``divided`` says that no process keeps all of its parameters.
        """
        if self.size == 1:
            return objective
        if divided:
            return divide(objective, device)
        wrapped = DistributedDataParallel(objective, gradient_as_bucket_view=True)
        wrapped.broadcast_buffers = False  # they are tables of positions, which never change
        return wrapped

    def shared_parameters(self, model: nn.Module) -> SharedParameters | None:
        """Put what is learnt of ``model`` into memory of all processes, if there are several, on one machine, and they can."""
        learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
        return None if self.size == 1 else SharedParameters.between(learnt, self.rank, self.size)

    def total(self, number: float) -> float:
        """Return the sum of the numbers that the processes have."""
        return self._reduce(number, distributed.ReduceOp.SUM)

    def agree(self, number: float) -> float:
        """Return the largest number that any process has; what they decide by it, they decide together."""
        return self._reduce(number, distributed.ReduceOp.MAX)

    def from_first(self, what: T) -> T:
        """Return what the first process has."""
        if self.size == 1:
            return what
        told = [what]
        distributed.broadcast_object_list(told, src=0)
        return told[0]

    def note(self, what: str) -> None:
        """Tell whoever torchrun starts in the place of these processes that ``what`` is done."""
        if self.launch is not None:
            self.launch.set(what, "done")

    def is_noted(self, what: str) -> bool:
        """Tell whether those in whose place these were started have noted ``what``; where no notes are kept, all is taken for done."""
        return is_restarted() and (self.launch is None or self.launch.check([what]))

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """Have the others begin the block when the first process has ended it, however long it takes.

        Meanwhile a thread of the first one tells them that it is alive. Within the block nobody may talk to the others.
        """
        if not self.is_first:
            while not self.agree(0.0):
                pass
        if self.size == 1 or not self.is_first:
            yield
            return
        over = threading.Event()
        living = threading.Thread(target=self._tell_until, args=(over,), daemon=True)
        living.start()
        try:
            yield
        finally:
            over.set()
            living.join()
        self.agree(1.0)

    def _tell_until(self, over: threading.Event) -> None:
        # Where another one is gone, the first learns it when it has done its work.
        with suppress(RuntimeError):
            while not over.wait(min(PULSE, self.patience / 4)):
                self.agree(0.0)

    def _reduce(self, number: float, how: "distributed.ReduceOp.RedOpType") -> float:
        if self.size == 1:
            return number
        told = torch.tensor(number, dtype=torch.float64)
        distributed.all_reduce(told, op=how)
        return float(told)


ALONE = Workers()


def is_restarted() -> bool:
    """Tell whether torchrun started this process in the place of one that died."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


@contextmanager
def join_workers(device: torch.device, patience: float) -> Iterator[Workers]:
    """Meet the other processes that ``torchrun`` started, if it did.

    Args:
        device: where this process computes.
        patience: seconds to wait for a process that does not answer, before all end with an error.

    Raises:
        ConfigError: it did not, and one of its variables is set.
        TrainingError: another process is gone.
    """
    size = _size_of_launch()
    keeps_notes = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if size == 1:
        launch = _store_of_launch(timedelta(seconds=patience)) if keeps_notes else None
        yield Workers(launch=launch)
        return
    kind = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    try:
        launch = _store_of_launch(timedelta(seconds=patience))
        store = _store_of_this_start(size, launch)
        rank = int(os.environ["RANK"])
        distributed.init_process_group(
            kind, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=patience)
        )
        yield Workers(rank, size, patience, launch if keeps_notes else None)
    except (RuntimeError, distributed.DistError) as error:
        if not isinstance(error, distributed.DistError) and "gloo" not in str(error).lower():
            raise
        raise TrainingError(
            f"process {os.environ.get('RANK')}: another process of this run ended or did not answer within "
            f"{patience:g} s; its own message says why. Run the same command again: it resumes from the last checkpoint"
        ) from error
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
            # A thread of gloo drops its tensor after the answer is there, and needs the interpreter for that; one that comes to it when
            # Python is ending aborts the process (SIGABRT after a whole run). Nothing tells when it has: torch joins these threads only
            # with the last reference to the group, and keeps one itself where a model was divided (pytorch/pytorch#179291).
            time.sleep(LET_GO)


def _size_of_launch() -> int:
    """Return how many processes there are, as torchrun tells them.

    Raises:
        ConfigError: it is not torchrun that says there are several.
    """
    told = os.environ.get("WORLD_SIZE", "1")
    if told == "1":
        return 1
    numbers = ("WORLD_SIZE", "RANK", "MASTER_PORT")
    wrong = [name for name in numbers if not os.environ.get(name, "").isdecimal()]
    if wrong or "MASTER_ADDR" not in os.environ:
        name = (*wrong, "MASTER_ADDR")[0]
        raise ConfigError(
            f"the environment has WORLD_SIZE={told} and {name}={os.environ.get(name, '')}; torchrun sets them all: start with it, or "
            "unset WORLD_SIZE"
        )
    return int(told)


def _store_of_launch(patience: timedelta) -> Store:
    """Return what all processes of a launch read and write, whenever they were started."""
    store: Store = next(rendezvous("env://", timeout=patience))[0]
    return store


def _store_of_this_start(size: int, store: Store) -> Store:
    """Return where the processes tell each other their addresses.

    ``torchrun`` keeps it when it starts lost processes anew, so that the quicker one would find where the slower one listened before it
    died. All processes of one machine know the same number of restarts, and look under that; several machines count for themselves.
    """
    if int(os.environ.get("LOCAL_WORLD_SIZE", "0")) < size:
        return store
    return PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
