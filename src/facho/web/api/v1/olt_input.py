"""Input of OLTs, and its translation for the commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.utils.translation import gettext
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from facho.apps.hosts.models import Brand, Olt, OltModel, SnmpVersion
from facho.engine.commands.credentials import CredentialFields, build_credentials
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import LARGEST, LONGEST_NAME
from facho.engine.commands.olts import AUTO, LIMITS, NewOlt, OltChanges, OltLimits
from facho.snmp.usm import Auth, Priv
from facho.web.api.input import Given

# Fields of the API by the fields of the commands.
FIELDS: Final[Mapping[str, str]] = {
    "version": "snmp_version",
    "community": "credentials.community",
    "user": "credentials.user",
}


def _secret_field(longest: int = 255) -> serializers.CharField:
    return serializers.CharField(required=False, trim_whitespace=False, max_length=longest)


class CredentialsGiven(Given):
    """A community, or an SNMPv3 user. Never shown; they replace all stored credentials."""

    community = _secret_field()
    user = _secret_field(32)
    auth = serializers.ChoiceField([each.label for each in Auth], required=False)
    auth_password = _secret_field()
    priv = serializers.ChoiceField([each.label for each in Priv], required=False)
    priv_password = _secret_field()
    # A field, although serializers have an attribute of this name.
    context = _secret_field()  # type: ignore[assignment]

    def validate(self, attrs: Any) -> Any:
        if "community" in attrs and len(attrs) > 1:
            raise ValidationError({"community": [gettext("give a community or a user, not both")]})
        version = SnmpVersion.V2C if "community" in attrs else SnmpVersion.V3
        try:
            return build_credentials(version, CredentialFields(**attrs))
        except CommandError as refused:
            raise ValidationError({refused.field: [refused.message]}) from None


class OltGiven(Given):
    """An OLT. Without a brand it is asked what it is; with one it is saved without a test."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    address = serializers.CharField(max_length=253, help_text="IPv4, IPv6 or a host name")
    port = serializers.IntegerField(min_value=1, max_value=65_535, required=False)
    snmp_version = serializers.ChoiceField(SnmpVersion.choices, required=False)
    credentials = CredentialsGiven(required=False)
    brand = serializers.PrimaryKeyRelatedField(queryset=Brand.objects.all(), required=False)
    model = serializers.PrimaryKeyRelatedField(
        queryset=OltModel.objects.select_related("brand"), required=False, allow_null=True
    )
    site = serializers.CharField(max_length=LONGEST_NAME, required=False, allow_blank=True)
    enabled = serializers.BooleanField(required=False)
    max_in_flight = serializers.IntegerField(
        min_value=1, max_value=LARGEST, required=False, allow_null=True, help_text="null: the setting"
    )
    max_varbinds = serializers.IntegerField(
        min_value=1, max_value=LARGEST, required=False, allow_null=True, help_text="null: the setting"
    )
    max_requests_per_second = serializers.FloatField(
        min_value=0.1, max_value=LARGEST, required=False, allow_null=True, help_text="null: no limit"
    )
    shortest_interval_s = serializers.IntegerField(
        min_value=1, max_value=366 * 86_400, required=False, allow_null=True
    )


def new_olt(given: Mapping[str, Any]) -> NewOlt:
    new = NewOlt(
        given["name"],
        given["address"],
        brand=given["brand"].name if "brand" in given else AUTO,
        **{name: given[name] for name in ("port", "site", "enabled", "credentials") if name in given},
    )
    limits = OltLimits(**{limit: given[limit] for limit in LIMITS if limit in given})
    return replace(
        new,
        limits=limits,
        version=given.get("snmp_version", new.version),
        model=model_name(given, given.get("brand")),
    )


def olt_changes(olt: Olt, given: Mapping[str, Any]) -> OltChanges:
    """Return the given changes. The command takes all limits together."""
    names = ("name", "address", "port", "site", "credentials", "enabled")
    same = {name: given[name] for name in names if name in given}
    limits = None
    if any(limit in given for limit in LIMITS):
        limits = OltLimits(**{limit: given.get(limit, getattr(olt, limit)) for limit in LIMITS})
    return OltChanges(
        **same,
        version=given.get("snmp_version"),
        brand=given["brand"].name if "brand" in given else None,
        limits=limits,
        model=model_name(given, given.get("brand", olt.brand)),
    )


def model_name(given: Mapping[str, Any], brand: Brand | None) -> str | None:
    """Return the name of the model; None if it was not given, "" to remove it."""
    if "model" not in given:
        return None
    model = given["model"]
    if model is None:
        return ""
    if brand is None or model.brand_id != brand.pk:
        raise CommandError("model", gettext("This model belongs to another brand."))
    return str(model.name)
