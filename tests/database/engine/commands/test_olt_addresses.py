"""One device is one OLT: an address and port that another OLT has is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.cli.doctor.database import check_addresses
from facho.cli.doctor.findings import Level
from facho.config import current
from facho.engine.commands.olt_addresses import TakenAddress, shared_addresses
from facho.engine.commands.olts import NewOlt, OltChanges, add_olt, check_new, update_olt, update_olts
from facho.snmp.usm import User
from tests.factories import at, make_olt, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

NOW = at("10:30")
FIRST = NewOlt("first", "10.0.0.1", brand="huawei")
SECOND = replace(FIRST, name="second")


def behind_a_proxy(name: str, context: str) -> NewOlt:
    return NewOlt(
        name, "10.0.0.9", None, "3", Credentials(user=User("monitor", context=context)), brand="huawei"
    )


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1", " 10.0.0.1 "),
        ("10.0.0.1", "::ffff:10.0.0.1"),
        ("2001:db8::1", "[2001:0DB8:0::1]"),
        ("olt-7.example.org", "OLT-7.example.org."),
    ],
)
def test_an_address_in_any_spelling_belongs_to_one_olt(stored: str, typed: str) -> None:
    add_olt(replace(FIRST, address=stored))
    with refused("address", "first already has the address"):
        add_olt(replace(SECOND, address=typed))
    # Before the OLT is asked, too.
    with refused("address", "first already has the address"):
        check_new(replace(SECOND, address=typed))


def test_the_other_olt_is_known_to_who_shows_the_refusal() -> None:
    first = add_olt(FIRST)
    with pytest.raises(TakenAddress) as error:
        add_olt(SECOND)
    assert (error.value.olt_id, error.value.olt_name) == (first.id, "first")


def test_another_port_is_another_device() -> None:
    add_olt(FIRST)
    assert add_olt(replace(SECOND, port=1161)).port == 1161


def test_an_olt_does_not_move_to_the_address_of_another() -> None:
    add_olt(FIRST)
    add_olt(replace(SECOND, address="10.0.0.2"))
    with refused("address", "first already has the address 10.0.0.1 and the port 161"):
        update_olt("second", OltChanges(address="10.0.0.1"), NOW)
    with refused("address", "second: first already has the address 10.0.0.1"):
        update_olts({"first": OltChanges(site="a"), "second": OltChanges(address="10.0.0.1")}, NOW)


def test_contexts_of_snmpv3_tell_the_olts_behind_a_proxy_apart() -> None:
    add_olt(behind_a_proxy("first", "north"))
    add_olt(behind_a_proxy("second", "south"))
    with refused("address", "need SNMPv3 and different contexts"):
        add_olt(behind_a_proxy("third", "south"))
    with refused("address", "need SNMPv3 and different contexts"):
        add_olt(replace(FIRST, name="third", address="10.0.0.9"))
    with refused("address", "need SNMPv3 and different contexts"):
        update_olt("second", OltChanges(credentials=Credentials(user=User("monitor", context="north"))), NOW)
    assert shared_addresses() == []


def test_the_address_of_an_olt_that_is_being_removed_is_free() -> None:
    add_olt(FIRST)
    Olt.objects.update(removed_at=NOW)
    assert add_olt(SECOND).address == "10.0.0.1"


def test_olts_that_shared_an_address_before_can_be_changed_and_the_doctor_names_them() -> None:
    for name in ("one", "two"):
        make_olt(name, address="10.0.0.1")
    make_olt("three", address="10.0.0.3")
    update_olt("two", OltChanges(site="north"), NOW)
    finding = check_addresses(NOW, current())
    assert (finding.level, "one and two" in finding.told or "one, two" in finding.told) == (
        Level.WARNING,
        True,
    )
    assert "10.0.0.1:161" in finding.told
    assert "three" not in finding.told
    update_olt("two", OltChanges(address="10.0.0.2"), NOW)
    assert check_addresses(NOW, current()).level == Level.OK
