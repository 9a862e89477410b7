"""Run a node now, read an ONU now, and end an execution."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note
from facho.apps.discovery.models import Onu, Presence
from facho.apps.executions.locks import lock_node
from facho.apps.executions.models import QUEUED, Execution, State, Trigger
from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_minute
from facho.apps.maintenance.selectors import maintained_until
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import master_of
from facho.apps.zabbix_pollers.selectors import read_workers
from facho.config import current
from facho.core.pool import HIGHEST_PRIORITY, alive_workers
from facho.core.reasons import Reason
from facho.engine.commands.errors import CommandError
from facho.engine.commands.nodes import no_such_node
from facho.engine.commands.olts import olt_named
from facho.engine.coordinate.aborts import abort_open
from facho.engine.process.command_transaction import command

# Tries to queue an execution while others queue and end theirs.
_TRIES: Final = 5
# A person who reads an ONU is not kept waiting longer.
READ_WAIT: Final = timedelta(minutes=2)
_BY_PERSON: Final = Reason.of("aborted_by_person")


@command
def run_now(node_id: int, now: datetime) -> int:
    """Queue a node before all others and return the execution: the queued one, or a new one."""
    asked = _node(node_id)
    master = master_of(asked)
    for node in (asked, master):
        _refuse_disabled(node)
    _refuse_maintenance(master.olt, "node", now)
    lock_node(master.id)
    for _try in range(_TRIES):
        found = _move_queued_to_front(master.id, now) or _queue(master.olt, now, node=master)
        if found is not None:
            note(Action.RUN, SnmpJobHost, asked.id, str(asked), execution=found)
            return found
    raise CommandError("node", _("it is just starting: try again"))


@command
def read_onu(onu_id: int, now: datetime) -> int:
    """Queue a read of one ONU and return the execution: the queued one, or a new one."""
    onu = Onu.objects.filter(id=onu_id).select_related("olt").defer("olt__credentials").first()
    if onu is None:
        raise CommandError("onu", _("there is no ONU %(id)d") % {"id": onu_id})
    _refuse_unreadable(onu)
    _refuse_maintenance(onu.olt, "onu", now)
    _refuse_without_pollers(now)
    for _try in range(_TRIES):
        found = _find_queued_read(onu_id) or _queue(onu.olt, now, onu=onu)
        if found is not None:
            note(Action.RUN, Onu, onu_id, str(onu), execution=found)
            return found
    raise CommandError("onu", _("it is just starting: try again"))


@command
def abort_execution(execution_id: int, now: datetime, why: Reason = _BY_PERSON) -> None:
    """Abort an execution. A running one stops at its next request and stores nothing."""
    execution = Execution.objects.filter(id=execution_id)
    if not abort_open(execution, why, now):
        state = execution.values_list("state", flat=True).first()
        values = {"id": execution_id, "state": state}
        if state is None:
            raise CommandError("execution", _("there is no execution %(id)d") % values)
        raise CommandError("execution", _("execution %(id)d has ended already: %(state)s") % values)
    note(Action.ABORT, Execution, execution_id, _execution_name(execution))


def _execution_name(execution: QuerySet[Execution]) -> str:
    names = execution.values_list("node__job__name", "onu__serial", "olt__name").get()
    return " @ ".join(filter(None, names))


def _node(node_id: int) -> SnmpJobHost:
    found = SnmpJobHost.objects.filter(id=node_id).select_related("job", "olt").first()
    if found is None:
        raise no_such_node(node_id)
    return found


def _refuse_disabled(node: SnmpJobHost) -> None:
    what = {"job": node.job.name, "olt": node.olt.name}
    if not node.olt.enabled:
        raise CommandError("node", _("the OLT %(olt)s is disabled") % what)
    if not node.job.enabled:
        raise CommandError("node", _("the job %(job)s is disabled") % what)
    if not node.enabled:
        raise CommandError("node", _("%(job)s is disabled on %(olt)s") % what)


def _refuse_maintenance(olt: Olt, field: str, now: datetime) -> None:
    until = maintained_until(olt.id, now)
    if until is not None:
        values = {"olt": olt.name, "until": date_and_minute(until)}
        raise CommandError(field, _("the OLT %(olt)s is under maintenance until %(until)s") % values)


def _refuse_unreadable(onu: Onu) -> None:
    what = {"olt": onu.olt.name, "onu": str(onu)}
    if not onu.olt.enabled:
        raise CommandError("onu", _("the OLT %(olt)s is disabled") % what)
    if onu.olt.is_suspended:
        raise CommandError("onu", _("the OLT %(olt)s is suspended: it does not answer") % what)
    if onu.presence == Presence.ABSENT:
        raise CommandError("onu", _("the ONU %(onu)s is absent") % what)
    if onu.address is None:
        raise CommandError("onu", _("the ONU %(onu)s has no place: another ONU took it") % what)


def has_live_pollers(now: datetime) -> bool:
    alive = alive_workers(read_workers(), now, within=current().worker_seen_within)
    return any(worker.pollers for worker in alive)


def _refuse_without_pollers(now: datetime) -> None:
    if not has_live_pollers(now):
        raise CommandError("onu", _("no poller is alive: the OLT cannot be asked until the engine runs"))


def _find_queued_read(onu_id: int) -> int | None:
    return Execution.objects.filter(onu=onu_id, state__in=QUEUED).values_list("id", flat=True).first()


def _move_queued_to_front(node_id: int, now: datetime) -> int | None:
    """Move a queued execution to the front and return it. It keeps its slot; a retry waits no longer."""
    queued = Execution.objects.filter(node=node_id, state__in=QUEUED)
    if not queued.update(run_now=True):
        return None
    queued.filter(state=State.WAITING, not_before__gt=now).update(not_before=now)
    return queued.values_list("id", flat=True).first()


def _queue(olt: Olt, now: datetime, **about: SnmpJobHost | Onu) -> int | None:
    node = about.get("node")
    priority = (node.priority or node.job.priority) if isinstance(node, SnmpJobHost) else HIGHEST_PRIORITY
    try:
        with transaction.atomic():
            made = Execution.objects.create(
                **about,
                olt=olt,
                priority=priority,
                trigger=Trigger.RUN_NOW,
                run_now=True,
                slot=now,
                not_before=now,
                queued_at=now,
            )
    except IntegrityError:
        # Another execution was queued meanwhile.
        return None
    return made.id


@command
def collect_all(olt: str, now: datetime) -> int:
    """Queue an execution without a node that reads all facts of the family, for a run by hand."""
    found = olt_named(olt)
    if not found.enabled:
        raise CommandError("olt", _("the OLT %(olt)s is disabled") % {"olt": olt})
    _refuse_maintenance(found, "olt", now)
    made = Execution.objects.create(
        olt=found, trigger=Trigger.RUN_NOW, run_now=True, slot=now, not_before=now, queued_at=now
    )
    note(Action.RUN, Olt, found.id, found.name, execution=made.id)
    return made.id


def keep_waiting(execution_id: int, now: datetime) -> None:
    """Keep a waiting run by hand alive: without this call it is ended as abandoned."""
    Execution.objects.filter(id=execution_id, node=None, onu=None, state=State.WAITING).update(not_before=now)
