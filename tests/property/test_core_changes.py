"""Configurations, whatever people write into them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from facho.core.changes import (
    Device,
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

# All that a database stores: no NUL and no half of a pair.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NUMBERS = st.integers(0, 2**31)
DEVICES = st.builds(
    Device,
    enabled=st.booleans(),
    name=TEXTS,
    brand=TEXTS,
    model=TEXTS,
    address=TEXTS,
    port=NUMBERS,
    snmp_version=st.sampled_from(["1", "2c", "3"]),
    site=TEXTS,
    max_in_flight=st.none() | NUMBERS,
    max_varbinds=st.none() | NUMBERS,
    max_requests_per_second=st.none() | st.floats(0, allow_infinity=False),
    shortest_interval_s=st.none() | NUMBERS,
)
TASKS = st.builds(
    Task,
    node_id=st.integers(1, 12),
    enabled=st.booleans(),
    interval_s=st.integers(1, 3600),
    priority=st.integers(1, 100),
    job_id=NUMBERS,
    job=TEXTS,
    kind=TEXTS,
    task_type=TEXTS,
    master_job_id=st.none() | NUMBERS,
    max_attempts=NUMBERS,
    retry_delay_s=NUMBERS,
    facts=st.lists(TEXTS, max_size=3).map(tuple),
    oids=st.lists(TEXTS, max_size=3).map(tuple),
)
STATES = st.builds(
    OltState,
    DEVICES,
    st.lists(TASKS, max_size=5, unique_by=lambda task: task.node_id).map(
        lambda tasks: tuple(sorted(tasks, key=lambda task: task.node_id))
    ),
)


@given(STATES)
def test_a_state_reads_back_as_it_was_and_differs_in_nothing_from_itself(state: OltState) -> None:
    text = encode_state(state)
    assert decode_state(text) == state
    assert encode_state(decode_state(text) or state) == text
    assert not list(differences(state, state))


@given(STATES, STATES)
def test_another_state_has_another_fingerprint(one: OltState, other: OltState) -> None:
    same = fingerprint(encode_state(one)) == fingerprint(encode_state(other))
    assert same == (one == other)


@given(STATES, STATES)
def test_the_changes_lead_from_the_tasks_that_were_to_those_that_are(
    before: OltState, after: OltState
) -> None:
    intervals = {task.node_id: task.interval_s for task in before.tasks if task.enabled}
    for change in differences(before, after):
        if isinstance(change, TaskRemoved):
            del intervals[change.task.node_id]
        elif isinstance(change, TaskAdded):
            assert change.task.node_id not in intervals
            intervals[change.task.node_id] = change.task.interval_s
        elif isinstance(change, TaskIntervalChanged):
            assert intervals[change.task.node_id] == change.before_s
            intervals[change.task.node_id] = change.task.interval_s
    assert intervals == {task.node_id: task.interval_s for task in after.tasks if task.enabled}


@given(st.text() | st.recursive(st.none() | st.integers() | TEXTS, st.lists).map(json.dumps))
def test_what_is_no_state_is_read_as_none(text: str) -> None:
    assert decode_state(text) is None
