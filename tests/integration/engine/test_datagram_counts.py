"""How many datagrams a collection takes: counted at the OLT, and the same on any machine."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from facho.engine.collect.request_plan import Batching
from facho.snmp import Learned, Limits
from facho.snmp.pacing import PACKET
from tests.integration.engine.site import Site, site

ONUS = 1000
OPTICS = ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c", "bias_ma")


def fixed(rows: int) -> Learned:
    """What an OLT has learned to be asked for: as many as it may be, so that nothing more is tried."""
    return Learned(rows, 5)


@pytest.mark.parametrize("rows", [50, 200])
def test_a_walk_takes_one_datagram_for_each_page_of_a_column_and_two_for_the_uptime(rows: int) -> None:
    with site(onus=ONUS) as olt:
        target = replace(olt.target, limits=Limits(5, rows))
        part = olt.part("table", "state", "down_cause", "distance_m")
        columns = 3 * 2
        # The tables of EPON are there and empty: their one page shows that.
        known = olt.ask(part, target=target, learned=fixed(rows))
        assert known.succeeded
        with olt.counted() as seen:
            found = olt.ask(part, target=target, learned=fixed(rows))
        # The page after the last full one shows the end of the column.
        pages = math.floor(ONUS / rows) + 1
        assert len(part.columns) == columns
        assert seen[0].requests == found.parts[0].load.requests == 2 + 3 * pages + 3


@pytest.mark.parametrize(("varbinds", "per_request"), [(20, 4), (24, 4), (50, 10)])
def test_a_get_takes_one_datagram_for_as_many_whole_onus_as_fit_and_one_for_the_uptime(
    varbinds: int, per_request: int
) -> None:
    with site(onus=ONUS) as olt:
        known = tuple(onu._replace(online=True) for onu in olt.known())
        limits = Limits(5, 50, None, varbinds)
        with olt.counted() as seen:
            found = olt.ask(
                olt.part("get", *OPTICS),
                known=known,
                target=replace(olt.target, limits=limits),
                learned_gets={24: fixed(varbinds)},
                varbinds=varbinds,
            )
        batch = Batching().size
        assert found.parts[0].load.varbinds == 1 + ONUS * len(OPTICS)
        assert seen[0].get == found.parts[0].load.requests
        assert seen[0].requests == 1 + ONUS // batch * math.ceil(batch / per_request)


def test_an_onu_with_more_values_than_a_request_may_have_is_asked_in_several() -> None:
    with site(onus=10) as olt:
        known = tuple(onu._replace(online=True) for onu in olt.known())
        limits = Limits(5, 3)
        with olt.counted() as seen:
            found = olt.ask(
                olt.part("get", *OPTICS),
                known=known,
                target=replace(olt.target, limits=limits),
                learned_gets={24: fixed(3)},
                varbinds=3,
            )
        assert found.parts[0].rows == 10
        assert seen[0].requests == 1 + math.ceil(10 * len(OPTICS) / 3)


def collect_often(olt: Site, limits: Limits, times: int = 6) -> tuple[Learned, Learned]:
    """Walk and get, each time with what was learned before; return what is known of walks and of GETs."""
    known = tuple(onu._replace(online=True) for onu in olt.known())
    parts = olt.part("discovery", "serial", "state"), olt.part("get", *OPTICS)
    found = olt.ask(*parts, known=known, target=replace(olt.target, limits=limits))
    for _ in range(times):
        found = olt.ask(
            *parts,
            known=known,
            target=replace(olt.target, limits=limits),
            learned=found.learned,
            learned_gets=found.learned_gets,
        )
        assert found.succeeded
        assert not any(part.load.timeouts for part in found.parts)
    assert found.learned is not None
    return found.learned, found.learned_gets[24]


def test_an_olt_that_answers_at_once_comes_to_be_asked_for_more_than_usual() -> None:
    with site(onus=ONUS) as olt:
        walks, gets = collect_often(olt, Limits(5, 50, None, 200))
        assert walks.varbinds == 200
        assert walks.fragments
        # Every value of these takes 27 octets of a request, which is never longer than one packet.
        assert 20 < gets.varbinds <= PACKET // 27


def test_an_olt_is_never_asked_for_more_than_its_operator_allows() -> None:
    with site(onus=ONUS) as olt:
        walks, gets = collect_often(olt, Limits(5, 30, None, 30))
        assert (walks.varbinds, gets.varbinds) == (30, 30)


def test_an_olt_that_finds_more_too_big_is_asked_for_what_it_answered_before() -> None:
    with site(onus=ONUS, toobig_varbinds=60) as olt:
        walks, gets = collect_often(olt, Limits(5, 50, None, 200))
        assert walks.varbinds == walks.most_varbinds == 50
        assert gets.varbinds <= 60
