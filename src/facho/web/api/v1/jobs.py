"""Jobs."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Count, QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.engine.commands import jobs
from facho.engine.commands.input_checks import LONGEST_NAME
from facho.engine.commands.what_if import change_of, change_of_job
from facho.web.api.base import ReadOnlyRows, ReplannedSerializer, no_content, show_replanned
from facho.web.api.input import Given, Interval, RowNames, read_input
from facho.web.api.v1.job_input import JobChange, JobGiven, job_changes, new_job
from facho.web.api.v1.what_if import PREVIEW, WhatIfSerializer, or_what_if, show_what_if, wants_preview


class JobSerializer(serializers.ModelSerializer[SnmpJob]):
    brand_name = serializers.CharField(source="brand.name", read_only=True)
    master_name = serializers.CharField(source="master.name", read_only=True, default=None, allow_null=True)
    interval = Interval(source="interval_s", read_only=True)
    retry_delay = Interval(source="retry_delay_s", read_only=True)
    facts = serializers.ListField(child=serializers.CharField(), read_only=True)
    oids = serializers.SlugRelatedField[Any](slug_field="oid", many=True, read_only=True)
    site = serializers.CharField(source="target_site", read_only=True, help_text="of the target `site`")
    olt_count = serializers.IntegerField(read_only=True, help_text="number of OLTs; nodes/ lists them")

    class Meta:
        model = SnmpJob
        fields = (
            "id", "name", "brand", "brand_name", "kind", "facts", "oids", "interval", "interval_s",
            "priority", "max_attempts", "retry_delay", "retry_delay_s", "task_type", "master", "master_name",
            "target", "site", "enabled", "olt_count", "created_at",
        )  # fmt: skip
        read_only_fields = fields


class JobFilter(filters.FilterSet):
    search = filters.CharFilter("name", "icontains", help_text="part of the name")
    olt = filters.ModelChoiceFilter(
        queryset=Olt.objects.defer("credentials"), field_name="nodes__olt", help_text="jobs of this OLT"
    )

    class Meta:
        model = SnmpJob
        fields = ("name", "brand", "kind", "task_type", "master", "target", "enabled")


class OltsGiven(Given):
    olts = RowNames(Olt, allow_empty=False)


class CopyGiven(Given):
    name = serializers.CharField(max_length=LONGEST_NAME)


class Jobs(ReadOnlyRows[SnmpJob]):
    about = "snmp_jobs.snmpjob"
    rights: ClassVar = {
        "enable": "enable",
        "disable": "enable",
        "duplicate": "add",
        "attach": "change",
        "detach": "change",
    }
    queryset = SnmpJob.objects.select_related("brand", "master").prefetch_related("oids")
    serializer_class = JobSerializer
    filterset_class = JobFilter
    orderings: ClassVar = ("name", "id", "interval_s", "priority", "created_at")

    def get_queryset(self) -> QuerySet[SnmpJob]:
        return super().get_queryset().annotate(olt_count=Count("nodes"))

    @extend_schema(
        request=JobGiven,
        parameters=[PREVIEW],
        responses={status.HTTP_201_CREATED: JobSerializer, status.HTTP_200_OK: WhatIfSerializer},
    )
    def create(self, request: Request) -> Response:
        """Add a job and attach it to OLTs. It first runs in a minute, then at every interval."""
        new = new_job(read_input(JobGiven, request))
        if wants_preview(request):
            return show_what_if(request, change_of(new, (), None))
        return self.show_created(request, jobs.create_job(new, database_now()).pk)

    @extend_schema(
        request=JobChange,
        parameters=[PREVIEW],
        responses={status.HTTP_200_OK: or_what_if(JobSerializer)},
    )
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields. With a new interval the next run is one interval from now."""
        job = self.get_object()
        changes = job_changes(read_input(JobChange, request, partial=True))
        if wants_preview(request):
            return show_what_if(request, change_of_job(job, changes))
        jobs.update_job(job.name, changes, database_now())
        return self.show_row(job.pk)

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Delete a job with its nodes and executions. Refused while it runs: abort it first."""
        jobs.remove_job(self.get_object().name, database_now())
        return no_content()

    @extend_schema(request=None, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def enable(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Enable a job: it runs after one full interval. Its suspended nodes are resumed."""
        return show_replanned(jobs.enable_jobs([self.get_object().name], database_now()))

    @extend_schema(request=None, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def disable(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Disable it. Running executions finish and count."""
        return show_replanned(jobs.disable_jobs([self.get_object().name], database_now()))

    @extend_schema(request=CopyGiven, responses={status.HTTP_201_CREATED: JobSerializer})
    @action(methods=["post"], detail=True)
    def duplicate(self, request: Request, **_: Any) -> Response:
        """Copy a job under another name. The copy is attached to no OLT."""
        copy = jobs.duplicate_job(self.get_object().name, read_input(CopyGiven, request)["name"])
        return self.show_created(request, copy.pk)

    @extend_schema(request=OltsGiven, parameters=[PREVIEW], responses=or_what_if(ReplannedSerializer))
    @action(methods=["post"], detail=True)
    def attach(self, request: Request, **_: Any) -> Response:
        """Attach a job to OLTs. Nodes that exist already keep their slots."""
        job, names = self.get_object().name, read_input(OltsGiven, request)["olts"]
        if wants_preview(request):
            return show_what_if(request, change_of(job, names, None))
        return show_replanned(jobs.attach(job, names, database_now()))

    @extend_schema(request=OltsGiven, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def detach(self, request: Request, **_: Any) -> Response:
        """Detach a job from OLTs and delete its executions there. Refused while it runs on one of them."""
        job, names = self.get_object().name, read_input(OltsGiven, request)["olts"]
        return show_replanned(jobs.detach(job, names, database_now()))
