"""Plans of OLTs per hour, and how accurate they were."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus
from facho.apps.execution_coordinator.texts import WHY_LOST
from facho.apps.localized_numbers import localized, number
from facho.config import current
from facho.engine.commands.nodes import shift_grid
from facho.engine.coordinate.plan_reports import plan_hours, plan_lines, suggest_shift
from facho.web.admin.base import show_outcomes
from facho.web.admin.columns import choice_badge, display
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import choice_filter, recent_filter
from facho.web.admin.quotas import _OfAnHour
from facho.web.components.quotas import draw_bar, risk_mark
from facho.web.words.plans import describe_shift, describe_slower_job

PLAN_COLOURS = {
    PlanStatus.ACTIVE: "info",
    PlanStatus.COMPLETED: "success",
    PlanStatus.SUPERSEDED: "default",
    PlanStatus.ABORTED: "warning",
}


_FITS_FILTER = choice_filter(
    "fits",
    _("load"),
    {"no": (_("more work than fits in an hour"), lambda rows: rows.filter(infeasible__isnull=False))},
)


@admin.register(ExecutionPlan)
class ExecutionPlanAdmin(_OfAnHour[ExecutionPlan]):
    list_display = ("hour", "olt", "status_badge", "used", "runs", "comparison")
    list_filter = (
        recent_filter("period_start", _("hour"), by_the_clock=True),
        "status",
        _FITS_FILTER,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name",)
    actions = ("move_grid", export_csv)
    readonly_fields = ("hour", "used", "runs", "comparison", "proposals", "table")
    fieldsets = (
        (None, {"fields": (("olt", "hour"), ("status", "runs"), "used", "comparison", "proposals")}),
        (_("Runs"), {"fields": ("table",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ExecutionPlan]:
        plans = super().get_queryset(request).defer("plan_data")
        match = request.resolver_match
        if match and str(match.url_name).endswith("_changelist") and "status__exact" not in request.GET:
            # A plan that was replaced matters to few: the filter by status shows it.
            return plans.exclude(status=PlanStatus.SUPERSEDED)
        return plans

    def has_move_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("snmp_jobs.change_snmpjobhost")

    status_badge = choice_badge("status", _("status"), PLAN_COLOURS)

    @display(description=_("load"), ordering="load_p50_min")
    def used(self, plan: ExecutionPlan) -> str:
        said = {"p50": localized(f"{plan.load_p50_min:.1f}"), "p95": localized(f"{plan.load_p95_min:.1f}")}
        words = gettext("%(p50)s min per hour, at most %(p95)s") % said
        full = min(60.0, plan.load_p50_min)
        return format_html(
            "<div>{}{}</div>",
            draw_bar({"completed": full, "pending": 60 - full}, words),
            risk_mark(gettext("more work than fits in an hour") if plan.infeasible else ""),
        )

    @display(description=_("runs"))
    def runs(self, plan: ExecutionPlan) -> str:
        said = {"done": plan.completed_tasks, "total": plan.total_tasks, "lost": plan.lost_slots}
        if plan.lost_slots:
            return gettext("%(done)d of %(total)d; slots lost: %(lost)d") % said
        return gettext("%(done)d of %(total)d") % said

    @display(description=_("started as predicted"), ordering="near_pct")
    def comparison(self, plan: ExecutionPlan) -> str:
        if plan.near_pct is None or plan.median_error_s is None:
            return "-"
        said = {"near": number(plan.near_pct), "median": number(plan.median_error_s)}
        return gettext("%(near)s %%, median error %(median)s s") % said

    @display(description=_("proposals"))
    def proposals(self, plan: ExecutionPlan) -> str:
        said = [describe_slower_job(plan.infeasible)]
        if plan.status == PlanStatus.ACTIVE:
            shift = suggest_shift(plan.olt_id, database_now(), current())
            said.append(describe_shift(shift) if shift else "")
        return " ".join(filter(None, said)) or "-"

    @display(description=_("runs"))
    def table(self, plan: ExecutionPlan) -> str:
        lost = [
            {"slot": localtime(each.slot), "job": each.job, "reason": WHY_LOST.get(each.why, each.why)}
            for each in plan_hours(plan).lost
        ]
        return render_to_string("facho_admin/plan_runs.html", {"lines": plan_lines(plan), "lost": lost})

    @admin.action(description=_("Apply the proposed shift"), permissions=["move"])
    def move_grid(self, request: HttpRequest, chosen: QuerySet[ExecutionPlan]) -> None:
        show_outcomes(request, chosen, _shift_node)


def _shift_node(plan: ExecutionPlan) -> str:
    now = database_now()
    shift = suggest_shift(plan.olt_id, now, current())
    if shift is None:
        return gettext("%(olt)s: no shift would reduce waiting.") % {"olt": plan.olt.name}
    shift_grid(shift.node_id, shift.by, now)
    return f"{plan.olt.name}: {describe_shift(shift)}"
