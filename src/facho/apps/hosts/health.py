"""The health of OLTs, as `core.olt_status` decides it: its texts, and an expression for all rows at once."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, TextChoices, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.hosts.models import Olt
from facho.core import olt_status
from facho.core.freshness import NOT_DELIVERING
from facho.core.olt_status import OltStatus
from facho.core.reasons import NO_REASON, Reason


class Health(TextChoices):
    """The status of an OLT with its text, in the order of OltStatus."""

    UNREACHABLE = OltStatus.UNREACHABLE.value, _("unreachable")
    SUSPENDED = OltStatus.SUSPENDED.value, pgettext_lazy("OLT", "suspended")
    FAILING = OltStatus.FAILING.value, _("failing")
    DEGRADED = OltStatus.DEGRADED.value, pgettext_lazy("OLT", "degraded")
    OVERLOADED = OltStatus.OVERLOADED.value, pgettext_lazy("OLT", "overloaded")
    FINE = OltStatus.FINE.value, _("OK")
    NEVER_ASKED = OltStatus.NEVER_ASKED.value, _("not polled yet")
    MAINTENANCE = OltStatus.MAINTENANCE.value, _("under maintenance")
    DISABLED = OltStatus.DISABLED.value, pgettext_lazy("OLT", "disabled")


# What `health_of` reads of an OLT.
STATUS_COLUMNS = (
    "enabled", "suspended_reason", "reachable", "failed_in_a_row", "degraded_reason", "overloaded_reason",
)  # fmt: skip
# The columns that say why an OLT has a status.
_REASONS = {
    Health.SUSPENDED: "suspended_reason",
    Health.DEGRADED: "degraded_reason",
    Health.OVERLOADED: "overloaded_reason",
}
TROUBLE = tuple(Health(status.value) for status in olt_status.TROUBLE)
# The rule of `core.olt_status.down_since` as an expression.
DOWN_SINCE = Coalesce("unreachable_since", "suspended_at")


def health_of(olt: Olt, maintained: Container[int]) -> Health:
    """`maintained` are the ids of the OLTs under maintenance now."""
    status = olt_status.olt_status(
        enabled=olt.enabled,
        maintained=olt.id in maintained,
        suspended=olt.is_suspended,
        reachable=olt.reachable,
        failed_in_a_row=olt.failed_in_a_row,
        degraded=bool(olt.degraded_reason),
        overloaded=bool(olt.overloaded_reason),
    )
    return Health(status.value)


def status_reason(olt: Olt, health: Health) -> Reason:
    """Return why the OLT has this status; empty where the status says it all."""
    column = _REASONS.get(health)
    return NO_REASON if column is None else getattr(olt, column)


def _case(maintained: Collection[int]) -> Case:
    """Return the rule of `olt_status` as an expression."""
    return Case(
        When(enabled=False, then=Value(Health.DISABLED)),
        When(id__in=list(maintained), then=Value(Health.MAINTENANCE)),
        When(~Q(suspended_reason=""), then=Value(Health.SUSPENDED)),
        When(reachable=False, then=Value(Health.UNREACHABLE)),
        When(failed_in_a_row__gt=0, then=Value(Health.FAILING)),
        When(reachable=None, then=Value(Health.NEVER_ASKED)),
        When(~Q(degraded_reason=""), then=Value(Health.DEGRADED)),
        When(~Q(overloaded_reason=""), then=Value(Health.OVERLOADED)),
        default=Value(Health.FINE),
    )


def with_health(maintained: Collection[int], rows: QuerySet[Olt] | None = None) -> QuerySet[Any]:
    """Return the OLTs with their health as `condition`."""
    return (Olt.objects.all() if rows is None else rows).annotate(condition=_case(maintained))


def silent_olts(maintained: Collection[int]) -> dict[int, OltStatus]:
    """Return the OLTs that deliver nothing, each with its status."""
    rows = with_health(maintained).filter(condition__in=list(NOT_DELIVERING)).order_by()
    return {olt_id: OltStatus(status) for olt_id, status in rows.values_list("id", "condition")}


def counts_by_health(maintained: Collection[int]) -> dict[Health, int]:
    rows = with_health(maintained).order_by().values_list("condition").annotate(Count("id"))
    found: dict[str, int] = dict(rows)
    return {health: found[health] for health in Health if health in found}
