"""Samples, and their text in the formats of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from facho.web.metrics.catalogue import EVERY, Metric

OPEN_METRICS = "application/openmetrics-text"


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric, with the values of its labels in order."""

    metric: str
    value: float
    labels: tuple[str, ...] = ()
    # For summaries and histograms: `_sum`, `_count` or `_bucket`, and the limit of the bucket.
    end: str = ""
    up_to: str = ""


class _Families(Collector):
    def __init__(self, families: Iterable[Family]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Family]:
        return self._families


def render_metrics(metrics: Iterable[Metric], samples: Iterable[Sample], *, open_metrics: bool) -> bytes:
    """Render all metrics in their order, including those without samples."""
    families = {
        metric.name: Family(metric.name.removesuffix("_total"), metric.what, metric.kind)
        for metric in metrics
    }
    for sample in samples:
        labels = dict(zip(EVERY[sample.metric].labels, sample.labels, strict=True))
        if sample.up_to:
            labels["le"] = sample.up_to
        families[sample.metric].add_sample(sample.metric + sample.end, labels, sample.value)
    collector = _Families(families.values())
    if not open_metrics:
        return generate_latest(collector)
    text: bytes = openmetrics.generate_latest(collector)  # type: ignore[no-untyped-call]
    return text


def content_type(*, open_metrics: bool) -> str:
    return openmetrics.CONTENT_TYPE_LATEST if open_metrics else CONTENT_TYPE_PLAIN_0_0_4
