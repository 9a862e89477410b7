"""Facts by name become the columns of one OLT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from facho.apps.hosts.models import Brand, Oid, Olt, OltModel
from facho.apps.hosts.selectors import (
    GET,
    TABLE,
    USUAL_FACTS,
    columns_for,
    explicit_columns,
    facts_offered,
    is_about_onus,
    spelled_out,
)
from facho.apps.hosts.store import sync_profiles
from facho.vendors import builtin
from tests.database.engine.commands.test_oid_table import acme

pytestmark = pytest.mark.one_database

IF_NAME = "1.3.6.1.2.1.31.1.1.1.1"


def an_olt(brand: str = "huawei", model: str = "") -> Olt:
    family = Brand.objects.get(name=brand)
    made = OltModel.objects.get_or_create(brand=family, name=model)[0] if model else None
    return Olt.objects.create(name=f"olt {brand} {model}", brand=family, model=made, address="192.0.2.1")


def names(olt: Olt, *facts: str, kind: str = "get") -> list[str]:
    return [column.name for column in columns_for(olt, facts, kind, {**builtin(), **acme()})]


@pytest.fixture(autouse=True)
def synced(db: None) -> None:
    sync_profiles({**builtin(), **acme()})


@pytest.mark.parametrize(
    ("brand", "facts", "expected"),
    [
        ("huawei", ["serial"], ["gpon_config.serial"]),
        ("huawei", ["onu_rx_dbm"], ["gpon_optics.onu_rx_dbm", "epon_optics.onu_rx_dbm"]),
        ("zte", ["model"], ["gpon_versions.model", "gpon_versions.model.2"]),
        ("zte", ["board.cpu_pct"], ["cards.cpu_pct", "cards.cpu_pct.2"]),
        ("zte", ["olt.uptime_s", "serial"], ["system.uptime_s", "gpon_config.serial"]),
        # Named indices and columns that decide come along, once.
        ("huawei", ["port.state", "port.onus_known"], ["ports.state", "ports.onus_known", "port_names.name"]),
        ("huawei", ["port.state", "port.name"], ["ports.state", "port_names.name"]),
        ("acme", ["mac"], ["config.mac", "config.mac.2", "config.mac.2.when"]),
        ("acme", ["port.state"], ["ports.state", "interface.names"]),
        # What a share is a share of, and a table that may stand in for another.
        ("cdata_epon", ["olt.memory_pct"], ["health.memory_pct", "health.memory_pct.whole"]),
        # Which interfaces are uplinks is not asked for with the states of ONUs, whose column is the same.
        ("vsol_epon", ["uplink.out_errors"], ["uplinks.out_errors", "uplinks.name.rows"]),
        ("vsol_epon", ["state"], ["onus.state", "onus.state.2", "onu_interfaces.state", "ports.name"]),
        # Rows of a hardware address belong to whoever has it.
        (
            "bdcom",
            ["name"],
            ["epon_names.name", "epon_onus.mac", "gpon_port_interfaces.name"],
        ),
        # What only the generic profile has.
        ("acme", ["olt.uptime_s", "serial"], ["system.uptime_s", "config.serial"]),
        ("acme", ["onu_rx_dbm"], []),
        # The name of an ONU is not that of a port.
        ("huawei", ["name"], []),
    ],
)
def test_all_columns_of_a_fact_are_asked(brand: str, facts: list[str], expected: list[str]) -> None:
    assert names(an_olt(brand), *facts) == expected


def test_helpers_have_no_fact_and_are_read_as_themselves() -> None:
    state, helper = columns_for(an_olt(), ["port.state"], "walk")
    assert (state.fact, state.entity, state.brand) == ("state", "port", "huawei")
    assert (helper.fact, helper.oid, helper.read_as) == ("", IF_NAME, IF_NAME)


def test_what_the_generic_profile_reads_says_so() -> None:
    (uptime,) = columns_for(an_olt("acme"), ["olt.uptime_s"], "get", {**builtin(), **acme()})
    assert uptime.brand == "generic"


@pytest.mark.parametrize(
    ("brand", "expected"),
    [
        (
            "huawei",
            [
                "gpon_config.serial",
                "gpon_versions.mac",
                "epon_config.mac",
                "gpon_state.state",
                "epon_state.state",
            ],
        ),
        ("zte", ["gpon_config.serial", "epon_onus.mac", "gpon_state.state", "epon_onus.state"]),
        # Where they are too, in a family whose index does not say it.
        ("ufiber", ["onus.serial", "onus.port"]),
        # Firmware without the table of ONUs has them as interfaces.
        (
            "vsol_epon",
            ["onus.mac", "onus.mac.2", "onus.state", "onus.state.2", "onu_interfaces.state", "ports.name"],
        ),
        ("generic", []),
    ],
)
def test_a_discovery_asks_who_is_there(brand: str, expected: list[str]) -> None:
    assert names(an_olt(brand), kind="discovery") == expected


def test_a_discovery_walks_no_table_that_must_not_be_walked() -> None:
    assert names(an_olt(), "state", "onu_rx_dbm", kind="discovery") == [
        "gpon_config.serial", "gpon_versions.mac", "epon_config.mac", "gpon_state.state", "epon_state.state"
    ]  # fmt: skip


def test_model_goes_before_brand_and_brand_before_generic_for_each_fact() -> None:
    olt, other = an_olt(model="MA5608T"), an_olt(model="MA5683T")
    mine = {"brand": olt.brand, "provides": "state", "entity": "onu"}
    own = Oid.objects.create(name="mine", oid="1.3.6.1.4.1.5", model=olt.model, **mine)
    generic = Brand.objects.get(name="generic")
    Oid.objects.create(brand=generic, name="plan", oid="1.3.6.1.4.1.6", provides="plan", entity="onu")
    Oid.objects.create(brand=generic, name="state", oid="1.3.6.1.4.1.7", provides="state", entity="onu")
    assert names(olt, "state", "serial", "plan") == [own.name, "gpon_config.serial", "plan"]
    assert names(other, "state") == ["gpon_state.state", "epon_state.state"]


def test_a_column_that_an_operator_moved_is_read_as_before() -> None:
    Oid.objects.filter(brand__name="huawei", name="gpon_config.serial").update(oid="1.3.6.1.4.1.5")
    (column,) = columns_for(an_olt(), ["serial"], "walk")
    assert (column.oid, column.read_as) == ("1.3.6.1.4.1.5", "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3")


def test_a_helper_that_was_moved_or_deleted_is_still_asked() -> None:
    olt = an_olt("acme")
    Oid.objects.filter(name="interface.names").update(oid="1.3.6.1.4.1.5")
    assert columns_for(olt, ["port.state"], "walk", acme())[1].oid == "1.3.6.1.4.1.5"
    Oid.objects.filter(name="interface.names").delete()
    assert columns_for(olt, ["port.state"], "walk", acme())[1].oid == IF_NAME


def test_oids_that_a_job_names_bring_what_they_need() -> None:
    huawei = Brand.objects.get(name="huawei")
    own = Oid.objects.create(brand=huawei, name="mine", oid="1.3.6.1.4.1.5")
    chosen = Oid.objects.filter(brand=huawei, name__in=["mine", "ports.state"]).order_by("-pk")
    columns = explicit_columns(chosen.select_related("brand"))
    assert [column.name for column in columns] == [own.name, "ports.state", "port_names.name"]
    assert columns[0].read_as == ""


@pytest.mark.parametrize(
    ("brand", "expected"), [("huawei", {"olt.clock", "last_up", "last_down"}), ("fiberhome", set())]
)
def test_the_clock_is_asked_for_only_to_read_the_dates_of_changes(brand: str, expected: set[str]) -> None:
    asked = columns_for(an_olt(brand), USUAL_FACTS["state"], "table")
    others = {"state", "down_cause", "distance_m", ""}
    facts = {f"{each.entity}.{each.fact}".removeprefix("onu.") for each in asked if each.fact not in others}
    assert facts == expected
    # Nobody else wants it there: it may be asked for by itself.
    assert [column.fact for column in columns_for(an_olt("nokia"), ["olt.clock"], "table")] == ["clock"]


def test_it_takes_one_query(django_assert_num_queries: Callable[[int], Any]) -> None:
    olt = Olt.objects.select_related("brand").get(pk=an_olt(model="MA5608T").pk)
    with django_assert_num_queries(1):
        columns_for(olt, ["serial", "state", "port.state", "olt.uptime_s", "onu_rx_dbm"], "get")


def test_a_family_offers_what_it_has() -> None:
    assert facts_offered(builtin()["generic"]) == {
        "health": ("olt.uptime_s",),
        "ports": ("port.name", "port.description", "port.state", "port.admin_state", "port.speed_mbps"),
        "traffic": ("port.in_octets", "port.out_octets"),
    }
    assert facts_offered(builtin()["zte"]) == {
        "discovery": ("serial", "mac"),
        "description": ("description", "name"),
        "state": ("state", "down_cause", "distance_m", "last_up", "last_down", "olt.clock"),
        "optics": ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c"),
        "model": ("model", "type"),
        "health": (
            "olt.uptime_s", "olt.version", "board.name", "board.state", "board.cpu_pct", "board.memory_pct",
            "board.temperature_c", "board.power_w", "fan.state", "fan.speed_rpm",
            "psu.state", "psu.voltage_v",
        ),
        "ports": ("port.name", "port.state", "port.tx_dbm", "port.temperature_c", "port.voltage_v"),
        "autofind": ("autofind.serial",),
        "details": ("vendor_id", "sw_version", "admin_state", "ip", "uni.state", "uni.speed"),
        "traffic": ("up_octets", "down_octets", "port.in_octets", "port.out_octets"),
        "uplinks": (
            "uplink.name", "uplink.description", "uplink.state", "uplink.admin_state", "uplink.speed_mbps",
            "uplink.in_octets", "uplink.out_octets", "uplink.in_errors", "uplink.out_errors",
            "uplink.in_discards", "uplink.out_discards",
        ),
    }  # fmt: skip
    assert facts_offered(builtin()["huawei"])["description"] == ("description",)
    assert "uplink.rx_dbm" not in facts_offered(builtin()["bdcom"])["uplinks"]
    assert "uplink.rx_dbm" in facts_offered(builtin()["bdcom"])["ports"]
    assert facts_offered(acme()["acme"]) == {"discovery": ("serial", "mac"), "ports": ("port.state",)}


def test_a_usual_set_stands_for_what_the_family_has_of_it() -> None:
    huawei, zte = builtin()["huawei"], builtin()["zte"]
    assert spelled_out(["serial", "autofind"], zte, TABLE) == ("serial", "autofind.serial")
    assert spelled_out(["port.state", "ports"], huawei, TABLE)[:2] == ("port.state", "port.name")
    assert "port.admin_state" not in spelled_out(["ports"], huawei, TABLE)
    # These are facts, too.
    assert spelled_out(["state", "model", "description"], zte, TABLE) == ("state", "model", "description")


def test_a_get_has_of_a_usual_set_what_is_about_onus() -> None:
    huawei = builtin()["huawei"]
    assert "uni.state" in spelled_out(["details"], huawei, TABLE)
    asked = spelled_out(["details"], huawei, GET)
    assert "sw_version" in asked
    assert all(map(is_about_onus, asked))


@pytest.mark.parametrize("brand", list(builtin()))
def test_everything_offered_can_be_asked(brand: str) -> None:
    olt = an_olt(brand)
    for job, facts in facts_offered(builtin()[brand]).items():
        kind = {"discovery": "discovery", "optics": "get"}.get(job, "table")
        asked = {column.read_as for column in columns_for(olt, facts, kind)}
        # One column may tell several facts: a serial or an address.
        columns = [column for table in builtin()[brand].tables for column in table.columns]
        found = {column.fact for column in columns if column.source.oid in asked}
        assert {fact.rpartition(".")[2] for fact in facts} <= found


def test_what_an_olt_must_ask_its_onus_for_is_not_walked() -> None:
    olt = an_olt("huawei")
    assert columns_for(olt, ["onu_rx_dbm"], "table") == []
    assert [column.name for column in columns_for(olt, ["onu_rx_dbm", "state"], "table")] == [
        column.name for column in columns_for(olt, ["state"], "table")
    ]
