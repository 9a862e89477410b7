from __future__ import annotations

from django.contrib import admin

from facho.apps.maintenance.models import MaintenanceWindow
from facho.web.admin.base import FachoModelAdmin


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(FachoModelAdmin[MaintenanceWindow]):
    list_display = ("name", "olt", "site", "enabled")
    list_select_related = ("olt",)
    search_fields = ("name", "site", "olt__name")
    autocomplete_fields = ("olt",)
