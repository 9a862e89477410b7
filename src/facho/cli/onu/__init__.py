"""`facho onu`: list, show and read ONUs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.errors import Exit, fail, refuse
from facho.cli.manual_execution import CHECK_EVERY_S
from facho.cli.output import AsJson, print_facts, print_json, print_list, print_rows, print_section
from facho.cli.processes import stop_on_signals
from facho.cli.progress import status_line
from facho.cli.system import database_now, system
from facho.core.onu_states import DownCause, OnuStatus
from facho.core.reasons import in_english
from facho.engine.commands.errors import CommandError

if TYPE_CHECKING:
    from facho.apps.discovery.models import Onu
    from facho.apps.executions.models import Execution
    from facho.config import Config

app = typer.Typer(no_args_is_help=True, help="ONUs: list, show and read them.")

_EXAMPLES_LIST: Final = """
**Examples**

`facho onu list --olt olt-7 --cause los`  those of an OLT that are offline for lack of light

`facho onu list --weak`  those with weak or fallen optical power

`facho onu list --search HWTC1234`  by serial, MAC or description

`facho onu list --olt olt-7 --fact line_profile=residential`  by a fact without an option of its own

`facho onu list --model EG8145V5 --sw-version V5R019C10S125`  those with this firmware

`facho onu list --duplicates`  those whose serial is at two places of an OLT

`facho onu list --json`  all of them, for a script
"""
_EXAMPLES_UNPROVISIONED: Final = """
**Examples**

`facho onu unprovisioned`  those that an OLT has found and that are not provisioned

`facho onu unprovisioned --olt olt-7 --json`
"""
_EXAMPLES_SHOW: Final = """
**Examples**

`facho onu show HWTC1234ABCD`  by its serial, or its MAC in any form

`facho onu show 0/1/7:3 --olt olt-7`  by its interface

`facho onu show HWTC1234ABCD --json`  for a script
"""
_EXAMPLES_READ: Final = """
**Examples**

`facho onu read HWTC1234ABCD`  its power, state and all other facts, as the OLT has them now

`facho onu read 0/1/7:3 --olt olt-7 --json`  for a script

A running engine asks, under the lease of the OLT; while the OLT is busy, it waits for its turn.
"""
_EXAMPLES_HISTORY: Final = """
**Examples**

`facho onu history HWTC1234ABCD`  all numbers of the last day

`facho onu history 0/1/7:3 --olt olt-7 --fact onu_rx_dbm --since 7d`

`facho onu history HWTC1234ABCD --since 2026-11-01 --until 2026-11-02T18:00 --csv`  every point, for a script
"""
_COLUMNS: Final = (
    "olt", "interface", "serial", "mac", "description", "model", "state", "cause", "distance_m",
    "rx_dbm", "olt_rx_dbm", "presence",
)  # fmt: skip
_UNPROVISIONED_COLUMNS: Final = (
    "olt", "port", "serial", "mac", "model", "vendor_id", "sw_version", "seen_since"
)  # fmt: skip
_EVENT_COLUMNS: Final = ("at", "happened_at", "event", "place", "before", "cause")
# People see these as the state.
_FOR_SCRIPTS: Final = ("shown_state", "status", "unknown_because", "down_cause", "last_seen")
_UNKNOWN_BECAUSE: Final = {"disabled": "OLT disabled", "maintenance": "maintenance"}
# The most rows on a terminal; a script gets all.
_MOST_ROWS: Final = 100
_MOST_EVENTS: Final = 20
_MOST_NAMED: Final = 5
_NO_ENGINE: Final = "no engine is running that could ask: start one with facho up"

Name = Annotated[str, typer.Argument(metavar="ONU", help="Its serial, its MAC, or with --olt its interface.")]
OfOlt = Annotated[str | None, typer.Option("--olt", metavar="NAME", help="The OLT that it is on.")]


@app.callback()
def _group() -> None:
    # Without it a group of one command would be that command.
    pass


@app.command("list", epilog=_EXAMPLES_LIST)
def list_onus(
    olt: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this OLT.")] = None,
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="In the serial, the MAC or the description.")
    ] = "",
    state: Annotated[str, typer.Option(help="Only those whose OLT reports this state, as los.")] = "",
    status: Annotated[
        str, typer.Option(help="Only those that are online, starting, offline or unknown, of all vendors.")
    ] = "",
    cause: Annotated[str, typer.Option(help="Only those that are offline for this cause, as los.")] = "",
    weak: Annotated[
        bool, typer.Option("--weak", help="Only those with weak or fallen optical power.")
    ] = False,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Only those whose serial is at two places of an OLT.")
    ] = False,
    model: Annotated[str, typer.Option(help="Only those of this model, exactly as it is shown.")] = "",
    sw_version: Annotated[str, typer.Option(help="Only those with this firmware.")] = "",
    hw_version: Annotated[str, typer.Option(help="Only those with this hardware.")] = "",
    fact: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="As line_profile=home, mac_count>=2 or uni.state=down; again for more.",
        ),
    ] = None,
    absent: Annotated[bool, typer.Option("--absent", help="Also those that are absent.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help="The most ONUs; 0 is all. 100 if not given, all with --json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List ONUs."""
    with system():
        from facho.apps.discovery.fact_filters import BadCondition, FactCondition
        from facho.apps.discovery.models import Presence
        from facho.apps.discovery.onu_search import filter_onus
        from facho.apps.discovery.selectors import onu_rows
        from facho.apps.hosts.health import silent_olts
        from facho.apps.maintenance.selectors import olts_under_maintenance
        from facho.engine.commands.olts import olt_named
        from facho.vendors.facts import ONU_STATES

        _check_word("state", state, ONU_STATES, "state of an ONU")
        _check_word("status", status, list(OnuStatus), "status of an ONU")
        _check_word("cause", cause, list(DownCause), "cause")
        maintained = olts_under_maintenance(database_now())
        onus = filter_onus(
            None if olt is None else olt_named(olt),
            search=search,
            state=state,
            status=status,
            cause=cause,
            weak=weak,
            duplicates=duplicates,
            model=model,
            sw_version=sw_version,
            hw_version=hw_version,
            presence="" if absent else Presence.PRESENT,
            silent=silent_olts(maintained),
        )
        for each in fact or ():
            try:
                onus = FactCondition.parse(each).narrow(onus)
            except BadCondition as refused:
                raise CommandError("fact", str(refused)) from None
        most = (0 if as_json else _MOST_ROWS) if limit is None else limit
        rows = [asdict(row) for row in onu_rows(onus[:most] if most else onus, maintained)]
        if as_json:
            print_json(rows)
            return
        print_rows([_for_people(row) for row in rows], _COLUMNS, "There are no such ONUs.")
        if most and (more := onus.count() - len(rows)) > 0:
            typer.echo(f"{more:,} more (--limit 0 shows all)")


def _check_word(option: str, word: str, known: Collection[str], what: str) -> None:
    if word and word not in known:
        raise CommandError(option, f"'{word}' is no {what}; these are: {', '.join(known)}")


def _for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for people: the state in the words for all vendors, or that nobody knows it, and why."""
    row = {**row, "presence_since": row["last_seen"]}
    if because := row["unknown_because"]:
        return {**row, "state": f"unknown ({_UNKNOWN_BECAUSE.get(because, 'OLT down')})"}
    return {**row, "state": row["status"] if row["state"] else None}


@app.command(epilog=_EXAMPLES_UNPROVISIONED)
def unprovisioned(
    olt: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this OLT.")] = None,
    as_json: AsJson = False,
) -> None:
    """List ONUs that wait to be provisioned."""
    with system():
        from facho.apps.chassis.selectors import unprovisioned_onus
        from facho.engine.commands.olts import olt_named

        rows = [asdict(row) for row in unprovisioned_onus(None if olt is None else olt_named(olt))]
        print_list(rows, _UNPROVISIONED_COLUMNS, "No ONU waits to be provisioned.", as_json=as_json)


@app.command(epilog=_EXAMPLES_SHOW)
def show(onu: Name, olt: OfOlt = None, as_json: AsJson = False) -> None:
    """Show one ONU: its facts, when they were collected, and its events."""
    with system():
        from facho.apps.discovery.selectors import events_of, onus_collected_at
        from facho.apps.history.selectors import latest_numbers
        from facho.cli.onu.charts import format_number

        found = onu_named(onu, olt)
        latest = latest_numbers(found, database_now())
        facts = _onu_json(found)
        collected = onus_collected_at(found.olt_id)
        events = [
            {
                "at": at,
                "happened_at": happened_at,
                "event": kind,
                "place": place,
                "before": before or None,
                "cause": cause or None,
            }
            for at, happened_at, kind, place, before, cause in events_of(found).values_list(
                "at", "happened_at", "kind", "place", "before", "cause"
            )[:_MOST_EVENTS]
        ]
        if as_json:
            by_fact = {fact: number._asdict() for fact, number in latest.items()}
            print_json({**facts, "latest": by_fact, "collected": collected, "events": events})
            return
        shown = _for_people(facts)
        others, unis = shown.pop("facts"), shown.pop("unis")
        if shown["offline_since"] is None:
            del shown["offline_dated"]
        dated = {fact: _fact_for_people(fact, value) for fact, value in others.items()}
        print_facts({name: value for name, value in shown.items() if name not in _FOR_SCRIPTS} | dated)
        ports = [{"port": number, **port} for number, port in unis.items()]
        print_section("Customer ports", ports, tuple(dict.fromkeys(key for port in ports for key in port)))
        numbers = [
            {"fact": fact, "value": format_number(fact, number.value), "at": number.at}
            for fact, number in latest.items()
        ]
        print_section("Latest numbers", numbers, ("fact", "value", "at"))
        collections = [{"datum": each, "at": at} for each, at in collected.items()]
        print_section("Last collected", collections, ("datum", "at"))
        print_section("Events", events, _EVENT_COLUMNS)


def _fact_for_people(fact: str, value: Any) -> Any:
    """Return a date as a time, which is shown on the operator's clock like all others."""
    from facho.vendors import Entity, known_facts
    from facho.vendors.facts import Kind

    known = known_facts()[Entity.ONU].get(fact)
    if known is None or known.kind is not Kind.DATE:
        return value
    with contextlib.suppress(ValueError):
        at = datetime.fromisoformat(str(value))
        return value if at.tzinfo is None else at
    return value


def onu_named(name: str, olt: str | None) -> Onu:
    """Return the ONU with this serial, MAC or interface. Raises CommandError, with similar names."""
    from facho.apps.discovery.onu_search import is_interface, onus_named, onus_with_words
    from facho.engine.commands.olts import olt_named

    where = None if olt is None else olt_named(olt)
    found = onus_named(name, where)
    if len(found) == 1:
        return found[0]
    if found:
        by_interface = "by its interface" if where else "with --olt, or by its interface with --olt"
        many = f"{len(found)} ONUs are '{name}': {_list_onus(found)}"
        raise CommandError("onu", f"{many}: say which {by_interface}")
    if where is None and is_interface(name):
        raise CommandError("onu", f"'{name}' is an interface of every OLT: say which with --olt")
    on = f" on {olt}" if olt else ""
    near = onus_with_words(name, where, _MOST_NAMED)
    hint = f"; did you mean {_list_onus(near)}?" if near else ""
    raise CommandError("onu", f"there is no ONU with the serial, MAC or interface '{name}'{on}{hint}")


def _list_onus(onus: Sequence[Onu]) -> str:
    from facho.apps.discovery.selectors import interface_of

    more = len(onus) - _MOST_NAMED
    names = [
        f"{onu.serial or onu.mac} ({onu.olt.name} {interface_of(onu)})".lstrip() for onu in onus[:_MOST_NAMED]
    ]
    return ", ".join([*names, *([f"and {more} more"] if more > 0 else [])])


def _onu_json(onu: Onu) -> dict[str, Any]:
    """Return the fields of `facho onu list`, on which scripts rely, and some that only one ONU shows."""
    from facho.apps.discovery.models import Onu
    from facho.apps.discovery.selectors import onu_rows
    from facho.apps.maintenance.selectors import olts_under_maintenance

    (row,) = onu_rows(Onu.objects.filter(id=onu.id), olts_under_maintenance(database_now()))
    return {
        **asdict(row),
        "technology": onu.technology or None,
        "plan": onu.plan or None,
        "index": onu.raw_index or None,
        "first_seen": onu.first_seen,
    }


@app.command(epilog=_EXAMPLES_READ)
def read(onu: Name, olt: OfOlt = None, as_json: AsJson = False) -> None:
    """Read one ONU now, before all else that waits, and store what the OLT says."""
    stopping = stop_on_signals()
    with system() as config:
        read_onu_now(onu, olt, config, stopping, as_json=as_json)


def read_onu_now(
    name: str, olt: str | None, config: Config, stopping: threading.Event, *, as_json: bool
) -> None:
    from facho.engine.commands.runs import read_onu

    onu = onu_named(name, olt)
    if not _engine_runs(config):
        fail(_NO_ENGINE)
    execution_id = read_onu(onu.id, database_now())
    with status_line() as note:
        note("waiting for the OLT")
        ended = _wait_for_engine(execution_id, config, stopping)
    _print_reading(ended, as_json=as_json)
    if ended.state != "SUCCESS":
        raise typer.Exit(Exit.INCOMPLETE)


def _engine_runs(config: Config) -> bool:
    from facho.apps.zabbix_pollers.selectors import read_pool

    return read_pool(database_now(), config, busy=0).pollers > 0


def _wait_for_engine(execution_id: int, config: Config, stopping: threading.Event) -> Execution:
    """Wait until the execution has ended. It goes on when this person leaves: others may wait for it too."""
    from facho.apps.executions.models import OPEN, Execution
    from facho.engine.commands.runs import READ_WAIT

    waited = 0.0
    while (found := Execution.objects.get(id=execution_id)).state in OPEN:
        if stopping.wait(CHECK_EVERY_S):
            raise typer.Exit(Exit.INCOMPLETE)
        if not _engine_runs(config):
            fail(f"{_NO_ENGINE}; execution {execution_id} waits for it")
        waited += CHECK_EVERY_S
        if waited > READ_WAIT.total_seconds():
            fail(f"the OLT has other work: execution {execution_id} still waits for its turn")
    return found


def _print_reading(execution: Execution, *, as_json: bool) -> None:
    result: Mapping[str, Any] = {"facts": {}, "unread": {}, **in_english(execution.result)}
    if as_json:
        ended = {"execution": execution.id, "state": execution.state, "error": str(execution.error) or None}
        print_json({**ended, "ended_at": execution.ended_at, **result})
        return
    print_facts(result["facts"])
    unread = [{"fact": fact.replace("_", " "), "why": why} for fact, why in result["unread"].items()]
    print_section("Not read", unread, ("fact", "why"))
    if execution.error:
        typer.echo(f"Error: {execution.error}", err=True)


@app.command(epilog=_EXAMPLES_HISTORY)
def history(
    onu: Name,
    olt: OfOlt = None,
    facts: Annotated[
        list[str] | None, typer.Option("--fact", metavar="FACT", help="Only this fact; again for more.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="An age, as 7d, or a date.")] = "24h",
    until: Annotated[str, typer.Option(metavar="TIME", help="The same; now if not given.")] = "",
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every point, separated by commas.")] = False,
) -> None:
    """Show the numbers of an ONU over time."""
    if as_json and as_csv:
        refuse("give either --json or --csv")
    with system():
        from facho.cli.onu.charts import show_history

        show_history(onu_named(onu, olt), facts or [], since, until, as_json=as_json, as_csv=as_csv)
