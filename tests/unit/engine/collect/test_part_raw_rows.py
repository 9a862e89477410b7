"""Values of own OIDs in the JSON result of an execution."""

from __future__ import annotations

import json
import math
from ipaddress import IPv4Address

import pytest

from facho.core.reasons import NO_REASON
from facho.engine.collect.part_results import collect_raw_rows, raw_value
from facho.snmp import Missing, Oid, Value
from facho.snmp.values import Counter64, OpaqueFloat, Unknown


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"OLT-1", "OLT-1"),
        ("año".encode(), "año"),
        (b"\x00\xff", "0x00ff"),
        (b"0xAB", "0x30784142"),
        (b"", ""),
        (7, 7),
        (Counter64(2**63), 2**63),
        (OpaqueFloat(1.5), 1.5),
        (math.inf, "inf"),
        (None, None),
        (Missing.NO_SUCH_OBJECT, None),
        (Oid.parse("1.3.6.1"), "1.3.6.1"),
        (IPv4Address("10.0.0.1"), "10.0.0.1"),
        (Unknown(0x99, b"\x01"), "0x01"),
    ],
)
def test_a_value_is_written_as_json_can_hold_it(value: Value, told: object) -> None:
    written = raw_value(value)
    assert written == told
    assert type(written) in (int, float, str, type(None))
    assert json.loads(json.dumps(written)) == told


def test_a_long_text_is_cut() -> None:
    written = raw_value(b"a" * 5000)
    assert isinstance(written, str)
    assert written == "a" * 1000 + "..."


def test_rows_have_their_index_in_dots() -> None:
    assert collect_raw_rows({"names": {b"\x01\x82\x00": b"x", b"": b"y", b"\x80": b"z"}}) == (
        {"names": {"1.256": "x", "": "y", "0x80": "z"}},
        NO_REASON,
    )


def test_of_too_many_rows_the_first_are_kept_and_it_is_told() -> None:
    rows: dict[bytes, Value] = {bytes([row]): row for row in range(100)}
    raw, cut = collect_raw_rows({"one": rows, "two": rows}, most=120)
    assert (len(raw["one"]), len(raw["two"])) == (100, 20)
    assert str(cut) == "only the first 120 of 200 rows of the job's own OIDs were kept"
