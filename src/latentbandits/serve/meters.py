"""Counters of the service, for Prometheus and for pages."""

from collections import deque

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
KEPT = 2000  # durations of decisions from which pages compute quantiles


class Meter:
    """Times one endpoint."""

    __slots__ = ("_counter", "_counts", "_name", "_seconds")

    def __init__(self, name: str, counter: Counter, seconds: Histogram) -> None:
        self._name, self._counter, self._seconds = name, counter, seconds.labels(name)
        self._counts: dict[int, Counter] = {}

    def note(self, status: int, seconds: float) -> None:
        """Count an answer."""
        count = self._counts.get(status)
        if count is None:
            count = self._counts[status] = self._counter.labels(self._name, str(status))
        count.inc()
        self._seconds.observe(seconds)


class Meters:
    """All counters of one service.

    Attributes
    ----------
    decisions : the last durations of decisions, in seconds
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._counter = Counter(
            "latentbandits_requests", "Answers by endpoint and status", ("endpoint", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "latentbandits_seconds", "Seconds to an answer", ("endpoint",), registry=self._registry, buckets=BUCKETS
        )
        self._gauges: dict[str, Gauge] = {}
        self._of_experiments: list[Gauge] = []
        self.decisions: deque[float] = deque(maxlen=KEPT)

    def meter(self, name: str) -> Meter:
        """Return the meter of an endpoint."""
        return Meter(name, self._counter, self._seconds)

    def set(self, name: str, help_text: str, value: float, experiment: str | None = None) -> None:
        """Set a number that goes up and down, of the service or of one experiment."""
        gauge = self._gauges.get(name)
        if gauge is None:
            labels = () if experiment is None else ("experiment",)
            gauge = self._gauges[name] = Gauge(f"latentbandits_{name}", help_text, labels, registry=self._registry)
            self._of_experiments += [gauge] * len(labels)
        (gauge if experiment is None else gauge.labels(experiment)).set(value)

    def forget_experiments(self) -> None:
        """Forget the numbers of all experiments: some may be held by another replica by now."""
        for gauge in self._of_experiments:
            gauge.clear()

    def text(self) -> bytes:
        """Return everything in the format of Prometheus."""
        return generate_latest(self._registry)

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile of the last decisions, in milliseconds."""
        found = sorted(self.decisions)
        return 1000 * found[int(0.99 * (len(found) - 1))] if found else None
