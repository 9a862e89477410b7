"""The OID table. Rows of profiles are read-only; operators add their own."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db.models import Q, QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.hosts.models import Brand, Oid, OltModel
from facho.engine.commands import oids
from facho.engine.commands.input_checks import LONGEST_NAME
from facho.vendors import Entity
from facho.web.api.base import ReadOnlyRows, no_content
from facho.web.api.filters import Filters, TrueOrFalse
from facho.web.api.input import Given, errors_at, read_input
from facho.web.api.v1.olt_input import model_name

_FIELDS: Final = {"read_as": "profile_oid"}
_SAME_NAMES: Final = ("name", "oid", "entity", "provides")
_LONGEST_OID: Final = 300


class OidSerializer(serializers.ModelSerializer[Oid]):
    brand_name = serializers.CharField(source="brand.name", read_only=True)
    model_name = serializers.CharField(source="model.name", read_only=True, default=None, allow_null=True)
    from_profile = serializers.SerializerMethodField()

    class Meta:
        model = Oid
        fields = (
            "id", "name", "oid", "brand", "brand_name", "model", "model_name", "entity", "provides",
            "profile_oid", "from_profile",
        )  # fmt: skip
        read_only_fields = fields

    def get_from_profile(self, row: Oid) -> bool:
        return bool(row.synced)


class OidGiven(Given):
    """An operator's own OID, of a brand or one of its models."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    oid = serializers.CharField(max_length=_LONGEST_OID, help_text="numbers and dots")
    brand = serializers.PrimaryKeyRelatedField(queryset=Brand.objects.all())
    model = serializers.PrimaryKeyRelatedField(
        queryset=OltModel.objects.select_related("brand"), required=False, allow_null=True
    )
    entity = serializers.ChoiceField(list(Entity), required=False, allow_blank=True)
    provides = serializers.CharField(
        max_length=40, required=False, allow_blank=True, help_text="a fact, such as `serial`"
    )
    profile_oid = serializers.CharField(
        max_length=_LONGEST_OID,
        required=False,
        allow_blank=True,
        help_text="the column of the brand's profile whose decoding is used",
    )


class OidFilter(Filters):
    oid = filters.CharFilter(method="is_under", help_text="this OID and all below it")
    from_profile = TrueOrFalse(method="is_from_profile")

    class Meta:
        model = Oid
        fields = ("brand", "model", "name", "entity", "provides")

    def is_under(self, rows: QuerySet[Oid], _name: str, oid: str) -> QuerySet[Oid]:
        top = oid.strip(".")
        return rows.filter(Q(oid=top) | Q(oid__startswith=f"{top}."))

    def is_from_profile(self, rows: QuerySet[Oid], _name: str, wanted: bool) -> QuerySet[Oid]:
        return rows.exclude(synced={}) if wanted else rows.filter(synced={})


class Oids(ReadOnlyRows[Oid]):
    about = "hosts.oid"
    queryset = Oid.objects.select_related("brand", "model")
    serializer_class = OidSerializer
    filterset_class = OidFilter
    orderings: ClassVar = ("name", "id", "oid")

    @extend_schema(request=OidGiven, responses={status.HTTP_201_CREATED: OidSerializer})
    def create(self, request: Request) -> Response:
        """Add an OID, which jobs of its brand can ask for."""
        with errors_at(_FIELDS):
            row = oids.add_oid(oids.NewOid(**_command_fields(read_input(OidGiven, request), None)))
        return self.show_created(request, row.pk)

    @extend_schema(request=OidGiven, responses=OidSerializer)
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields. Refused for an OID of a profile."""
        row = self.get_object()
        with errors_at(_FIELDS):
            named = _command_fields(read_input(OidGiven, request, partial=True), row.brand)
            oids.change_oid(row.pk, named)
        return self.show_row(row.pk)

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Remove an OID. Refused for one of a profile, and for one that a job uses."""
        oids.remove_oid(self.get_object().pk)
        return no_content()


def _command_fields(given: dict[str, Any], brand: Brand | None) -> dict[str, Any]:
    """Return the input with brands and models by name, as commands take it."""
    same: dict[str, Any] = {name: given[name] for name in _SAME_NAMES if name in given}
    if "brand" in given:
        same["brand"] = given["brand"].name
    if (model := model_name(given, given.get("brand", brand))) is not None:
        same["model"] = model
    if "profile_oid" in given:
        same["read_as"] = given["profile_oid"]
    return same
