"""The fast encoding and reading of a GET gives exactly what the plain one does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.get import UNREAD, PositionResult, Unread, get_positions
from facho.snmp.get_names import GetNames, NameList, RowNames
from facho.snmp.message import (
    Community,
    PduType,
    Version,
    decode_bindings,
    decode_message,
    encode_binding,
    encode_names,
    encode_pdu,
    iterate_bindings,
)
from facho.snmp.pacing import Learned, Limits
from facho.snmp.peer import Peer, ReceiveLimit, RequestSettings
from facho.snmp.requester import Requester
from facho.snmp.transport import Endpoint, SocketAddress
from facho.snmp.values import Missing, Oid, Value, encode_arcs, encode_value
from tests.hypothesis_runs import often
from tests.property.damage import KINDS, Damage, damaged

PUBLIC = Community(Version.V2C, b"public")
# The columns of one table; the last one has a longer name, so that rows with it are not alike.
COLUMNS = [Oid.parse(f"1.3.6.1.4.1.2011.6.{number}").content for number in (1, 4, 46, 91, 300)]

arcs = st.sampled_from([0, 1, 5, 48, 127, 128, 4_194_304_000, 0xFFFF_FFFF])
suffixes = st.lists(
    st.lists(arcs, min_size=1, max_size=3).map(tuple).map(encode_arcs), min_size=1, max_size=12
)
alike = st.lists(
    st.integers(0, 127).map(lambda arc: encode_arcs((4_194_304_000, arc))), min_size=1, max_size=12
)
columns = st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4, unique=True)
raw_values: st.SearchStrategy[Value] = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.binary(max_size=30),
    st.integers(80, 140).map(bytes),
    st.sampled_from([None, Missing.NO_SUCH_OBJECT, Missing.NO_SUCH_INSTANCE, Missing.END_OF_MIB_VIEW]),
    # A string that looks like a binding.
    st.just(encode_binding(COLUMNS[0] + b"\x01", encode_value(7))),
)
tables = st.builds(RowNames, columns, st.one_of(alike, suffixes))
damages = st.lists(
    st.builds(
        Damage, st.sampled_from(KINDS), st.integers(0, 65_535), st.integers(1, 12), st.integers(0, 255)
    ),
    min_size=1,
    max_size=3,
)


def read_plainly(names: GetNames, positions: Sequence[int], bindings: bytes) -> list[Value] | None:
    """Return the values of an answer with the names that were asked for in this order; None for others."""
    try:
        received = decode_bindings(bindings)
    except BerError:
        return None
    in_order = [name for name, _ in received] == names.names(positions)
    return [value for _, value in received] if in_order else None


@often(400)
@given(tables, st.data())
def test_a_request_has_the_names_in_the_order_of_their_positions(
    names: RowNames, data: st.DataObject
) -> None:
    everything = range(len(names))
    chosen = data.draw(st.lists(st.sampled_from(everything), max_size=20))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, len(names)), st.integers(0, len(names)))))
    for positions in (everything, everything[start:stop], chosen):
        assert names.encode(positions) == encode_names(names.names(positions))


@often(800)
@given(tables, st.data())
def test_an_answer_is_read_as_the_strict_decoder_reads_it_or_left_to_it(
    names: RowNames, data: st.DataObject
) -> None:
    everything = range(len(names))
    given_values = data.draw(st.lists(raw_values, min_size=len(names), max_size=len(names)))
    asked = names.names(everything)
    rows = [
        encode_binding(name, encode_value(value)) for name, value in zip(asked, given_values, strict=True)
    ]
    answer = b"".join(rows)
    # A value that cannot be encoded as it is, such as a NULL, must still be equal in both.
    plain = read_plainly(names, everything, answer)
    assert plain is not None
    assert repr(names.read(everything, answer)) in (repr(plain), "None")
    strange = [
        b"".join(data.draw(st.permutations(rows))),
        answer + rows[0],
        b"".join(rows[1:]),
        answer + encode_binding(COLUMNS[0] + b"\x09", encode_value(1)),
        answer[:-1],
        damaged(answer, data.draw(damages)),
    ]
    for bindings in strange:
        found = names.read(everything, bindings)
        assert found is None or repr(found) == repr(read_plainly(names, everything, bindings))


@given(columns, alike, st.integers(-(2**31), 2**31 - 1))
def test_the_usual_answer_is_read_by_the_pattern(chosen: list[bytes], rows: list[bytes], value: int) -> None:
    names = RowNames([column for column in chosen if column != COLUMNS[-1]] or COLUMNS[:1], rows)
    everything = range(len(names))
    answer = b"".join(encode_binding(name, encode_value(value)) for name in names.names(everything))
    assert names.read(everything, answer) == [value] * len(names)


class Wire:
    """Answers each GET with `answer(names)`, or not at all if that is None."""

    def __init__(self, answer: Callable[[list[bytes]], bytes | None], varbinds: int) -> None:
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self.peer = Peer(("192.0.2.1", 161), cast(Endpoint, self), self._loop)
        # As good as fixed: nothing is tried within these limits.
        self.peer.window.configure(Limits(1, varbinds), Learned(varbinds, 1))
        self.requester = Requester(
            self.peer, RequestSettings(3600.0, 0, 1, None, ReceiveLimit()), PUBLIC, bulk=True
        )
        self.requests: list[bytes] = []

    def send(self, data: bytes, _address: SocketAddress) -> None:
        asked = decode_message(data)
        self.requests.append(asked.bindings)
        bindings = self._answer([name for name, _, _ in iterate_bindings(asked.bindings)])
        if bindings is not None:
            pdu = encode_pdu(PduType.RESPONSE, asked.request_id, 0, 0, bindings)
            self._loop.call_soon(self.peer.received, PUBLIC.wrap(pdu))


FAULTS = ("none", "order", "other", "extra", "cut", "missing", "twice", "long")


def hostile_agent(seed: int) -> Callable[[list[bytes]], bytes]:
    """Answer with one of the faults, the same one whenever the same names are asked for."""

    def answer(names: list[bytes]) -> bytes:
        chance = random.Random(f"{seed} {b''.join(names).hex()}")
        rows = [encode_binding(name, encode_value(len(name) * 1000 + name[-1])) for name in names]
        match chance.choice(FAULTS):
            case "order":
                chance.shuffle(rows)
            case "other":
                rows[chance.randrange(len(rows))] = encode_binding(names[0] + b"\x01", encode_value(1))
            case "extra":
                rows.append(encode_binding(names[-1] + b"\x01", encode_value(1)))
            case "cut":
                rows[-1] = rows[-1][:-1]
            case "missing":
                del rows[chance.randrange(len(rows))]
            case "twice":
                rows.append(rows[0])
            case "long":
                name = values.encode_tlv(values.OBJECT_IDENTIFIER, names[0])
                content = name + encode_value(1)
                rows[0] = bytes((values.SEQUENCE, 0x81, len(content))) + content
        return b"".join(rows)

    return answer


@often(200)
@given(columns, st.one_of(alike, suffixes), st.integers(1, 4), st.integers(0, 2**32))
def test_a_get_of_rows_ends_as_a_get_of_the_same_names(
    chosen: list[bytes], rows: list[bytes], per_request: int, seed: int
) -> None:
    table = RowNames(chosen, list(dict.fromkeys(rows)))
    plain = NameList(table.names(range(len(table))))

    async def get(names: GetNames) -> tuple[PositionResult, list[bytes]]:
        wire = Wire(hostile_agent(seed), per_request * len(chosen))
        unread: list[Value | Unread] = [UNREAD] * len(table)
        return await get_positions(wire.requester, names, range(len(table)), unread, None), wire.requests

    (fast, fast_requests), (slow, slow_requests) = (asyncio.run(get(names)) for names in (table, plain))
    assert fast.values == slow.values
    assert fast.read == slow.read == sum(value is not UNREAD for value in slow.values)
    assert {at: str(error) for at, error in fast.failed.items()} == {
        at: str(error) for at, error in slow.failed.items()
    }
    assert fast_requests == slow_requests
    assert (fast.load.varbinds, fast.error) == (slow.load.varbinds, slow.error)
