"""What happened to ONUs."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import F
from django_filters import CharFilter
from rest_framework import serializers

from facho.apps.discovery.models import EventKind, OnuEvent
from facho.web.api.base import ReadOnlyRows
from facho.web.api.filters import OfOlt, OneOf


class EventSerializer(serializers.ModelSerializer[OnuEvent]):
    olt_name = serializers.CharField(read_only=True)

    class Meta:
        model = OnuEvent
        fields = ("id", "at", "kind", "olt", "olt_name", "onu", "serial", "place", "before", "cause")


class EventFilter(OfOlt):
    by_time = "at"
    only_with: ClassVar = {"cause": ("olt", "onu", "from")}
    kind = OneOf(EventKind.values)
    cause = CharFilter()

    class Meta:
        model = OnuEvent
        fields = ("onu",)


class Events(ReadOnlyRows[OnuEvent]):
    about = "discovery.onuevent"
    queryset = OnuEvent.objects.annotate(olt_name=F("olt__name"))
    serializer_class = EventSerializer
    filterset_class = EventFilter
    orderings: ClassVar = ("-at",)
