"""The attacks of a hostile agent: what is on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from facho.sim.pdu import GET, GET_BULK, GET_NEXT, encode_request
from facho.sim.presets import HOSTILE, PRESETS, UnknownScenario, combine
from facho.sim.scenario import Scenario
from facho.sim.usm import SIMULATED_USERS
from facho.snmp import v3, values
from facho.snmp.message import ErrorStatus, Message, decode_message, iterate_bindings
from facho.snmp.usm import localised_keys
from facho.snmp.values import Oid
from tests.unit.sim.asking import SERIAL, UPTIME, Asker, message

COLUMN = Oid.parse(SERIAL).content


def ask(asker: Asker, name: bytes, tag: int = GET_BULK, repetitions: int = 25) -> Message:
    asker.wire.sent.clear()
    request = message(encode_request(tag, 7, 0, repetitions, [name]))
    asker.olt.datagram_received(request, ("127.0.0.1", 9))
    return decode_message(asker.wire.sent[-1])


def names(asker: Asker, name: bytes, tag: int = GET_BULK, repetitions: int = 25) -> list[bytes]:
    """Whatever they are: the client refuses some of them."""
    bindings, found, end = ask(asker, name, tag, repetitions).bindings, [], 0
    while end < len(bindings):
        _, start, end = values.read_tlv(bindings, end, len(bindings))
        _, start, stop = values.read_tlv(bindings, start, end)
        found.append(bindings[start:stop])
    return found


def attacker(name: str) -> Asker:
    return Asker(PRESETS[name].scenario)


def test_an_endless_table_goes_on_from_wherever_it_is_asked() -> None:
    asker = attacker("endless-table")
    at, seen = COLUMN, set[bytes]()
    for _ in range(20):
        rows = names(asker, at)
        assert len(rows) == 25
        assert all(row.startswith(COLUMN) for row in rows)
        assert not seen & set(rows)
        seen.update(rows)
        at = rows[-1]
    last = COLUMN + Oid.of((1, 3, 0xFFFF_FFFF)).content
    assert names(asker, last)[0].startswith(last)


@pytest.mark.parametrize(("name", "size"), [("huge-oids", 60_000), ("long-oids", 2_100), ("large-arcs", 5)])
@pytest.mark.parametrize("tag", [GET_NEXT, GET_BULK])
def test_names_are_longer_than_they_may_be(name: str, size: int, tag: int) -> None:
    (found,) = names(attacker(name), COLUMN, tag)
    assert (found[: len(COLUMN)], len(found)) == (COLUMN, len(COLUMN) + size)


@pytest.mark.parametrize(("name", "size"), [("huge-oids", 60_000), ("long-oids", 2_100), ("large-arcs", 5)])
def test_a_get_is_answered_with_such_oids_as_values(name: str, size: int) -> None:
    ((found, tag, content),) = iterate_bindings(ask(attacker(name), COLUMN, GET).bindings)
    assert (found, tag, len(content)) == (COLUMN, values.OBJECT_IDENTIFIER, size + 2)


def test_each_row_has_an_index_of_another_length() -> None:
    asker = attacker("new-shapes")
    at, sizes = COLUMN, set[int]()
    for _ in range(60):
        (at,) = names(asker, at)
        assert at.startswith(COLUMN)
        sizes.add(len(at))
    assert len(sizes) == 60


def test_two_of_five_rows_of_onus_have_an_odd_index() -> None:
    rows = names(attacker("odd-indexes"), COLUMN)
    honest = names(Asker(), COLUMN)
    assert [row != right for row, right in zip(rows, honest, strict=True)] == [
        number % 5 in (3, 4) for number in range(25)
    ]


def test_a_walk_over_odd_indexes_goes_on_to_the_end() -> None:
    asker, honest = attacker("odd-indexes"), Asker()
    rows, at = [], COLUMN
    while at.startswith(COLUMN):
        page = names(asker, at)
        rows += [name for name in page if name.startswith(COLUMN)]
        at = page[-1]
    assert len(rows) == len(honest.walk(SERIAL))


def test_a_place_after_a_bad_row_is_told_once_and_then_fails() -> None:
    asker = attacker("bad-rows")
    (first,) = names(asker, COLUMN)
    assert ask(asker, first).error_status == ErrorStatus.genErr
    after = first + b"\x01"
    assert names(asker, after)[0].startswith(COLUMN)
    assert ask(asker, after).error_status == ErrorStatus.genErr


def test_values_are_as_large_as_a_datagram() -> None:
    ((name, _, content),) = iterate_bindings(
        ask(attacker("huge-values"), Oid.parse(UPTIME).content, GET).bindings
    )
    assert (name, len(content)) == (Oid.parse(UPTIME).content, 60_000)


def test_answers_come_in_another_community() -> None:
    asker = attacker("wrong-community")
    ask(asker, COLUMN)
    assert b"another community" in asker.wire.sent[-1]
    assert b"public" not in asker.wire.sent[-1]


def test_unsigned_reports_come_before_the_answer() -> None:
    asker = attacker("forged-reports")
    user = SIMULATED_USERS["sha-256-aes"]
    engine = asker.olt._security.engine_id  # type: ignore[attr-defined]
    outgoing = v3.Outgoing(7, engine, 1, int(asker.clock.now - asker.olt.model.booted_at), user.name.encode())
    pdu = encode_request(GET, 7, 0, 0, [Oid.parse(UPTIME).content])
    scoped = v3.encode_scoped(engine, b"", pdu)
    asker.olt.datagram_received(
        v3.seal(outgoing, user, localised_keys(user, engine), 1, scoped), ("127.0.0.1", 9)
    )
    headers = [v3.decode_header(datagram) for datagram in asker.wire.sent]
    assert [header.is_signed for header in headers] == [False] * 4 + [True]
    assert {header.message_id for header in headers} == {7}
    stats = [v3.stat_of(v3.decode_scoped(header.scoped)) for header in headers[:-1]]
    assert None not in stats


class Later:
    """The part of a loop that a flood needs: what is to be called later, called by hand."""

    def __init__(self) -> None:
        self.due: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def call_later(self, _seconds: float, function: Callable[..., None], *arguments: Any) -> Any:
        self.due.append((function, arguments))
        return Mock()


def test_a_flood_goes_to_who_asked_until_the_scenario_ends() -> None:
    asker, later = Asker(Scenario(flood_per_s=50.0)), Later()
    asker.olt._loop = later  # type: ignore[assignment]
    asker.get(UPTIME)
    for _ in range(9):
        function, arguments = later.due.pop()
        function(*arguments)
    assert asker.olt.report().unsolicited == 10
    asker.olt.scenario = Scenario()
    assert asker.olt._flood_timer is None


def test_the_mixture_makes_every_attack() -> None:
    assert set(HOSTILE) - {"flood", "hostile"} == set(PRESETS["hostile"].scenario.attacks)


def test_an_attack_that_does_not_exist_is_told_in_a_sentence() -> None:
    with pytest.raises(UnknownScenario, match="endless-table"):
        combine(settings=["attacks=nothing"])
