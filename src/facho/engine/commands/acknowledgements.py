"""Record that a person has seen a quota violation, or allows a large removal of old rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _

from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note
from facho.apps.execution_coordinator.models import CoordinatorState, QuotaViolation
from facho.core.retention import Hold
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_reason
from facho.engine.process.command_transaction import command
from facho.engine.upkeep.retention_holds import HOLD


@command
def acknowledge_violation(violation_id: int, by: str, now: datetime, why: str = "") -> None:
    """Acknowledge a violation, with a note. The first person stays recorded; later calls change nothing."""
    written = {"acknowledged_note": check_reason(why, "note")} if why.strip() else {}
    violation = QuotaViolation.objects.filter(id=violation_id)
    found = violation.first()
    if found is None:
        raise CommandError("violation", _("there is no violation %(id)d") % {"id": violation_id})
    if violation.filter(acknowledged_at=None).update(
        acknowledged_at=now, acknowledged_by=by[:150], **written
    ):
        note(Action.CHANGE, QuotaViolation, violation_id, str(found), acknowledged_by=by, **written)


@command
def confirm_removal(waiting_id: int, by: str, now: datetime) -> Hold:
    """Allow the removal that was shown under this id. A second call changes nothing."""
    state = CoordinatorState.objects.select_for_update().filter(name=HOLD).first()
    if state is None:
        raise CommandError("id", _("no removal waits for a confirmation"))
    if state.id != waiting_id:
        raise CommandError("id", _("the waiting removal has changed: check it again, then confirm it"))
    hold = Hold.from_json(state.value)
    if hold.is_confirmed(now):
        return hold
    hold = replace(hold, confirmed_at=now, confirmed_by=by[:150])
    CoordinatorState.objects.filter(id=state.id).update(value=hold.as_json(), updated_at=now)
    tables = [f"{removal.table} before {removal.before:%Y-%m-%d %H:%M}" for removal in hold.removals]
    note(Action.CHANGE, CoordinatorState, state.id, HOLD, confirmed_by=by, tables=tables)
    return hold
