"""Parts translated by workers of Ray Data: a local cluster, or a real one."""

import json
import logging
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from interlingua.bulk.parts import Part
from interlingua.bulk.worker import Recipe, Worker
from interlingua.errors import ConfigError, InterlinguaError, ModelError, how_to_install

__all__ = ["translate_on_ray"]


def translate_on_ray(
    parts: Sequence[Part], recipe: Recipe, *, address: str | None, workers: int | None
) -> Iterator[tuple[Part, str, Counter[str]]]:
    """Yield each part with its translation and its marks, in the order in which they become ready.

    Ray makes ``workers`` processes, each of which opens the model once; a part whose worker dies is given to another.

    Args:
        parts: what is to be translated; every machine must see the files under the same names.
        recipe: how.
        address: of a running cluster (``auto``, ``ray://HOST:PORT``), or None for one on this machine alone.
        workers: how many; None is one a core, or one a GPU when ``recipe`` computes on those.

    Raises:
        ConfigError: Ray is not installed, there is no such cluster, or it has no room for a worker.
        InterlinguaError: what a worker says of the model or the text.
    """
    ray = _import_ray()
    with _cluster(ray, address):
        resources = ray.cluster_resources()
        on_gpus = recipe.device.startswith("cuda") or (
            recipe.device == "auto" and "GPU" in resources
        )
        per_worker = "GPU" if on_gpus else "CPU"
        room = int(resources.get(per_worker, 0))
        if not room:
            raise ConfigError(f"the cluster has no {per_worker}; give another --ray-address")
        size = min(workers or room, len(parts))
        if size > room:
            raise ConfigError(
                f"--ray-workers {size}: the cluster has {room} {per_worker}s; ask for no more than that"
            )
        rows = ray.data.from_items([asdict(part) for part in parts], override_num_blocks=len(parts))
        done = rows.map(
            Worker,
            fn_constructor_args=(recipe,),
            compute=ray.data.ActorPoolStrategy(size=size),
            **{"num_gpus" if per_worker == "GPU" else "num_cpus": 1},
        )
        try:
            for row in done.iter_rows():
                yield Part.from_row(row), row["text"], Counter(json.loads(row["marks"]))
        except ray.exceptions.RayError as error:
            raise _explain(error) from error


def _import_ray() -> Any:
    # Read by Ray when it is imported: nothing is reported to its makers, and only what is fatal is printed.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ConfigError(
            f"--ray needs the package ray, which is not installed; {how_to_install('ray')}"
        ) from error
    return ray


@contextmanager
def _cluster(ray: Any, address: str | None) -> Iterator[None]:
    """Join the cluster at ``address``, or start one on this machine and stop it at the end."""
    local = {"include_dashboard": False, "object_store_memory": 256 * 2**20} if not address else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # what a cluster that is not there warns of, its error says too
            ray.init(address or "local", logging_level="ERROR", log_to_driver=False, **local)
    except (ConnectionError, ValueError, RuntimeError, SystemExit) as error:
        raise ConfigError(f"--ray-address {address}: {' '.join(str(error).split())}") from error
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        with suppress(Exception):
            ray.shutdown()


def _explain(error: BaseException) -> InterlinguaError:
    """Find what a worker said in what Ray wraps it in."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, InterlinguaError):
            return seen
        inner = getattr(seen, "cause", None) or seen.__cause__
        seen = inner if inner is not seen else None
    return ModelError(f"a worker failed: {' '.join(str(error).split())[:500]}")
