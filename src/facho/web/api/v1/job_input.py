"""Jobs as they are written: what the API takes, and the commands' words for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers

from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.models import JobKind, SnmpJob
from facho.engine.commands.input_checks import LARGEST, LONGEST_NAME
from facho.engine.commands.jobs import JobChanges, NewJob
from facho.web.api.input import Given, Interval, RowNames

_MOST: Final = 200
_SAME: Final = (
    "name", "interval", "facts", "oids", "priority", "max_attempts", "retry_delay", "task_type", "enabled",
)  # fmt: skip


class JobChange(Given):
    """The brand and the kind make it the job that it is, and stay."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    interval = Interval()
    facts = serializers.ListField(
        child=serializers.CharField(max_length=60), required=False, max_length=_MOST,
        help_text="by name: serial, onu_rx_dbm, port.state; or optics, health, ports, autofind",
    )  # fmt: skip
    oids = serializers.ListField(
        child=serializers.CharField(max_length=300), required=False, max_length=_MOST,
        help_text="in numbers; one that is not known becomes a row of the OID table",
    )  # fmt: skip
    priority = serializers.IntegerField(min_value=1, max_value=100, required=False)
    max_attempts = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False)
    retry_delay = Interval(required=False)
    task_type = serializers.RegexField(
        r"^[A-Za-z0-9_.:-]{1,60}\Z", required=False, help_text="what its runs count as"
    )
    master = serializers.PrimaryKeyRelatedField(
        queryset=SnmpJob.objects.all(),
        required=False,
        allow_null=True,
        help_text="the job that it runs after",
    )
    enabled = serializers.BooleanField(required=False)


class JobGiven(JobChange):
    """What is left out is the setting, or follows from the rest."""

    brand = serializers.PrimaryKeyRelatedField(queryset=Brand.objects.all())
    kind = serializers.ChoiceField(JobKind.choices)
    olts = RowNames(Olt, required=False)


def new_job(given: Mapping[str, Any]) -> NewJob:
    names = ("kind", "olts", *_SAME)
    return NewJob(
        brand=given["brand"].name,
        master=_master(given) or "",
        **{name: given[name] for name in names if name in given},
    )


def job_changes(given: Mapping[str, Any]) -> JobChanges:
    return JobChanges(master=_master(given), **{name: given[name] for name in _SAME if name in given})


def _master(given: Mapping[str, Any]) -> str | None:
    """None when it was not given; nothing when it shall run on its own."""
    if "master" not in given:
        return None
    return given["master"].name if given["master"] else ""
