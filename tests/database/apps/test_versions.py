"""ONUs are counted by version as they are stored, so that no page has to count them."""

from __future__ import annotations

import pytest

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu, VersionCount
from facho.apps.discovery.versions import (
    VersionsOf,
    count_by,
    count_olt_versions,
    count_onu_versions,
    recount_versions,
)
from facho.apps.hosts.models import Olt
from tests.findings import an_olt, discovered, facts, store

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

EVERYWHERE = VersionsOf()


def versions(*rows: tuple[int, str, str]) -> Finding:
    """A table of models and firmwares, by the number of the ONU."""
    return Finding(
        facts((onu, {"model": model, "sw_version": software}) for onu, model, software in rows), complete=True
    )


def counted() -> list[tuple[str, str, int]]:
    return [(each.model, each.sw_version, each.onus) for each in count_onu_versions(EVERYWHERE)]


def test_onus_are_counted_when_they_are_found_and_when_their_versions_are_known() -> None:
    olt = an_olt()
    store(olt, discovered({1: "HWTC00000001", 2: "HWTC00000002", 3: "HWTC00000003"}))
    assert counted() == [("", "", 3)]
    store(olt, versions((1, "X4", "V1"), (2, "X4", "V1"), (3, "S1", "V7")))
    assert counted() == [("X4", "V1", 2), ("S1", "V7", 1)]


def test_an_onu_with_new_firmware_moves_from_one_count_to_another() -> None:
    olt = an_olt()
    store(olt, discovered({1: "HWTC00000001", 2: "HWTC00000002"}), versions((1, "X4", "V1"), (2, "X4", "V1")))
    store(olt, versions((1, "X4", "V2"), (2, "X4", "V1")), hours=1)
    assert counted() == [("X4", "V1", 1), ("X4", "V2", 1)]
    store(olt, versions((1, "X4", "V2"), (2, "X4", "V2")), hours=2)
    assert counted() == [("X4", "V2", 2)]
    assert VersionCount.objects.count() == 1


def test_an_absent_onu_is_not_counted_until_it_is_back() -> None:
    olt = an_olt()
    both = discovered({1: "HWTC00000001", 2: "HWTC00000002"})
    store(olt, both, versions((1, "X4", "V1"), (2, "X4", "V1")))
    store(olt, discovered({1: "HWTC00000001"}), hours=1, absent_after=1)
    assert counted() == [("X4", "V1", 1)]
    store(olt, both, hours=2)
    assert counted() == [("X4", "V1", 2)]


def test_a_collection_that_changes_no_version_writes_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    olt = an_olt()
    store(olt, discovered({1: "HWTC00000001"}), versions((1, "X4", "V1")))
    asked: list[int] = []
    monkeypatch.setattr("facho.apps.discovery.store.recount_versions", asked.append)
    store(olt, discovered({1: "HWTC00000001"}), versions((1, "X4", "V1")), hours=1)
    assert asked == []
    store(olt, versions((1, "X4", "V2")), hours=2)
    assert asked == [olt.pk]


def test_counts_are_those_of_the_rows_themselves() -> None:
    olt = an_olt()
    store(olt, discovered({1: "HWTC00000001", 2: "HWTC00000002"}))
    Onu.objects.filter(onu_id=1).update(model="X4", hw_version="A")
    recount_versions(olt.pk)
    found = [(each.model, each.hw_version, each.onus) for each in count_onu_versions(EVERYWHERE)]
    assert found == [("", "", 1), ("X4", "A", 1)]


def test_versions_are_those_of_a_site_a_brand_or_an_olt() -> None:
    north, south = an_olt("north"), an_olt("south")
    Olt.objects.filter(name="north").update(site="North", version="V800R021")
    for olt, model in ((north, "X4"), (south, "S1")):
        store(olt, discovered({1: f"HWTC0000000{olt.pk}"}), versions((1, model, "V1")))

    def models(of: VersionsOf) -> list[str]:
        return [each.model for each in count_onu_versions(of)]

    assert models(EVERYWHERE) == ["S1", "X4"]
    assert models(VersionsOf(site="North")) == ["X4"]
    assert models(VersionsOf(olt_id=south.pk)) == ["S1"]
    assert models(VersionsOf(brand_id=north.brand_id)) == ["S1", "X4"]
    assert models(VersionsOf(brand_id=north.brand_id + 1)) == []
    assert [(each.version, each.olts) for each in count_olt_versions(VersionsOf(site="North"))] == [
        ("V800R021", 1)
    ]
    assert [(each.version, each.olts) for each in count_olt_versions(EVERYWHERE)] == [
        ("", 1),
        ("V800R021", 1),
    ]


def test_versions_are_counted_by_some_of_their_columns() -> None:
    olt = an_olt()
    store(
        olt,
        discovered({1: "HWTC00000001", 2: "HWTC00000002", 3: "HWTC00000003"}),
        versions((1, "X4", "V1"), (2, "X4", "V2"), (3, "S1", "V7")),
    )
    found = count_onu_versions(EVERYWHERE)
    assert count_by(found, "model") == [(("X4",), 2), (("S1",), 1)]
    assert count_by(found, "model", "sw_version") == [
        (("S1", "V7"), 1), (("X4", "V1"), 1), (("X4", "V2"), 1)
    ]  # fmt: skip
