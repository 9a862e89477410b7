"""What is concluded from a part depends on how it was asked, and on what the profile says of its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facho.core.reasons import text_reason
from facho.engine.collect.part_results import PartResult, PartState
from facho.engine.collect.request_plan import AskedColumn, Part
from facho.engine.record.onus import collected_data, findings_of, kept_facts, tables_read
from facho.snmp import Missing
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
  names:
    of: onu
    oid: 1.3.6.1.4.1.99999.4
    index: onu
    columns: {name: 2}
  waiting:
    of: autofind
    oid: 1.3.6.1.4.1.99999.5
    index: onu
    columns: {serial: 2}
"""
GPON, EPON = "1.3.6.1.4.1.99999.2", "1.3.6.1.4.1.99999.3"
NAMES, WAITING = "1.3.6.1.4.1.99999.4.2", "1.3.6.1.4.1.99999.5.2"


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
    assert kept_facts(profile, part(*asked)) == expected


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
    outcome = PartResult(
        part(f"{GPON}.3", kind=kind), state, decoded=decoded, unanswered={"1:3": text_reason("silent")}
    )
    (finding,) = findings_of([outcome], profile)
    assert (finding.complete_discovery, finding.complete) == expected
    assert (finding.broken, finding.unanswered) == (state is PartState.FAILED, frozenset({"1:3"}))
    assert (finding.task, len(finding.facts)) == ("get_description", 1)


@pytest.mark.parametrize(("state", "count"), [(PartState.SUCCESS, 1), (PartState.FAILED, 0)])
def test_an_empty_table_says_something_only_if_it_was_read_to_its_end(
    profile: Profile, state: PartState, count: int
) -> None:
    nothing = Decoder(profile).decode({})
    outcomes = [PartResult(part(kind="discovery"), state, decoded=nothing), PartResult(part(), state)]
    assert len(list(findings_of(outcomes, profile))) == count


def collected(profile: Profile, facts: tuple[str, ...], rows: dict[str, dict[bytes, object]]) -> set[str]:
    waiting = [WAITING] if "autofind.serial" in facts else []
    asked = replace(part(f"{GPON}.3", f"{GPON}.4", NAMES, *waiting), facts=facts)
    decoded = Decoder(profile).decode(rows)
    rows_read = sum(map(len, decoded.facts.values()))
    outcome = PartResult(asked, PartState.SUCCESS, decoded=decoded, rows=rows_read)
    return collected_data(outcome, profile)


def test_a_fact_whose_table_is_not_present_is_not_collected(profile: Profile) -> None:
    rows: dict[str, dict[bytes, object]] = {f"{GPON}.3": {b"\x01\x02": b"Ana"}, f"{GPON}.4": {}}
    assert collected(profile, ("description", "model"), rows) == {"description", "get_description"}
    assert collected(profile, ("description", "model"), {}) == set()


def test_a_fact_that_no_row_has_a_value_for_is_collected_all_the_same(profile: Profile) -> None:
    assert collected(profile, ("model",), {f"{GPON}.4": {b"\x01\x02": b""}}) == {"model", "get_description"}


def test_a_fact_of_which_no_row_could_be_read_is_not_collected(profile: Profile) -> None:
    rows: dict[str, dict[bytes, object]] = {f"{GPON}.3": {b"\x01\x02": b"Ana"}, f"{GPON}.4": {b"\x01": b"X1"}}
    assert collected(profile, ("description", "model"), rows) == {"description", "get_description"}


def test_a_fact_of_which_every_row_is_a_marker_for_no_value_is_not_collected(profile: Profile) -> None:
    rows: dict[str, dict[bytes, object]] = {
        f"{GPON}.3": {b"\x01\x02": b"Ana"},
        f"{GPON}.4": {b"\x01\x02": Missing.NO_SUCH_INSTANCE},
    }
    assert collected(profile, ("description", "model"), rows) == {"description", "get_description"}
    del rows[f"{GPON}.3"]
    assert collected(profile, ("description", "model"), rows) == set()


def test_the_facts_of_columns_that_a_job_names_are_collected(profile: Profile) -> None:
    """Such a job names no facts, and has those of its columns all the same."""
    rows: dict[str, dict[bytes, object]] = {f"{GPON}.3": {b"\x01\x02": b"Ana"}, f"{GPON}.4": {}}
    assert collected(profile, (), rows) == {"description", "get_description"}


def test_a_column_of_an_operators_own_is_collected_as_the_fact_that_it_provides(profile: Profile) -> None:
    own = AskedColumn("vlan", "1.3.6.1.4.1.9.1", "1.3.6.1.4.1.9.1", provides="line_profile")
    decoded = Decoder(profile).decode({f"{GPON}.3": {b"\x01\x02": b"Ana"}})
    decoded.onus.columns["line_profile"] = ["home"]
    outcome = PartResult(
        replace(part(), columns=(own,), facts=()), PartState.SUCCESS, decoded=decoded, rows=1
    )
    assert collected_data(outcome, profile) == {"line_profile", "get_description"}
    decoded.onus.columns["line_profile"] = []
    assert collected_data(outcome, profile) == {"get_description"}


def test_a_description_is_collected_with_the_name_that_serves_as_one(profile: Profile) -> None:
    facts = ("description", "name")
    assert collected(profile, facts, {NAMES: {b"\x01\x02": b"Ana"}}) == {*facts, "get_description"}
    assert collected(profile, ("description",), {NAMES: {b"\x01\x02": b"Ana"}}) == {*facts, "get_description"}


def test_an_empty_list_of_who_waits_is_an_answer(profile: Profile) -> None:
    assert collected(profile, ("autofind.serial", "port.state"), {}) == {"autofind.serial", "get_description"}


def test_what_broke_off_is_not_dated_as_collected(profile: Profile) -> None:
    decoded = Decoder(profile).decode({f"{GPON}.3": {b"\x01\x02": b"Ana"}})
    outcome = PartResult(part(f"{GPON}.3"), PartState.FAILED, decoded=decoded, rows=1)
    assert collected_data(outcome, profile) == set()


@pytest.mark.parametrize(
    ("kind", "state", "expected"),
    [
        ("discovery", PartState.SUCCESS, {"gpon", "epon"}),
        ("discovery", PartState.FAILED, set()),
        ("get", PartState.SUCCESS, set()),
    ],
)
def test_a_table_was_read_if_its_columns_were_asked_for_in_fact(
    profile: Profile, kind: str, state: PartState, expected: set[str]
) -> None:
    """A discovery that found nobody has asked for the tables that it looks into last, too."""
    fallback = part(f"{EPON}.3").columns
    asked = replace(part(f"{GPON}.3", kind=kind), otherwise=fallback)
    outcome = PartResult(asked, state, asked=(*asked.columns, *fallback))
    assert tables_read(outcome, profile) == expected
    assert "epon" not in tables_read(replace(outcome, asked=asked.columns), profile)
