"""A person confirms that most of a table is to be removed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _

from facho.apps.access.audited import note
from facho.apps.access.words import Action
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.core.retention import Hold
from facho.engine.commands.errors import CommandError
from facho.engine.process.command_transaction import command
from facho.engine.upkeep.retention import HOLD


@command
def confirm_removal(waiting_id: int, by: str, now: datetime) -> Hold:
    """For what was shown under this number. Who did it first stays: done again, it changes nothing."""
    state = CoordinatorState.objects.select_for_update().filter(name=HOLD).first()
    if state is None:
        raise CommandError("id", _("no removal waits for a confirmation"))
    if state.id != waiting_id:
        raise CommandError("id", _("something else waits by now: look at it, then confirm that"))
    hold = Hold.from_json(state.value)
    if hold.is_confirmed(now):
        return hold
    hold = replace(hold, confirmed_at=now, confirmed_by=by[:150])
    CoordinatorState.objects.filter(id=state.id).update(value=hold.as_json(), updated_at=now)
    tables = [f"{removal.table} before {removal.before:%Y-%m-%d %H:%M}" for removal in hold.removals]
    note(Action.CHANGE, CoordinatorState, state.id, HOLD, confirmed_by=by, tables=tables)
    return hold
