"""SNMP targets of OLTs: address, credentials and limits from their rows and the settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from facho.apps.hosts.models import Olt, SnmpVersion
from facho.config import Config
from facho.core.request_rules import RequestPace, request_pace
from facho.snmp import Limits, Target, Version
from facho.snmp.pacing import Learned

SNMP_VERSIONS = {SnmpVersion.V1: Version.V1, SnmpVersion.V2C: Version.V2C, SnmpVersion.V3: Version.V3}


def target_of(olt: Olt, config: Config) -> Target:
    limits = Limits(
        olt.max_in_flight or config.requests_in_flight,
        olt.max_varbinds or config.walk_repetitions,
        olt.max_requests_per_second,
    )
    return Target(
        olt.address,
        olt.credentials.community,
        olt.port,
        SNMP_VERSIONS[SnmpVersion(olt.snmp_version)],
        config.request_timeout.total_seconds(),
        config.request_retries,
        limits=limits,
        user=olt.credentials.user,
        most_rows=config.walk_rows,
        most_octets=config.answer_octets,
    )


def varbinds_of(olt: Olt, config: Config) -> int:
    """Return the most values of one GET."""
    return min(olt.max_varbinds or config.varbinds, config.varbinds)


def learned_of(olt: Olt) -> Learned | None:
    found: dict[str, Any] = olt.learned
    if "varbinds" not in found:
        return None
    return Learned(found["varbinds"], found["in_flight"], found.get("most_varbinds"))


def learned_json(learned: Learned) -> dict[str, int | None]:
    return {
        "varbinds": learned.varbinds,
        "in_flight": learned.in_flight,
        "most_varbinds": learned.most_varbinds,
    }


def request_pace_of(
    cpu_pct: float | None, read_at: datetime | None, now: datetime, config: Config
) -> RequestPace:
    return request_pace(
        cpu_pct,
        read_at,
        now,
        gentle_above=config.cpu_gentle_above,
        skip_above=config.cpu_skip_above,
        known_for=config.cpu_known_for,
    )
