"""Input of jobs, and its translation for the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers

from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.models import JobKind, JobTarget, SnmpJob
from facho.engine.commands.input_checks import LARGEST, LONGEST_NAME
from facho.engine.commands.jobs import JobChanges, NewJob
from facho.web.api.input import Given, Interval, RowNames

_MOST: Final = 200
_SAME_NAMES: Final = (
    "name", "interval", "facts", "oids", "priority", "max_attempts", "retry_delay", "task_type", "enabled",
    "target", "site",
)  # fmt: skip


class JobChange(Given):
    """Changes of a job. The brand and the kind cannot change."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    interval = Interval()
    facts = serializers.ListField(
        child=serializers.CharField(max_length=60), required=False, max_length=_MOST,
        help_text="names of facts: serial, onu_rx_dbm, port.state; or optics, health, ports, autofind",
    )  # fmt: skip
    oids = serializers.ListField(
        child=serializers.CharField(max_length=300), required=False, max_length=_MOST,
        help_text="numeric; an unknown one is added to the OID table",
    )  # fmt: skip
    priority = serializers.IntegerField(min_value=1, max_value=100, required=False)
    max_attempts = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False)
    retry_delay = Interval(required=False)
    task_type = serializers.RegexField(
        r"^[A-Za-z0-9_.:-]{1,60}\Z", required=False, help_text="the type that its runs count as"
    )
    master = serializers.PrimaryKeyRelatedField(
        queryset=SnmpJob.objects.all(),
        required=False,
        allow_null=True,
        help_text="the job that it runs after",
    )
    enabled = serializers.BooleanField(required=False)
    target = serializers.ChoiceField(
        JobTarget.choices, required=False,
        help_text="the OLTs that it is for, also those added later; a selection has those of `olts` alone",
    )  # fmt: skip
    site = serializers.CharField(max_length=80, required=False, help_text="of the target `site`")


class JobGiven(JobChange):
    """A job to add. What is left out is the setting, or follows from the rest."""

    brand = serializers.PrimaryKeyRelatedField(
        queryset=Brand.objects.all(), required=False, allow_null=True, help_text="left out: any brand"
    )
    kind = serializers.ChoiceField(JobKind.choices)
    olts = RowNames(Olt, required=False)


def new_job(given: Mapping[str, Any]) -> NewJob:
    names = ("kind", "olts", *_SAME_NAMES)
    return NewJob(
        brand=given["brand"].name if given.get("brand") else "",
        master=_master_name(given) or "",
        **{name: given[name] for name in names if name in given},
    )


def job_changes(given: Mapping[str, Any]) -> JobChanges:
    return JobChanges(
        master=_master_name(given), **{name: given[name] for name in _SAME_NAMES if name in given}
    )


def _master_name(given: Mapping[str, Any]) -> str | None:
    """Return the name of the master; None if it was not given, "" to run on its own."""
    if "master" not in given:
        return None
    return given["master"].name if given["master"] else ""
