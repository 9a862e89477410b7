"""Many OLTs at once: a preview saves nothing, and rows of a file are saved together or not at all."""

from __future__ import annotations

import pytest

from facho.apps.hosts.models import Olt
from facho.engine.commands.olt_batches import OltRow, RowOutcome, import_rows, preview_olts
from facho.engine.commands.olts import NewOlt, OltChanges
from tests.factories import at, make_olt, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

NOW = at("10:30")


@pytest.fixture(autouse=True)
def _olts() -> None:
    for number in (1, 2):
        make_olt(f"olt-{number}", address=f"10.0.0.{number}")


def sites() -> list[tuple[str, str]]:
    return list(Olt.objects.order_by("name").values_list("name", "site"))


def test_a_preview_says_what_would_differ_and_saves_nothing() -> None:
    before = sites()
    first, second = preview_olts({"olt-1": OltChanges(site="North"), "olt-2": OltChanges()})
    assert (first.olt.site, first.changes["site"]["new"], second.changes) == ("North", "North", {})
    assert sites() == before
    with refused("address", "olt-2: olt-1 already has the address"):
        preview_olts({"olt-1": OltChanges(site="North"), "olt-2": OltChanges(address="10.0.0.1")})


@pytest.mark.parametrize(("keep_going", "saved"), [(False, False), (True, True)])
def test_a_refused_row_keeps_the_others_from_being_saved_unless_they_are_wanted(
    keep_going: bool, saved: bool
) -> None:
    rows = [
        OltRow("olt-1", OltChanges(site="North")),
        OltRow("olt-2", OltChanges(site="North", address="10.0.0.1")),
        OltRow("olt-3", NewOlt("olt-3", "10.0.0.3", brand="huawei", site="North")),
    ]
    results, was_saved = import_rows(rows, NOW, keep_going=keep_going)
    assert [each.outcome for each in results] == [RowOutcome.CHANGED, RowOutcome.REFUSED, RowOutcome.ADDED]
    assert was_saved is saved
    assert Olt.objects.filter(site="North").count() == (2 if saved else 0)


def test_a_dry_run_tells_the_results_and_saves_nothing() -> None:
    results, saved = import_rows([OltRow("olt-1", OltChanges(site="North"))], NOW, dry_run=True)
    assert ([each.outcome for each in results], saved) == ([RowOutcome.CHANGED], False)
    assert not Olt.objects.filter(site="North").exists()
