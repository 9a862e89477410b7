from __future__ import annotations

from django.contrib import admin
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.remote_write.models import RemoteWriteCursor, RemoteWriteTotals
from facho.web.admin.base import OltFactsAdmin, ReadOnlyAdmin


@admin.register(RemoteWriteCursor)
class RemoteWriteCursorAdmin(OltFactsAdmin[RemoteWriteCursor]):
    list_display = ("olt", "sent_to", "states_sent_to", "due_at")
    list_display_links = ("olt",)
    list_filter = (("olt", AutocompleteSelectFilter),)
    search_fields = ("olt__name",)


@admin.register(RemoteWriteTotals)
class RemoteWriteTotalsAdmin(ReadOnlyAdmin[RemoteWriteTotals]):
    list_display = (
        "sent", "too_old", "refused", "unreadable", "last_success_at", "failing_since", "problem", "refusal",
    )  # fmt: skip
