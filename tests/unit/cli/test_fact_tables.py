"""The page of all facts, and what reading each of them costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from facho.cli.fact_tables import FamilyFact, facts_of, facts_page
from facho.vendors import builtin

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "facts.md"


def fact(family: str, name: str, table: str = "") -> FamilyFact:
    return next(each for each in facts_of(builtin()[family]) if each.fact == name and table in each.table)


def test_the_page_of_the_reference_is_up_to_date() -> None:
    """Else: `facho profile facts --markdown > docs/reference/facts.md`."""
    assert PAGE.read_text(encoding="utf-8") == facts_page(builtin().values())


def test_a_fact_tells_its_column_and_how_it_is_read() -> None:
    optics = fact("huawei", "onu_rx_dbm")
    assert (optics.oid, optics.technology) == ("1.3.6.1.4.1.2011.6.128.1.1.2.51.1.4", "gpon")
    assert (optics.read, optics.confidence) == ("GET", "agreed")
    assert fact("fiberhome", "onu_rx_dbm").read == "walk, slow"
    assert fact("huawei", "serial").read == "walk"


def test_what_stands_in_for_a_missing_column_is_in_parentheses() -> None:
    assert fact("zte", "uplink.in_octets").others == ("(1.3.6.1.2.1.2.2.1.10)",)
    assert fact("zte", "board.cpu_pct").others == ("1.3.6.1.4.1.3902.1082.10.1.2.4.1.9",)


@pytest.mark.parametrize(
    ("family", "name", "requests"),
    [
        # A thousand rows by fifty, and one request that sees the end.
        ("zte", "serial", 21),
        # Twenty ONUs in each request.
        ("zte", "onu_rx_dbm", 51),
        ("zte", "uplink.in_octets", 2),
        # The table of interfaces has a row for each ONU.
        ("bdcom", "uplink.in_octets", 21),
        ("nokia", "uplink.out_errors", 21),
        ("huawei", "olt.version", 2),
    ],
)
def test_a_fact_costs_what_the_what_if_counts(family: str, name: str, requests: int) -> None:
    assert fact(family, name).requests == requests
