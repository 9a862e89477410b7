from __future__ import annotations

from django.contrib import admin

from facho.apps.execution_coordinator.models import CoordinatorState, StorageSample
from facho.web.admin.base import ReadOnlyAdmin


@admin.register(CoordinatorState)
class CoordinatorStateAdmin(ReadOnlyAdmin[CoordinatorState]):
    list_display = ("name", "updated_at", "value")
    search_fields = ("name",)


@admin.register(StorageSample)
class StorageSampleAdmin(ReadOnlyAdmin[StorageSample]):
    list_display = ("at", "database_bytes", "free_bytes")
