"""A person has seen that an OLT did not get what it is owed."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from facho.apps.access.audited import note
from facho.apps.access.words import Action
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.engine.commands.errors import CommandError
from facho.engine.process.command_transaction import command


@command
def acknowledge(violation_id: int, by: str, now: datetime) -> None:
    """Who did it first stays: done again, it changes nothing."""
    violation = QuotaViolation.objects.filter(id=violation_id)
    found = violation.first()
    if found is None:
        raise CommandError("violation", _("there is no violation %(id)d") % {"id": violation_id})
    if violation.filter(acknowledged_at=None).update(acknowledged_at=now, acknowledged_by=by[:150]):
        note(Action.CHANGE, QuotaViolation, violation_id, str(found), acknowledged_by=by)
