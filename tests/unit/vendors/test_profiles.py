"""Profiles as files: mistakes are named with file, line and field; the built-in ones keep their promises."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import pytest

from facho.core.onu_states import DownCause, OnuStatus, reported_states
from facho.snmp.values import Counter32
from facho.vendors import GENERIC, BadProfile, Decoder, Entity, builtin
from facho.vendors.facts import Confidence
from facho.vendors.parse import parse_profile
from facho.vendors.rules import compile_rule
from tests.unit.vendors.rows import Cells, under

GOOD = """\
profile: acme
title: Acme OLTs
confidence: agreed
source: its maker
detect:
  any:
    - {object_id: 1.3.6.1.4.1.99999.1.7, model: A7}
indexes:
  onu:
    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}
      value: 0xFA000000
    - onu
  port: [{bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}, value: 0xFA000000}]
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: onu
    columns:
      serial: 3
      state: {column: 4, enum: {1: online, 2: {word: gone, is: offline}}}
      onu_rx_dbm: {column: 5, unit: dBm, scale: 0.01, no_value: [-1]}
"""


def mistakes(text: str) -> list[str]:
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "acme.yaml")
    return [str(mistake) for mistake in caught.value.mistakes]


def test_a_good_profile_is_taken() -> None:
    assert parse_profile(GOOD, "acme.yaml").name == "acme"


@pytest.mark.parametrize(
    ("before", "after", "where", "what"),
    [
        (
            "port: {at: 8, width: 5}}\n",
            "port: {at: 8, width: 6}}\n",
            "line 10, indexes.onu[0].bits",
            "slot and port overlap: both have bit 13",
        ),
        (
            "at: 13, width: 5}, port: {at: 8, width: 5}}\n",
            "at: 30, width: 5}, port: {at: 8, width: 5}}\n",
            "line 10, indexes.onu[0].bits.slot",
            "are not in a number of 32 bits",
        ),
        (
            "value: 0xFA000000\n    - onu",
            "value: 0xFA002000\n    - onu",
            "line 11, indexes.onu[0].value",
            "has bits of its own where slot is",
        ),
        ("    - onu\n", "    - ont\n", "line 12, indexes.onu[1]", "'ont' is not one of"),
        (
            "  port: [",
            "  box: {parts: [port], always: {slot: 0, port: 1}}\n  port: [",
            "line 13, indexes.box.always.port",
            "port is in the numbers of the index too",
        ),
        (
            "  port: [",
            "  box: {parts: [port], always: {onu: 1}}\n  port: [",
            "line 13, indexes.box.always.onu",
            "'onu' is not one of frame, slot, port",
        ),
        ("title:", "titel:", "line 2, titel", "unknown key 'titel'"),
        (
            "unit: dBm, scale",
            "unit: dBm, scael",
            "line 22, tables.onus.columns.onu_rx_dbm.scael",
            "unknown key",
        ),
        (
            "unit: dBm",
            "unit: mW",
            "line 22, tables.onus.columns.onu_rx_dbm.unit",
            "onu_rx_dbm is in dBm, not in mW",
        ),
        (
            "    oid: 1.3.6.1.4.1.99999.2.1\n",
            "",
            "line 19, tables.onus.columns.serial",
            "column 3 of what? Its table has no 'oid'",
        ),
        ("index: onu\n", "index: onus\n", "line 18, tables.onus.index", "there is no index 'onus'"),
        ("index: onu\n", "index: port\n", "line 18, tables.onus.index", "does not tell onu"),
        ("serial: 3", "serail: 3", "line 20, tables.onus.columns.serail", "'serail' is no fact of onu"),
        ("serial: 3", "serial: 3\n      serial: 4", "line 21, tables.onus.columns.serial", "is there twice"),
        (
            "serial: 3",
            "serial: {column: 3, scale: 2}",
            "line 20, tables.onus.columns.serial.scale",
            "is for numbers, and serial is a serial",
        ),
        (
            "serial: 3",
            "description: {column: 3, fits: a}",
            "line 20, tables.onus.columns.description.fits",
            "is for serials and hardware addresses, and description is a text",
        ),
        ("serial: 3", "serial: {column: 3, fits: '('}", "line 20", "no regular expression"),
        (
            "serial: 3",
            "serial: {column: 3, when: {column: 4}}",
            "line 20, tables.onus.columns.serial.when",
            "needs 'is', 'is_not' or 'fits'",
        ),
        (
            "serial: 3",
            "serial: {column: 3, when: {column: 4, is: 1, is_not: 2}}",
            "line 20, tables.onus.columns.serial.when",
            "one of them only",
        ),
        ("serial: 3", "serial: {}", "line 20, tables.onus.columns.serial", "needs 'column'"),
        (
            "serial: 3",
            "serial: {column: 3, fallback: yes}",
            "line 20, tables.onus.columns.serial",
            "there is nothing before it that it could stand in for",
        ),
        (
            "serial: 3",
            "serial: {column: 3, percent_of: 4}",
            "line 20, tables.onus.columns.serial.percent_of",
            "is for numbers, and serial is a serial",
        ),
        (
            "  port: [",
            "  box: [{column: 1.3.6, names: ['{slot}/{port}'], bits: {port: {at: 0, width: 8}}}]\n  port: [",
            "line 13, indexes.box[0]",
            "the bits do not tell slot, which the names do",
        ),
        (
            "is: offline",
            "is: gone",
            "line 21, tables.onus.columns.state.enum.2.is",
            "'gone' is not one of online",
        ),
        (
            "1: online",
            "1: On-Line",
            "line 21, tables.onus.columns.state.enum.1",
            "the vendor's own word goes into 'word'",
        ),
        (
            "scale: 0.01",
            "scale: 0",
            "line 22, tables.onus.columns.onu_rx_dbm.scale",
            "a factor of 0 would lose every value",
        ),
        ("scale: 0.01", "scale: ten", "line 22, tables.onus.columns.onu_rx_dbm.scale", "expected a number"),
        ("scale: 0.01", "scale: 0.01, milliwatts: 0.1", "line 22", "is a scale of its own"),
        (
            "scale: 0.01",
            "scale: 0.01, range: [5, 1]",
            "line 22, tables.onus.columns.onu_rx_dbm.range",
            "expected [lowest, highest]",
        ),
        (
            "{object_id: 1.3.6.1.4.1.99999.1.7, model: A7}",
            "{object_id_under: 1.3.6.1.4.1.99999}",
            "line 7, detect.any[0]",
            "says too little",
        ),
        (
            "{object_id: 1.3.6.1.4.1.99999.1.7, model: A7}",
            "{object_id: 1.3.6.1.4.1.99999}",
            "line 7, detect.any[0]",
            "says too little",
        ),
        (
            "{object_id: 1.3.6.1.4.1.99999.1.7, model: A7}",
            "{descr: Acme}",
            "line 7, detect.any[0]",
            "says too little",
        ),
        (
            "{object_id: 1.3.6.1.4.1.99999.1.7, model: A7}",
            "{object_id: 1.3.x}",
            "line 7, detect.any[0].object_id",
            "'1.3.x' is not an OID",
        ),
        ("model: A7}", "descr: '('}", "line 7, detect.any[0].descr", "no regular expression"),
        (
            "confidence: agreed",
            "confidence: sure",
            "line 3, confidence",
            "'sure' is not one of agreed, single, guess, conflict",
        ),
        ("source: its maker\n", "", "line 1", "'source' is missing"),
        ("its maker", "0x_", "line 4, source", "'0x_' cannot be read as tag:yaml.org,2002:int"),
        ("its maker", "!!int abc", "line 4, source", "'abc' cannot be read"),
        ("its maker", "!!bool perhaps", "line 4, source", "'perhaps' cannot be read"),
        ("its maker", "!!python/name:os.system x", "line 4, source", "'x' cannot be read"),
        ("its maker", "!!binary eA==", "line 4, source", "has no place in a profile"),
        ("scale: 0.01", "scale: 0x_", "line 22, tables.onus.columns.onu_rx_dbm.scale", "'0x_' cannot be"),
        ("scale: 0.01", "scale: .inf", "line 22, tables.onus.columns.onu_rx_dbm.scale", "not inf"),
        ("scale: 0.01", f"scale: 0x{'f' * 5000}", "line 22", "too large a number"),
        ("scale: 0.01", "scale: ¹/²", "line 22", "expected a number"),
        (
            "oid: 1.3.6.1.4.1.99999.2.1\n",
            "oid: 9.9.9.9\n",
            "line 17, tables.onus.oid",
            "'9.9.9.9' is not an OID: it starts with 0.0 to 0.39, 1.0 to 1.39 or 2.x",
        ),
        (
            "oid: 1.3.6.1.4.1.99999.2.1\n",
            "oid: 1.3.6.1.4.1.4294967296\n",
            "line 17, tables.onus.oid",
            "a number is over 4294967295",
        ),
        (
            "oid: 1.3.6.1.4.1.99999.2.1\n",
            f"oid: 1.3{'.1' * 126}\n",
            "line 20, tables.onus.columns.serial",
            "it needs 2 to 128 numbers",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - packings: []\n",
            "line 10, indexes.onu[0].packings",
            "there is no packing in it",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - packings: [{value: 1}]\n",
            "line 10, indexes.onu[0].packings[0]",
            "'bits' is missing",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {names: [], column: 1.3.6.1.2.1.31.1.1.1.1}\n",
            "line 10, indexes.onu[0].names",
            "there is no name in it",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {names: ['{slot}/{port}{'], column: 1.3.6.1.2.1.31.1.1.1.1}\n",
            "line 10, indexes.onu[0].names[0]",
            "has braces that hold no part",
        ),
        ("{at: 13, width: 5}", "{at: -1, width: 5}", "line 10, indexes.onu[0].bits.slot.at", "-1 is not"),
        ("{at: 13, width: 5}", "{at: 99999999999, width: 5}", "line 10", "99999999999 is not between"),
        ("  port: [{bits", "  none: []\n  port: [{bits", "line 13, indexes.none", "at least one number"),
        ("model: A7}", "descr: 'a{99999999999999999999}'}", "line 7, detect.any[0].descr", "no regular"),
        ("of: onu", "of: onus", "line 16, tables.onus.of", "'onus' is not one of onu"),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {names: ['no part'], column: 1.3.6}\n",
            "line 10, indexes.onu[0].names[0]",
            "must hold some of {frame}, {slot}, {port}",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {names: ['{slot}/{port}***'], column: 1.3.6}\n",
            "line 10, indexes.onu[0].names[0]",
            "has more than 2 stars",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {names: ['{slot}/{port}', '{port}'], column: 1.3.6}\n",
            "line 10, indexes.onu[0].names",
            "the same parts in braces",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {names: ['{slot}/{port}']}\n",
            "line 10, indexes.onu[0]",
            "needs both 'names' and 'column'",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {bits: {}}\n",
            "line 10, indexes.onu[0]",
            "'bits' names no part",
        ),
        (
            "    - bits: {slot: {at: 13, width: 5}, port: {at: 8, width: 5}}\n      value: 0xFA000000\n",
            "    - {plus: 1}\n",
            "line 10, indexes.onu[0]",
            "a part of an index is a name, or has one of part",
        ),
        (
            "  port: [{",
            "  two: [{names: ['{slot}'], column: 1.3.6}, {names: ['{port}'], column: 1.3.6}]\n  port: [{",
            "line 13, indexes.two",
            "only one number of an index can be known by its name",
        ),
        (
            "  port: [{",
            "  empty: {always: {slot: 0}}\n  port: [{",
            "line 13, indexes.empty",
            "'parts' is missing",
        ),
        (
            "  port: [{",
            "  odd: [{packings: [{bits: {onu: {at: 0, width: 8}}}, {bits: {row: {at: 8, width: 8}}}]}]\n"
            "  port: [{",
            "line 13, indexes.odd[0]",
            "packings of one index must tell the same parts",
        ),
        ("model: A7}", "probe_text: A7}", "line 7, detect.any[0]", "'probe_text' needs a 'probe'"),
        (
            "tables:\n",
            "tables:\n  ports: {of: port, index: port, ask: {how: get-online}, columns: {}}\n",
            "line 15, tables.ports.ask",
            "only tables of ONUs",
        ),
        (
            "no_value: [-1]",
            "no_value: [1.5]",
            "line 22",
            "a text in quotes, not 1.5",
        ),
        ("its maker", "x" * (1 << 20), "line 1", "a profile has at most 1048576 characters"),
        ("tables:", "tables: [", "line", "this is not YAML"),
    ],
)
def test_a_mistake_is_named_with_its_place(before: str, after: str, where: str, what: str) -> None:
    assert before in GOOD
    found = mistakes(GOOD.replace(before, after, 1))
    assert any(each.startswith(f"acme.yaml, {where}") and what in each for each in found), found


def test_a_mistake_in_one_value_is_told_once() -> None:
    assert len(mistakes(GOOD.replace("scale: 0.01", "scale: 0x_"))) == 1


def test_what_looks_like_a_date_is_a_text() -> None:
    assert parse_profile(GOOD.replace("its maker", "2024-13-45"), "acme.yaml").origin.source == "2024-13-45"


def test_lists_that_are_nested_too_deeply_are_refused() -> None:
    assert mistakes("a:\n " + "[" * 100_000) == [
        "acme.yaml, line 2: more than 50 lists and mappings in one another"
    ]


def test_two_columns_for_one_fact_are_refused_wherever_they_are() -> None:
    more = (
        GOOD
        + """\
  more:
    of: onu
    oid: 1.3.6.1.4.1.99999.3.1
    index: onu
    columns:
      serial: 1
"""
    )
    assert mistakes(more) == [
        "acme.yaml, line 28, tables.more.columns.serial: two columns for one fact: 'onus' has it too "
        "(line 20); put the second into 'otherwise' of the first, or make it a 'fallback'"
    ]
    standing_in = more.replace("      serial: 1\n", "      serial: {column: 1, fallback: yes}\n")
    assert parse_profile(standing_in, "acme.yaml").tables[1].columns[0].fallback
    other_technology = more.replace("  more:\n    of: onu\n", "  more:\n    of: onu\n    technology: epon\n")
    assert len(parse_profile(other_technology, "acme.yaml").tables) == 2


def test_another_place_for_a_fact_may_have_another_way_to_write_it() -> None:
    text = GOOD.replace(
        "enum: {1: online, 2: {word: gone, is: offline}}",
        "enum: {1: online, 2: {word: gone, is: offline}},"
        " otherwise: [{oid: 1.3.6.1.2.1.2.2.1.8, enum: {7: online}}, 6]",
    )
    port = 0xFA000000
    decoded = Decoder(parse_profile(text, "acme.yaml")).decode(
        under(
            "1.3.6.1",
            {
                "4.1.99999.2.1.4": {(port, 1): 2},
                "2.1.2.2.1.8": {(port, 1): 7, (port, 2): 7, (port, 3): 1},
                "4.1.99999.2.1.6": {(port, 4): 1},
            },
        )
    )
    assert [str(state) for state in decoded.onus.columns["state"]] == [
        "offline",
        "online",
        "unknown",
        "online",
    ]
    assert "1 is a state that the profile does not know" in decoded.problems.first[0].why
    assert "'scale' is for numbers" in mistakes(text.replace("enum: {7: online}", "scale: 2"))[0]


def test_tables_that_cannot_be_joined_are_refused() -> None:
    more = (
        GOOD.replace("  port: [", "  flat: [onu]\n  port: [")
        + """\
  more:
    of: onu
    oid: 1.3.6.1.4.1.99999.3.1
    index: flat
    columns:
      description: 1
"""
    )
    assert "tells onu, but 'onus' tells onu, port, slot: they cannot be joined" in mistakes(more)[0]


def test_a_column_that_is_never_to_be_read_is_not_read() -> None:
    text = GOOD + "ask:\n  never: [{oid: 1.3.6.1.4.1.99999.2.1.3, why: passwords}]\n"
    assert "1.3.6.1.4.1.99999.2.1.3 is never to be read: passwords" in mistakes(text)[0]


UPLINKS = """\
  uplinks:
    of: uplink
    oid: 1.3.6.1.2.1.31.1.1.1
    index: interface
    rows: [{oid: 1.3.6.1.2.1.2.2.1.3, is: [6, 117]}, {column: 1, fits: '(?i)x?ge.*'}]
    columns:
      name: 1
      in_octets: {column: 6, number_in_octets: yes, otherwise: {oid: 1.3.6.1.2.1.2.2.1.10, if_missing: yes}}
"""
WITH_UPLINKS = GOOD.replace("  port: [", "  interface: [row]\n  port: [") + UPLINKS


def test_a_table_keeps_the_rows_for_which_its_conditions_hold() -> None:
    decoded = Decoder(parse_profile(WITH_UPLINKS, "acme.yaml")).decode(
        under(
            "1.3.6.1.2.1",
            {
                "2.2.1.3": {1: 6, 2: 117, 3: 53, 4: 6, 5: 6},
                "31.1.1.1.1": {1: b"ge0/1", 2: b"XGE0/2\0", 3: b"ge0/3.100", 4: b"pon0/4", 6: b"ge0/6"},
                "31.1.1.1.6": {1: 7, 2: 8, 3: 9, 4: 10, 5: 11, 6: 12},
            },
        )
    )
    uplinks = decoded[Entity.UPLINK]
    assert [key.extra for key in uplinks.keys] == [1, 2]
    assert uplinks.columns == {"name": ["ge0/1", "XGE0/2"], "in_octets": [7, 8]}
    assert len(decoded.problems) == 0


def test_without_the_column_that_decides_no_row_is_kept() -> None:
    names = under("1.3.6.1.2.1.31.1.1.1", {"1": {1: b"ge0/1"}})
    assert len(Decoder(parse_profile(WITH_UPLINKS, "acme.yaml")).decode(names)[Entity.UPLINK]) == 0


def test_the_columns_of_conditions_are_read_with_the_table() -> None:
    profile = parse_profile(WITH_UPLINKS, "acme.yaml")
    assert "1.3.6.1.2.1.2.2.1.3" in profile.oids(Entity.UPLINK)


def test_interfaces_out_of_a_range_are_ignored_where_the_index_says_so() -> None:
    text = WITH_UPLINKS.replace(
        "interface: [row]", "interface: [{part: row, range: [100, 199], ignore_others: yes}]"
    ).replace("    rows: [{oid: 1.3.6.1.2.1.2.2.1.3, is: [6, 117]}, {column: 1, fits: '(?i)x?ge.*'}]\n", "")
    names = under("1.3.6.1.2.1.31.1.1.1", {"1": {99: b"a", 100: b"b", 199: b"c", 200: b"d"}})
    decoded = Decoder(parse_profile(text, "acme.yaml")).decode(names)
    assert [key.extra for key in decoded[Entity.UPLINK].keys] == [100, 199]
    assert decoded.unreadable == {}


def test_counters_as_texts_of_eight_octets_are_numbers() -> None:
    profile = parse_profile(WITH_UPLINKS, "acme.yaml")
    octets: Cells = {1: (1 << 40).to_bytes(8, "big"), 2: Counter32(7), 3: b"1234"}
    rows = under(
        "1.3.6.1.2.1",
        {
            "2.2.1.3": dict.fromkeys(octets, 6),
            "31.1.1.1.1": dict.fromkeys(octets, b"ge1"),
            "31.1.1.1.6": octets,
        },
    )
    found = Decoder(profile).decode(rows)
    assert found[Entity.UPLINK].columns["in_octets"] == [1 << 40, 7, None]
    assert [problem.index for problem in found.problems.first] == ["3"]
    # A counter of 32 bits stays one, or it could not be seen to come round.
    assert type(found[Entity.UPLINK].columns["in_octets"][1]) is Counter32


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("is: [6, 117]", "is: []", "there is no value in it"),
        ("is: [6, 117]", "is: [6], fits: a", "needs 'is', 'is_not' or 'fits', and one of them only"),
        ("fits: '(?i)x?ge.*'", "fits: '('", "no regular expression"),
        ("{column: 1, fits", "{colunm: 1, fits", "unknown key 'colunm'"),
        ("[row]", "[{part: row, ignore_others: yes}]", "without 'range', every number counts"),
    ],
)
def test_a_mistake_in_a_condition_is_named(before: str, after: str, what: str) -> None:
    assert before in WITH_UPLINKS
    assert any(what in each for each in mistakes(WITH_UPLINKS.replace(before, after, 1)))


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = GOOD.replace("title:", "titel:").replace("unit: dBm", "unit: mW").replace("serial: 3", "serail: 3")
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "acme.yaml")
    assert [mistake.line for mistake in caught.value.mistakes] == [1, 2, 20, 22]


@pytest.mark.parametrize(
    "text", ["", "- 1\n", "just words", "profile: x\n", "a: &a [*a]\n", "\0", "? [a]\n: b\n"]
)
def test_what_is_no_profile_at_all_is_refused_with_a_sentence(text: str) -> None:
    assert mistakes(text)


def test_packings_that_cannot_be_told_apart_are_refused() -> None:
    packings = "packings: [{bits: {onu: {at: 0, width: 8}}}, {bits: {onu: {at: 8, width: 8}}}]"
    assert (
        "cannot be told apart"
        in mistakes(GOOD.replace("  port: [", f"  odd: [{{{packings}}}]\n  port: ["))[0]
    )


@pytest.mark.parametrize("name", builtin())
def test_a_built_in_profile_says_where_everything_comes_from(name: str) -> None:
    profile = builtin()[name]
    assert profile.name == name
    assert all(origin.source for origin in profile.origins())
    assert all(origin.confidence in Confidence for origin in profile.origins())


def _read_as_nothing(name: str) -> Iterator[tuple[str, object, object]]:
    """Every marker of every column, as a number and as a text travel, and what is read of it."""
    for table in builtin()[name].tables:
        for column in table.columns:
            for rule in (column.rule, *(source.rule for source in column.otherwise)):
                for marker in rule.no_value if rule is not None else ():
                    raw = marker.encode() if isinstance(marker, str) else marker
                    assert rule is not None
                    read = compile_rule(column.meaning, rule).one(raw)
                    yield f"{table.name}.{column.fact}", raw, read


@pytest.mark.parametrize("name", builtin())
def test_what_means_no_value_is_never_a_value(name: str) -> None:
    assert [each for each in _read_as_nothing(name) if each[2] is not None] == []


def test_guesses_and_conflicts_are_marked_as_such() -> None:
    def marked(name: str, confidence: Confidence) -> set[str]:
        return {
            f"{table.name}.{column.fact}"
            for table in builtin()[name].tables
            for column in table.columns
            if column.origin.confidence is confidence and table.entity is not Entity.UPLINK
        }

    assert marked("huawei", Confidence.CONFLICT) == {"epon_optics.onu_tx_dbm", "epon_optics.onu_rx_dbm"}
    assert marked("huawei", Confidence.GUESS) == {"epon_state.down_cause", "epon_optics.voltage_v"}
    zte = {"gpon_ip.ip", "gpon_uni.state", "cards.temperature_c", "fans.speed_rpm", "fans.state"}
    assert marked("zte", Confidence.GUESS) == zte
    assert marked("bdcom", Confidence.CONFLICT) == {"gpon_onus.down_cause", "epon_onus.sw_version"}
    assert marked("bdcom", Confidence.SINGLE) >= {
        "epon_onus.uptime_s",
        "epon_names.name",
        "epon_names.down_cause",
    }
    assert marked("ufiber", Confidence.GUESS) == {"onus.up_octets", "onus.down_octets"}
    assert marked("calix", Confidence.CONFLICT) == {"onus.state"}
    assert marked("zte_c600", Confidence.CONFLICT) == {"cards.cpu_pct"}
    assert marked("fiberhome", Confidence.GUESS) == {"ports.admin_state"}
    nokia = {"ont_optics.voltage_v", "ont_optics.bias_ma", "boards.state"}
    assert marked("nokia", Confidence.GUESS) == nokia
    datacom = {"onus.down_cause", "ports.in_octets", "ports.out_octets"}
    assert marked("datacom", Confidence.GUESS) == datacom
    assert marked("vsol_gpon", Confidence.CONFLICT) == {"optics.onu_tx_dbm", "optics.onu_rx_dbm"}
    assert marked("vsol_gpon", Confidence.GUESS) == {"state.down_cause", "health.model"}
    assert marked("vsol_gpon", Confidence.SINGLE) >= {"state.admin_state", "channel.state", "state.last_up"}
    assert marked("vsol_epon", Confidence.SINGLE) == set()
    assert marked("cdata_epon", Confidence.CONFLICT) == {"optics.temperature_c", "ports.onus_online"}
    assert marked("cdata_epon", Confidence.SINGLE) == {"onus.ip", "onus.hw_version", "olt_optics.olt_rx_dbm"}
    assert marked("cdata_gpon", Confidence.CONFLICT) == {"health.temperature_c", "ports.onus_online"}
    single = {"olt_optics.olt_rx_dbm", "profiles.line_profile", "profiles.srv_profile"}
    assert marked("cdata_gpon", Confidence.SINGLE) == single
    assert marked("cdata_fd11", Confidence.SINGLE) == {"optics.temperature_c"}


def test_where_no_device_showed_its_uplinks_they_are_a_guess() -> None:
    guessed = {
        profile.name
        for profile in builtin().values()
        for table in profile.tables
        if table.name == "uplinks" and table.origin.confidence is Confidence.GUESS
    }
    assert guessed == {"zte_c600", "vsol_gpon", "cdata_fd11", "nokia", "fiberhome", "fiberhome_5116"}


@pytest.mark.parametrize("name", sorted(builtin().keys() - {GENERIC}))
def test_uplinks_of_every_family_count_in_64_bits_and_with_32_only_where_those_are_missing(name: str) -> None:
    uplinks = [table for table in builtin()[name].tables if table.name == "uplinks"]
    (table,) = uplinks
    facts = {column.fact: column for column in table.columns}
    assert facts.keys() >= {"state", "in_octets", "out_octets"}
    for fact in ("in_octets", "out_octets"):
        assert all(source.if_missing for source in facts[fact].otherwise)


def test_optics_of_huawei_are_asked_of_online_onus_only_and_passwords_never() -> None:
    huawei = builtin()["huawei"]
    gently = {table.name for table in huawei.tables if table.read_method == "get-online"}
    assert gently == {"gpon_optics", "epon_optics"}
    never = [each.oid for each in huawei.request_rules.never]
    assert "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.4" in never
    assert not any(oid.startswith(tuple(never)) for oid in huawei.oids())
    assert "1.3.6.1.4.1.2011.6.128.1.1.2.23.1.4" in huawei.oids(Entity.PORT)
    assert "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3" not in huawei.oids(Entity.PORT)


def test_profiles_can_be_read_by_several_threads_at_once() -> None:
    text = (resources.files("facho.vendors") / "profiles" / "huawei.yaml").read_text("utf-8")
    with ThreadPoolExecutor(8) as threads:
        read = list(threads.map(lambda _: parse_profile(text, "huawei.yaml"), range(16)))
    assert all(profile == read[0] for profile in read)


@pytest.mark.parametrize("family", sorted(builtin()))
def test_the_states_and_causes_of_every_family_have_the_words_for_all_vendors(family: str) -> None:
    """Pages, filters and exports know these alone."""
    known = {"state": {str(each) for status in OnuStatus for each in reported_states(status)}}
    known["down_cause"] = {str(each) for each in DownCause}
    for table in builtin()[family].tables:
        for column in table.columns:
            if table.entity is Entity.ONU and column.fact in known:
                rules = [column.rule, *(source.rule for source in column.otherwise)]
                words = {word.meaning for rule in rules if rule for word in rule.enum if word.meaning}
                assert words, f"{table}: {column.fact}"
                assert words <= known[column.fact], f"{family}: {column.fact}"
