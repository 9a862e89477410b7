from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from facho.apps.zabbix_pollers.models import Poller, PollerStats, PollerStatus, Worker
from facho.config import current
from facho.core.durations import about
from facho.core.pool import is_alive
from facho.web.admin.base import ReadOnlyAdmin
from facho.web.admin.columns import choice_badge, display
from facho.web.admin.filters import recent_filter


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin[Worker]):
    list_display = ("name", "alive", "pollers", "queues", "started_at", "seen_at")
    search_fields = ("name",)
    readonly_fields = ("alive",)
    fields = (("name", "alive"), ("pollers", "queues"), ("started_at", "seen_at"))

    @display(description=_("state"), ordering="seen_at", label={True: "success", False: "danger"})
    def alive(self, worker: Worker) -> tuple[bool, Any]:
        living = is_alive(worker.seen_at, timezone.now(), within=current().worker_seen_within)
        return living, _("active") if living else _("disconnected")


@admin.register(Poller)
class PollerAdmin(ReadOnlyAdmin[Poller]):
    list_display = (
        "worker",
        "poller_id",
        "status_badge",
        "current_node",
        "busy",
        "tasks_completed",
        "tasks_delayed",
        "heartbeat",
    )
    list_display_links = ("worker", "poller_id")
    list_filter = ("status",)
    search_fields = ("worker",)
    readonly_fields = ("status_badge", "busy", "busy_for", "known_for")
    fields = (
        ("worker", "poller_id"),
        ("status_badge", "current_node"),
        ("busy", "busy_for", "known_for"),
        ("tasks_completed", "tasks_delayed"),
        "heartbeat",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Poller]:
        nodes = super().get_queryset(request).select_related("current_node__job", "current_node__olt")
        return nodes.defer("current_node__olt__credentials")

    status_badge = choice_badge(
        "status", _("status"), {PollerStatus.FREE: "success", PollerStatus.BUSY: "info"}
    )

    @display(description=_("busy"))
    def busy(self, poller: Poller) -> str:
        return f"{100 * poller.busy_time / poller.total_time:.0f} %" if poller.total_time else ""

    @display(description=_("busy time"))
    def busy_for(self, poller: Poller) -> str:
        return about(timedelta(seconds=poller.busy_time))

    @display(description=_("total time"))
    def known_for(self, poller: Poller) -> str:
        return about(timedelta(seconds=poller.total_time))


@admin.register(PollerStats)
class PollerStatsAdmin(ReadOnlyAdmin[PollerStats]):
    list_display = (
        "timestamp",
        "total_pollers",
        "busy_pollers",
        "busy_percentage",
        "queue_size",
        "saturation",
        "total_tasks_completed",
        "total_tasks_delayed",
    )
    list_filter = (recent_filter("timestamp", _("time")), "is_saturated")

    @display(description=_("saturated"), ordering="is_saturated", label={True: "danger", False: "default"})
    def saturation(self, stats: PollerStats) -> tuple[bool, Any]:
        return stats.is_saturated, _("yes") if stats.is_saturated else _("no")
