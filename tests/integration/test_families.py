"""Every family from its recording to what people see: the proof that a profile is right, whoever wrote it.

A case is two files in tests/families, written from what is known of the vendor and not from the profile: a
recording of an OLT, and as JSON what an operator must see of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from facho.core.reasons import from_json
from facho.vendors import GENERIC, builtin
from tests.factories import know_brands
from tests.integration.family_differences import differences
from tests.integration.family_site import Told, family_site, onus_of, told_of, without

pytestmark = pytest.mark.django_db(transaction=True)

FAMILIES: Final = Path(__file__).parent.parent / "families"
CASES: Final = sorted(path.stem for path in FAMILIES.glob("*.snmprec"))
# They know an ONU by its serial, its MAC or its place, which is all that could matter to a database.
ON_BOTH_DATABASES: Final = frozenset({"huawei", "zte", "bdcom_epon", "nokia"})
every_case = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.both_databases) if case in ON_BOTH_DATABASES else case
        for case in CASES
    ],
)

_STATE: Final = ("state", "down_cause", "distance_m")
_OPTICS: Final = ("rx_dbm", "tx_dbm", "olt_rx_dbm", "temperature_c")
_HUAWEI: Final = "1.3.6.1.4.1.2011.6.128.1.1.2"
_ZTE: Final = "1.3.6.1.4.1.3902"
_FIBERHOME: Final = "1.3.6.1.4.1.5875.800.3"
_NOKIA: Final = "1.3.6.1.4.1.637.61.1"
_VSOL: Final = "1.3.6.1.4.1.37950.1.1.6.1.1"


class Lost(NamedTuple):
    """What nobody knows without a table, and the ONUs that no other table names."""

    facts: tuple[str, ...]
    onus: tuple[str, ...] = ()


# The tables of a case that name ONUs. Who is not known to be online is asked for no optics, by some families.
ONU_TABLES: Final[Mapping[str, Mapping[str, Lost]]] = {
    "huawei": {
        f"{_HUAWEI}.43": Lost(("serial", "description")),
        f"{_HUAWEI}.45": Lost(("model", "mac")),
        f"{_HUAWEI}.46": Lost((*_STATE, *_OPTICS)),
        f"{_HUAWEI}.51": Lost(_OPTICS),
        f"{_HUAWEI}.53": Lost(("mac", "description")),
        f"{_HUAWEI}.55": Lost(()),
        f"{_HUAWEI}.57": Lost((*_STATE, *_OPTICS)),
        f"{_HUAWEI}.104": Lost(_OPTICS),
    },
    "zte": {
        f"{_ZTE}.1012.3.28.1": Lost(("serial", "description", "model")),
        f"{_ZTE}.1012.3.28.2": Lost(("state", "down_cause", *_OPTICS)),
        f"{_ZTE}.1012.3.11.4": Lost(("distance_m",)),
        f"{_ZTE}.1012.3.50.12": Lost(("rx_dbm", "tx_dbm", "temperature_c")),
        f"{_ZTE}.1015.1010.11.2": Lost(("olt_rx_dbm",)),
        f"{_ZTE}.1015.1010.1.7.4": Lost(
            ("mac", "description", "model", "state", "rx_dbm", "tx_dbm"), onus=("1/2/2:1", "1/2/2:9")
        ),
        f"{_ZTE}.1015.1010.1.1.1.29": Lost(("rx_dbm", "tx_dbm")),
        f"{_ZTE}.1015.1010.1.2.1.1": Lost(("distance_m",)),
    },
    "fiberhome": {
        f"{_FIBERHOME}.10.1.1": Lost(("serial", "description", "model", "state"), onus=("1/2:1", "18/4:50")),
        f"{_FIBERHOME}.9.3.3.1": Lost(("rx_dbm", "tx_dbm", "temperature_c")),
        f"{_FIBERHOME}.9.3.7.1": Lost(("olt_rx_dbm",)),
    },
    "nokia": {
        "1.3.6.1.2.1.2.2.1": Lost(("state", *_OPTICS)),
        f"{_NOKIA}.6.5.1": Lost(()),
        f"{_NOKIA}.35.10.1.1": Lost(("serial", "description", "model")),
        f"{_NOKIA}.35.10.4.1": Lost(("distance_m",)),
        f"{_NOKIA}.35.10.14.1": Lost(("rx_dbm", "tx_dbm", "temperature_c")),
        f"{_NOKIA}.35.10.18.1": Lost(("olt_rx_dbm",)),
    },
    "vsol_gpon": {
        f"{_VSOL}.1": Lost(
            ("state", "description"), onus=("0/2:4", "0/2:5", "0/2:6", "0/2:7", "0/2:8", "0/3:1")
        ),
        f"{_VSOL}.2": Lost(("serial", "model")),
        f"{_VSOL}.4": Lost(("serial", "description", "model")),
        f"{_VSOL}.12": Lost(("distance_m",)),
        f"{_VSOL}.3": Lost(("rx_dbm", "tx_dbm", "temperature_c")),
    },
}
# Without this one the configured type of an ONU stands for its model.
_MORE_TABLES: Final = (f"{_ZTE}.1012.3.50.11",)


@pytest.fixture(autouse=True)
def _brands() -> None:
    know_brands()


def recording_of(case: str) -> Path:
    return FAMILIES / f"{case}.snmprec"


def expected_of(case: str) -> Told:
    expected: Told = json.loads((FAMILIES / f"{case}.json").read_text(encoding="utf-8"))
    return expected


def test_every_family_has_a_case() -> None:
    assert {expected_of(case)["family"] for case in CASES} == builtin().keys() - {GENERIC}


@every_case
def test_what_people_see_is_what_the_olt_says_and_no_job_alone_undoes_it(case: str) -> None:
    expected = expected_of(case)
    with family_site(recording_of(case)) as site:
        olt = site.add()
        # After the first time it is known who is there, and which tables the OLT does not have.
        for execution in chain([site.collect(olt)], site.collect_one_by_one(olt)):
            job = ", ".join(part["job"] for part in execution.parts)
            assert execution.state == "SUCCESS", f"{job}: {execution.error}"
            found = differences(expected, told_of(olt))
            assert not found, "\n".join([f"after {job}:", *found])


@pytest.mark.parametrize("case", ONU_TABLES)
def test_without_a_table_every_onu_is_there_and_what_it_told_is_not_known(case: str, tmp_path: Path) -> None:
    whole = by_interface(expected_of(case)["onus"])
    for table, lost in ONU_TABLES[case].items():
        with family_site(without(recording_of(case), tmp_path, table)) as site:
            olt = site.add(f"without {table}")
            assert site.collect(olt).state == "SUCCESS", table
        onus = by_interface(onus_of(olt))
        assert onus.keys() == whole.keys() - set(lost.onus), table
        changed = {
            (field, value)
            for name, onu in onus.items()
            for field, value in onu.items()
            if value != whole[name][field]
        }
        assert changed == {(fact, None) for fact in lost.facts}, table


@pytest.mark.parametrize("case", ONU_TABLES)
def test_without_any_table_of_onus_nobody_is_there_and_nothing_failed(case: str, tmp_path: Path) -> None:
    with family_site(without(recording_of(case), tmp_path, *ONU_TABLES[case], *_MORE_TABLES)) as site:
        olt = site.add()
        execution = site.collect(olt)
    assert execution.state == "SUCCESS", execution.error
    assert onus_of(olt) == []
    assert from_json(execution.parts[0]["error"]).code == "table_not_present"


def by_interface(onus: list[Told]) -> dict[str, Told]:
    return {onu["interface"]: onu for onu in onus}
