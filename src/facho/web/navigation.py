"""The sidebar: the dashboard for everybody, and the admin's lists for whoever may see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

Item = dict[str, Any]


def sidebar(request: HttpRequest) -> list[Item]:  # noqa: ARG001  unfold passes it
    return [
        {"items": [_link(_("Dashboard"), "monitoring", "dashboard")]},
        {
            "title": _("Network"),
            "items": [
                {**_link("OLTs", "router", "olts"), "permission": _may_see("hosts", "olt")},
                _page(_("Add an OLT"), "add_circle", "start", _may_add_olts),
                _list("ONUs", "lan", "discovery", "onu"),
                _page(_("Worst ONUs"), "trending_down", "worst-onus", _may_see("discovery", "onu")),
                _page(
                    _("Unprovisioned ONUs"),
                    "person_search",
                    "unprovisioned-onus",
                    _may_see("chassis", "unprovisioned"),
                ),
                _list(_("PON ports"), "settings_input_hdmi", "chassis", "ponport"),
                _list(_("ONU events"), "history", "discovery", "onuevent"),
                _list(_("port outages"), "power_off", "discovery", "portoutage"),
                _list(_("maintenance windows"), "build", "maintenance", "maintenancewindow"),
            ],
        },
        {
            "title": _("Collection"),
            "items": [
                _list(_("SNMP jobs"), "assignment", "snmp_jobs", "snmpjob"),
                _list(_("Nodes"), "hub", "snmp_jobs", "snmpjobhost"),
                _list(_("Executions"), "play_circle", "executions", "execution"),
            ],
        },
        {
            "title": _("Coordinator"),
            "items": [
                _list(_("quota violations"), "report", "execution_coordinator", "quotaviolation"),
                _list(_("quota trackers"), "rule", "execution_coordinator", "quotatracker"),
                _list(_("execution plans"), "event_note", "execution_coordinator", "executionplan"),
                _list(_("forecasts"), "timer", "execution_coordinator", "taskforecast"),
                _list(_("coordinator logs"), "article", "execution_coordinator", "coordinatorlog"),
            ],
        },
        {
            "title": _("Notifications"),
            "items": [
                _list(_("notification rules"), "notifications", "notifications", "notificationrule"),
                _list(_("notification channels"), "send", "notifications", "notificationchannel"),
                _list(_("notification deliveries"), "outbox", "notifications", "notificationdelivery"),
            ],
        },
        {
            "title": _("Catalogue"),
            "items": [
                _list(_("Brands"), "sell", "hosts", "brand"),
                _list(_("OLT models"), "category", "hosts", "oltmodel"),
                _list("OIDs", "data_object", "hosts", "oid"),
            ],
        },
        {
            "title": _("Access"),
            "items": [
                _list(_("Users"), "person", "auth", "user"),
                _list(_("Tokens"), "key", "access", "apitoken"),
                _list(_("audit log"), "policy", "access", "auditentry"),
                _list(_("Failed log-ins"), "lock", "access", "loginattempt"),
            ],
        },
        # What the system keeps for itself, and who looks after it wants to see now and then.
        {
            "title": _("System"),
            "items": [
                _list(_("Workers"), "dns", "zabbix_pollers", "worker"),
                _list(_("Pollers"), "memory", "zabbix_pollers", "poller"),
                _list(_("Poller statistics"), "bar_chart", "zabbix_pollers", "pollerstats"),
                _list(_("States of loops"), "sync", "execution_coordinator", "coordinatorstate"),
                _list(_("Sizes of the database"), "hard_drive", "execution_coordinator", "storagesample"),
                _list(_("Attempts"), "replay", "executions", "attempt"),
                _list(_("Skipped slots"), "event_busy", "executions", "skippedslots"),
                _list(_("totals of executions"), "functions", "executions", "executiontotals"),
                _list(_("OLT health"), "monitor_heart", "chassis", "olthealth"),
                _list(_("Last collected"), "event_available", "discovery", "collected"),
                _list(
                    _("configurations of OLTs"), "fingerprint", "execution_coordinator", "oltconfiguration"
                ),
                _list(_("notices"), "campaign", "notifications", "notificationnotice"),
            ],
        },
    ]


def _link(title: Any, icon: str, url: str) -> Item:
    return {"title": capfirst(title), "icon": icon, "link": reverse_lazy(url)}


def _page(title: Any, icon: str, url: str, may: Callable[[HttpRequest], bool]) -> Item:
    return {**_link(title, icon, url), "permission": may}


def _list(title: Any, icon: str, app: str, model: str) -> Item:
    return {**_link(title, icon, f"admin:{app}_{model}_changelist"), "permission": _may_see(app, model)}


def _may_add_olts(request: HttpRequest) -> bool:
    return request.user.has_perm("hosts.add_olt")


def _may_see(app: str, model: str) -> Callable[[HttpRequest], bool]:
    def may(request: HttpRequest) -> bool:
        return request.user.has_perm(f"{app}.view_{model}")

    return may
