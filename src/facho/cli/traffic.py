"""`facho traffic`: who moves the most, and the traffic of an OLT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.output import AsJson, print_json, print_rows, print_section
from facho.cli.system import database_now, system
from facho.core.bit_rates import bit_rate
from facho.engine.commands.errors import CommandError

if TYPE_CHECKING:
    from facho.apps.traffic.selectors import NamedRate, Traffic

app = typer.Typer(no_args_is_help=True, help="Traffic: who moves the most, and that of an OLT.")

_EXAMPLES_TOP: Final = """
**Examples**

`facho traffic top`  the ONUs with the most traffic now, of all OLTs

`facho traffic top --of port --site Centro`  the PON ports of a site

`facho traffic top --of uplink --peak`  the uplinks, of each OLT at its last peak

`facho traffic top --olt olt-7 --json`  for a script
"""
_EXAMPLES_OLT: Final = """
**Examples**

`facho traffic olt olt-7`  its totals, how much of their line its PONs use, and the rates that were dropped

`facho traffic olt olt-7 --json`
"""
# What people call them, and how they are stored.
_SUBJECTS: Final = {"onu": "onu", "port": "port", "uplink": "link"}
_OF: Final = {subject: name for name, subject in _SUBJECTS.items()}
_COLUMNS: Final = ("olt", "site", "place", "name", "description", "to_customers", "from_customers")
_PON_COLUMNS: Final = ("port", "technology", "to_customers", "use", "from_customers", "use_up")
_TOTAL_COLUMNS: Final = (
    "of", "at", "to_customers", "from_customers", "peak_at", "peak_to", "peak_from", "certain_to"
)  # fmt: skip
_DROP_COLUMNS: Final = ("over", "resets", "gaps")


@app.command(epilog=_EXAMPLES_TOP)
def top(
    of: Annotated[str, typer.Option(metavar="WHAT", help="onu, port or uplink.")] = "onu",
    olt: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this OLT.")] = None,
    site: Annotated[str, typer.Option(help="Only those of the OLTs of this site.")] = "",
    peak: Annotated[
        bool, typer.Option("--peak", help="At the last peak of each OLT, instead of now.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the ONUs, PON ports or uplinks with the most traffic."""
    with system():
        from facho.apps.traffic.selectors import name_rates, olts_of, traffic_tops
        from facho.engine.commands.olts import check_site, olt_named

        if of not in _SUBJECTS:
            raise CommandError("of", f"'{of}' has no traffic; these have: {', '.join(_SUBJECTS)}")
        olt_ids = olts_of(None if olt is None else olt_named(olt).pk, check_site(site) if site else "")
        tops = traffic_tops(_SUBJECTS[of], database_now(), olt_ids=olt_ids)
        (rows,) = name_rates(_SUBJECTS[of], tops.peak if peak else tops.now)
        if as_json:
            print_json([asdict(row) for row in rows])
        else:
            print_rows(_for_people(rows), _COLUMNS, "There is no traffic: a job that collects it is needed.")


def _for_people(rows: Sequence[NamedRate]) -> list[dict[str, Any]]:
    return [
        {
            **asdict(row),
            "to_customers": _rate(row.to_customers_bps),
            "from_customers": _rate(row.from_customers_bps),
        }
        for row in rows
    ]


@app.command(epilog=_EXAMPLES_OLT)
def olt(
    name: Annotated[str, typer.Argument(metavar="OLT", help="Its name.")], as_json: AsJson = False
) -> None:
    """Show the traffic of an OLT: totals now and at the last peak, its PONs, and rates that were dropped."""
    with system():
        from facho.apps.traffic.selectors import dropped_rates, named_pon_uses, olt_traffic
        from facho.core.rates import Drops
        from facho.engine.commands.olts import olt_named

        olt_id, now = olt_named(name).pk, database_now()
        totals = [_total(subject, found) for subject, found in olt_traffic(olt_id, now).items()]
        pons = [
            {
                "port": place,
                "technology": use.technology or None,
                "to_customers_bps": use.out_bps,
                "from_customers_bps": use.in_bps,
                "use_to_customers": _rounded(use.down),
                "use_from_customers": _rounded(use.up),
            }
            for place, use in named_pon_uses(olt_id, now)
        ]
        drops = asdict(dropped_rates([olt_id]).get(olt_id, Drops()))
        if as_json:
            print_json({"olt": name, "totals": totals, "pons": pons, "dropped": drops})
            return
        nothing = "It has no traffic: a job that collects it is needed."
        print_rows([_total_for_people(each) for each in totals], _TOTAL_COLUMNS, nothing)
        print_section("PONs", [_pon_for_people(each) for each in pons], _PON_COLUMNS)
        if any(drops.values()):
            print_section("Rates that were not stored", [drops], _DROP_COLUMNS)


def _total(subject: str, found: Traffic) -> dict[str, Any]:
    from facho.apps.traffic.selectors import to_and_from_customers

    now = to_and_from_customers(subject, found.in_bps, found.out_bps)
    peak = to_and_from_customers(subject, found.peak_in_bps, found.peak_out_bps)
    return {
        "of": _OF.get(subject, subject),
        "at": found.at,
        "is_current": found.is_current,
        "to_customers_bps": now[0],
        "from_customers_bps": now[1],
        "peak_at": found.peak_at,
        "peak_to_customers_bps": peak[0],
        "peak_from_customers_bps": peak[1],
        "certain_to_bps": found.certain_to_bps,
    }


def _total_for_people(total: dict[str, Any]) -> dict[str, Any]:
    return {
        **total,
        "to_customers": _rate(total["to_customers_bps"]),
        "from_customers": _rate(total["from_customers_bps"]),
        "peak_to": total["peak_at"] and _rate(total["peak_to_customers_bps"]),
        "peak_from": total["peak_at"] and _rate(total["peak_from_customers_bps"]),
        "certain_to": total["certain_to_bps"] and bit_rate(total["certain_to_bps"]),
    }


def _pon_for_people(pon: dict[str, Any]) -> dict[str, Any]:
    return {
        **pon,
        "to_customers": _rate(pon["to_customers_bps"]),
        "from_customers": _rate(pon["from_customers_bps"]),
        "use": _percent(pon["use_to_customers"]),
        "use_up": _percent(pon["use_from_customers"]),
    }


def _rounded(part: float | None) -> float | None:
    return None if part is None else round(part, 4)


def _rate(bps: int | None) -> str:
    return "-" if bps is None else bit_rate(bps)


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f} %"
