"""A masked recording: nobody is left in it, and the profile reads the same from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address

import pytest

from facho.sim.families.family import Family
from facho.sim.families.huawei import HUAWEI
from facho.sim.families.zte import ZTE
from facho.sim.masking import mask_recording
from facho.sim.model import Shape
from facho.sim.snmprec import Record, line_of, read, sort
from facho.snmp import Oid, Value
from facho.vendors import Decoded, Decoder, Facts, Key, Profile, State, builtin
from facho.vendors.parse import parse_profile
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import rows_of
from tests.unit.vendors.simulated import model, rows

SHAPE = Shape(70)
# Identities of every kind in every place: octets, written, within a text, in an index; and an unknown table.
PROFILE = parse_profile(
    """\
profile: acme
title: Acme
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7, descr: ^Acme}]}
indexes:
  onu: [slot, port, onu]
  seen: [slot, port, row]
  mac: [{octets: 6, part: mac}]
  called: [slot, {text: name}]
  scalar: [{only: 0}]
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: onu
    columns:
      serial: 1
      mac: 2
      description: {column: 3, strip: $}
      model: 4
      state: {column: 5, enum: {1: online, 2: offline}}
      ip: 6
      distance_m: {column: 7, unit: m}
      serial_actual: {column: 8, after: "SN="}
  seen:
    of: autofind
    oid: 1.3.6.1.4.1.99999.6.1
    index: seen
    columns:
      mac: {column: 1, fits: "[0-9A-F]{12}"}
      serial: {column: 1, fits: "[A-Z]{4}[0-9a-f]{8}"}
  by_mac:
    of: onu
    oid: 1.3.6.1.4.1.99999.3.1
    index: mac
    columns:
      onu_rx_dbm: {column: 1, unit: dBm, scale: 0.01}
  boards:
    of: board
    oid: 1.3.6.1.4.1.99999.4.1
    index: called
    columns:
      name: 1
      serial: 2
  health:
    of: olt
    index: scalar
    columns:
      version: {oid: 1.3.6.1.4.1.99999.5.1}
""",
    "acme.yaml",
)
ACME = "1.3.6.1.4.1.99999"
MAC = bytes.fromhex("a0b1c2d3e4f5")
SERIAL = b"ACME\x12\x34\xab\x00"
NAME = "Mariana Núñez".encode()


def dotted(octets: bytes) -> str:
    return ".".join(map(str, octets))


RECORDING: dict[str, Value] = {
    "1.3.6.1.2.1.1.1.0": b"Acme A7 of norte-7",
    "1.3.6.1.2.1.1.2.0": Oid.parse(f"{ACME}.1.7"),
    "1.3.6.1.2.1.1.4.0": b"noc@example.net",
    "1.3.6.1.2.1.1.5.0": b"norte-7",
    "1.3.6.1.2.1.1.6.0": b"Calle 9",
    "1.3.6.1.2.1.2.2.1.2.1": b"GPON 0/1/7",
    "1.3.6.1.2.1.2.2.1.2.2": b"to Hotel Sol",
    f"{ACME}.2.1.1.1.1.1": SERIAL,
    f"{ACME}.2.1.1.1.1.2": b"ACME0000002B",
    f"{ACME}.2.1.2.1.1.1": MAC,
    f"{ACME}.2.1.2.1.1.2": b"a0:b1:c2:00:00:01",
    f"{ACME}.2.1.3.1.1.1": b"$$" + NAME + b"$$",
    f"{ACME}.2.1.3.1.1.2": b"Nu\xf1ez ACME0000002B",
    f"{ACME}.2.1.3.1.1.3": b"A7-ONU",
    f"{ACME}.2.1.4.1.1.1": b"A7-ONU",
    f"{ACME}.2.1.5.1.1.1": 1,
    f"{ACME}.2.1.5.1.1.2": 2,
    f"{ACME}.2.1.6.1.1.1": b"10.20.30.40",
    f"{ACME}.2.1.6.1.1.2": IPv4Address("10.20.30.41"),
    f"{ACME}.2.1.7.1.1.1": 1240,
    f"{ACME}.2.1.8.1.1.1": b"SN=ACME1234AB00",
    f"{ACME}.3.1.1.{dotted(MAC)}": -2150,
    f"{ACME}.4.1.1.1.4.{dotted(b'Luis')}": b"GPUA",
    f"{ACME}.4.1.2.1.4.{dotted(b'Luis')}": b"210235A0B1",
    f"{ACME}.6.1.1.1.2.1": b"A0B1C2EEEEEE",
    f"{ACME}.6.1.1.1.2.2": b"ACMEdddddddd",
    f"{ACME}.5.1.0": b"V2.0 for norte-7",
    f"{ACME}.8.1.1": b"a0b1.c2d3.e4f5",
    f"{ACME}.8.1.2": b"0 A0-B1-C2-D3-E4-F5\x00\x01",
    f"{ACME}.8.1.3": b"-27.45 dBm",
    f"{ACME}.8.1.4": b"0991234567",
    f"{ACME}.8.1.5": b"ACME1234ab00",
    f"{ACME}.8.1.6": Oid.parse(f"{ACME}.9.{dotted(MAC)}"),
    f"{ACME}.8.1.7": bytes((10, 20, 30, 41)),
    f"{ACME}.8.1.8": IPv4Address("255.255.255.0"),
    f"{ACME}.8.1.9": b"\x01\x02" + SERIAL,
    f"{ACME}.8.2.8.{dotted(SERIAL)}": 7,
    f"{ACME}.8.3.1.10.20.30.40": 8,
    f"{ACME}.8.4.1": b"online",
    f"{ACME}.8.4.2": bytes.fromhex("20010db9000000000000000000000099"),
}  # fmt: skip
GONE = [
    b"EEEEEE", b"dddddddd",
    SERIAL, b"ACME0000002B", MAC, b"a0:b1:c2:00:00:01", NAME, b"Mariana", b"Nu\xf1ez", b"10.20.30.40",
    b"10.20.30.41", bytes((10, 20, 30, 40)), bytes((10, 20, 30, 41)), b"norte-7", b"Calle 9", b"noc@",
    b"Hotel Sol", b"210235A0B1", b"Luis", b"0991234567", b"1234AB00", b"1234ab00", b"d3.e4f5",
    bytes.fromhex("d3e4f5"), b"D3-E4-F5", bytes.fromhex("20010db9"),
]  # fmt: skip


def recording(values: Mapping[str, Value]) -> list[Record]:
    return [Record(Oid.parse(oid), value) for oid, value in values.items()]


def written(records: Iterable[Record]) -> str:
    return "\n".join(map(line_of, sort(records)))


def is_in(secret: bytes, file: str) -> bool:
    """As it is, in hexadecimal, or as the numbers of an OID."""
    return (
        secret in file.encode()
        or secret.hex() in file.lower()
        or f".{dotted(secret)}." in file.replace("|", ".")
    )


def test_nobody_is_left_in_it_in_any_form() -> None:
    before, after = recording(RECORDING), mask_recording(recording(RECORDING), [PROFILE])
    assert [secret for secret in GONE if not is_in(secret, written(before))] == []
    assert [secret for secret in GONE if is_in(secret, written(after))] == []


def test_what_tells_of_nobody_stays() -> None:
    after = {str(record.oid): record.value for record in mask_recording(recording(RECORDING), [PROFILE])}
    stays = [
        "1.3.6.1.2.1.1.2.0",
        "1.3.6.1.2.1.2.2.1.2.1",
        f"{ACME}.2.1.3.1.1.3",
        f"{ACME}.2.1.4.1.1.1",
        f"{ACME}.2.1.5.1.1.1",
        f"{ACME}.8.1.3",
        f"{ACME}.8.1.8",
        f"{ACME}.8.4.1",
    ]
    assert {oid: after[oid] for oid in stays} == {oid: RECORDING[oid] for oid in stays}
    assert after["1.3.6.1.2.1.1.1.0"] == b"Acme A7 of c2....."
    assert after["1.3.6.1.2.1.1.5.0"] == b"c2....."


def told(decoded: Decoded) -> dict[str, list[tuple[Key, dict[str, object]]]]:
    """Places, states and numbers: all that masking may not change."""
    return {
        entity: [
            (key._replace(extra=None), _unmasked(facts, number)) for number, key in enumerate(facts.keys)
        ]
        for entity, facts in decoded.facts.items()
    }


def _unmasked(facts: Facts, number: int) -> dict[str, object]:
    return {
        fact: value for fact, value in facts.row(number).items() if isinstance(value, State | int | float)
    }


def decoded_by(profile: Profile, records: Iterable[Record]) -> Decoded:
    return Decoder(profile).decode(rows_of(profile, {each.oid.content: each.value for each in sort(records)}))


def test_the_profile_reads_the_same_places_states_and_numbers() -> None:
    before = decoded_by(PROFILE, recording(RECORDING))
    after = decoded_by(PROFILE, mask_recording(recording(RECORDING), [PROFILE]))
    assert told(after) == told(before)
    assert after.problems.first == []
    first = after.onus.row(0)
    assert first["onu_rx_dbm"] == -21.5
    assert first["serial"] == first["serial_actual"] != before.onus.row(0)["serial"]
    assert str(first["serial"]).startswith("ACME")
    assert str(first["mac"]).startswith("a0:b1:c2:")
    assert str(first["ip"]).startswith("192.0.2.")


@pytest.mark.parametrize("family", [HUAWEI, ZTE], ids=lambda family: str(family.name))
def test_a_whole_olt_is_masked_and_still_read(family: Family) -> None:
    profile = builtin()[family.name]
    columns = rows(family, model(SHAPE))
    before = [
        Record(Oid(Oid.parse(oid).content + suffix), value)
        for oid, column in columns.items()
        for suffix, value in column.items()
    ]
    after = mask_recording(before, [profile])
    old, new = decoded_by(profile, before), decoded_by(profile, after)
    assert told(new) == told(old)
    assert len(new.onus) == SHAPE.onus
    for fact in ("serial", "description", "name"):
        pairs = {*zip(old.onus.columns.get(fact, []), new.onus.columns.get(fact, []), strict=True)}
        assert len(dict(pairs)) == len(pairs), "the same is masked the same"
        assert not [pair for pair in pairs if pair[0] and pair[0] == pair[1]]
    file = written(after)
    gone = {each for fact in ("serial", "description") for each in old.onus.columns[fact]}
    assert [each for each in gone if each and is_in(str(each).encode(), file)] == []
    octets = [value for value in columns[SERIALS[family.name]].values() if isinstance(value, bytes)]
    assert len(octets) == SHAPE.onus
    assert [each for each in octets if is_in(each, file)] == []


SERIALS = {"huawei": "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3", "zte": "1.3.6.1.4.1.3902.1012.3.28.1.1.5"}


def test_a_mask_is_another_one_in_every_recording() -> None:
    oid = f"{ACME}.2.1.1.1.1.1"
    masks = [mask_recording(recording({oid: SERIAL}), [PROFILE])[0].value for _ in range(3)]
    assert len({*masks, SERIAL}) == 4


def test_what_is_drawn_belongs_to_nobody_else() -> None:
    """Chance is made to hit the other ONU's serial, and then the mask that was given already."""
    drawn = iter([b"\0\0\0\x2b", b"\1\1\1\1", b"\1\1\1\1", b"\2\2\2\2"])
    given = {f"{ACME}.2.1.1.1.1.1": SERIAL, f"{ACME}.2.1.1.1.1.2": b"ACME\0\0\0\x2b"}
    values = [each.value for each in mask_recording(recording(given), [PROFILE], lambda _size: next(drawn))]
    assert values == [b"ACME\1\1\1\1", b"ACME\2\2\2\2"]


def test_a_thousand_addresses_have_a_thousand_masks() -> None:
    given: dict[str, Value] = {f"{ACME}.2.1.6.1.1.{n}": IPv4Address(0x0A000000 + n) for n in range(1, 1001)}
    values = {each.value for each in mask_recording(recording(given), [PROFILE])}
    assert len(values) == 1000
    assert not values & set(given.values())


def test_the_own_name_stays_in_what_a_device_is_recognised_by() -> None:
    given: dict[str, Value] = {"1.3.6.1.2.1.1.1.0": b"Acme-Seven OLT", "1.3.6.1.2.1.1.5.0": b"Acme-Seven"}
    descr, name = (each.value for each in mask_recording(recording(given), [PROFILE]))
    assert (descr, name) == (b"Acme-Seven OLT", b"customer 1")


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="no recordings of real devices at hand")
@pytest.mark.parametrize("name", ["smartax", "bdcom", "vsolution_v1600d", "axos_e7-2"])
def test_real_recordings_are_read_as_before(name: str) -> None:
    records = read(RECORDINGS / f"{name}.snmprec")
    profiles = list(builtin().values())
    after = mask_recording(records, profiles)
    for profile in profiles:
        assert told(decoded_by(profile, after)) == told(decoded_by(profile, records))
    macs = {each.value for each in records if str(each.oid).startswith("1.3.6.1.2.1.2.2.1.6.")} - {
        b"",
        bytes(6),
    }
    file = written(after)
    assert [mac for mac in macs if isinstance(mac, bytes) and is_in(mac, file)] == []
