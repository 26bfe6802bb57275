"""What operators watch: Prometheus metrics, whose labels have as many values as there are routes and models."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from interlingua.server.engine import Engine

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_DOWNLOADS = "/download_file/"


class Metrics:
    """The metrics of one server.

    Args:
        engine: what is served.
        routes: paths that have a value of their own; all others are ``other``.
    """

    def __init__(self, engine: Engine, routes: Iterable[str]) -> None:
        self._routes = frozenset(routes)
        self._registry = registry = CollectorRegistry()
        self.seconds = Histogram(
            "interlingua_http_request_duration_seconds",
            "Time from a request's head to the end of its answer.",
            ("method", "route", "status"),
            registry=registry,
            buckets=_SECONDS,
        )
        self.in_flight = Gauge(
            "interlingua_http_requests_in_flight",
            "Requests that are being answered.",
            registry=registry,
        )
        self.characters = Counter(
            "interlingua_translated_characters_total",
            "Characters of source text that were translated.",
            ("source", "target"),
            registry=registry,
        )
        registry.register(_EngineMetrics(engine))

    def observe(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        route = self.route_of(path)
        method = method if method in ("GET", "POST", "HEAD") else "other"
        self.seconds.labels(method, route, str(status)).observe(seconds)

    def route_of(self, path: str) -> str:
        """Return a path that is one of ours, and ``other`` for any other, which may hold anything."""
        if path.startswith(_DOWNLOADS):
            return f"{_DOWNLOADS}{{name}}"
        return path if path in self._routes else "other"

    def to_text(self) -> bytes:
        """Return all metrics as Prometheus reads them."""
        return generate_latest(self._registry)


class _EngineMetrics(Collector):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterable[GaugeMetricFamily]:
        batcher = self._engine.batcher
        values = {
            "queue_requests": ("Requests whose sentences wait.", batcher.num_waiting),
            "batches": ("Batches that were decoded.", batcher.batches),
            "batch_sentences": ("Sentences that were decoded in them.", batcher.sentences),
            "worker_restarts": ("Workers that died and were replaced.", self._engine.restarts),
            "ready": ("Whether there is a worker.", int(self._engine.is_ready)),
        }
        for name, (told, value) in values.items():
            yield GaugeMetricFamily(f"interlingua_{name}", told, value)
        info = GaugeMetricFamily(
            "interlingua_model_info", "The models.", labels=("number", "source", "target")
        )
        for model in self._engine.models:
            info.add_metric([str(model.number), model.source, model.target], 1)
        yield info
