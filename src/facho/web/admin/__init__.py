"""The admin, one module for each app. Django finds it by the name of this package."""

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
    snmp_jobs,
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
    "snmp_jobs",
]

quick_lists.connect()
