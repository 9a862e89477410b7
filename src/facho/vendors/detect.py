"""Selects the profile of a device, with the reason.

The caller reads sysObjectID and sysDescr, then a row under each OID of `probes`, and passes what it found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeVar

from facho.core.oid_limits import LARGEST_ARC
from facho.core.reasons import NO_REASON, Reason, several
from facho.vendors.index import index_number
from facho.vendors.library import GENERIC
from facho.vendors.schema import DetectRule, InterfaceSearch, Profile

_T = TypeVar("_T")
# 1.3.6.1.4.1 and the number of a company.
_COMPANY_NUMBERS: Final = 7
_LONGEST_QUOTE: Final = 40


@dataclass(frozen=True, slots=True)
class Identity:
    """The sysObjectID and sysDescr of a device."""

    object_id: str
    descr: str


@dataclass(frozen=True, slots=True)
class Detection:
    """The selected profile; `why` is what an operator reads after "Detected as generic:"."""

    profile: str
    model: str
    why: Reason


# The value of the first row under the OID of each probe, and of the interface by the key of each search;
# None or missing when there is none.
Found = Mapping[str, str | None]


def probes(identity: Identity, profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """Return the OIDs that have to be read to decide."""
    wanted = {
        rule.probe: None
        for profile in profiles.values()
        if not _excluded(profile, identity)
        for rule in profile.rules
        if rule.probe and _matches_names(rule, identity)
    }
    return tuple(wanted)


def searches(identity: Identity, found: Found, profiles: Mapping[str, Profile]) -> list[InterfaceSearch]:
    """Return the interfaces to look for on a device that its names and the probes do not tell."""
    return [
        rule.interface
        for profile in profiles.values()
        if not _excluded(profile, identity)
        for rule in profile.rules
        if rule.interface and _matches_names(rule, identity) and _matches_probe(rule, found)
    ]


def find_interface(rows: Mapping[bytes, _T], search: InterfaceSearch) -> _T | None:
    """Return the value of an interface that is wanted, from the rows of its column; None if there is none."""
    ranges = search.within or ((0, LARGEST_ARC),)
    there = (
        value
        for index, value in rows.items()
        if search.when.holds(value) and any(low <= index_number(index) <= high for low, high in ranges)
    )
    return next(there, None)


def detect(identity: Identity, found: Found, profiles: Mapping[str, Profile]) -> Detection:
    matches = [
        (_weight(rule), profile, rule)
        for profile in profiles.values()
        if not _excluded(profile, identity)
        for rule in profile.rules
        if _matches_names(rule, identity) and _matches_probe(rule, found) and _has_interface(rule, found)
    ]
    if not matches:
        return Detection(GENERIC, "", _why_not(identity, found, profiles))
    best = max(weight for weight, _, _ in matches)
    claims = {profile.name: profile.title for weight, profile, _ in matches if weight == best}
    if len(claims) > 1:
        choice = " or ".join(f"{title} ({name})" for name, title in claims.items())
        return Detection(GENERIC, "", Reason.of("several_families", what=choice))
    _, profile, rule = next(match for match in matches if match[0] == best)
    return Detection(profile.name, rule.model, _why(profile, rule, identity, found))


def _excluded(profile: Profile, identity: Identity) -> bool:
    return any(_matches_names(rule, identity) for rule in profile.exceptions)


def _matches_names(rule: DetectRule, identity: Identity) -> bool:
    object_id = _object_id(identity)
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


def _has_interface(rule: DetectRule, found: Found) -> bool:
    return rule.interface is None or found.get(rule.interface.key) is not None


def _weight(rule: DetectRule) -> tuple[bool, int]:
    """Return how specific a rule is: a whole sysObjectID most, then the number of its conditions."""
    names = (rule.object_id, rule.object_id_under, rule.object_id_pattern, rule.descr)
    conditions = (*names, rule.probe, rule.interface)
    return bool(rule.object_id), sum(map(bool, conditions))


def _why(profile: Profile, rule: DetectRule, identity: Identity, found: Found) -> Reason:
    what = rule.model or profile.title
    reasons = []
    if rule.object_id and rule.descr:
        reasons.append(Reason.of("names_are_of", oid=rule.object_id, what=what))
    elif rule.object_id:
        reasons.append(Reason.of("object_id_is_of", oid=rule.object_id, what=what))
    elif rule.object_id_under or rule.object_id_pattern:
        reasons.append(Reason.of("object_id_is_one_of", oid=_object_id(identity), what=_maker(profile)))
    if rule.descr and not rule.object_id:
        reasons.append(Reason.of("descr_is_of", what=what))
    if rule.probe_text:
        reasons.append(Reason.of("says", text=_quoted(found[rule.probe]), oid=rule.probe))
    elif rule.probe:
        reasons.append(Reason.of("has_rows", oid=rule.probe, what=profile.title))
    if rule.interface:
        text = _quoted(found[rule.interface.key])
        reasons.append(Reason.of("has_interface", oid=rule.interface.when.oid, text=text, what=what))
    return reduce(_and, reasons) if reasons else NO_REASON


def _and(first: Reason, second: Reason) -> Reason:
    return Reason.of("and", first=first, second=second)


def _why_not(identity: Identity, found: Found, profiles: Mapping[str, Profile]) -> Reason:
    """Return the nearest miss."""
    object_id = _object_id(identity)
    for profile in profiles.values():
        for rule in profile.exceptions:
            if _matches_names(rule, identity):
                what = rule.model or f"a relative of {profile.title}"
                return Reason.of("object_id_is_no_olt", oid=object_id, what=what)
    if missing := several(_missing(identity, found, profiles)):
        return missing
    if not object_id:
        return Reason.of("no_object_id")
    company = _company(object_id)
    makers = " and ".join(_makers(company, profiles))
    if makers:
        return Reason.of("unknown_device_of_maker", oid=object_id, makers=makers, company=company)
    return Reason.of("unknown_maker", oid=object_id)


def _missing(identity: Identity, found: Found, profiles: Mapping[str, Profile]) -> Iterator[Reason]:
    """Yield by profile what the device would need to have beside its names."""
    first = True
    for profile in profiles.values():
        wanted = [rule for rule in profile.rules if _places(rule) and _matches_names(rule, identity)]
        if not wanted or _excluded(profile, identity):
            continue
        texts = {
            rule.probe: found[rule.probe]
            for rule in wanted
            if rule.probe_text and found.get(rule.probe) is not None
        }
        if texts:
            answers = " and ".join(f"{_quoted(text)} in {probe}" for probe, text in texts.items())
            code = "could_be_but_says" if first else "or_could_be_but_says"
            yield Reason.of(code, what=profile.title, text=answers)
        else:
            places = dict.fromkeys(place for rule in wanted for place in _places(rule))
            tables = " or ".join(place for place in places if found.get(place) is None)
            code = "could_be_but_no_rows" if first else "or_could_be_but_no_rows"
            yield Reason.of(code, what=profile.title, oid=tables)
        first = False


def _places(rule: DetectRule) -> list[str]:
    """Return the columns in which a device of the family has something to show."""
    interface = rule.interface.when.oid if rule.interface else ""
    return [oid for oid in (rule.probe, interface) if oid]


def _quoted(value: str | None) -> str:
    """Return a value of a device, printable and short."""
    text = "".join(letter for letter in value or "" if letter.isprintable())
    return f"'{text}'" if len(text) <= _LONGEST_QUOTE else f"'{text[: _LONGEST_QUOTE - 3]}...'"


def _object_id(identity: Identity) -> str:
    return identity.object_id.removeprefix(".")


def _company(object_id: str) -> str:
    """Return 1.3.6.1.4.1.2011 of 1.3.6.1.4.1.2011.2.123."""
    return ".".join(object_id.split(".")[:_COMPANY_NUMBERS])


def _makers(company: str, profiles: Mapping[str, Profile]) -> list[str]:
    return list(
        dict.fromkeys(
            _maker(profile)
            for profile in profiles.values()
            if any(_company(rule.object_id or rule.object_id_under) == company for rule in profile.rules)
        )
    )


def _maker(profile: Profile) -> str:
    return profile.vendor or profile.title
