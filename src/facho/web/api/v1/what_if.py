"""What-if: the effect of a change on each OLT, before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.engine.commands.what_if import Change, WhatIf, change_of
from facho.web.api.authentication import role_of_request
from facho.web.api.input import Given, Interval, RowNames, read_input
from facho.web.api.v1.job_input import JobGiven, new_job
from facho.web.what_if_limits import ask_what_if

PREVIEW: Final = OpenApiParameter(
    "preview", bool, description="answer with the effect on each OLT (status 200) and save nothing"
)


class AtRiskSerializer(serializers.Serializer[Any]):
    task_type = serializers.CharField()
    required = serializers.IntegerField()  # type: ignore[assignment]  # a field, and not what fields have
    completed = serializers.IntegerField()


class WouldFitSerializer(serializers.Serializer[Any]):
    job = serializers.CharField()
    interval = serializers.CharField()
    instead_of = serializers.CharField()


class OnOltSerializer(serializers.Serializer[Any]):
    olt = serializers.IntegerField()
    olt_name = serializers.CharField()
    minutes_before = serializers.FloatField(help_text="minutes of SNMP work per hour")
    minutes_before_p95 = serializers.FloatField()
    minutes_after = serializers.FloatField()
    minutes_after_p95 = serializers.FloatField()
    sure = serializers.BooleanField(help_text="all durations were measured on this OLT")
    becomes_impossible = serializers.BooleanField(help_text="fits now, and would not fit after the change")
    at_risk = AtRiskSerializer(many=True, help_text="quotas that could not be met")
    would_fit = WouldFitSerializer(allow_null=True)


class RepeatSerializer(serializers.Serializer[Any]):
    job = serializers.CharField()
    facts = serializers.ListField(child=serializers.CharField())
    olts = serializers.IntegerField(help_text="number of OLTs")


class WhatIfSerializer(serializers.Serializer[Any]):
    """The effect on each OLT, the worst first. Nothing was saved."""

    becomes_impossible = serializers.IntegerField(help_text="number of OLTs whose work would no longer fit")
    olts = OnOltSerializer(many=True)
    repeats = RepeatSerializer(many=True, help_text="jobs that already ask the same of the same OLTs")


class WhatIfGiven(Given):
    """A new job; or an existing job with additional OLTs or another interval."""

    new_job = JobGiven(required=False)
    job = serializers.PrimaryKeyRelatedField(queryset=SnmpJob.objects.all(), required=False)
    olts = RowNames(Olt, required=False)
    interval = Interval(required=False)

    def validate(self, attrs: Any) -> Any:
        if ("job" in attrs) == ("new_job" in attrs):
            raise ValidationError({"job": [_("give a job or a new job")]})
        if "job" in attrs and ("olts" in attrs) == ("interval" in attrs):
            raise ValidationError({"interval": [_("give additional OLTs or an interval")]})
        if "new_job" in attrs and len(attrs) > 1:
            raise ValidationError({"new_job": [_("a new job already includes its OLTs and its interval")]})
        return attrs


class WhatIfs(ViewSet):
    about = "snmp_jobs.snmpjob"
    # It changes nothing, so the right to view is enough.
    rights: ClassVar = {"create": "view"}

    @extend_schema(request=WhatIfGiven, responses={200: WhatIfSerializer})
    def create(self, request: Request) -> Response:
        """Return minutes of SNMP work per hour and the quotas that could not be met. Saves nothing."""
        given = read_input(WhatIfGiven, request)
        job = new_job(given["new_job"]) if "new_job" in given else given["job"].name
        return show_what_if(request, change_of(job, given.get("olts", ()), given.get("interval")))


def or_what_if(answer: type[serializers.Serializer[Any]]) -> PolymorphicProxySerializer:
    """Return the description of an answer that a preview replaces."""
    return PolymorphicProxySerializer(
        component_name=f"{answer.__name__.removesuffix('Serializer')}OrWhatIf",
        serializers=[answer, WhatIfSerializer],
        resource_type_field_name=None,
    )


def wants_preview(request: Request) -> bool:
    return request.query_params.get("preview", "false").lower() not in ("false", "0", "no")


def show_what_if(request: Request, change: Change) -> Response:
    found = ask_what_if(request.user, role_of_request(request), change)
    return _show_effects(found, [each.as_json() for each in change.repeats])


def _show_effects(found: Sequence[WhatIf], repeats: Sequence[dict[str, Any]]) -> Response:
    ids = dict(Olt.objects.filter(name__in=[each.olt for each in found]).values_list("name", "id"))
    rows = [{**each.as_json(), "olt": ids.get(each.olt), "olt_name": each.olt} for each in found]
    impossible = sum(each.becomes_impossible for each in found)
    answer = {"becomes_impossible": impossible, "olts": rows, "repeats": repeats}
    return Response(WhatIfSerializer(answer).data)
