"""How an OLT does, as one word: the same for lists, counts and the timeline."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, TextChoices, Value, When
from django.utils.translation import gettext_lazy as _

from facho.apps.hosts.models import Olt


class Health(TextChoices):
    """From what needs a person first to what needs nobody. The first that is true counts."""

    UNREACHABLE = "unreachable", _("unreachable")
    SUSPENDED = "suspended", _("suspended")
    FAILING = "failing", _("failing")
    FINE = "fine", _("in order")
    NEVER_ASKED = "never_asked", _("never asked")
    MAINTENANCE = "maintenance", _("under maintenance")
    DISABLED = "disabled", _("disabled")


TROUBLE = (Health.UNREACHABLE, Health.SUSPENDED, Health.FAILING)


def _case(maintained: Collection[int]) -> Case:
    """`maintained` are the OLTs under maintenance now: their windows are worked out, not looked up."""
    return Case(
        When(enabled=False, then=Value(Health.DISABLED)),
        When(id__in=list(maintained), then=Value(Health.MAINTENANCE)),
        When(reachable=False, then=Value(Health.UNREACHABLE)),
        When(~Q(suspended_reason=""), then=Value(Health.SUSPENDED)),
        When(failed_in_a_row__gt=0, then=Value(Health.FAILING)),
        When(reachable=None, then=Value(Health.NEVER_ASKED)),
        default=Value(Health.FINE),
    )


def with_health(maintained: Collection[int], rows: QuerySet[Olt] | None = None) -> QuerySet[Any]:
    """Each OLT with its health as `condition`."""
    return (Olt.objects.all() if rows is None else rows).annotate(condition=_case(maintained))


def counts_by_health(maintained: Collection[int]) -> dict[Health, int]:
    rows = with_health(maintained).order_by().values_list("condition").annotate(Count("id"))
    found: dict[str, int] = dict(rows)
    return {health: found[health] for health in Health if health in found}
