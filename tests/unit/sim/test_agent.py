"""What an agent answers when nothing is wrong with it, by the rules of RFC 3416 and RFC 1157."""

from facho.sim.pdu import GET_BULK, NO_SUCH_NAME, NOT_WRITABLE, SET, TOO_BIG
from facho.sim.scenario import Scenario
from facho.snmp.values import Counter64, Missing
from tests.unit.sim.asking import (
    DESCRIPTION,
    DOWN_BYTES,
    PORT,
    RUN_STATUS,
    SERIAL,
    UP_BYTES,
    UPTIME,
    V1,
    Asker,
)

LAST_ROW = f"{DOWN_BYTES}.{PORT + 256}.35"


def test_get_returns_the_values_in_the_order_asked() -> None:
    said = Asker().get(f"{RUN_STATUS}.{PORT}.3", "1.3.6.1.2.1.1.1.0")
    assert said.oids == [f"{RUN_STATUS}.{PORT}.3", "1.3.6.1.2.1.1.1.0"]
    assert said.values[1] == b"Huawei Integrated Access Software"


def test_get_tells_a_missing_row_from_a_missing_column() -> None:
    said = Asker().get(f"{RUN_STATUS}.{PORT}.99", "1.3.6.1.9.9.0")
    assert said.values == [Missing.NO_SUCH_INSTANCE, Missing.NO_SUCH_OBJECT]
    assert said.status == 0


def test_getnext_goes_from_the_end_of_a_column_to_the_next_one() -> None:
    said = Asker().next(SERIAL, f"{SERIAL}.{PORT + 256}.35")
    assert said.oids[0] == f"{SERIAL}.{PORT}.0"
    assert said.oids[1].startswith("1.3.6.1.4.1.2011.6.128.1.1.2.43.1.7.")


def test_getnext_works_from_an_oid_that_is_no_row() -> None:
    asker = Asker()
    assert asker.next(f"{SERIAL}.{PORT}").oids == [f"{SERIAL}.{PORT}.0"]
    assert asker.next(f"{SERIAL}.{PORT}.3.7").oids == [f"{SERIAL}.{PORT}.4"]
    assert asker.next(f"{SERIAL}.{PORT}.64").oids == [f"{SERIAL}.{PORT + 256}.0"]
    assert asker.next("0.0").oids == ["1.3.6.1.2.1.1.1.0"]


def test_getnext_past_everything_is_the_end_of_the_view() -> None:
    said = Asker().next(LAST_ROW)
    assert said.rows == [(LAST_ROW, Missing.END_OF_MIB_VIEW)]


def test_getbulk_returns_as_many_rows_as_asked() -> None:
    said = Asker().bulk(SERIAL, repetitions=50)
    assert said.oids == [f"{SERIAL}.{PORT}.{onu}" for onu in range(50)]


def test_getbulk_runs_over_into_the_next_column() -> None:
    said = Asker().bulk(f"{SERIAL}.{PORT + 256}.33", repetitions=4)
    assert said.oids[:2] == [f"{SERIAL}.{PORT + 256}.{onu}" for onu in (34, 35)]
    assert [oid.startswith(SERIAL) for oid in said.oids] == [True, True, False, False]


def test_getbulk_ends_with_the_end_of_the_view() -> None:
    said = Asker().bulk(f"{DOWN_BYTES}.{PORT + 256}.34", repetitions=10)
    assert said.oids == [LAST_ROW, LAST_ROW]
    assert said.values[1] is Missing.END_OF_MIB_VIEW


def test_getbulk_takes_non_repeaters_and_several_repeaters() -> None:
    said = Asker().bulk(UPTIME[:-2], SERIAL, DESCRIPTION, repetitions=3, singles=1)
    onus = [f"{column}.{PORT}.{onu}" for onu in range(3) for column in (SERIAL, DESCRIPTION)]
    assert said.oids == [UPTIME, *onus]


def test_getbulk_with_several_repeaters_agrees_with_one_at_a_time() -> None:
    asker = Asker()
    both = asker.bulk(SERIAL, RUN_STATUS, repetitions=30).rows
    assert both[::2] == asker.bulk(SERIAL, repetitions=30).rows
    assert both[1::2] == asker.bulk(RUN_STATUS, repetitions=30).rows


def test_getbulk_goes_on_while_one_of_its_repeaters_has_rows() -> None:
    said = Asker().bulk(LAST_ROW, f"{DOWN_BYTES}.{PORT + 256}.33", repetitions=10)
    ends = [value is Missing.END_OF_MIB_VIEW for value in said.values]
    assert ends == [True, False, True, False, True, True]


def test_getbulk_without_repetitions_is_an_empty_answer() -> None:
    said = Asker().bulk(SERIAL, repetitions=0)
    assert (said.rows, said.status) == ([], 0)


def test_getbulk_gives_as_many_rows_as_the_message_can_hold() -> None:
    asker = Asker(Scenario(max_message=1400))
    said = asker.bulk(DESCRIPTION, repetitions=100)
    assert 10 < len(said.rows) < 100
    assert 1400 - 60 < said.size <= 1400
    assert asker.walk(DESCRIPTION) == Asker().walk(DESCRIPTION)


def test_getbulk_of_several_columns_gives_whole_repetitions_only() -> None:
    said = Asker(Scenario(max_message=1000)).bulk(DESCRIPTION, RUN_STATUS, SERIAL, repetitions=100)
    assert len(said.rows) % 3 == 0
    assert said.size <= 1000


def test_a_get_that_does_not_fit_is_too_big() -> None:
    oids = [f"{DESCRIPTION}.{PORT}.{onu}" for onu in range(40)]
    said = Asker(Scenario(max_message=1400)).get(*oids)
    assert (said.status, said.index, said.rows) == (TOO_BIG, 0, [])


def test_version_1_says_no_such_name_and_gives_the_request_back() -> None:
    asker = Asker()
    said = asker.get(UPTIME, "1.3.6.1.9.9.0", version=V1)
    assert (said.status, said.index) == (NO_SUCH_NAME, 2)
    assert said.rows == [(UPTIME, None), ("1.3.6.1.9.9.0", None)]
    assert asker.next(LAST_ROW, version=V1).status == NO_SUCH_NAME


def test_version_1_does_not_see_64_bit_counters() -> None:
    asker = Asker(onus=3)
    before = f"1.3.6.1.4.1.2011.6.128.1.1.2.62.1.22.{PORT}.2.2"
    assert isinstance(asker.next(UP_BYTES).values[0], Counter64)
    assert asker.get(f"{UP_BYTES}.{PORT}.0", version=V1).status == NO_SUCH_NAME
    assert isinstance(asker.next(before).values[0], Counter64)
    assert asker.next(before, version=V1).status == NO_SUCH_NAME


def test_version_1_has_no_getbulk() -> None:
    asker = Asker()
    assert asker.ask(GET_BULK, [SERIAL], 0, 5, version=V1) is None
    assert asker.olt.report().garbage == 1


def test_a_set_is_refused() -> None:
    asker = Asker()
    assert asker.answer(SET, [UPTIME]).status == NOT_WRITABLE
    assert asker.answer(SET, [UPTIME], version=V1).status == NO_SUCH_NAME


def test_a_wrong_community_is_met_with_silence() -> None:
    asker = Asker()
    assert asker.ask(GET_BULK, [SERIAL], 0, 5, community=b"private") is None
    report = asker.olt.report()
    assert (report.unknown_community, report.requests, report.answers) == (1, 0, 0)


def test_request_ids_come_back_whatever_their_size() -> None:
    asker = Asker()
    for request_id in (0, 1, 127, 128, 65535, 65536, 0x7FFF_FFFF, -1):
        assert asker.get(UPTIME, request_id=request_id).request_id == request_id


def test_a_huge_number_of_repetitions_is_no_more_than_a_datagram() -> None:
    asker = Asker(onus=1000)
    for columns in ([SERIAL], [SERIAL, DESCRIPTION]):
        said = asker.bulk(*columns, repetitions=0x7FFF_FFFF)
        assert len(said.rows) > 1000
        assert 65000 < said.size <= 65507
