"""A Nokia ISAM that shows its interfaces alone: the tables of ASAM may be missing or not permitted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu, Presence
from facho.apps.executions.models import State
from facho.apps.hosts.models import Olt
from facho.sim.agent import Agent, Answer
from facho.sim.pdu import Pdu
from facho.snmp import Oid
from facho.snmp.message import ErrorStatus
from tests.factories import know_brands
from tests.integration.family_site import CONFIG, family_site, onus_of, told_of, without

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

FAMILIES = Path(__file__).parent.parent / "families"
ASAM = "1.3.6.1.4.1.637"
STATES = {
    "1/1:1": "online",
    "1/4:1": "online",
    "1/4:97": "offline",
    "2/1:1": "online",
    "2/1:2": "online",
    "2/2:128": "offline",
}


def refuse(oid: str, status: ErrorStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    under, answer = Oid.parse(oid).content, Agent.answer

    def answer_or_refuse(agent: Agent, version: int, pdu: Pdu, room: int, now: float) -> Answer | None:
        if any(name.startswith(under) for name in pdu.oids):
            return Answer(pdu.varbinds, status=status, error_index=1)
        return answer(agent, version, pdu, room, now)

    monkeypatch.setattr(Agent, "answer", answer_or_refuse)


def ids_of(olt: Olt) -> dict[str | None, int]:
    return dict(Onu.objects.filter(olt=olt).values_list("address", "id"))


def test_it_is_detected_and_its_onts_and_pon_ports_are_known_from_its_interfaces(tmp_path: Path) -> None:
    know_brands()
    recording = without(FAMILIES / "nokia.snmprec", tmp_path, ASAM)
    with family_site(recording) as site:
        olt = site.add()
        execution = site.collect(olt)
    told = told_of(olt)
    assert told["family"] == "nokia"
    assert execution.state == State.SUCCESS
    assert {onu["interface"]: onu["state"] for onu in told["onus"]} == STATES
    assert not any(onu["serial"] for onu in told["onus"])
    assert {port["port"]: (port["state"], port["onus"]) for port in told["pon_ports"]} == {
        "1/1": ("up", 1),
        "1/4": ("up", 2),
        "2/1": ("up", 2),
        "2/2": ("down", 1),
    }


@pytest.mark.parametrize("status", [ErrorStatus.noAccess, ErrorStatus.authorizationError])
def test_it_is_read_from_its_interfaces_where_it_refuses_the_tables(
    status: ErrorStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_brands()
    refuse(ASAM, status, monkeypatch)
    with family_site(FAMILIES / "nokia.snmprec") as site:
        olt = site.add()
        execution = site.collect(olt)
    told = told_of(olt)
    assert told["family"] == "nokia"
    assert {onu["interface"]: onu["state"] for onu in told["onus"]} == STATES
    assert {port["port"]: port["state"] for port in told["pon_ports"]} == {
        "1/1": "up",
        "1/4": "up",
        "2/1": "up",
        "2/2": "down",
    }
    parts = {part["job"]: part for part in execution.parts}
    assert {parts[job]["state"] for job in ("discovery", "state", "ports")} == {"success"}
    assert status.name in str(parts["discovery"]["error"])
    # Nothing at all came of these.
    assert {parts[job]["state"] for job in ("model", "health")} == {"failed"}


def test_when_its_tables_are_not_permitted_any_more_no_ont_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    know_brands()
    with family_site(FAMILIES / "nokia.snmprec") as site:
        olt = site.add()
        site.collect(olt)
        before = ids_of(olt)
        seen = {"first_seen": database_now(), "last_seen": database_now()}
        Onu.objects.create(olt=olt, address="3/1:1", slot=3, port=1, onu_id=1, serial="ALCL00003101", **seen)
        Onu.objects.create(olt=olt, address="3/1:2", slot=3, port=1, onu_id=2, **seen)
        refuse(ASAM, ErrorStatus.noAccess, monkeypatch)
        for _ in range(CONFIG.absent_after):
            site.collect(olt)
    absent = Onu.objects.filter(olt=olt, presence=Presence.ABSENT)
    # Only the table that is not permitted could say that the other one is gone.
    assert list(absent.values_list("address", flat=True)) == ["3/1:2"]
    assert ids_of(olt).items() > before.items()
    assert Onu.objects.filter(olt=olt, serial="ALCLF1234ABC").exists()


def test_when_it_gains_the_tables_its_onts_get_their_serials_and_are_not_there_twice(tmp_path: Path) -> None:
    know_brands()
    whole = FAMILIES / "nokia.snmprec"
    with family_site(without(whole, tmp_path, ASAM)) as site:
        olt = site.add()
        site.collect(olt)
    before = ids_of(olt)
    with family_site(whole, replace(CONFIG, missing_again_after=timedelta(0))) as site:
        Olt.objects.filter(pk=olt.pk).update(port=site.port)
        assert site.collect(olt).state == State.SUCCESS
    assert ids_of(olt) == before
    assert {onu["interface"]: onu["serial"] for onu in onus_of(olt)} == {
        "1/1:1": "ALCLF1234ABC",
        "1/4:1": "ALCL41424344",
        "1/4:97": "ALCL00000497",
        "2/1:1": "0000000012345678",
        "2/1:2": "ALCL00000212",
        "2/2:128": "ALCL00002128",
    }
