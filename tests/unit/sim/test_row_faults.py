"""Agents that stumble over some rows of their ONU tables."""

from facho.sim.pdu import GEN_ERR, GET, GET_BULK, GET_NEXT
from facho.sim.scenario import Scenario
from facho.snmp.values import Missing
from tests.unit.sim.asking import DESCRIPTION, PORT, SERIAL, UPTIME, Asker


def rows_of(oids: list[str]) -> list[int]:
    return [int(oid.rsplit(".", 1)[1]) for oid in oids]


def test_a_row_that_fails_fails_every_request_that_would_return_it() -> None:
    asker = Asker(Scenario(generr_rows=(5,)))
    bad = f"{SERIAL}.{PORT}.5"
    assert (asker.get(UPTIME, bad).status, asker.get(UPTIME, bad).index) == (GEN_ERR, 2)
    assert asker.next(f"{SERIAL}.{PORT}.4").status == GEN_ERR
    said = asker.bulk(UPTIME, SERIAL, repetitions=6)
    assert (said.status, said.index) == (GEN_ERR, 2)
    assert said.rows == [(UPTIME, None), (SERIAL, None)]


def test_rows_around_one_that_fails_can_be_read() -> None:
    asker = Asker(Scenario(generr_rows=(5,)))
    assert rows_of(asker.bulk(SERIAL, repetitions=5).oids) == [0, 1, 2, 3, 4]
    assert rows_of(asker.bulk(f"{SERIAL}.{PORT}.5", repetitions=3).oids) == [6, 7, 8]


def test_faults_can_be_kept_to_some_columns() -> None:
    asker = Asker(Scenario(generr_rows=(5,), columns=("serial",)))
    assert asker.bulk(SERIAL, repetitions=10).status == GEN_ERR
    assert asker.bulk(DESCRIPTION, repetitions=10).status == 0


def test_a_row_that_hangs_gets_no_answer_at_all() -> None:
    asker = Asker(Scenario(silent_rows=(5,)))
    assert asker.ask(GET, [f"{SERIAL}.{PORT}.5"]) is None
    assert asker.ask(GET_NEXT, [f"{SERIAL}.{PORT}.4"]) is None
    assert asker.ask(GET_BULK, [SERIAL], 0, 6) is None
    assert rows_of(asker.bulk(SERIAL, repetitions=5).oids) == [0, 1, 2, 3, 4]
    assert asker.olt.report().unanswered == 3


def test_a_row_repeats_for_ever() -> None:
    asker = Asker(Scenario(repeat_row=4))
    assert rows_of(asker.bulk(SERIAL, repetitions=8).oids) == [0, 1, 2, 3, 4, 4, 4, 4]
    assert rows_of(asker.next(f"{SERIAL}.{PORT}.4").oids) == [4]


def test_a_walk_is_sent_back_to_an_earlier_row() -> None:
    asker = Asker(Scenario(repeat_row=4, repeat_back_to=2))
    assert rows_of(asker.bulk(SERIAL, repetitions=9).oids) == [0, 1, 2, 3, 4, 2, 3, 4, 2]


def test_two_rows_change_places_in_the_same_way_for_every_kind_of_request() -> None:
    asker = Asker(Scenario(swap_rows=(3, 4)))
    assert rows_of(asker.bulk(SERIAL, repetitions=7).oids) == [0, 1, 2, 4, 3, 5, 6]
    steps = [rows_of(asker.next(f"{SERIAL}.{PORT}.{row}").oids)[0] for row in (2, 4, 3, 5)]
    assert steps == [4, 3, 5, 6]


def test_the_first_two_rows_can_change_places_too() -> None:
    asker = Asker(Scenario(swap_rows=(0, 1)))
    assert rows_of(asker.bulk(SERIAL, repetitions=4).oids) == [1, 0, 2, 3]


def test_rows_far_apart_can_change_places() -> None:
    asker = Asker(Scenario(swap_rows=(1, 4)))
    assert rows_of(asker.bulk(SERIAL, repetitions=7).oids) == [0, 4, 2, 3, 1, 5, 6]


def test_rows_come_and_go_with_the_requests() -> None:
    asker = Asker(Scenario(churn_every=1, churn_rows=30))
    first = set(asker.bulk(SERIAL, repetitions=60).oids)
    second = set(asker.bulk(SERIAL, repetitions=60).oids)
    assert first - second
    assert second - first


def test_the_same_seed_hides_the_same_rows() -> None:
    scenario = Scenario(churn_every=3, churn_rows=20)
    walks = [Asker(scenario, seed=seed).walk(SERIAL) for seed in (1, 1, 2)]
    assert walks[0] == walks[1]
    assert walks[0] != walks[2]


def test_a_row_that_is_gone_is_gone_from_every_table() -> None:
    asker = Asker(Scenario(churn_every=1000, churn_rows=50))
    there = rows_of(asker.bulk(SERIAL, repetitions=14).oids)
    gone = next(row for row in range(max(there)) if row not in there)
    said = asker.get(f"{SERIAL}.{PORT}.{gone}", f"{DESCRIPTION}.{PORT}.{gone}")
    assert said.values == [Missing.NO_SUCH_INSTANCE] * 2


def test_system_tables_have_no_faulty_rows() -> None:
    asker = Asker(Scenario(generr_rows=(0,), silent_rows=(1,), repeat_row=2))
    assert len(asker.walk("1.3.6.1.2.1.1")) == 6
