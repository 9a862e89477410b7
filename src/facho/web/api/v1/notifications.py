"""Notification channels, whose addresses are never shown, and notification rules."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db.models import Prefetch
from django.utils.translation import gettext
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import Language, NotificationChannel, NotificationRule
from facho.config import current
from facho.core.channel_services import FIELDS, Service
from facho.core.notifications import RULE_KINDS
from facho.engine.commands import notifications
from facho.engine.commands.channel_addresses import compose_address
from facho.engine.commands.input_checks import LONGEST_NAME
from facho.web.api.base import ReadOnlyRows, no_content
from facho.web.api.filters import Number
from facho.web.api.input import Given, RowNames, read_input

_NOTICES: Final = [each.value for each in RULE_KINDS]


def fields_of(service: Service) -> str:
    return ", ".join(field.name if field.required else f"[{field.name}]" for field in FIELDS[service])


class ChannelSerializer(serializers.ModelSerializer[NotificationChannel]):
    class Meta:
        model = NotificationChannel
        fields = ("id", "name", "language", "enabled", "created_at")
        read_only_fields = fields


class AddressGiven(Given):
    """An address, or a service and its values. Neither is ever shown."""

    url = serializers.CharField(
        max_length=2000, required=False, help_text="a web address or a URL of apprise; it is never shown"
    )
    service = serializers.ChoiceField([each.value for each in Service], required=False)
    values = serializers.DictField(
        child=serializers.CharField(max_length=2000, allow_blank=True),
        required=False,
        help_text="what the service needs: " + "; ".join(f"{each}: {fields_of(each)}" for each in Service),
    )
    language = serializers.ChoiceField(Language.choices, required=False, allow_blank=True)

    def validate(self, attrs: Any) -> Any:
        """Put the address that follows from a service and its values at `url`."""
        service, values = attrs.pop("service", None), attrs.pop("values", {})
        if service is not None and "url" not in attrs:
            attrs["url"] = compose_address(service, values)
        elif service is not None or values:
            raise ValidationError(
                {"service": [gettext("give either an address or a service with its values")]}
            )
        if "url" not in attrs and not self.partial:
            raise ValidationError({"url": [gettext("an address is needed, or a service with its values")]})
        return attrs


class TestGiven(AddressGiven):
    name = serializers.CharField(max_length=LONGEST_NAME, required=False)


class ChannelGiven(AddressGiven):
    name = serializers.CharField(max_length=LONGEST_NAME)
    enabled = serializers.BooleanField(required=False)


class NewChannelGiven(ChannelGiven):
    default_rule = serializers.BooleanField(
        required=False, help_text="also add a rule for important events, if there is no rule yet"
    )


class TriedSerializer(serializers.Serializer[Any]):
    sent = serializers.BooleanField()
    sentence = serializers.CharField()


class Channels(ReadOnlyRows[NotificationChannel]):
    about = "notifications.notificationchannel"
    rights: ClassVar = {"test": "test", "test_address": "add"}
    queryset = NotificationChannel.objects.defer("url")
    serializer_class = ChannelSerializer
    filterset_fields: ClassVar = ("name", "enabled")
    orderings: ClassVar = ("name", "id")

    @extend_schema(request=NewChannelGiven, responses={status.HTTP_201_CREATED: ChannelSerializer})
    def create(self, request: Request) -> Response:
        """Add a channel. Its address is stored encrypted and never shown."""
        made = notifications.add_channel(**read_input(NewChannelGiven, request))
        return self.show_created(request, made.pk)

    @extend_schema(request=ChannelGiven, responses=ChannelSerializer)
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields."""
        channel = self.get_object()
        given = read_input(ChannelGiven, request, partial=True)
        notifications.update_channel(channel.name, new_name=given.pop("name", None), **given)
        return self.show_row(channel.pk)

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Remove a channel. Refused while a rule has no other channel."""
        notifications.remove_channel(self.get_object().name)
        return no_content()

    @extend_schema(request=None, responses=TriedSerializer)
    @action(methods=["post"], detail=True)
    def test(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Send a test message and return the result."""
        tried = notifications.try_channel(self.get_object().name, database_now(), current())
        return Response({"sent": tried.sent, "sentence": tried.sentence})

    @extend_schema(
        operation_id="notification_channels_test_address", request=TestGiven, responses=TriedSerializer
    )
    @action(methods=["post"], detail=False, url_path="test", url_name="test-address")
    def test_address(self, request: Request) -> Response:
        """Send a test message to an address, store nothing, and return the result."""
        given = read_input(TestGiven, request)
        tried = notifications.try_address(given.pop("url"), database_now(), current(), **given)
        return Response({"sent": tried.sent, "sentence": tried.sentence})


class RuleSerializer(serializers.ModelSerializer[NotificationRule]):
    olt_name = serializers.CharField(source="olt.name", read_only=True, default=None, allow_null=True)
    notices = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = NotificationRule
        fields = (
            "id", "name", "enabled", "notices", "min_severity", "olt", "olt_name", "site", "silent_from",
            "silent_to", "no_repeat_s", "channels", "created_at",
        )  # fmt: skip
        read_only_fields = fields


class RuleGiven(Given):
    """A rule. Without notices it selects all, without an OLT or a site those of all OLTs."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    channels = RowNames(NotificationChannel, allow_empty=False)
    notices = serializers.ListField(child=serializers.ChoiceField(_NOTICES), required=False, max_length=50)
    min_severity = serializers.ChoiceField(ViolationSeverity.choices, required=False)
    olt = serializers.PrimaryKeyRelatedField(
        queryset=Olt.objects.defer("credentials"), required=False, allow_null=True
    )
    site = serializers.CharField(max_length=LONGEST_NAME, required=False, allow_blank=True)
    silent_from = serializers.TimeField(required=False, allow_null=True)
    silent_to = serializers.TimeField(required=False, allow_null=True)
    no_repeat_s = serializers.IntegerField(min_value=0, max_value=30 * 86_400, required=False)
    enabled = serializers.BooleanField(required=False)

    def validate(self, attrs: Any) -> Any:
        ends = [attrs.get("silent_from"), attrs.get("silent_to")]
        if ("silent_from" in attrs) != ("silent_to" in attrs) or (None in ends and ends != [None, None]):
            raise ValidationError({"silent_to": [gettext("silent hours need a start and an end")]})
        return attrs


class RuleFilter(filters.FilterSet):
    channel = Number("channels", help_text="rules of this channel")

    class Meta:
        model = NotificationRule
        fields = ("name", "olt", "site", "enabled")


class NotificationRules(ReadOnlyRows[NotificationRule]):
    about = "notifications.notificationrule"
    queryset = (
        NotificationRule.objects.select_related("olt")
        .defer("olt__credentials")
        .prefetch_related(Prefetch("channels", NotificationChannel.objects.defer("url")))
    )
    serializer_class = RuleSerializer
    filterset_class = RuleFilter
    orderings: ClassVar = ("name", "id")

    @extend_schema(request=RuleGiven, responses={status.HTTP_201_CREATED: RuleSerializer})
    def create(self, request: Request) -> Response:
        """Add a rule."""
        made = notifications.save_rule(None, _changes(read_input(RuleGiven, request)))
        return self.show_created(request, made.pk)

    @extend_schema(request=RuleGiven, responses=RuleSerializer)
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields."""
        rule = self.get_object()
        notifications.save_rule(rule.name, _changes(read_input(RuleGiven, request, partial=True)))
        return self.show_row(rule.pk)

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        notifications.remove_rule(self.get_object().name)
        return no_content()


def _changes(given: dict[str, Any]) -> notifications.RuleChanges:
    same = ("name", "channels", "notices", "min_severity", "site", "enabled")
    found: dict[str, Any] = {name: given[name] for name in same if name in given}
    if "olt" in given:
        found["olt"] = given["olt"].name if given["olt"] else ""
    if "silent_from" in given:
        silent = (given["silent_from"], given["silent_to"])
        found["silent"] = () if None in silent else silent
    if "no_repeat_s" in given:
        found["no_repeat"] = f"{given['no_repeat_s']}s" if given["no_repeat_s"] else "0"
    return notifications.RuleChanges(**found)
