"""The admin, with a module for each app. Django finds this package by its name."""

from facho.web.admin import (
    access,
    accounts,
    audit,
    chassis,
    coordinator,
    discovery,
    executions,
    forecasts,
    hosts,
    maintenance,
    notifications,
    plans,
    pollers,
    quick_lists,
    quotas,
    remote_write,
    snmp_jobs,
    traffic,
)

__all__ = [
    "access",
    "accounts",
    "audit",
    "chassis",
    "coordinator",
    "discovery",
    "executions",
    "forecasts",
    "hosts",
    "maintenance",
    "notifications",
    "plans",
    "pollers",
    "quotas",
    "remote_write",
    "snmp_jobs",
    "traffic",
]

quick_lists.connect()
