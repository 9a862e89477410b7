"""Fills in the past of a demo: a month in which its OLTs were collected from, on its first start.

All of it is one transaction, before the engine starts: a past that was interrupted is none, and the next
start makes it anew.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from facho.apps.db import sql
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import CoordinatorLog, CoordinatorState, QuotaTracker
from facho.apps.executions.models import Execution, ExecutionTotals
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import Config
from facho.core.optics import Limits
from facho.core.steps import COORDINATOR
from facho.demo.history_rows import date_chassis, onus_by_row, write_charts, write_onus
from facho.demo.onu_story import make_onu_story
from facho.demo.run_rows import (
    acknowledge_older,
    find_outage_runs,
    nodes_of,
    write_outage,
    write_poller_stats,
    write_quotas,
    write_runs,
)
from facho.demo.story import PAST, Story, make_story
from facho.engine.events.coordinator_log import log_writer
from facho.sim.model import Motion, OltModel, Shape


@dataclass(frozen=True, slots=True)
class PastOlt:
    """A simulated OLT of the demo: its name here, its number there, and how it will change from now on."""

    name: str
    number: int
    motion: Motion


def has_no_past() -> bool:
    """Return whether no engine ever ran here, and no past was filled in."""
    steps = CoordinatorState.objects.filter(name=COORDINATOR)
    return not steps.exists() and not HistoryHour.objects.exists()


class Stopped(Exception):
    """Somebody ended the demo while its past was filled in: nothing of it is stored."""


def fill_in_past(
    olts: Sequence[PastOlt],
    shape: Shape,
    seed: int,
    config: Config,
    stopping: threading.Event,
    past: timedelta = PAST,
) -> None:
    """Write what happened before. All OLTs were collected from once, so that their ONUs are known.

    Raises Stopped when `stopping` is set meanwhile.
    """
    log_writer.flush()
    story = make_story(database_now(), past)
    with sql.write_transaction():
        _forget_first_collection()
        ids = dict(Olt.objects.filter(name__in=[each.name for each in olts]).values_list("name", "id"))
        _date_configuration(story.start)
        for each in olts:
            if stopping.is_set():
                raise Stopped
            _fill_in_onus(each, ids[each.name], shape, seed, story, config)
        nodes = nodes_of(ids)
        outage_runs = find_outage_runs(nodes, story)
        write_quotas(chain.from_iterable(nodes.values()), outage_runs, story, config)
        acknowledge_older(story, ids, config)
        write_runs(nodes, outage_runs, story)
        for outage, run in outage_runs.items():
            write_outage(outage, run, nodes[outage.olt], story)
        write_poller_stats(story, config.pollers)
        SnmpJobHost.objects.filter(olt__in=ids.values(), next_run_at__isnull=False).update(
            next_run_at=database_now()
        )
    log_writer.flush()


def _forget_first_collection() -> None:
    """Delete the traces of the first collection: it was made to find the ONUs."""
    CoordinatorLog.objects.all().delete()
    HistoryFrame.objects.all().delete()
    QuotaTracker.objects.all().delete()
    Execution.objects.all().delete()
    ExecutionTotals.objects.all().delete()


def _date_configuration(at: datetime) -> None:
    for model in (Olt, SnmpJob, SnmpJobHost):
        model._base_manager.all().update(created_at=at)


def _fill_in_onus(each: PastOlt, olt_id: int, shape: Shape, seed: int, story: Story, config: Config) -> None:
    olt = Olt.objects.get(id=olt_id)
    onus = onus_by_row(olt_id)
    model = OltModel(each.number, shape, seed=seed, born=story.now.timestamp(), name=each.name)
    # Jitter must not disturb how power is judged.
    model.motion = replace(each.motion, jitter=0.0)
    limits = Limits(weak_dbm=config.optical_weak, fall_db=config.optical_fall)
    onu_story = make_onu_story(model, each.name, story, limits)
    write_onus(olt, onus, onu_story, story)
    date_chassis(olt, story.start)
    write_charts(olt, onus, onu_story, model, story, each.motion)
    assert len(onus) == Onu.objects.filter(olt=olt_id).count() == shape.onus
