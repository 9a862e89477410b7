"""Forecasts of the duration of tasks, and their errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.contrib import admin
from django.utils.timezone import now
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.execution_coordinator.models import TaskForecast
from facho.apps.execution_coordinator.texts import error_in_words
from facho.apps.localized_numbers import duration, localized
from facho.config import current
from facho.core.forecast import Accuracy, Learned, Predicted, predict, typical_error
from facho.web.admin.base import OltRowsAdmin
from facho.web.admin.columns import display, json_column
from facho.web.admin.quotas import TASK_TYPE_FILTER

_COLOURS: Final = {
    Accuracy.GOOD: "success", Accuracy.FAIR: "info", Accuracy.POOR: "warning", "none": "default"
}  # fmt: skip


@admin.register(TaskForecast)
class TaskForecastAdmin(OltRowsAdmin[TaskForecast]):
    list_display = ("task_type", "olt", "expected", "at_most", "error", "samples", "updated_at")
    list_filter = (TASK_TYPE_FILTER, ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "task_type")
    ordering = ("olt__name", "task_type")
    readonly_fields = ("expected", "at_most", "error", "made_of", "readable_state")
    fields = (
        ("olt", "task_type"),
        ("expected", "at_most"),
        ("error", "samples"),
        ("made_of", "updated_at"),
        "readable_state",
    )

    readable_state = json_column("state", _("state"))

    @display(description=_("expected now"))
    def expected(self, forecast: TaskForecast) -> str:
        return duration(timedelta(seconds=_predict(forecast).p50_s))

    @display(description=_("95th percentile"))
    def at_most(self, forecast: TaskForecast) -> str:
        return duration(timedelta(seconds=_predict(forecast).p95_s))

    @display(description=_("prediction error"), ordering="error_pct", label=_COLOURS)
    def error(self, forecast: TaskForecast) -> tuple[str, str]:
        typical = typical_error(_predict(forecast).p50_s, forecast.error_pct)
        if typical is None:
            return "none", gettext("not known yet")
        return typical.accuracy, error_in_words(typical)

    @display(description=_("breakdown"))
    def made_of(self, forecast: TaskForecast) -> str:
        onus = Learned.from_json(forecast.state).onus
        return ngettext(
            "%(fixed)s and %(each)s ms for %(onus)s ONU",
            "%(fixed)s and %(each)s ms for each of %(onus)s ONUs",
            onus,
        ) % {
            "fixed": duration(timedelta(seconds=forecast.fixed_s)),
            "each": localized(f"{1000 * forecast.per_onu_s:.2g}"),
            "onus": onus,
        }


def _predict(forecast: TaskForecast) -> Predicted:
    learned = Learned.from_json(forecast.state)
    return predict(learned, now(), learned.onus, current().time_zone)
