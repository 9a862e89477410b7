"""What is concluded from a part depends on how it was asked, and on what the profile says of its columns."""

from __future__ import annotations

import pytest

from facho.engine.findings import findings_of, keep_last
from facho.engine.work import AskedColumn, Part, PartOutcome, PartState
from facho.vendors import Decoder, Profile
from facho.vendors.parse import parse_profile

PROFILE = """\
profile: acme
title: Acme OLTs
confidence: agreed
source: its maker
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes: {onu: [port, onu]}
tables:
  gpon:
    of: onu
    technology: gpon
    oid: 1.3.6.1.4.1.99999.2
    index: onu
    columns:
      description: {column: 3, keep_last: yes}
      model: 4
  epon:
    of: onu
    technology: epon
    oid: 1.3.6.1.4.1.99999.3
    index: onu
    columns:
      description: 3
      model: {column: 4, otherwise: {column: 5}, keep_last: yes}
"""
GPON, EPON = "1.3.6.1.4.1.99999.2", "1.3.6.1.4.1.99999.3"


@pytest.fixture(scope="module")
def profile() -> Profile:
    return parse_profile(PROFILE, "acme.yaml")


def part(*oids: str, kind: str = "table") -> Part:
    columns = tuple(AskedColumn(oid, oid, oid) for oid in oids)
    return Part(1, "a job", kind, "get_description", ("description",), columns)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([f"{GPON}.3", f"{EPON}.3"], {("description", "gpon")}),
        ([f"{EPON}.3"], set()),
        ([f"{GPON}.4", f"{EPON}.5"], {("model", "epon")}),
    ],
)
def test_a_value_is_kept_for_the_technology_whose_column_says_so(
    profile: Profile, asked: list[str], expected: set[tuple[str, str]]
) -> None:
    assert keep_last(profile, part(*asked)) == expected


@pytest.mark.parametrize(
    ("kind", "state", "expected"),
    [
        ("discovery", PartState.SUCCESS, (True, False)),
        ("table", PartState.SUCCESS, (False, True)),
        ("walk", PartState.SUCCESS, (False, True)),
        ("bulk", PartState.SUCCESS, (False, True)),
        ("get", PartState.SUCCESS, (False, False)),
        ("discovery", PartState.FAILED, (False, False)),
        ("table", PartState.FAILED, (False, False)),
    ],
)
def test_only_what_was_walked_to_its_end_is_whole(
    profile: Profile, kind: str, state: PartState, expected: tuple[bool, bool]
) -> None:
    decoded = Decoder(profile).decode({f"{GPON}.3": {b"\x01\x02": b"Ana"}})
    outcome = PartOutcome(part(f"{GPON}.3", kind=kind), state, decoded=decoded, unanswered={"1:3": "silent"})
    (finding,) = findings_of([outcome], profile)
    assert (finding.complete_discovery, finding.complete) == expected
    assert (finding.broken, finding.unanswered) == (state is PartState.FAILED, frozenset({"1:3"}))
    assert (finding.task, len(finding.facts)) == ("get_description", 1)


@pytest.mark.parametrize(("state", "count"), [(PartState.SUCCESS, 1), (PartState.FAILED, 0)])
def test_an_empty_table_says_something_only_if_it_was_read_to_its_end(
    profile: Profile, state: PartState, count: int
) -> None:
    nothing = Decoder(profile).decode({})
    outcomes = [PartOutcome(part(kind="discovery"), state, decoded=nothing), PartOutcome(part(), state)]
    assert len(list(findings_of(outcomes, profile))) == count
