"""Events of one OLT, kind and moment are one row of a feed."""

from datetime import UTC, datetime, timedelta

from facho.core.event_groups import EventKey, group_events, port_of_place

AT = datetime(2026, 5, 4, 14, 3, tzinfo=UTC)
Row = tuple[int, str, datetime, str]


def _groups(*rows: Row) -> list[tuple[EventKey, int, list[str]]]:
    found = group_events(rows, lambda row: EventKey(*row[:3]), lambda row: row[3])
    return [(group.key, len(group.events), list(group.ports)) for group in found]


def test_the_onus_of_a_port_that_go_offline_together_are_one_group() -> None:
    rows = [(1, "offline", AT, f"0/1/3:{number}") for number in range(37)]
    assert _groups(*rows) == [(EventKey(1, "offline", AT), 37, ["0/1/3"])]


def test_another_olt_kind_or_moment_is_another_group_in_the_order_of_its_first_event() -> None:
    later = AT + timedelta(seconds=1)
    rows: list[Row] = [
        (1, "offline", later, "0/1/3:1"),
        (1, "online", later, "0/1/3:2"),
        (2, "offline", later, "0/1/3:1"),
        (1, "offline", later, "0/1/4:1"),
        (1, "offline", AT, "0/1/3:1"),
    ]
    assert [(key.olt_id, key.kind, key.at, count) for key, count, _ in _groups(*rows)] == [
        (1, "offline", later, 2),
        (1, "online", later, 1),
        (2, "offline", later, 1),
        (1, "offline", AT, 1),
    ]


def test_a_group_names_each_port_once_and_none_for_an_onu_without_one() -> None:
    rows: list[Row] = [(1, "offline", AT, place) for place in ("0/1/3:1", "0/1/4:1", "0/1/3:2", "")]
    assert _groups(*rows)[0][2] == ["0/1/3", "0/1/4"]


def test_the_port_is_what_comes_before_the_number_of_the_onu() -> None:
    assert port_of_place("0/1/3:12") == "0/1/3"
    assert port_of_place("0/1/3") == "0/1/3"
