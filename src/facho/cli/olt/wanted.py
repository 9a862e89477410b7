"""What a person wants of existing OLTs, from options or from a line of a file, as changes of each OLT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Model

from facho.apps.hosts.models import Olt, SnmpVersion
from facho.engine.commands.credentials import CredentialFields, build_credentials
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import parse_seconds
from facho.engine.commands.olts import LIMITS, OltChanges, OltLimits

# In place of the number of a limit: that of the settings.
DEFAULT: Final = "default"
# The columns whose change may leave an OLT without an answer.
CONNECTION: Final = frozenset({"address", "port", "snmp_version", "credentials"})
# How columns are called on the command line.
_TITLES: Final = {"snmp_version": "version", "max_requests_per_second": "max_rate"}


@dataclass(frozen=True, slots=True)
class WantedOlt:
    """The values that a person wants an OLT to have.

    A value of None, and a limit that `limits` lacks, stay as they are. A limit of None takes the setting.
    """

    name: str | None = None
    address: str | None = None
    port: int | None = None
    version: str | None = None
    credentials: CredentialFields = field(default_factory=CredentialFields)
    brand: str | None = None
    model: str | None = None
    site: str | None = None
    limits: Mapping[str, float | None] = field(default_factory=dict)
    enabled: bool | None = None


def changes_of(olt: Olt, wanted: WantedOlt) -> OltChanges:
    version = wanted.version or olt.snmp_version
    credentials = None
    if wanted.credentials != CredentialFields() or version != olt.snmp_version:
        _refuse_other_version(version, wanted.credentials)
        credentials = build_credentials(version, wanted.credentials, olt.credentials)
    limits: dict[str, Any] = {limit: getattr(olt, limit) for limit in LIMITS} | dict(wanted.limits)
    return OltChanges(
        name=wanted.name,
        address=wanted.address,
        port=wanted.port,
        version=wanted.version,
        credentials=credentials,
        brand=wanted.brand,
        site=wanted.site,
        limits=OltLimits(**limits) if wanted.limits else None,
        model=wanted.model,
        enabled=wanted.enabled,
    )


def _refuse_other_version(version: str, given: CredentialFields) -> None:
    """Refuse credentials that the SNMP version would not use."""
    if version == SnmpVersion.V3:
        if given.community:
            raise CommandError("community", "it has SNMPv3, which has no community")
    elif given != CredentialFields(community=given.community):
        raise CommandError("user", f"it has SNMP v{version}, and only SNMPv3 has a user: give version 3 too")


def parse_limit(column: str, text: str) -> float | None:
    """Return the number of a limit as a person writes it; None for DEFAULT."""
    if text == DEFAULT:
        return None
    if column == "shortest_interval_s" and not text.isdecimal():
        return parse_seconds(text, column)
    if column != "max_requests_per_second":
        return parse_whole(column, text)
    try:
        return float(text)
    except ValueError:
        raise CommandError(column, f"'{text}' is not a number") from None


def parse_whole(column: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise CommandError(column, f"'{text}' is not a whole number")
    return int(text)


def changes_as_json(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        column: {key: value.name if isinstance(value, Model) else value for key, value in change.items()}  # type: ignore[attr-defined]
        for column, change in changes.items()
    }


def title_of(column: str) -> str:
    return _TITLES.get(column, column).replace("_", " ")
