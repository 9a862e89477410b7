"""Facts for people and for scripts: tables on a terminal, JSON on a pipe."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from facho.vendors import Decoded, Entity, Facts, Key, State

_TITLES: Final = {
    Entity.OLT: "OLT",
    Entity.BOARD: "Boards",
    Entity.FAN: "Fans",
    Entity.PORT: "Ports",
    Entity.ONU: "ONUs",
    Entity.UNI: "ONU ports",
    Entity.AUTOFIND: "ONUs that are not configured",
}
_NAMES: Final = {
    Entity.BOARD: "boards",
    Entity.FAN: "fans",
    Entity.PORT: "ports",
    Entity.ONU: "onus",
    Entity.UNI: "unis",
    Entity.AUTOFIND: "autofind",
}
# A terminal is not wide enough for all that is known of an ONU; JSON is.
_SHOWN: Final = (
    "serial", "mac", "name", "description", "model", "state", "down_cause", "distance_m", "onu_rx_dbm",
    "olt_rx_dbm",
)  # fmt: skip


def as_json(decoded: Decoded) -> dict[str, Any]:
    olt = decoded[Entity.OLT]
    return {
        "olt": {fact: _plain(value) for fact, value in olt.row(0).items()} if len(olt) else {},
        **{name: _rows(decoded[entity]) for entity, name in _NAMES.items()},
        "problems": {
            "count": len(decoded.problems),
            "first": [
                {"table": each.table, "fact": each.fact, "index": each.index, "why": each.why}
                for each in decoded.problems.first
            ],
        },
    }


def _rows(facts: Facts) -> list[dict[str, Any]]:
    return [
        {
            **_place(key),
            **({"technology": technology} if technology else {}),
            **{fact: _plain(value) for fact, value in facts.row(number).items()},
        }
        for number, (key, technology) in enumerate(zip(facts.keys, facts.technologies, strict=True))
    ]


def _place(key: Key) -> dict[str, Any]:
    # A fact that a column tells may have one of these names too, and then it counts.
    return {part: value for part, value in key._asdict().items() if value is not None}


def _plain(value: object) -> Any:
    match value:
        case State():
            return {"is": value.meaning, "word": value.word}
        case datetime():
            return value.isoformat()
        case None | int() | float() | str():
            return value
        case _:
            return str(value)


def print_facts(console: Console, decoded: Decoded, most: int) -> None:
    """`most` rows of each table; 0 is all of them."""
    for entity, title in _TITLES.items():
        facts = decoded[entity]
        if len(facts):
            console.print()
            console.print(
                Text(f"{title}: {len(facts):,}" if entity is not Entity.OLT else title, style="bold")
            )
            console.print(_olt(facts) if entity is Entity.OLT else _table(facts, most))
    _print_problems(console, decoded, most)


def _olt(facts: Facts) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for fact, value in facts.row(0).items():
        table.add_row(fact, _written(value))
    return table


def _table(facts: Facts, most: int) -> Table:
    names = [name for name in facts.columns if facts.entity is not Entity.ONU or name in _SHOWN]
    names = [name for name in names if any(value not in (None, "") for value in facts.columns[name])]
    table = Table(box=None, pad_edge=False)
    for heading in ("place", *names):
        # On a narrow terminal the rest gives way: these are what an ONU is looked up by.
        table.add_column(heading, no_wrap=heading in ("place", "serial", "mac"))
    for number, key in enumerate(facts.keys[: most or None]):
        table.add_row(str(key), *(_written(facts.columns[name][number]) for name in names))
    if 0 < most < len(facts):
        table.add_row(f"{len(facts) - most:,} more")
    return table


def _written(value: object) -> Text:
    match value:
        case None:
            return Text("")
        case State() if value.word != value.meaning:
            return Text(f"{value.meaning} ({value.word})")
        case datetime():
            return Text(f"{value:%Y-%m-%d %H:%M:%S}")
        case float():
            return Text(f"{value:g}")
        case _:
            return Text(str(value))


def _print_problems(console: Console, decoded: Decoded, most: int) -> None:
    problems = decoded.problems
    if not len(problems):
        return
    console.print()
    console.print(Text(f"Rows that could not be read: {len(problems):,}", style="bold"))
    for problem in problems.first[: most or None]:
        console.print(Text(str(problem)), soft_wrap=True)
    if 0 < most < len(problems):
        console.print(f"{len(problems) - most:,} more")
