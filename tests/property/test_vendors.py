"""Index layouts and value rules, for every layout and every value: what is written reads back."""

from __future__ import annotations

from contextlib import suppress
from importlib import resources
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from facho.snmp import values
from facho.snmp.values import Counter64, Gauge32, Missing, Oid, OpaqueDouble, Unknown
from facho.vendors import BadProfile, Decoder, Key, builtin
from facho.vendors.encode import encode_fact, encode_index
from facho.vendors.errors import BadIndex, BadValue, Mistake
from facho.vendors.facts import FACTS, Confidence, Entity
from facho.vendors.index import POSITIONS, compile_index, join_arcs, split_arcs
from facho.vendors.parse import parse_profile
from facho.vendors.rules import compile_rule
from facho.vendors.schema import (
    BitField,
    Bits,
    IndexLayout,
    Named,
    Only,
    Origin,
    Packed,
    Plain,
    Rule,
    Skip,
    packings_of,
)
from tests.hypothesis_runs import often

ORIGIN = Origin(Confidence.GUESS, "a test")
ARC = st.integers(0, 0xFFFF_FFFF)
PLACE_PARTS = ("frame", "slot", "port", "onu")


@given(st.lists(ARC, min_size=1, max_size=12).map(tuple))
def test_index_numbers_travel_as_the_protocol_encodes_them(arcs: tuple[int, ...]) -> None:
    assert join_arcs(arcs) == values.encode_arcs(arcs)
    assert split_arcs(join_arcs(arcs)) == arcs


@st.composite
def packed_layouts(draw: st.DrawFn) -> tuple[IndexLayout, Key]:
    """Some parts in bits that do not overlap, the others as numbers of their own, and idle numbers."""
    inside = draw(st.lists(st.sampled_from(PLACE_PARTS), min_size=1, max_size=4, unique=True))
    bounds = sorted(draw(st.sets(st.integers(0, 32), min_size=2 * len(inside), max_size=2 * len(inside))))
    plus = draw(st.integers(0, 1))
    fields = tuple(
        BitField(part, low, high - low, plus)
        for part, low, high in zip(inside, bounds[::2], bounds[1::2], strict=True)
    )
    value = draw(ARC) & Bits(fields, 0).fixed
    parts: list[Any] = [Packed((Bits(fields, value),))]
    parts += [Plain(part, plus) for part in PLACE_PARTS if part not in inside]
    parts += draw(st.lists(st.sampled_from([Skip(), Only(1)]), max_size=2))
    numbers = {field.part: draw(st.integers(0, (1 << field.width) - 1)) + plus for field in fields}
    numbers |= {part: draw(st.integers(plus, 1000)) for part in PLACE_PARTS if part not in inside}
    missing = next((part for part in PLACE_PARTS[:3] if part not in inside and draw(st.booleans())), None)
    always = () if missing is None else ((missing, numbers[missing]),)
    parts = [part for part in parts if not (isinstance(part, Plain) and part.part == missing)]
    return IndexLayout("drawn", tuple(draw(st.permutations(parts))), ORIGIN, always), Key(**numbers)


@given(packed_layouts())
def test_the_index_of_a_place_reads_back_as_that_place(drawn: tuple[IndexLayout, Key]) -> None:
    layout, key = drawn
    arcs = encode_index(layout, key)
    assert all(0 <= arc <= 0xFFFF_FFFF for arc in arcs)
    assert compile_index(layout)[join_arcs(arcs)] == key


@given(
    st.sampled_from([layout for profile in builtin().values() for layout in profile.indexes]),
    st.binary(max_size=40),
)
def test_any_octets_are_a_place_or_refused(layout: IndexLayout, suffix: bytes) -> None:
    with suppress(BadIndex):
        key = compile_index(layout)[suffix]
        assert key is None or isinstance(key, Key)


LAYOUTS = [layout for profile in builtin().values() for layout in profile.indexes]
PACKINGS = sorted(
    {bits for layout in LAYOUTS for part in layout.parts for bits in packings_of(part)}, key=str
)
EXTRAS = st.none() | st.integers(0, 300) | st.sampled_from(["FACH00000001", "aa:00:00:00:00:01"])
# Around what so many bits hold, and beyond.
NUMBERS = st.none() | st.integers(-1, 40) | st.sampled_from([63, 64, 127, 128, 255, 256, 4095, 4096, 1 << 32])


@given(st.sampled_from(LAYOUTS), st.builds(Key, NUMBERS, NUMBERS, NUMBERS, NUMBERS, EXTRAS), st.data())
def test_a_place_is_written_as_an_index_that_reads_back_as_it_or_refused(
    layout: IndexLayout, key: Key, data: st.DataObject
) -> None:
    """Mostly with the parts that the index has, for others are always refused."""
    assume(layout.named is None or layout.named.packings)
    if data.draw(st.integers(0, 9)):
        gives, always = layout.gives, dict(layout.always)
        told = {part: getattr(key, part) if part in gives else None for part in PLACE_PARTS}
        extra = key.extra if gives & {"uni", "row", "name", "mac"} else None
        key = Key(**(told | always), extra=extra)
    like = data.draw(st.lists(st.sampled_from(PACKINGS), max_size=1))
    try:
        arcs = encode_index(layout, key, like=like)
    except ValueError:
        return
    assert compile_index(layout)[join_arcs(arcs)] == key


def place(layout: IndexLayout, **numbers: int) -> Key:
    """The lowest place of a layout that has numbers only, but for these."""
    found: dict[str, int] = dict(layout.always)
    for part in layout.parts:
        fields = part.packings[0].fields if isinstance(part, Packed | Named) else ()
        for each in (part,) if isinstance(part, Plain) else fields:
            found[each.part] = each.low if each.low is not None else each.plus
    parts: list[Any] = [None] * 5
    for name, value in (found | numbers).items():
        parts[POSITIONS[name]] = value
    return Key(*parts)


PACKED = [layout for layout in LAYOUTS if any(packings_of(part) for part in layout.parts)]


@pytest.mark.parametrize("layout", PACKED, ids=lambda layout: layout.name)
def test_no_number_is_cut_to_fit_into_its_bits(layout: IndexLayout) -> None:
    """One more than the widest packing holds, and cut to its bits, would be another customer's place."""
    lowest = place(layout)
    assert compile_index(layout)[join_arcs(encode_index(layout, lowest))] == lowest
    fields = [field for part in layout.parts for bits in packings_of(part) for field in bits.fields]
    for each in fields:
        beyond = max(field.plus + (1 << field.width) for field in fields if field.part == each.part)
        with pytest.raises(BadIndex):
            encode_index(layout, place(layout, **{each.part: beyond}))


NUMBER_RULES = st.builds(
    Rule,
    scale=st.sampled_from([1.0, 0.1, 0.01, 0.002, 0.001, 1 / 256]),
    offset=st.sampled_from([0.0, -30.0, -100.0]),
    signed=st.sampled_from([0, 16, 32]),
)


@given(NUMBER_RULES, st.floats(-50, 10))
def test_a_power_reads_back_to_within_half_a_step(rule: Rule, dbm: float) -> None:
    fact = FACTS[Entity.ONU]["onu_rx_dbm"]
    raw = encode_fact(fact, rule, dbm)
    assert isinstance(raw, int)
    try:
        read = compile_rule(fact, rule).one(raw)
    except BadValue:
        # Half a step may lie beyond the range, and 16 bits do not hold every step.
        assert min(abs(dbm + 50), abs(dbm - 10)) <= rule.scale or (rule.signed == 16 and rule.scale <= 0.002)
        return
    assert isinstance(read, float)
    steps = (1 << 16) * rule.scale
    assert abs(read - dbm) <= rule.scale / 2 + 0.005001 or (
        rule.signed == 16 and abs(read - dbm) >= steps / 2 - 100
    )


@given(st.floats(-49, 9))
def test_a_linear_power_reads_back(dbm: float) -> None:
    fact, rule = FACTS[Entity.ONU]["onu_rx_dbm"], Rule(milliwatts=0.0000001)
    read = compile_rule(fact, rule).one(encode_fact(fact, rule, dbm))
    assert isinstance(read, float)
    assert abs(read - dbm) < 0.05


RAW = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**64),
    st.integers(0, 2**32 - 1).map(Gauge32),
    st.integers(0, 2**64 - 1).map(Counter64),
    st.floats().map(OpaqueDouble),
    st.binary(max_size=40),
    st.text(max_size=20).map(str.encode),
    st.ip_addresses(v=4),
    st.sampled_from(Missing),
    st.builds(Unknown, st.integers(0, 255), st.binary(max_size=8)),
)
DECODERS = {name: Decoder(profile) for name, profile in builtin().items()}


@given(st.sampled_from(sorted(builtin())), st.data())
def test_whatever_a_device_says_is_decoded_or_reported(name: str, data: st.DataObject) -> None:
    profile = builtin()[name]
    oids = data.draw(st.lists(st.sampled_from(profile.oids()), min_size=1, max_size=6, unique=True))
    suffixes = st.one_of(
        st.binary(min_size=1, max_size=12),
        st.tuples(st.sampled_from([0xFA000000, 0x10010100, 0x30110100, 1]), st.integers(0, 300)).map(
            values.encode_arcs
        ),
    )
    rows = {oid: data.draw(st.dictionaries(suffixes, RAW, max_size=8)) for oid in oids}
    found = DECODERS[name].decode(rows)
    for facts in found.facts.values():
        assert len(facts.indexes) == len(facts.keys) == len(set(facts.keys)) == len(facts.technologies)
        assert all(len(values) == len(facts) for values in facts.columns.values())


@given(st.text(alphabet=":{}[]&*!|>'\"%@`#,-?\n abprofile01.", max_size=200))
def test_no_text_breaks_the_reader_of_profiles(text: str) -> None:
    # Hardly anything that can be drawn is a profile.
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "drawn.yaml")
    assert caught.value.mistakes


@given(st.integers(0, 10_000), st.integers(0, 400), st.data())
def test_a_damaged_profile_is_refused_with_a_place_or_still_a_profile(
    at: int, size: int, data: st.DataObject
) -> None:
    good = resources.files("facho.vendors").joinpath("profiles/huawei.yaml").read_text("utf-8")
    at %= len(good)
    damaged = (
        good[:at] + data.draw(st.sampled_from(["", "x", ": ", "\n", "- ", "{", "1"])) + good[at + size % 40 :]
    )
    assert all(mistake.line >= 1 and mistake.what for mistake in _mistakes(damaged))


ODD_SCALARS = st.sampled_from(
    [
        "", "~", "-1", "0", "0x_", "1e999", ".nan", "99999999999999999999999", "2024-13-45", "9.9.9.9", "1.3",
        "1.3.4294967296", "x", "'{port}'", "'*{onu}'", "(", "online", "onu", "port", "mac", "name",
        "yes", "1/0",
    ]
)  # fmt: skip
ODD_TAGS = st.sampled_from(
    ["tag:yaml.org,2002:int", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:python/name:os.system", "!mine"]
)


def _nodes(node: yaml.Node) -> list[yaml.Node]:
    children = (
        node.value if isinstance(node, yaml.SequenceNode)
        else [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode)
        else []
    )  # fmt: skip
    return [node, *(each for child in children for each in _nodes(child))]


def _change(node: yaml.Node, data: st.DataObject) -> None:
    match data.draw(st.sampled_from(["replace", "tag", "empty", "drop", "list", "map"])):
        case "tag" if isinstance(node, yaml.ScalarNode):
            node.tag = data.draw(ODD_TAGS)
        case "empty" if not isinstance(node, yaml.ScalarNode):
            node.value = []
        case "drop" if not isinstance(node, yaml.ScalarNode) and node.value:
            del node.value[data.draw(st.integers(0, len(node.value) - 1))]
        case "list" if isinstance(node, yaml.ScalarNode):
            node.__class__ = yaml.SequenceNode  # type: ignore[assignment]
            node.tag, node.value, node.flow_style = "tag:yaml.org,2002:seq", [], True  # type: ignore[attr-defined]
        case "map" if isinstance(node, yaml.ScalarNode):
            node.__class__ = yaml.MappingNode  # type: ignore[assignment]
            node.tag, node.value, node.flow_style = "tag:yaml.org,2002:map", [], True  # type: ignore[attr-defined]
        case _ if isinstance(node, yaml.ScalarNode):
            scalar = yaml.compose(data.draw(ODD_SCALARS) or "''")
            node.tag, node.value, node.style = scalar.tag, scalar.value, scalar.style


ALL_KINDS = """\
profile: kinds
title: Kinds
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7, descr: a.c}], except: [{descr: switch}]}
ask: {bulk: no, repetitions: 10, in_flight: 1, never: [{oid: 1.3.6.1.4.1.99999.8, why: passwords}]}
indexes:
  onu: [{packings: [{bits: {port: {at: 0, width: 8, range: [1, 16]}}, value: 0x100}]}, {part: onu, plus: 1}]
  named: [{column: 1.3.6.1.2.1.31.1.1.1.1, names: ['p{port}', 'q{port}*']}]
  by_mac: [{skip: yes}, {octets: 6, part: mac}]
  one: [{only: 0}]
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2
    index: onu
    columns:
      mac: 1
      state: {column: 2, enum: {1: online, 2: {word: gone, is: offline}}}
      onu_rx_dbm: {column: 3, scale: 1/256, otherwise: [{column: 4, when: {column: 5, is: 1}}]}
  more:
    of: onu
    index: by_mac
    ask: {how: get-online, batch: 5, slow: yes}
    columns: {olt_rx_dbm: {oid: 1.3.6.1.4.1.99999.3.1, number_in_text: {after: '(', before: dBm}}}
  ports: {of: port, index: named, oid: 1.3.6.1.4.1.99999.4, columns: {name: {column: 1, strip: $}}}
  olt: {of: olt, index: one, oid: 1.3.6.1.2.1.1, columns: {uptime_s: {column: 3, scale: 0.01, unit: s}}}
quirks: [{what: odd, confidence: guess, source: a test}]
"""


@often(300)
@given(st.data())
def test_a_profile_with_any_value_changed_is_refused_or_can_be_used(data: st.DataObject) -> None:
    root = yaml.compose(ALL_KINDS)
    for _ in range(data.draw(st.integers(1, 3))):
        _change(data.draw(st.sampled_from(_nodes(root))), data)
    text = yaml.serialize(root)
    mistakes = _mistakes(text)
    assert all(mistake.line >= 1 and mistake.what for mistake in mistakes)
    if mistakes:
        return
    profile = parse_profile(text, "changed.yaml")
    for oid in profile.oids():
        Oid.parse(oid)
    Decoder(profile).decode({oid: {b"\1": 1, b"\x82\1\2": b"p3"} for oid in profile.oids()})


def test_the_profile_that_is_changed_is_a_good_one() -> None:
    assert _mistakes(ALL_KINDS) == []


def _mistakes(text: str) -> list[Mistake]:
    try:
        parse_profile(text, "damaged.yaml")
    except BadProfile as error:
        return error.mistakes
    return []


_SERIALS = st.one_of(
    st.binary(min_size=8, max_size=8),
    st.builds(bytes.__add__, st.sampled_from((b"HWTC", b"ZTEG")), st.binary(min_size=4, max_size=4)),
    st.sampled_from(
        (b"HWTC1234ABCD", b"48575443 1234ABCD", bytes(8), b"", None, 7, Missing.NO_SUCH_INSTANCE)
    ),
)


@given(st.lists(_SERIALS, max_size=6))
def test_serials_are_read_together_as_one_by_one(raw: list[object]) -> None:
    reader = compile_rule(FACTS[Entity.ONU]["serial"], Rule())
    expected: list[object] | None = None
    with suppress(BadValue):
        expected = [reader.one(each) for each in raw]
    together: list[object] | None = None
    with suppress(BadValue):
        together = reader.all(raw)
    assert together == expected
