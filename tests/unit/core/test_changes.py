"""The fingerprint of a configuration, and what differs between two of them."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from facho.core.changes import (
    Change,
    ConfigChanged,
    Device,
    OltDisabled,
    OltEnabled,
    OltState,
    Task,
    TaskAdded,
    TaskIntervalChanged,
    TaskRemoved,
    decode_state,
    differences,
    encode_state,
    fingerprint,
)

DEVICE: Final = Device(
    enabled=True,
    name="Bogotá 1",
    brand="huawei",
    model="MA5800",
    address="10.0.0.1",
    port=161,
    snmp_version="2c",
    site="Chapinero",
    max_in_flight=None,
    max_varbinds=20,
    max_requests_per_second=7.5,
    shortest_interval_s=None,
)
STATE_TASK: Final = Task(
    node_id=7,
    enabled=True,
    interval_s=300,
    priority=40,
    job_id=3,
    job="estado",
    kind="get",
    task_type="get_state",
    master_job_id=None,
    max_attempts=3,
    retry_delay_s=120,
    facts=("state",),
    oids=("1.3.6.1.2.1.1.3",),
)
OPTICS: Final = STATE_TASK._replace(node_id=8, job_id=4, job="optics", task_type="get_optics")
STATE: Final = OltState(DEVICE, (STATE_TASK, OPTICS))

# As sha256sum says of the text below.
SHA_256: Final = "bf8a336277d4fc9652cfa200c8ed24de75341d7db26eca3278a5ca146e4f615d"

# Another value for every field, that a person could have chosen.
OF_DEVICE: Final[dict[str, Any]] = {
    "name": "Bogotá 2",
    "brand": "zte",
    "model": "",
    "address": "10.0.0.2",
    "port": 1161,
    "snmp_version": "3",
    "site": "",
    "max_in_flight": 2,
    "max_varbinds": None,
    "max_requests_per_second": 7.0,
    "shortest_interval_s": 60,
}
OF_TASK: Final[dict[str, Any]] = {
    "priority": 41,
    "job_id": 9,
    "job": "state",
    "kind": "table",
    "task_type": "state",
    "master_job_id": 4,
    "max_attempts": 1,
    "retry_delay_s": 0,
    "facts": ("state", "distance"),
    "oids": (),
}


def changes(before: OltState | None, after: OltState) -> list[Change]:
    return list(differences(before, after))


def with_task(**values: Any) -> OltState:
    return STATE._replace(tasks=(STATE_TASK._replace(**values), OPTICS))


def with_device(**values: Any) -> OltState:
    return STATE._replace(device=DEVICE._replace(**values))


def test_the_same_configuration_has_the_same_fingerprint_anywhere() -> None:
    """What is stored is compared with it: another text for the same state would look like a change."""
    assert encode_state(STATE) == (
        '[[true,"Bogot\\u00e1 1","huawei","MA5800","10.0.0.1",161,"2c","Chapinero",null,20,7.5,null],'
        '[[7,true,300,40,3,"estado","get","get_state",null,3,120,["state"],["1.3.6.1.2.1.1.3"]],'
        '[8,true,300,40,4,"optics","get","get_optics",null,3,120,["state"],["1.3.6.1.2.1.1.3"]]]]'
    )
    assert fingerprint(encode_state(STATE)) == SHA_256


def test_a_state_reads_back_as_it_was() -> None:
    assert decode_state(encode_state(STATE)) == STATE
    assert decode_state(encode_state(OltState(DEVICE, ()))) == OltState(DEVICE, ())


@pytest.mark.parametrize(
    "text",
    ["", "null", "5", "[]", "{}", "[[], []]", json.dumps([list(DEVICE), [[1, 2, 3]]]), "[[[[", '["a"'],
)
def test_what_another_version_wrote_says_nothing(text: str) -> None:
    assert decode_state(text) is None


def test_nothing_changed() -> None:
    assert changes(STATE, STATE) == []


def test_an_olt_seen_for_the_first_time_has_its_tasks_from_now_on() -> None:
    off = OPTICS._replace(enabled=False)
    assert changes(None, OltState(DEVICE, (STATE_TASK, off))) == [TaskAdded(STATE_TASK)]


@pytest.mark.parametrize("name", OF_DEVICE)
def test_any_other_value_of_the_olt_is_a_change_of_its_configuration(name: str) -> None:
    after = with_device(**{name: OF_DEVICE[name]})
    assert fingerprint(encode_state(after)) != fingerprint(encode_state(STATE))
    changed = {name: (getattr(DEVICE, name), OF_DEVICE[name])}
    assert changes(STATE, after) == [ConfigChanged(None, changed)]


@pytest.mark.parametrize("name", OF_TASK)
def test_any_other_value_of_a_task_is_a_change_of_its_configuration(name: str) -> None:
    after = with_task(**{name: OF_TASK[name]})
    assert fingerprint(encode_state(after)) != fingerprint(encode_state(STATE))
    changed = {name: (getattr(STATE_TASK, name), OF_TASK[name])}
    assert changes(STATE, after) == [ConfigChanged(after.tasks[0], changed)]


def test_no_field_is_forgotten_above() -> None:
    assert {*OF_DEVICE, "enabled"} == set(Device._fields)
    assert {*OF_TASK, "node_id", "enabled", "interval_s"} == set(Task._fields)


def test_an_olt_switched_off_and_on() -> None:
    off = with_device(enabled=False)
    assert changes(STATE, off) == [OltDisabled()]
    assert changes(off, STATE) == [OltEnabled()]


def test_an_olt_switched_off_and_moved_is_two_changes() -> None:
    after = with_device(enabled=False, address="10.0.0.2")
    moved = ConfigChanged(None, {"address": ("10.0.0.1", "10.0.0.2")})
    assert changes(STATE, after) == [OltDisabled(), moved]


def test_a_task_that_goes_and_comes() -> None:
    without = STATE._replace(tasks=(STATE_TASK,))
    assert changes(STATE, without) == [TaskRemoved(OPTICS)]
    assert changes(without, STATE) == [TaskAdded(OPTICS)]


def test_a_task_that_is_switched_off_and_on() -> None:
    off = with_task(enabled=False)
    assert changes(STATE, off) == [TaskRemoved(off.tasks[0])]
    assert changes(off, STATE) == [TaskAdded(STATE_TASK)]


def test_what_is_off_may_change_and_go_without_a_word() -> None:
    off = with_task(enabled=False)
    assert changes(off, with_task(enabled=False, interval_s=60, priority=1)) == []
    assert changes(off, STATE._replace(tasks=(OPTICS,))) == []
    assert changes(STATE._replace(tasks=(OPTICS,)), off) == []


def test_an_interval_that_changed_says_what_it_was() -> None:
    after = with_task(interval_s=600)
    assert changes(STATE, after) == [TaskIntervalChanged(after.tasks[0], 300)]


def test_an_interval_and_a_priority_that_changed_are_two_changes() -> None:
    after = with_task(interval_s=600, priority=99)
    task = after.tasks[0]
    assert changes(STATE, after) == [
        TaskIntervalChanged(task, 300),
        ConfigChanged(task, {"priority": (40, 99)}),
    ]
