from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
    OltConfiguration,
    StorageSample,
)
from facho.apps.localized_times import date_and_time
from facho.core.changes import decode_state
from facho.core.steps import COORDINATOR, SCHEDULER
from facho.engine.commands.acknowledgements import confirm_removal
from facho.engine.coordinate.forecast_learning import LEARNING
from facho.engine.coordinate.plan_progress import PLANS
from facho.engine.upkeep.retention import RETENTION
from facho.engine.upkeep.retention_holds import HOLD
from facho.engine.upkeep.schema import SCHEMA
from facho.web.admin.base import OltRowsAdmin, ReadOnlyAdmin, show_outcome
from facho.web.admin.columns import bytes_column, display, json_column, readable_json, word_column
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import choice_filter, recent_filter, word_filter
from facho.web.admin.row_links import olt_link
from facho.web.words.colours import LEVEL_COLOURS
from facho.web.words.events import EVENTS, log_message

GLOBAL = "GLOBAL"
_LOOPS = {
    SCHEDULER: _("scheduler"),
    COORDINATOR: _("coordinator"),
    LEARNING: _("durations learned"),
    RETENTION: _("removal of old rows"),
    HOLD: _("removal waiting for confirmation"),
    SCHEMA: _("version of the tables"),
    PLANS: _("plans"),
}


_SCOPE_FILTER = choice_filter(
    "scope",
    _("scope"),
    {
        "global": (GLOBAL, lambda logs: logs.filter(olt__isnull=True)),
        "olt": (_("one OLT"), lambda logs: logs.filter(olt__isnull=False)),
    },
)


@admin.register(CoordinatorLog)
class CoordinatorLogAdmin(OltRowsAdmin[CoordinatorLog]):
    list_display = ("time", "level_badge", "where", "event", "short_message")
    list_filter = (
        "level",
        word_filter("event_type", _("event"), EVENTS),
        recent_filter("timestamp", _("time")),
        _SCOPE_FILTER,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("message",)
    actions = (export_csv,)
    readonly_fields = ("time", "where", "event", "whole_message", "readable_details")
    fields = (("time", "level"), ("where", "event"), "whole_message", "readable_details")

    @display(description=_("time"), ordering="timestamp")
    def time(self, log: CoordinatorLog) -> str:
        return date_and_time(log.timestamp)

    @display(description=_("level"), ordering="level", label=LEVEL_COLOURS)
    def level_badge(self, log: CoordinatorLog) -> tuple[str, str]:
        return log.level, log.level

    @display(description=_("OLT"), ordering="olt__name")
    def where(self, log: CoordinatorLog) -> str:
        return olt_link(log.olt) if log.olt else GLOBAL

    event = word_column("event_type", _("event"), EVENTS)

    @display(description=_("message"))
    def short_message(self, log: CoordinatorLog) -> str:
        return Truncator(log_message(log)).chars(160)

    @display(description=_("message"))
    def whole_message(self, log: CoordinatorLog) -> str:
        return log_message(log)

    @display(description=_("details"))
    def readable_details(self, log: CoordinatorLog) -> str:
        return readable_json(log.details)


@admin.register(OltConfiguration)
class OltConfigurationAdmin(OltRowsAdmin[OltConfiguration]):
    list_display = ("changed_at", "olt", "short_fingerprint")
    list_filter = (recent_filter("changed_at", _("changed at")),)
    search_fields = ("olt__name", "fingerprint")
    ordering = ("olt__name",)
    readonly_fields = ("readable_state",)
    fields = ("olt", "fingerprint", "changed_at", "readable_state")

    @display(description="SHA-256")
    def short_fingerprint(self, configuration: OltConfiguration) -> str:
        return str(configuration)

    @display(description=_("state"))
    def readable_state(self, configuration: OltConfiguration) -> str:
        """Show the state with the names of its values; the state of another version as stored."""
        state = decode_state(configuration.state)
        if state is None:
            return readable_json(configuration.state)
        tasks = [task._asdict() for task in state.tasks]
        return readable_json({"device": state.device._asdict(), "tasks": tasks})


@admin.register(CoordinatorState)
class CoordinatorStateAdmin(ReadOnlyAdmin[CoordinatorState]):
    list_display = ("loop", "updated_at", "left")
    search_fields = ("name",)
    actions = ("confirm",)
    readonly_fields = ("loop", "readable_value")
    fields = (("loop", "updated_at"), "readable_value")

    def has_confirm_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "change")

    @admin.action(description=_("Remove the old rows, as shown"), permissions=["confirm"])
    def confirm(self, request: HttpRequest, chosen: QuerySet[CoordinatorState]) -> None:
        show_outcome(request, lambda: _confirm_removal(chosen, request.user.get_username()))

    loop = word_column("name", _("name"), _LOOPS)
    readable_value = json_column("value", _("value"))

    @display(description=_("value"))
    def left(self, state: CoordinatorState) -> str:
        """Show the value in one line."""
        return Truncator(", ".join(f"{name}: {value}" for name, value in state.value.items())).chars(80)


def _confirm_removal(chosen: QuerySet[CoordinatorState], by: str) -> str:
    key = chosen.filter(name=HOLD).values_list("id", flat=True).first()
    # The removal that was shown may be gone, and another one may wait.
    confirm_removal(0 if key is None else key, by, database_now())
    return gettext("The rows shown are being removed.")


@admin.register(StorageSample)
class StorageSampleAdmin(ReadOnlyAdmin[StorageSample]):
    list_display = ("at", "database", "free")
    list_filter = (recent_filter("at", _("time")),)
    readonly_fields = ("database", "free")
    fields = ("at", "database", "free")

    database = bytes_column("database_bytes", _("database"), ordering="database_bytes")
    free = bytes_column("free_bytes", _("free"), ordering="free_bytes")
