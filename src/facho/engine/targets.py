"""How to reach an OLT, from what is stored about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from facho.apps.hosts.models import Olt, SnmpVersion
from facho.config import Config
from facho.snmp import Limits, Target, Version
from facho.snmp.adapt import Learned

if TYPE_CHECKING:
    from facho.engine.commands.olts import NewOlt

_VERSIONS = {SnmpVersion.V1: Version.V1, SnmpVersion.V2C: Version.V2C, SnmpVersion.V3: Version.V3}


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
        _VERSIONS[SnmpVersion(olt.snmp_version)],
        config.request_timeout.total_seconds(),
        config.request_retries,
        limits=limits,
        user=olt.credentials.user,
        most_rows=config.walk_rows,
        most_octets=config.answer_octets,
    )


def target_of_new(new: NewOlt, config: Config) -> Target:
    """Of one that is not stored yet."""
    return Target(
        new.address,
        new.credentials.community,
        config.snmp_port if new.port is None else new.port,
        _VERSIONS[SnmpVersion(new.version)],
        config.request_timeout.total_seconds(),
        config.request_retries,
        user=new.credentials.user,
        most_rows=config.walk_rows,
        most_octets=config.answer_octets,
    )


def varbinds_of(olt: Olt, config: Config) -> int:
    """Values in one GET, at most."""
    return min(olt.max_varbinds or config.varbinds, config.varbinds)


def learned_of(olt: Olt) -> Learned | None:
    found: dict[str, Any] = olt.learned
    if "varbinds" not in found:
        return None
    return Learned(found["varbinds"], found["in_flight"], found.get("most_varbinds"))


def written(learned: Learned) -> dict[str, int | None]:
    return {
        "varbinds": learned.varbinds,
        "in_flight": learned.in_flight,
        "most_varbinds": learned.most_varbinds,
    }
