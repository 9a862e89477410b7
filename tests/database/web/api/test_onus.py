"""ONUs in the API: which are found, by indexes alone; what is known of one, and its numbers over time."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.discovery.onu_search import prefix_queries
from facho.core.roles import Role
from facho.web.api.v1 import onus
from tests.api_clients import asking
from tests.factories import at, make_olt
from tests.history_rows import add_frame, an_onu

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
PATH = "/api/v1/onus/"


def ask(path: str, **query: Any) -> Any:
    answer = asking(Role.VIEWER).get(PATH + path, query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def found(**query: Any) -> list[str]:
    return [row["address"] for row in ask("", **query)["results"]]


def make_onu(address: str, **columns: Any) -> Onu:
    columns.setdefault("olt", None)
    olt = columns.pop("olt") or make_olt()
    return Onu.objects.create(
        olt=olt, address=address, first_seen=at("08:00"), last_seen=at("09:00"), **columns
    )


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("hwtc12", ["a"]),
        ("HWTC-12", ["a"]),
        ("00aa.bb", ["b"]),
        ("00:AA:BB:C", ["b"]),
        ("casa", ["c", "d"]),
        ("CASA 5% DE", ["d"]),
        ("x" * 39, ["e"]),
        ("x" * 60, ["e"]),
        ("12345", ["a"]),
    ],
)
def test_onus_are_found_by_how_they_begin(text: str, who: list[str]) -> None:
    make_onu("a", serial="HWTC12345678", description="un hogar")
    make_onu("b", mac="00:aa:bb:cc:dd:ee")
    make_onu("c", description="Casa 5, apto 1")
    make_onu("d", description="casa 5% de descuento")
    make_onu("e", description="X" * 1000)
    assert found(q=text) == who


@pytest.mark.both_databases
def test_a_search_looks_at_no_more_than_it_finds() -> None:
    olt = make_olt()
    Onu.objects.bulk_create(
        Onu(
            olt=olt,
            address=f"{number}",
            serial=f"HWTC{number:08X}",
            mac=f"00:00:00:00:{number // 256:02x}:{number % 256:02x}",
            description=f"customer {number:05}",
            first_seen=at("08:00"),
            last_seen=at("08:00"),
        )
        for number in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE onu_data")
    indexes = ("onu_data_serial_like", "onu_data_mac_like", "onu_data_description")
    for ask, index in zip(prefix_queries("00000000001"), indexes, strict=True):
        plan = Onu.objects.filter(ask.condition).order_by(ask.order)[:20].explain()
        assert index in plan, plan


def test_onus_are_found_by_what_they_are() -> None:
    olt = make_olt()
    make_onu("online", olt=olt, state="online", slot=1, port=7)
    make_onu("dark", olt=olt, state="los", slot=1, port=8, optical_state="weak")
    make_onu("gone", olt=olt, slot=2, port=7, presence="absent", serial="HWTC1")
    make_onu("other", state="offline", slot=1, port=7)
    assert found(olt=olt.id, port=7) == ["online", "gone"]
    assert found(olt=olt.id, slot=1, port=7) == ["online"]
    assert found(state=["los", "offline"]) == ["dark", "other"]
    assert found(presence="absent") == found(serial="HWTC1") == ["gone"]
    assert found(weak="true") == ["dark"]
    assert found(weak="false", olt=olt.id) == ["online", "gone"]


def test_an_onu_says_all_that_is_known_of_it() -> None:
    onu = make_onu(
        "0/1/7/3", olt=make_olt("north-1"), frame=0, slot=1, port=7, onu_id=3, raw_index="4194312960.3",
        serial="HWTC12345678", state="los", down_cause="power_off", onu_rx_dbm=-21.5, distance_m=1200,
    )  # fmt: skip
    said = ask(f"{onu.id}/")
    assert (said["olt_name"], said["interface"], said["serial"]) == ("north-1", "0/1/7:3", "HWTC12345678")
    assert (said["state"], said["down_cause"], said["onu_rx_dbm"]) == ("los", "power_off", -21.5)
    assert (said["distance_m"], said["temperature_c"]) == (1200, None)
    assert (said["first_seen"], said["presence"]) == ("2025-06-10T08:00:00Z", "present")


def test_events_of_an_onu_are_its_own_the_last_first() -> None:
    onu, other = make_onu("a"), make_onu("b")
    for who, kind, clock in ((onu, "new", "08:00"), (other, "new", "08:01"), (onu, "offline", "09:00")):
        OnuEvent.objects.create(olt=who.olt, onu=who, kind=kind, at=at(clock))
    said = ask(f"{onu.id}/events/", page_size=1)
    assert [row["kind"] for row in said["results"]] == ["offline"]
    assert [row["kind"] for row in asking(Role.VIEWER).get(said["next"]).json()["results"]] == ["new"]


def the_day() -> dict[str, str]:
    return {"from": at("00:00").isoformat(), "until": at("23:00").isoformat()}


def test_history_has_every_point_and_its_gaps() -> None:
    olt = make_olt()
    onu, other = an_onu(olt, 0, 1, 7), an_onu(olt, 0, 1, 7)
    for clock, power in (("10:00", -20.0), ("10:05", None), ("10:10", -20.5)):
        add_frame(olt, clock, {onu.pk: power, other.pk: -9.0})
    add_frame(olt, "10:10", {onu.pk: 41.0}, "temperature_c")
    said = ask(f"{onu.pk}/history/", fact=["onu_rx_dbm", "temperature_c"], **the_day())
    assert said == {
        "from": "2025-06-10T00:00:00Z",
        "until": "2025-06-10T23:00:00Z",
        "resolution_s": None,
        "times": ["2025-06-10T10:00:00Z", "2025-06-10T10:05:00Z", "2025-06-10T10:10:00Z"],
        "values": {"onu_rx_dbm": [-20.0, None, -20.5], "temperature_c": [None, None, 41.0]},
    }
    assert ask(f"{onu.pk}/history/", **the_day())["values"].keys() == {
        "distance_m", "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c", "voltage_v", "bias_ma",
        "up_bps", "down_bps",
    }  # fmt: skip
    # The last day, if nothing is said.
    assert ask(f"{onu.pk}/history/")["times"] == []


def test_history_of_a_resolution_has_means_and_what_they_are_made_of() -> None:
    olt = make_olt()
    onu, other = an_onu(olt, 0, 1, 7), an_onu(olt, 0, 1, 7)
    for clock, power in (("10:05", -20.0), ("10:55", -21.0), ("11:00", None), ("12:10", -23.0)):
        add_frame(olt, clock, {onu.pk: power, other.pk: -9.0})
    said = ask(f"{onu.pk}/history/", fact="onu_rx_dbm", resolution="1h", **the_day())
    assert said["resolution_s"] == 3600
    assert said["times"] == ["2025-06-10T10:00:00Z", "2025-06-10T11:00:00Z", "2025-06-10T12:00:00Z"]
    assert said["values"] == {"onu_rx_dbm": [-20.5, None, -23.0]}
    assert said["least"] == {"onu_rx_dbm": [-21.0, None, -23.0]}
    assert said["most"] == {"onu_rx_dbm": [-20.0, None, -23.0]}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"fact": "serial"}, "fact"),
        ({"from": "monday"}, "from"),
        ({"from": "0001-01-01T00:00:00+05:00"}, "from"),
        ({"from": "2025-06-10T10:00:00Z", "until": "2025-06-10T10:00:00Z"}, "from"),
        ({"resolution": "often"}, "resolution"),
    ],
)
def test_a_history_that_makes_no_sense_is_refused(query: dict[str, str], field: str) -> None:
    answer = asking(Role.VIEWER).get(f"{PATH}{make_onu('a').id}/history/", query)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_states_and_causes_are_the_same_for_all_vendors_beside_the_reported_ones() -> None:
    olt = make_olt()
    rows = (
        ("online", "los", ""), ("los", "", "weak"), ("power_off", "", ""), ("offline", "signal", ""),
        ("offline", "", ""), ("starting", "", ""), ("", "", ""),
    )  # fmt: skip
    for number, (state, told, optics) in enumerate(rows):
        Onu.objects.create(
            olt=olt, address=f"9.{number}", onu_id=number, state=state, down_cause=told, optical_state=optics,
            first_seen=at("08:00"), last_seen=at("09:00"),
        )  # fmt: skip

    def found(query: str) -> list[int]:
        listed = ask(f"?olt={olt.id}&{query}")["results"]
        return sorted(each["onu_id"] for each in listed)

    first, second = (ask("", olt=olt.id, state=state)["results"][0] for state in ("online", "los"))
    assert [first[name] for name in ("state", "status", "down_cause", "cause", "weak")] == [
        "online",
        "online",
        "los",
        "",
        False,
    ]
    assert [second[name] for name in ("state", "status", "down_cause", "cause", "weak")] == [
        "los",
        "offline",
        "",
        "los",
        True,
    ]
    assert found("state=los") == [1]
    assert found("state=offline") == [3, 4]
    assert found("status=offline") == [1, 2, 3, 4]
    assert found("status=online&status=starting") == [0, 5]
    assert found("status=unknown") == [6]
    assert found("cause=los") == [1]
    assert found("cause=los&cause=signal") == [1, 3]
    assert found("cause=unknown") == [4]
    assert found("weak=true") == [1]
    assert found("weak=false") == [0, 2, 3, 4, 5, 6]
    assert asking(Role.VIEWER).get(PATH, {"status": "los"}).status_code == 400


def test_one_onu_has_the_latest_numbers_that_only_its_history_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onus, "database_now", lambda: at("12:00"))
    onu = make_onu("a")
    add_frame(onu.olt, "11:20", {onu.pk: 3.3}, fact="voltage_v")
    add_frame(onu.olt, "11:30", {onu.pk: 16_773_120.0}, fact="down_bps")
    add_frame(onu.olt, "11:40", {onu.pk: -21.0})
    assert ask(f"{onu.pk}/")["latest"] == {
        "voltage_v": {"value": 3.3, "at": "2025-06-10T11:20:00Z"},
        "down_bps": {"value": 16_773_120.0, "at": "2025-06-10T11:30:00Z"},
    }
    (listed,) = ask("")["results"]
    assert "latest" not in listed
