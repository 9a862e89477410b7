"""One ONU: what is known of it, and what happened to it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from facho.apps.discovery.models import Onu
from facho.apps.discovery.onu_search import is_interface, onus_named, onus_with_words
from facho.apps.discovery.selectors import events_of, interface_of, onu_rows, onus_collected_at
from facho.cli.acting.showing import print_facts, print_json, print_titled
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import olt_named

_EVENTS: Final = 20
_MOST_NAMED: Final = 5


def show(name: str, olt: str | None, *, as_json: bool) -> None:
    onu = onu_named(name, olt)
    facts = told(onu)
    collected = onus_collected_at(onu.olt_id)
    events = [
        _event(*row) for row in events_of(onu).values_list("at", "kind", "place", "before", "cause")[:_EVENTS]
    ]
    if as_json:
        print_json({**facts, "collected": collected, "events": events})
        return
    print_facts(facts)
    print_titled(
        "Last collected", [{"datum": each, "at": at} for each, at in collected.items()], ("datum", "at")
    )
    print_titled("Events", events, ("at", "event", "place", "before", "cause"))


def onu_named(name: str, olt: str | None) -> Onu:
    """Raises CommandError with those that may have been meant."""
    where = None if olt is None else olt_named(olt)
    found = onus_named(name, where)
    if len(found) == 1:
        return found[0]
    if found:
        which = (
            "say which by its interface" if where else "say which with --olt, or by its interface with --olt"
        )
        raise CommandError("onu", f"{len(found)} ONUs are '{name}': {_named(found)}: {which}")
    if where is None and is_interface(name):
        raise CommandError("onu", f"'{name}' is an interface of every OLT: say which with --olt")
    on = f" on {olt}" if olt else ""
    near = onus_with_words(name, where, _MOST_NAMED)
    hint = f"; did you mean {_named(near)}?" if near else ""
    raise CommandError("onu", f"there is no ONU with the serial, MAC or interface '{name}'{on}{hint}")


def _named(onus: list[Onu]) -> str:
    more = len(onus) - _MOST_NAMED
    names = [
        f"{onu.serial or onu.mac} ({onu.olt.name} {interface_of(onu)})".lstrip() for onu in onus[:_MOST_NAMED]
    ]
    return ", ".join([*names, *([f"and {more} more"] if more > 0 else [])])


def told(onu: Onu) -> dict[str, Any]:
    """What scripts rely on in `facho onu list`, and what only one ONU has room for."""
    (row,) = onu_rows(Onu.objects.filter(id=onu.id))
    return {
        **asdict(row),
        "technology": onu.technology or None,
        "plan": onu.plan or None,
        "index": onu.raw_index or None,
        "first_seen": onu.first_seen,
    }


def _event(at: datetime, kind: str, place: str, before: str, cause: str) -> dict[str, Any]:
    return {"at": at, "event": kind, "place": place, "before": before or None, "cause": cause or None}
