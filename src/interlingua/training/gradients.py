"""The gradient of one update: forward and backward over its batches, whatever their size and number."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from interlingua.batching.batch import Batch
from interlingua.config import TrainingConfig
from interlingua.hardware import autocast
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.training.dividing import whole
from interlingua.training.lack_of_memory import halves, is_lack_of_memory
from interlingua.training.objective import batch_loss
from interlingua.training.workers import Workers

__all__ = ["GradientOfUpdate", "Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one update came to before the weights are touched."""

    loss: float
    """Nats a target token, over all batches and processes."""
    norm: float
    """The gradient's norm before clipping."""
    suspects: tuple[int, ...] = ()
    """When loss or norm is no finite number: the pairs of the batches that it came from."""


class GradientOfUpdate:
    """Leaves in every parameter the gradient of the mean loss a token."""

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
        self.model = model
        self.config = config
        self.workers = workers
        objective = _Objective(model, config, device, dtype)
        self.shared = None if config.shard else workers.shared_gradients(model)
        self.objective = (
            objective if self.shared else workers.wrap(objective, device, divided=config.shard)
        )
        self.say = say

    def compute(self, batches: list[Batch], seed: int) -> Measured:
        """Compute, clip, and report; a batch that does not fit into memory is halved until it does.

        Raises:
            TrainingError: even a single pair does not fit.
        """
        while True:
            torch.manual_seed(seed + self.workers.rank)
            try:
                return self._compute(batches)
            except (RuntimeError, MemoryError) as error:
                if not is_lack_of_memory(error) or self.workers.size > 1:
                    raise
            self.model.zero_grad(set_to_none=True)
            batches = self._with_the_largest_halved(batches)

    def _compute(self, batches: list[Batch]) -> Measured:
        num_tokens = sum(batch.num_target_tokens for batch in batches)
        losses = []
        for number, batch in enumerate(batches, start=1):
            with self._alone_until(number == len(batches)):
                loss = self._of_share(batch) * (self.workers.size / num_tokens)
                loss.backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()) / self.workers.size)
            del loss  # and with it all that its gradient needed
        if self.shared:
            self.shared.average()
        total = self.workers.total(sum(losses))
        limit = self.config.clip_norm or float("inf")
        norm = float(whole(nn.utils.clip_grad_norm_(self.model.parameters(), limit)))
        if total < float("inf") and norm < float("inf"):
            return Measured(total, norm)
        wrong = [self.workers.agree(float(not abs(loss) < float("inf"))) for loss in losses]
        named = [batch for batch, is_wrong in zip(batches, wrong, strict=True) if is_wrong]
        return Measured(total, norm, tuple(i for b in named or batches for i in b.pair_ids))

    def _of_share(self, batch: Batch) -> Tensor:
        """Return the summed loss of this process's rows; with none, a zero that keeps step with the others."""
        share = self.workers.share(batch)
        if share.pair_ids:
            return self.objective(share)
        return self.objective(batch.rows(slice(0, 1))) * 0.0

    def _alone_until(self, last: bool) -> AbstractContextManager[object]:
        """Exchange gradients only once an update, unless the model is divided: then no process has room for all of them."""
        if last or not isinstance(self.objective, DistributedDataParallel):
            return nullcontext()
        return self.objective.no_sync()

    def _with_the_largest_halved(self, batches: list[Batch]) -> list[Batch]:
        """Halve the batch with most padded tokens on both sides; a single pair only where there is nothing else."""

        def size(place: int) -> tuple[bool, int]:
            batch = batches[place]
            return len(batch.pair_ids) > 1, batch.source.numel() + batch.target_in.numel()

        largest = max(range(len(batches)), key=size)
        batch = batches[largest]
        parts = halves(batch)
        self.say(
            f"a batch of {len(batch.pair_ids):,} pairs did not fit into memory and was halved; "
            "if this is said often, lower batching.batch_tokens and raise training.accumulate"
        )
        return [*batches[:largest], *parts, *batches[largest + 1 :]]


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

    def forward(self, batch: Batch) -> Tensor:
        """Return the loss of ``batch``, summed over its target tokens."""
        with autocast(self.device, self.dtype):
            return batch_loss(
                self.model,
                batch.to(self.device),
                self.config.label_smoothing,
                alpha=self.config.r_drop,
                plain=self.config.plain,
            )

    if TYPE_CHECKING:
        __call__ = forward
