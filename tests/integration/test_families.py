"""Every family from its recording to what people see: the proof that a profile is right, whoever wrote it.

A case is two files in tests/families, written from what is known of the vendor and not from the profile: a
recording of an OLT, and as JSON what an operator must see of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.database.setting_up import know_brands
from tests.integration.family_differences import differences
from tests.integration.family_site import Told, family_site, onus_of, told_of, without

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

FAMILIES: Final = Path(__file__).parent.parent / "families"
CASES: Final = sorted(path.stem for path in FAMILIES.glob("*.snmprec"))
every_case = pytest.mark.parametrize("case", CASES)


_STATE: Final = ("state", "down_cause", "distance_m")
_OPTICS: Final = ("rx_dbm", "tx_dbm", "olt_rx_dbm", "temperature_c")
_HUAWEI: Final = "1.3.6.1.4.1.2011.6.128.1.1.2"
# The tables of a case that name ONUs, and what nobody knows without each. Every ONU is named by two or more.
ONU_TABLES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "huawei": {
        f"{_HUAWEI}.43": ("serial", "description"),
        f"{_HUAWEI}.45": ("model", "mac"),
        # Optics are asked of those only that are known to be online.
        f"{_HUAWEI}.46": (*_STATE, *_OPTICS),
        f"{_HUAWEI}.51": _OPTICS,
        f"{_HUAWEI}.53": ("mac", "description"),
        f"{_HUAWEI}.55": (),
        f"{_HUAWEI}.57": (*_STATE, *_OPTICS),
        f"{_HUAWEI}.104": _OPTICS,
    },
}


@pytest.fixture(autouse=True)
def _brands() -> None:
    know_brands()


def recording_of(case: str) -> Path:
    return FAMILIES / f"{case}.snmprec"


def expected_of(case: str) -> Told:
    expected: Told = json.loads((FAMILIES / f"{case}.json").read_text(encoding="utf-8"))
    return expected


@every_case
def test_what_people_see_is_what_the_olt_says(case: str) -> None:
    with family_site(recording_of(case)) as site:
        olt = site.add()
        execution = site.collect(olt)
        assert execution.state == "SUCCESS", execution.error
        found = differences(expected_of(case), told_of(olt))
        assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("case", ONU_TABLES)
def test_without_a_table_every_onu_is_there_and_what_it_told_is_not_known(case: str, tmp_path: Path) -> None:
    whole = by_interface(expected_of(case)["onus"])
    for table, lost in ONU_TABLES[case].items():
        with family_site(without(recording_of(case), tmp_path, table)) as site:
            olt = site.add(f"without {table}")
            assert site.collect(olt).state == "SUCCESS", table
        onus = by_interface(onus_of(olt))
        assert onus.keys() == whole.keys(), table
        changed = {
            field: onus[name][field]
            for name, onu in whole.items()
            for field in onu
            if onus[name][field] != onu[field]
        }
        assert changed == dict.fromkeys(lost), table


@pytest.mark.parametrize("case", ONU_TABLES)
def test_without_any_table_of_onus_nobody_is_there_and_nothing_failed(case: str, tmp_path: Path) -> None:
    with family_site(without(recording_of(case), tmp_path, *ONU_TABLES[case])) as site:
        olt = site.add()
        execution = site.collect(olt)
    assert execution.state == "SUCCESS", execution.error
    assert onus_of(olt) == []
    assert execution.parts[0]["error"].startswith("table not present: ")


def by_interface(onus: list[Told]) -> dict[str, Told]:
    return {onu["interface"]: onu for onu in onus}
