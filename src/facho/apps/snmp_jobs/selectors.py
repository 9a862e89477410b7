"""Reads of jobs and nodes."""

from __future__ import annotations

from django.db.models import QuerySet

from facho.apps.snmp_jobs.models import SnmpJobHost


def runnable() -> QuerySet[SnmpJobHost]:
    """Nodes that nobody has switched off, neither themselves nor their job nor their OLT."""
    return SnmpJobHost.objects.filter(enabled=True, job__enabled=True, olt__enabled=True)
