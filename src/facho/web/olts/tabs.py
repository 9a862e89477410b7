"""The tabs of the page of an OLT, each with an address of its own."""

from __future__ import annotations

from django.db.models import TextChoices
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Tab(TextChoices):
    """The name in the address, and the one that people read."""

    OVERVIEW = "overview", _("Overview")
    PORTS = "ports", _("ONUs and ports")
    HARDWARE = "hardware", _("Hardware")
    COLLECTION = "collection", _("Collection")
    LOAD = "load", pgettext_lazy("tab", "Load")
    EVENTS = "events", _("Events")


class TabConverter:
    """The name of a tab in a route: `<olt_tab:tab>`."""

    regex = "|".join(Tab.values)

    def to_python(self, value: str) -> Tab:
        return Tab(value)

    def to_url(self, tab: Tab | str) -> str:
        return Tab(tab).value


def tab_url(olt_id: int, tab: Tab) -> str:
    """Return the address of a tab. The overview is at the address of the OLT itself."""
    return reverse("olt", args=[olt_id]) if tab is Tab.OVERVIEW else reverse("olt-tab", args=[olt_id, tab])


def parse_tab(name: str, default: Tab) -> Tab:
    return Tab(name) if name in Tab.values else default
