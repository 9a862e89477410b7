"""The audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rest_framework import serializers

from facho.apps.access.models import AuditEntry
from facho.web.api.base import ReadOnlyRows
from facho.web.api.filters import Filters, Moment, Number


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    class Meta:
        model = AuditEntry
        fields = (
            "id", "at", "who", "how", "address", "token", "action", "model", "object_id", "name", "changes",
        )  # fmt: skip


_NARROW = ("who", "model", "since")


class AuditFilter(Filters):
    only_with: ClassVar = {
        **dict.fromkeys(("how", "address", "token", "action", "name"), _NARROW),
        "object_id": ("model",),
    }

    @classmethod
    def times(cls) -> tuple[str, Sequence[str]]:
        return "at", ("since", "until")

    object_id = Number()
    since = Moment("at", "gte")
    until = Moment("at", "lt")

    class Meta:
        model = AuditEntry
        fields = ("who", "how", "address", "token", "action", "model", "name")


class Audit(ReadOnlyRows[AuditEntry]):
    about = "access.auditentry"
    queryset = AuditEntry.objects.all()
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilter
    orderings: ClassVar = ("-id",)
