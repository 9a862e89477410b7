"""The entries of the sidebar."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from django.http import HttpRequest
from django.urls import get_script_prefix, reverse_lazy
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

Item = dict[str, Any]


class Entry(NamedTuple):
    title: Any
    icon: str
    # A model, for its list in the admin, or the name of a URL.
    where: str
    # The permission that shows the entry; by default, to view the model.
    right: str = ""


class Group(NamedTuple):
    title: Any
    entries: tuple[Entry, ...]
    # Collapsed unless one of its pages is open.
    is_collapsed: bool = False


GROUPS: Final = (
    Group(
        "",
        (
            Entry(_("Dashboard"), "monitoring", "dashboard"),
            Entry(_("Wall screen"), "tv", "wall"),
            Entry(_("Add an OLT"), "add_circle", "start", "hosts.add_olt"),
        ),
    ),
    Group(
        pgettext_lazy("sidebar", "Monitor"),
        (
            Entry("OLTs", "router", "olts", "hosts.view_olt"),
            Entry("ONUs", "lan", "discovery.onu"),
            Entry(_("Worst ONUs"), "trending_down", "worst-onus", "discovery.view_onu"),
            Entry(
                _("Unprovisioned ONUs"), "person_search", "unprovisioned-onus", "chassis.view_unprovisioned"
            ),
            Entry(_("Traffic"), "swap_vert", "traffic", "discovery.view_onu"),
            Entry(_("Versions"), "deployed_code", "versions", "discovery.view_onu"),
            Entry(_("PON ports"), "settings_input_hdmi", "chassis.ponport"),
            Entry(_("uplinks"), "lan", "chassis.uplink"),
            Entry(_("port outages"), "power_off", "discovery.portoutage"),
            Entry(_("ONU events"), "history", "discovery.onuevent"),
        ),
    ),
    Group(
        _("Collection"),
        (
            Entry(_("Executions"), "play_circle", "executions.execution"),
            Entry(_("quota violations"), "report", "execution_coordinator.quotaviolation"),
            Entry(_("quota trackers"), "rule", "execution_coordinator.quotatracker"),
            Entry(_("Next 60 minutes"), "event_note", "plans", "execution_coordinator.view_executionplan"),
            Entry(_("forecasts"), "timer", "execution_coordinator.taskforecast"),
            Entry(_("coordinator logs"), "article", "execution_coordinator.coordinatorlog"),
        ),
    ),
    Group(
        pgettext_lazy("sidebar", "Configuration"),
        (
            Entry(_("OLT settings"), "tune", "hosts.olt"),
            Entry(_("SNMP jobs"), "assignment", "snmp_jobs.snmpjob"),
            Entry(_("Nodes"), "hub", "snmp_jobs.snmpjobhost"),
            Entry(_("maintenance windows"), "build", "maintenance.maintenancewindow"),
            Entry(_("notification rules"), "notifications", "notifications.notificationrule"),
            Entry(_("notification channels"), "send", "notifications.notificationchannel"),
            Entry(_("notification deliveries"), "outbox", "notifications.notificationdelivery"),
        ),
        is_collapsed=True,
    ),
    Group(
        _("Catalogue"),
        (
            Entry(_("Brands"), "sell", "hosts.brand"),
            Entry(_("OLT models"), "category", "hosts.oltmodel"),
            Entry("OIDs", "data_object", "hosts.oid"),
        ),
        is_collapsed=True,
    ),
    Group(
        _("Access"),
        (
            Entry(_("Users"), "person", "auth.user"),
            Entry(_("Tokens"), "key", "access.apitoken"),
            Entry(_("audit log"), "policy", "access.auditentry"),
            Entry(_("Failed log-ins"), "lock", "access.loginattempt"),
            Entry(_("Known addresses"), "home_pin", "access.loginaddress"),
        ),
        is_collapsed=True,
    ),
    Group(
        _("System"),
        (
            Entry(_("Workers"), "dns", "zabbix_pollers.worker"),
            Entry(_("Pollers"), "memory", "zabbix_pollers.poller"),
            Entry(_("Poller statistics"), "bar_chart", "zabbix_pollers.pollerstats"),
            Entry(_("Scheduler and coordinator"), "sync", "execution_coordinator.coordinatorstate"),
            Entry(_("Database size"), "hard_drive", "execution_coordinator.storagesample"),
            Entry(_("execution plans"), "calendar_month", "execution_coordinator.executionplan"),
            Entry(_("Attempts"), "replay", "executions.attempt"),
            Entry(_("Skipped slots"), "event_busy", "executions.skippedslots"),
            Entry(_("totals of executions"), "functions", "executions.executiontotals"),
            Entry(_("OLT health"), "monitor_heart", "chassis.olthealth"),
            Entry(_("Last collected"), "event_available", "discovery.collected"),
            Entry(_("clocks of OLTs"), "schedule", "discovery.clockstate"),
            Entry(_("ONUs by version"), "deployed_code", "discovery.versioncount"),
            Entry(_("traffic of OLTs"), "swap_vert", "traffic.olttraffic"),
            Entry(_("positions of remote write"), "upload", "remote_write.remotewritecursor"),
            Entry(_("totals of remote write"), "functions", "remote_write.remotewritetotals"),
            Entry(_("Unreadable rows"), "rule", "discovery.unreadablerows"),
            Entry(_("configurations of OLTs"), "fingerprint", "execution_coordinator.oltconfiguration"),
            Entry(_("notices"), "campaign", "notifications.notificationnotice"),
        ),
        is_collapsed=True,
    ),
)


def sidebar(request: HttpRequest) -> list[Item]:  # noqa: ARG001  unfold passes it
    return [
        {
            "title": group.title,
            "collapsible": group.is_collapsed,
            "items": [_item(entry) for entry in group.entries],
        }
        for group in GROUPS
    ]


def account_links(request: HttpRequest) -> list[Item]:
    """Return the links of the menu of the user."""
    links = [{"title": _("Preferences"), "link": reverse_lazy("preferences")}]
    if request.user.is_authenticated and request.user.has_usable_password():
        links.append({"title": _("Change password"), "link": reverse_lazy("admin:password_change")})
    return links


def links_in(path: str) -> tuple[str, ...]:
    """Return the links of the sidebar that a path begins with: they are marked as those of the open page."""
    return tuple(link for link in _links(get_script_prefix()) if path.startswith(link))


@lru_cache(maxsize=4)
def _links(_prefix: str) -> tuple[str, ...]:
    return tuple(str(_item(entry)["link"]) for group in GROUPS for entry in group.entries)


def _item(entry: Entry) -> Item:
    app, is_model, model = entry.where.partition(".")
    url = f"admin:{app}_{model}_changelist" if is_model else entry.where
    link = reverse_lazy(url)
    item = {"title": capfirst(entry.title), "icon": entry.icon, "link": link, "active": _is_open(link)}
    right = entry.right or (f"{app}.view_{model}" if is_model else "")
    return {**item, "permission": _may(right)} if right else item


def _is_open(link: Any) -> Callable[[HttpRequest], bool]:
    """Unfold would also mark a link in the middle of the path: that to all traffic on the tab of an OLT."""

    def is_open(request: HttpRequest) -> bool:
        return request.path.startswith(str(link))

    return is_open


def _may(right: str) -> Callable[[HttpRequest], bool]:
    def may(request: HttpRequest) -> bool:
        return request.user.has_perm(right)

    return may
