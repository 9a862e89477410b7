from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from facho.apps.zabbix_pollers.models import Poller, PollerStats, PollerStatus, Worker
from facho.web.admin.base import ReadOnlyAdmin, display


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin[Worker]):
    list_display = ("name", "pollers", "started_at", "seen_at")
    search_fields = ("name",)


@admin.register(Poller)
class PollerAdmin(ReadOnlyAdmin[Poller]):
    list_display = (
        "worker",
        "poller_id",
        "status_badge",
        "current_node",
        "tasks_completed",
        "tasks_delayed",
        "heartbeat",
    )
    list_display_links = ("worker", "poller_id")
    list_filter = ("status",)
    search_fields = ("worker",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Poller]:
        nodes = super().get_queryset(request).select_related("current_node__job", "current_node__olt")
        return nodes.defer("current_node__olt__credentials")

    @display(
        description=_("status"),
        ordering="status",
        label={PollerStatus.FREE: "success", PollerStatus.BUSY: "info"},
    )
    def status_badge(self, poller: Poller) -> tuple[str, str]:
        return poller.status, poller.get_status_display()


@admin.register(PollerStats)
class PollerStatsAdmin(ReadOnlyAdmin[PollerStats]):
    list_display = (
        "timestamp",
        "total_pollers",
        "busy_pollers",
        "busy_percentage",
        "queue_size",
        "is_saturated",
        "total_tasks_completed",
        "total_tasks_delayed",
    )
    list_filter = ("is_saturated",)
    date_hierarchy = None
