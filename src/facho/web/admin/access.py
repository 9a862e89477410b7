"""Tokens: who has which, and until when."""

from __future__ import annotations

from django.contrib import admin

from facho.apps.access.models import ApiToken
from facho.web.admin.base import ReadOnlyAdmin


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin[ApiToken]):
    list_display = ("name", "owner", "role", "begins", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username")
