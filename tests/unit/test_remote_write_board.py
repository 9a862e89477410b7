"""The dashboard of remote write asks for what is sent, by labels that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from facho.core.metric_names import metric_name
from facho.vendors.facts import FACTS, TAKEN_NAMES, Entity

BOARD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "deploy" / "grafana" / "facho-remote-write.json").read_text()
)
PANELS: list[dict[str, Any]] = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
OLT = {"olt", "site"}
LABELS = {
    Entity.ONU: OLT | {"port", "onu", "place", "serial", "mac"},
    Entity.PORT: OLT | {"port"},
    Entity.UPLINK: OLT | {"uplink", "name"},
    Entity.BOARD: OLT | {"board"},
    Entity.OLT: OLT,
}
# Those that are not facts with a history.
STATES = {
    "facho_onu_online": LABELS[Entity.ONU],
    "facho_port_onus": LABELS[Entity.PORT] | {"state"},
    "facho_port_up": LABELS[Entity.PORT],
    "facho_uplink_up": LABELS[Entity.UPLINK],
    "facho_olt_online": OLT | {"brand"},
}
SENT = STATES | {
    metric_name(entity, name): labels
    for entity, labels in LABELS.items()
    for name, fact in FACTS[entity].items()
    if fact.history
}


def targets() -> Iterator[tuple[str, str]]:
    for panel in PANELS:
        yield from ((target["expr"], target["legendFormat"]) for target in panel["targets"])
    yield from (
        (each["query"]["query"], "") for each in BOARD["templating"]["list"] if each["type"] == "query"
    )


def test_whatever_is_asked_for_is_sent_with_the_labels_that_it_is_chosen_by() -> None:
    asked = 0
    for expression, legend in targets():
        for name, chosen in re.findall(r"(facho_\w+)(?:\{([^}]*)\})?", expression):
            asked += 1
            assert set(re.findall(r"(\w+)\s*=~?", chosen)) <= SENT[name], expression
            groups = re.findall(r"\bby\s*\(([^)]*)\)", expression)
            grouped = {label.strip() for group in groups for label in group.split(",")}
            matched = re.findall(r"\bunless on \(([^)]*)\)", expression)
            assert {label.strip() for labels in matched for label in labels.split(",")} <= SENT[name]
            assert grouped <= SENT[name], expression
            if f"on (olt, site) last_over_time({name}" not in expression:
                assert set(re.findall(r"{{(\w+)}}", legend)) <= (grouped or SENT[name]), expression
    assert asked > 30


def test_interfaces_of_unknown_devices_are_in_no_total_and_no_top() -> None:
    """The same traffic passes through several of them."""
    added = [each for each, _ in targets() if re.search(r"\b(sum|topk)\b.*facho_port_(in|out)_bps", each)]
    assert len(added) == 5
    unknown = 'unless on (olt, site) last_over_time(facho_olt_online{brand="generic"}[20m]))'
    assert all(each.endswith(unknown) for each in added)


def test_no_fact_has_the_metric_of_a_state_or_of_another_fact() -> None:
    declared = {metric_name(entity, name) for entity in LABELS for name in FACTS[entity]}
    assert len(declared) == sum(len(FACTS[entity]) for entity in LABELS)
    assert not declared & STATES.keys()
    for metric in SENT.keys() - {f"facho_{entity}_{name}" for entity in LABELS for name in FACTS[entity]}:
        assert metric.split("_", 2)[2] in TAKEN_NAMES


def test_olts_ports_and_onus_can_be_chosen() -> None:
    assert [each["name"] for each in BOARD["templating"]["list"]] == [
        "datasource",
        "site",
        "olt",
        "port",
        "onu",
    ]


def test_no_panel_lies_on_another() -> None:
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    places = [
        (panel["gridPos"]["x"] + across, panel["gridPos"]["y"] + down)
        for panel in BOARD["panels"]
        for across in range(panel["gridPos"]["w"])
        for down in range(panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)
