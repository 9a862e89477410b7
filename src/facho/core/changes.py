"""The configuration of an OLT as one value, its fingerprint, and the differences between two of them.

A state contains all that people configure and nothing that the engine writes. Its canonical form, and so its
SHA-256, is the same on any machine and in any version of Python.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias


class Task(NamedTuple):
    """A node with its job. Plain values, so that the canonical form is the list of them."""

    node_id: int
    # Both the node and its job are enabled.
    enabled: bool
    interval_s: int
    priority: int
    job_id: int
    job: str
    kind: str
    task_type: str
    master_job_id: int | None
    max_attempts: int
    retry_delay_s: int
    facts: tuple[str, ...]
    oids: tuple[str, ...]


class Device(NamedTuple):
    """The OLT itself. Its credentials are no part of it: encrypted again, they look like others."""

    enabled: bool
    name: str
    brand: str
    model: str
    address: str
    port: int
    snmp_version: str
    site: str
    max_in_flight: int | None
    max_varbinds: int | None
    max_requests_per_second: float | None
    shortest_interval_s: int | None


class OltState(NamedTuple):
    device: Device
    # In the order of their nodes' ids.
    tasks: tuple[Task, ...]


def encode_state(state: OltState) -> str:
    tasks = (encode_task(*task[:4], encode_job(task[4:])) for task in state.tasks)
    return encode_state_of_tasks(state.device, tasks)


def encode_job(job: Sequence[Any]) -> str:
    """Encode the fields that all tasks of a job share, from `job_id` on."""
    return _encode_json(job)[1:-1]


def encode_task(node_id: int, enabled: bool, interval_s: int, priority: int, job: str) -> str:
    return f"[{node_id},{'true' if enabled else 'false'},{interval_s},{priority},{job}]"


def encode_state_of_tasks(device: Device, tasks: Iterable[str]) -> str:
    """Encode a state from encoded tasks: there are many tasks of few jobs, compared every few seconds."""
    return f"[{_encode_json(device)},[{','.join(tasks)}]]"


_encode_json: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def decode_state(text: str) -> OltState | None:
    """Decode a canonical form. Return None if another version of this program wrote it."""
    try:
        device, tasks = json.loads(text)
        return OltState(Device._make(device), tuple(_decode_task(each) for each in tasks))
    except (ValueError, TypeError):
        return None


def _decode_task(values: list[Any]) -> Task:
    return Task._make(tuple(value) if isinstance(value, list) else value for value in values)


def fingerprint(text: str) -> str:
    """The SHA-256 of a canonical form."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class TaskAdded:
    task: Task


@dataclass(frozen=True, slots=True)
class TaskRemoved:
    """Gone, or switched off."""

    task: Task


@dataclass(frozen=True, slots=True)
class TaskIntervalChanged:
    task: Task
    before_s: int


@dataclass(frozen=True, slots=True)
class OltEnabled:
    pass


@dataclass(frozen=True, slots=True)
class OltDisabled:
    pass


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """Any other change of a task, or of the OLT itself if `task` is None: old and new value by field name."""

    task: Task | None
    changed: Mapping[str, tuple[Any, Any]]


Change: TypeAlias = TaskAdded | TaskRemoved | TaskIntervalChanged | OltEnabled | OltDisabled | ConfigChanged


def differences(before: OltState | None, after: OltState) -> Iterator[Change]:
    """Yield the changes. An OLT without an earlier state has all its enabled tasks added."""
    if before is None:
        yield from (TaskAdded(task) for task in after.tasks if task.enabled)
        return
    yield from _device_changes(before.device, after.device)
    old = {task.node_id: task for task in before.tasks}
    new = {task.node_id: task for task in after.tasks}
    yield from (TaskRemoved(task) for key, task in old.items() if key not in new and task.enabled)
    for key, task in new.items():
        yield from _task_changes(old.get(key), task)


def _device_changes(before: Device, after: Device) -> Iterator[Change]:
    if after.enabled and not before.enabled:
        yield OltEnabled()
    if before.enabled and not after.enabled:
        yield OltDisabled()
    if changed := _changed_fields(before, after, ("enabled",)):
        yield ConfigChanged(None, changed)


def _task_changes(before: Task | None, after: Task) -> Iterator[Change]:
    if before is None or not before.enabled:
        if after.enabled:
            yield TaskAdded(after)
        return
    if not after.enabled:
        yield TaskRemoved(after)
        return
    if before.interval_s != after.interval_s:
        yield TaskIntervalChanged(after, before.interval_s)
    if changed := _changed_fields(before, after, ("enabled", "interval_s")):
        yield ConfigChanged(after, changed)


def _changed_fields(
    before: Task | Device, after: Task | Device, apart_from: tuple[str, ...]
) -> dict[str, tuple[Any, Any]]:
    return {
        name: (old, new)
        for name, old, new in zip(before._fields, before, after, strict=True)
        if old != new and name not in apart_from
    }
