"""What differs between what is expected of a family and what came, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

# What a row is called by, in each list.
_NAMED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "onus": ("interface",),
    "pon_ports": ("port",),
    "boards": ("board",),
    "fans": ("fan",),
    "unprovisioned": ("port", "serial", "mac"),
}
# A case says of the health only what matters.
_IN_PART: Final = frozenset({"boards", "fans"})


def differences(expected: Mapping[str, Any], came: Mapping[str, Any]) -> list[str]:
    """One line each, such as `onus 0/1/7:3 rx_dbm: expected -23.5, came None`."""
    health = came["health"]
    return [
        *_of_fields("", expected, came, ("family", "model", "version")),
        *_of_lists(expected, came, ("onus", "pon_ports", "unprovisioned")),
        *_of_fields("health ", expected["health"], health, expected["health"].keys() - _IN_PART),
        *_of_lists(expected["health"], health, sorted(expected["health"].keys() & _IN_PART)),
    ]


def _of_lists(expected: Mapping[str, Any], came: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield from _of_rows(name, _by_name(name, expected[name]), _by_name(name, came[name]))


def _of_rows(what: str, expected: Mapping[str, Any], came: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{what} {name}: is missing" for name in expected if name not in came)
    yield from (f"{what} {name}: was not expected: {came[name]}" for name in came if name not in expected)
    for name in (name for name in expected if name in came):
        fields = expected[name].keys() | (set() if what in _IN_PART else came[name].keys())
        yield from _of_fields(f"{what} {name} ", expected[name], came[name], sorted(fields))


def _of_fields(
    where: str, expected: Mapping[str, Any], came: Mapping[str, Any], fields: Any
) -> Iterator[str]:
    for field in fields:
        wanted, got = expected.get(field, "no such field"), came.get(field, "no such field")
        if wanted != got:
            yield f"{where}{field}: expected {wanted!r}, came {got!r}"


def _by_name(what: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    named = {" ".join(str(row[each]) for each in _NAMED_BY[what]): row for row in rows}
    assert len(named) == len(rows), f"two of {what} have one name"
    return named
