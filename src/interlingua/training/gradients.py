"""The gradient of one update: forward and backward over its batches, whatever their size and number."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from interlingua.batching.batch import Batch
from interlingua.config import TrainingConfig
from interlingua.errors import ConfigError
from interlingua.hardware import autocast, is_lack_of_memory
from interlingua.kernels.captured import CapturedStep
from interlingua.kernels.matrix_products import has_integers, in_integers
from interlingua.kernels.packed import can_pack
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.dividing import whole
from interlingua.training.lack_of_memory import halves
from interlingua.training.objective import batch_loss
from interlingua.training.optimizer import Adam
from interlingua.training.workers import Workers

__all__ = ["GradientOfUpdate", "Measured", "refuse_missing_integers"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one update came to before the weights are touched."""

    loss: float
    """Nats a target token, over all batches and processes."""
    norm: float
    """The gradient's norm before clipping."""
    suspects: tuple[int, ...] = ()
    """When loss or norm is no finite number: the pairs of the batches that it came from."""


def refuse_missing_integers(config: TrainingConfig, device: torch.device) -> None:
    """Raise a ConfigError for ``training.dtype = "int8"`` where there are no such products."""
    if config.dtype != "int8":
        return
    if config.plain:
        raise ConfigError(
            'training.dtype = "int8" is a way of the kernels, which training.plain leaves out; leave one of the two out'
        )
    if device.type != "cpu" or not has_integers():
        where = "on this processor, or for want of the compiled kernels (interlingua doctor)"
        raise ConfigError(
            f"training.dtype: there are no products in int8 {where if device.type == 'cpu' else f'on {device}'}; they take AVX-512 VNNI and "
            "BF16 without AMX (AMD from Zen 4 on); take auto"
        )


class GradientOfUpdate:
    """Leaves in every parameter the clipped gradient of the mean loss a token; where parameters are shared, in this process's part of them."""

    def __init__(
        self,
        model: EncoderDecoder,
        config: TrainingConfig,
        workers: Workers,
        *,
        device: torch.device,
        dtype: torch.dtype,
        say: Callable[[str], None],
    ) -> None:
        refuse_missing_integers(config, device)
        if config.dtype == "int8" and not can_pack(model, device, dtype):
            raise ConfigError(
                'training.dtype = "int8" is for the paper\'s Transformer, with ReLU and every weight trained; take auto for this model'
            )
        self.model = model
        self.config = config
        self.workers = workers
        objective = _Objective(model, config, device, dtype)
        self.shared = None if config.shard else workers.shared_parameters(model)
        self.objective = (
            objective if self.shared else workers.wrap(objective, device, divided=config.shard)
        )
        self.say = say
        self.device = device
        self.dtype = dtype
        self.captured: CapturedStep | None = None
        """On a graphics card: what starts a whole step at once."""
        self.is_begun = False

    def _begin(self) -> None:
        """Find out how to compute, when everything that watches the model is in place."""
        self.is_begun = True
        usual = self.workers.size == 1 and not (self.config.plain or self.config.r_drop)
        on_gpu = usual and self.device.type == "cuda"
        if on_gpu and can_pack(self.model, self.device, self.dtype):
            smoothing = self.config.label_smoothing
            self.captured = CapturedStep(self.model, smoothing, self.dtype, self.say)

    def release(self, *, for_good: bool = False) -> bool:
        """Give back memory that only makes the next steps faster; return whether there was any."""
        return self.captured is not None and self.captured.forget(for_good=for_good)

    def compute(self, batches: list[Batch], seed: int) -> Measured:
        """Compute, clip, and report; a batch that does not fit into memory is halved until it does.

        Of several processes each halves its own share, where gradients are exchanged only when all are there. Elsewhere those
        of the last batch are on their way while it is computed, and the others could not follow: there the error ends the run.

        Raises:
            TrainingError: even a single pair does not fit.
        """
        if not self.is_begun:
            self._begin()
        shares = [_Share(place, *self._share(batch)) for place, batch in enumerate(batches)]
        num_tokens = sum(batch.num_target_tokens for batch in batches)
        while True:
            torch.manual_seed(seed + self.workers.rank)
            try:
                found = self._backward(shares, num_tokens)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_lack_of_memory(error) or not (self.workers.size == 1 or self.shared):
                    raise
            released = self.release(for_good=True)
            self.clear()
            if not released:
                shares = self._with_the_largest_halved(shares)
        return self._measure(batches, shares, found)

    def _backward(self, shares: list["_Share"], num_tokens: int) -> Tensor:
        """Add up gradients; return the loss of each share, which a graphics card may still be computing."""
        found: list[Tensor] = []
        for number, share in enumerate(shares, start=1):
            if self.captured:
                found.append(self.captured.backward(share.batch, share.weight / num_tokens))
                continue
            with (
                self._alone_until(number == len(shares)),
                in_integers(self.config.dtype == "int8"),
            ):
                weight = share.weight * self.workers.size / num_tokens
                loss = self.objective(share.batch) * weight
                loss.backward()
            found.append(loss.detach())
            del loss  # and with it all that its gradient needed
        return torch.stack(found)

    def _measure(self, batches: list[Batch], shares: list["_Share"], found: Tensor) -> Measured:
        """Bring the gradients of all processes together, clip them, and find what is no finite number."""
        limit = self.config.clip_norm or float("inf")
        if self.captured:
            norm: float | Tensor = self.captured.run("clip", lambda: self._clip(limit))
        else:
            norm = self.shared.average(limit) if self.shared else whole(self._clip(limit))
        # Read only here: a graphics card is not waited for while there is something to be started on it.
        norm = float(norm)
        losses = [0.0] * (1 + max(share.place for share in shares))
        for share, one in zip(shares, found.tolist(), strict=True):
            losses[share.place] += one / self.workers.size
        total = self.workers.total(sum(losses))
        if total < float("inf") and norm < float("inf"):
            return Measured(total, norm)
        wrong = [self.workers.agree(float(not abs(loss) < float("inf"))) for loss in losses]
        named = [batch for batch, is_wrong in zip(batches, wrong, strict=True) if is_wrong]
        return Measured(total, norm, tuple(i for b in named or batches for i in b.pair_ids))

    def _clip(self, limit: float) -> Tensor:
        return nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def take(self, optimizer: Adam, learning_rate: float) -> None:
        """Have ``optimizer`` update the weights."""
        if self.captured is None:
            optimizer.step(learning_rate)
            return
        rate = self.captured.rate.fill_(learning_rate)

        def update() -> Tensor:
            optimizer.step(rate)
            return rate

        self.captured.run("update", update)

    def clear(self) -> None:
        """Begin the next update without a gradient."""
        if self.captured:
            self.captured.clear()
        else:
            self.model.zero_grad(set_to_none=True)

    def _share(self, batch: Batch) -> tuple[Batch, float]:
        """Return this process's rows and their weight; if it has none, a row that counts nothing and keeps step with the others."""
        share = self.workers.share(batch)
        return (share, 1.0) if share.pair_ids else (batch.rows(slice(0, 1)), 0.0)

    def _alone_until(self, last: bool) -> AbstractContextManager[object]:
        """Exchange gradients only once an update, unless the model is divided: then no process has room for all of them."""
        if last or not isinstance(self.objective, DistributedDataParallel):
            return nullcontext()
        return self.objective.no_sync()

    def _with_the_largest_halved(self, shares: list["_Share"]) -> list["_Share"]:
        """Halve the one with most padded tokens on both sides; a single pair only where there is nothing else."""

        def size(share: "_Share") -> tuple[bool, int]:
            batch = share.batch
            return len(batch.pair_ids) > 1, batch.source.numel() + batch.target_in.numel()

        number, largest = max(enumerate(shares), key=lambda each: size(each[1]))
        parts = [replace(largest, batch=half) for half in halves(largest.batch)]
        told = (
            f"a batch of {len(largest.batch.pair_ids):,} pairs did not fit into memory and was halved; "
            "if this is said often, lower batching.batch_tokens and raise training.accumulate"
        )
        if self.workers.is_first:
            self.say(told)
        else:  # nobody else knows of it, and what all know is said by the first
            sys.stderr.write(f"process {self.workers.rank}: {told}\n")
        return [*shares[:number], *parts, *shares[number + 1 :]]


@dataclass(frozen=True, slots=True)
class _Share:
    """What one process computes of a batch.

    Attributes:
        place: of the batch, among those of the update.
        batch: the rows.
        weight: of their loss; 0 where the process has no rows of its own.
    """

    place: int
    batch: Batch
    weight: float


class _Objective(nn.Module):
    """The loss as a module, which is what DistributedDataParallel wraps."""

    def __init__(
        self,
        model: EncoderDecoder,
        config: TrainingConfig,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.device = device
        self.dtype = dtype
        self.packs: bool | None = None
        """Whether kernels take the model over; found out with the first batch, when everything that watches it is in place."""

    def forward(self, batch: Batch) -> Tensor:
        """Return the loss of ``batch``, summed over its target tokens."""
        if self.packs is None:
            self.packs = can_pack(self.model, self.device, self.dtype)
        with autocast(self.device, self.dtype):
            return batch_loss(
                self.model,
                batch,
                self.config.label_smoothing,
                alpha=self.config.r_drop,
                plain=self.config.plain,
                packs=self.packs,
            )

    if TYPE_CHECKING:
        __call__ = forward
