"""Composite nodes: a master, then the nodes of the jobs chained to its job on the same OLT."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from facho.core.reasons import Reason, ReasonError


class ChainError(ReasonError, ValueError):
    """A job may not run after that one. The message is for the person who chose it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A node, and the job that its own job runs after. `enabled` when nothing keeps it off."""

    node_id: int
    job_id: int
    olt_id: int
    master_job_id: int | None
    priority: int
    enabled: bool


@dataclass(frozen=True, slots=True)
class Composite:
    """A unit of work: node ids in the order in which they run."""

    master: int
    chained: tuple[int, ...] = ()

    @property
    def members(self) -> tuple[int, ...]:
        return (self.master, *self.chained)


# Nodes by OLT and job: a job has one node on an OLT.
_Places: TypeAlias = dict[tuple[int, int], Link]


def check_master(
    job_id: int | None, master_id: int, master_of: Mapping[int, int | None], names: Mapping[int, str]
) -> None:
    """Refuse a chain that is not one level deep. `job_id` is None for a job that is not saved yet."""
    master = _name(master_id, names)
    if job_id == master_id:
        raise ChainError(Reason.of("chained_to_itself", job=master))
    above = master_of.get(master_id)
    if above is not None:
        other = _name(above, names)
        raise ChainError(Reason.of("master_is_chained", job=master, master=other, other=other))
    if job_id is None:
        return
    if below := [job for job, its_master in master_of.items() if its_master == job_id]:
        followers = ", ".join(_name(job, names) for job in below)
        job = _name(job_id, names)
        raise ChainError(Reason.of("job_is_master", job=job, jobs=followers, master=master))


def composites(links: Iterable[Link]) -> list[Composite]:
    """Return the composites that can run. `links` has all nodes, the disabled ones too.

    A disabled chained node is left out. A disabled master keeps its chained nodes from running.
    """
    every = list(links)
    places = _places(every)
    chained = _chained(every, places)
    return [
        Composite(link.node_id, chained.get(link.node_id, ()))
        for link in every
        if link.enabled and _master(link, places) is None
    ]


def members(links: Iterable[Link], master_ids: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Return the members of the composite nodes of these masters, enabled or not, in the order they run."""
    every = list(links)
    chained = _chained(every, _places(every))
    known = {link.node_id for link in every}
    return {master: (master, *chained.get(master, ())) for master in master_ids if master in known}


def masters(links: Iterable[Link]) -> dict[int, int]:
    """Return the master of each chained node, enabled or not."""
    every = list(links)
    places = _places(every)
    found = ((link.node_id, _master(link, places)) for link in every)
    return {node_id: master.node_id for node_id, master in found if master is not None}


def _chained(every: Iterable[Link], places: _Places) -> dict[int, tuple[int, ...]]:
    """Return the enabled nodes that run after each master: by priority, then by id."""
    found: dict[int, list[Link]] = defaultdict(list)
    for link in every:
        master = _master(link, places) if link.enabled else None
        if master is not None:
            found[master.node_id].append(link)
    return {
        master: tuple(link.node_id for link in sorted(links, key=lambda link: (-link.priority, link.node_id)))
        for master, links in found.items()
    }


def _places(links: Iterable[Link]) -> _Places:
    return {(link.olt_id, link.job_id): link for link in links}


def _master(link: Link, places: _Places) -> Link | None:
    """Deeper chains and circles are refused, but SQL can write them: those nodes run alone, not never."""
    master = _named_master(link, places)
    return None if master is None or _named_master(master, places) is not None else master


def _named_master(link: Link, places: _Places) -> Link | None:
    return None if link.master_job_id is None else places.get((link.olt_id, link.master_job_id))


def _name(job_id: int, names: Mapping[int, str]) -> str:
    return names.get(job_id, f"job {job_id}")
