"""The Grafana dashboard and the alarms of Prometheus ask for what a scrape has, by the labels that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families as parse

from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.web.metrics.catalogue import METRICS
from tests.api_clients import asking
from tests.sample_rows import fill

DEPLOY = Path(__file__).parents[4] / "deploy"
BOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "facho.json").read_text())
PROMETHEUS = DEPLOY / "prometheus"
PANELS: list[dict[str, Any]] = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
# A disk that nobody has watched for six hours has none, and nothing is sent without a receiver.
NOT_YET = {
    "facho_disk_days_left",
    "facho_remote_write_backlog_seconds",
    "facho_remote_write_dropped_total",
    "facho_remote_write_failing",
}


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((PROMETHEUS / "facho-rules.yml").read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    for panel in PANELS:
        yield from (target["expr"] for target in panel["targets"])
    yield from (each["query"]["query"] for each in BOARD["templating"]["list"] if each["name"] == "olt")
    yield from (rule["expr"] for rule in rules())


def asked() -> dict[str, set[str]]:
    """The series that are asked for, each with the labels that it is chosen by."""
    found: dict[str, set[str]] = {}
    for expression in expressions():
        for name, chosen in re.findall(r"(facho_\w+)(?:\{([^}]*)\})?", expression):
            found.setdefault(name, set()).update(re.findall(r"(\w+)\s*[!=]~?", chosen))
    return found


@pytest.mark.django_db
def test_whatever_is_asked_for_is_in_a_scrape() -> None:
    fill(2)
    Olt.objects.update(reachable=True)
    CoordinatorState.objects.create(name="scheduler", updated_at=timezone.now())
    text = asking(Role.METRICS).get("/metrics").content.decode()
    told: dict[str, set[str]] = {}
    for sample in (sample for family in parse(text) for sample in family.samples):
        told.setdefault(sample.name, set()).update(sample.labels)
    names = asked()
    assert len(names) > 25
    assert names.keys() - told.keys() <= NOT_YET
    assert {
        name: labels - told[name] for name, labels in names.items() if labels - told.get(name, labels)
    } == {}


def test_sums_and_legends_use_labels_that_there_are() -> None:
    known = {label for metric in METRICS for label in metric.labels} | {"le"}
    for expression in expressions():
        for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression):
            assert {label.strip() for label in group.split(",") if label.strip()} <= known, expression
    for panel in PANELS:
        for target in panel["targets"]:
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= known, panel["title"]


def test_no_panel_is_without_a_query_or_lies_on_another() -> None:
    assert len(PANELS) > 20
    assert [panel["title"] for panel in PANELS if not any(each["expr"] for each in panel["targets"])] == []
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    places = [
        (panel["gridPos"]["x"] + across, panel["gridPos"]["y"] + down)
        for panel in BOARD["panels"]
        for across in range(panel["gridPos"]["w"])
        for down in range(panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)


def test_the_rules_are_those_that_prometheus_is_told_of() -> None:
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    assert [(PROMETHEUS / name).exists() for name in config["rule_files"]] == [True]
    (job,) = config["scrape_configs"]
    assert (job["job_name"], job["metrics_path"]) == ("facho", "/metrics")
    alarms = {rule["alert"]: rule for rule in rules()}
    assert {"FachoEngineStopped", "FachoSaturated", "FachoOltDown"} <= alarms.keys()
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in alarms.values())
