"""Rows whose index tells no place: counted, with an example, and told apart from rows of no interest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from facho.vendors import Decoded, Decoder, Entity, Key, UnreadableRows
from facho.vendors.decode import LONGEST_EXAMPLE
from facho.vendors.index import join_arcs
from facho.vendors.parse import parse_profile

PROFILE = parse_profile(
    """\
profile: acme
title: Acme OLTs
confidence: agreed
source: its maker
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes:
  onu: [{part: port, range: [1, 16]}, onu]
  of_several: [port, onu, {skip: yes}]
  one_of_several: [port, onu, {only: 1}]
  packed:
    - packings:
        - {bits: {port: {at: 8, width: 3}, onu: {at: 0, width: 8}}, value: 0x30000000}
        - {bits: {port: {at: 8, width: 4}, onu: {at: 0, width: 8}}, value: 0x90000000}
  interface:
    parts:
      - bits: {port: {at: 8, width: 8}, onu: {at: 0, width: 8}}
        value: 0x01000000
        ignore_others: yes
  board: [{part: slot, range: [1, 20]}]
tables:
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: onu, columns: {serial: 1, description: 2}}
  uplinks: {of: onu, oid: 1.3.6.1.4.1.99999.3, index: of_several, columns: {model: 1}}
  lines: {of: onu, oid: 1.3.6.1.4.1.99999.4, index: one_of_several, columns: {plan: 1}}
  cards: {of: onu, oid: 1.3.6.1.4.1.99999.5, index: packed, columns: {name: 1, line_profile: 2}}
  interfaces: {of: onu, oid: 1.3.6.1.4.1.99999.6, index: interface, columns: {type: 1}}
  drawers:
    of: onu
    oid: 1.3.6.1.4.1.99999.8
    index: packed
    columns: {srv_profile: 1, hw_version: 2, sw_version: 3}
  boards: {of: board, oid: 1.3.6.1.4.1.99999.7, index: board, columns: {name: 1}}
""",
    "acme.yaml",
)
TREE = "1.3.6.1.4.1.99999"
# Two indexes of the same place, in two packings, and one of another place.
FIRST, SECOND, OTHER = (0x3000_0101,), (0x9000_0101,), (0x3000_0102,)


def decode(**columns: Sequence[tuple[int, ...]]) -> Decoded:
    """Rows at these indexes; `t2_1` is column 1 of the second table."""
    rows = {
        f"{TREE}.{name[1:].replace('_', '.')}": {join_arcs(each): b"ABCD1234" for each in indexes}
        for name, indexes in columns.items()
    }
    return Decoder(PROFILE).decode(rows)


def test_a_row_that_several_columns_have_counts_once() -> None:
    indexes = [(1, 1), (99, 1), (99, 2), (2, 1)]
    found = decode(t2_1=indexes, t2_2=[*indexes, (98, 7)])
    assert found.onus.keys == [Key(port=1, onu=1), Key(port=2, onu=1)]
    assert found.unreadable == {"onus": UnreadableRows(Entity.ONU, 3, "99.1")}
    assert found.has_gaps(Entity.ONU)
    assert not found.has_gaps(Entity.PORT)


def test_a_column_whose_rows_can_be_read_hides_no_row_of_another() -> None:
    found = decode(t2_1=[(1, 1)], t7_1=[(1,), (77,)])
    assert found.unreadable == {"boards": UnreadableRows(Entity.BOARD, 1, "77")}
    assert not found.has_gaps(Entity.ONU)


@pytest.mark.parametrize(
    "columns",
    [
        # Several rows for each ONU, of which the first counts.
        {"t3_1": [(1, 1, 1), (1, 1, 2), (1, 2, 1)]},
        # One row of several is of interest.
        {"t4_1": [(1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 2, 1)]},
        # Interfaces of another kind.
        {"t6_1": [(0x0100_0101,), (7,), (8,)]},
        # Cards that count in their own way.
        {"t5_1": [(0x3000_0101,), (0x9000_0201,)]},
    ],
)
def test_rows_that_the_profile_leaves_out_by_rule_are_not_unreadable(
    columns: dict[str, list[tuple[int, ...]]],
) -> None:
    found = decode(**columns)
    assert len(found.onus) > 0
    assert found.unreadable == {}


def test_of_two_rows_at_one_place_the_second_cannot_be_told() -> None:
    found = decode(t5_1=[(0x3000_0101,), (0x3000_0102,), (0x9000_0101,)])
    assert found.onus.keys == [Key(port=1, onu=1), Key(port=1, onu=2)]
    assert found.unreadable == {"cards": UnreadableRows(Entity.ONU, 1, str(0x9000_0101))}
    assert str(found.problems.first[0]) == f"cards.name {0x9000_0101}: another row is at 1:1 too"


@pytest.mark.parametrize(
    "columns",
    [
        {"t5_1": [FIRST, SECOND], "t5_2": [SECOND]},
        {"t5_1": [FIRST], "t5_2": [SECOND]},
        # The second table has the rows of the first one, and then others.
        {"t5_1": [FIRST], "t8_1": [FIRST], "t8_2": [SECOND]},
        {"t8_1": [FIRST], "t8_2": [SECOND, OTHER], "t8_3": [OTHER]},
    ],
)
def test_no_onu_is_made_of_two_rows(columns: dict[str, list[tuple[int, ...]]]) -> None:
    found = decode(**columns)
    at = found.onus.keys.index(Key(port=1, onu=1))
    *_, last = columns
    fact = {"t5_2": "line_profile", "t8_2": "hw_version", "t8_3": "hw_version"}[last]
    assert found.onus.columns[fact][at] is None
    (unreadable,) = found.unreadable.values()
    assert unreadable == UnreadableRows(Entity.ONU, 1, str(SECOND[0]))


def test_the_example_is_never_long() -> None:
    found = decode(t2_1=[tuple([4_000_000_000] * 100)])
    example = found.unreadable["onus"].example
    assert len(example) == LONGEST_EXAMPLE
    assert example.startswith("4000000000.4000000000.")


CONDITIONAL = parse_profile(
    """\
profile: acme
title: Acme OLTs
confidence: agreed
source: its maker
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes: {interface: [row]}
tables:
  names: {of: uplink, oid: 1.3.6.1.4.1.99999.2, index: interface, columns: {name: 2}}
  counters:
    of: uplink
    oid: 1.3.6.1.4.1.99999.3
    index: interface
    rows: {oid: 1.3.6.1.4.1.99999.2.1, is: 1}
    columns: {state: {column: 1, enum: {1: up}}, in_octets: {column: 2, unit: octets}}
""",
    "acme.yaml",
)


@pytest.mark.parametrize(
    ("kinds", "expected"), [((), [None, None]), ((3, 3), [None, None]), ((3, 1), [None, 7])]
)
def test_a_condition_that_no_row_meets_leaves_the_rows_without_a_value(
    kinds: Sequence[int], expected: Sequence[int | None]
) -> None:
    indexes = [join_arcs((number,)) for number in (1, 2)]
    found = Decoder(CONDITIONAL).decode(
        {
            f"{TREE}.2.1": dict(zip(indexes, kinds, strict=False)),
            f"{TREE}.2.2": dict.fromkeys(indexes, b"ge0"),
            f"{TREE}.3.1": dict.fromkeys(indexes, 1),
            f"{TREE}.3.2": dict.fromkeys(indexes, 7),
        }
    )[Entity.UPLINK]
    assert found.keys == [Key(extra=1), Key(extra=2)]
    assert found.columns["in_octets"] == expected
    assert {len(column) for column in found.columns.values()} == {2}
