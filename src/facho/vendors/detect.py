"""Which profile a device gets, and why.

The caller asks the device for sysObjectID and sysDescr, then for a row under each OID of `probes`, and hands
in what it found. Nothing here asks anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from facho.vendors.library import GENERIC
from facho.vendors.schema import DetectRule, Profile


@dataclass(frozen=True, slots=True)
class Identity:
    """What a device says of itself. The OID is in dots, without one in front."""

    object_id: str
    descr: str


@dataclass(frozen=True, slots=True)
class Detection:
    profile: str
    model: str
    why: str


# A row found under a probe's OID: its value as text; None or missing when there is none.
Found = Mapping[str, str | None]


def probes(identity: Identity, profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """The OIDs that have to be asked for to decide."""
    wanted = {
        rule.probe: None
        for profile in profiles.values()
        if not _excluded(profile, identity)
        for rule in profile.rules
        if rule.probe and _matches_names(rule, identity)
    }
    return tuple(wanted)


def detect(identity: Identity, found: Found, profiles: Mapping[str, Profile]) -> Detection:
    matches = [
        (_weight(rule), profile, rule)
        for profile in profiles.values()
        if not _excluded(profile, identity)
        for rule in profile.rules
        if _matches_names(rule, identity) and _matches_probe(rule, found)
    ]
    if not matches:
        return Detection(GENERIC, "", _why_not(identity, found, profiles))
    best = max(weight for weight, _, _ in matches)
    names = list(dict.fromkeys(profile.name for weight, profile, _ in matches if weight == best))
    if len(names) > 1:
        return Detection(GENERIC, "", f"{' and '.join(names)} claim it with equal right")
    _, profile, rule = next(match for match in matches if match[0] == best)
    return Detection(profile.name, rule.model, _why(rule, identity))


def _excluded(profile: Profile, identity: Identity) -> bool:
    return any(_matches_names(rule, identity) for rule in profile.exceptions)


def _matches_names(rule: DetectRule, identity: Identity) -> bool:
    object_id = identity.object_id.removeprefix(".")
    return (
        (not rule.object_id or object_id == rule.object_id)
        and (not rule.object_id_under or f"{object_id}.".startswith(f"{rule.object_id_under}."))
        and (rule.object_id_pattern is None or bool(rule.object_id_pattern.search(object_id)))
        and (rule.descr is None or bool(rule.descr.search(identity.descr)))
    )


def _matches_probe(rule: DetectRule, found: Found) -> bool:
    if not rule.probe:
        return True
    row = found.get(rule.probe)
    return row is not None and (rule.probe_text is None or bool(rule.probe_text.search(row)))


def _weight(rule: DetectRule) -> tuple[bool, int]:
    """A whole object id says most; then the more that had to hold."""
    conditions = (rule.object_id, rule.object_id_under, rule.object_id_pattern, rule.descr, rule.probe)
    return bool(rule.object_id), sum(map(bool, conditions))


def _why(rule: DetectRule, identity: Identity) -> str:
    reasons = []
    if rule.object_id:
        reasons.append(f"its sysObjectID {rule.object_id} is that of {rule.model or 'this family'}")
    elif rule.object_id_under or rule.object_id_pattern:
        reasons.append(f"its sysObjectID {identity.object_id} fits the family")
    if rule.descr:
        reasons.append("its sysDescr is that of the family")
    if rule.probe:
        reasons.append(f"it has rows in {rule.probe}, which others do not have")
    return ", and ".join(reasons)


def _why_not(identity: Identity, found: Found, profiles: Mapping[str, Profile]) -> str:
    for profile in profiles.values():
        for rule in profile.exceptions:
            if _matches_names(rule, identity):
                what = rule.model or "a relative of the family"
                return f"its sysObjectID {identity.object_id} is that of {what}, no OLT of '{profile.name}'"
    for profile in profiles.values():
        for rule in profile.rules:
            if rule.probe and _matches_names(rule, identity) and found.get(rule.probe) is None:
                return (
                    f"it looks like '{profile.name}' but has no rows in {rule.probe}, as every such OLT has"
                )
    return f"no profile knows sysObjectID {identity.object_id or '(none)'} with this sysDescr"
