"""Which profile a device gets, and that it says why."""

import pytest

from facho.vendors import Detection, Identity, builtin, detect, probes
from facho.vendors.parse import parse_profile

HUAWEI_DESCR = "Huawei Integrated Access Software"
PON_TABLE = "1.3.6.1.4.1.2011.6.128.1.1.2.21.1.16"
ZTE_CARDS = "1.3.6.1.4.1.3902.1015.2.1.1.3.1.4"
ZTE_DESCR = "C320 Version V2.1.0 Software, Copyright (c) by ZTE Corporation Compiled"


def found(object_id: str, descr: str, *rows: str) -> Detection:
    return detect(Identity(object_id, descr), dict.fromkeys(rows, "1"), builtin())


@pytest.mark.parametrize(
    ("number", "model"),
    [
        ("80.8", "MA5600V8"),
        ("115", "MA5680T"),
        ("123", "MA5603T"),
        ("133", "MA5683T"),
        ("248", "MA5608T"),
        ("294", "MA5800-X17"),
        ("300", "MA5800-X7"),
        ("316", "MA5800-X15"),
        ("381", "MA5801-GP16"),
    ],
)
def test_a_listed_huawei_olt_is_known_with_its_model(number: str, model: str) -> None:
    detection = found(f"1.3.6.1.4.1.2011.2.{number}", HUAWEI_DESCR)
    assert (detection.profile, detection.model) == ("huawei", model)
    assert f"sysObjectID 1.3.6.1.4.1.2011.2.{number} is that of {model}" in detection.why


def test_a_huawei_olt_that_is_not_listed_is_known_by_its_own_table() -> None:
    detection = found("1.3.6.1.4.1.2011.2.999", HUAWEI_DESCR, PON_TABLE)
    assert detection.profile == "huawei"
    assert "has rows in" in detection.why


def test_a_huawei_switch_is_generic() -> None:
    detection = found("1.3.6.1.4.1.2011.2.23.95", "Huawei Versatile Routing Platform Software", PON_TABLE)
    assert detection.profile == "generic"
    assert "no profile knows" in detection.why


def test_a_huawei_mdu_is_generic_though_it_says_that_it_is_an_olt() -> None:
    mdu = Identity("1.3.6.1.4.1.2011.2.185", HUAWEI_DESCR)
    assert probes(mdu, builtin()) == ()
    assert "MDU MA5620, no OLT of 'huawei'" in found(mdu.object_id, mdu.descr, PON_TABLE).why
    assert found(mdu.object_id, mdu.descr, PON_TABLE).profile == "generic"


def test_another_mdu_is_generic_because_it_has_no_pon_ports() -> None:
    mdu = Identity("1.3.6.1.4.1.2011.2.186", HUAWEI_DESCR)
    assert probes(mdu, builtin()) == (PON_TABLE,)
    detection = found(mdu.object_id, mdu.descr)
    assert detection.profile == "generic"
    assert "looks like 'huawei' but has no rows" in detection.why


@pytest.mark.parametrize(
    ("object_id", "descr", "rows", "model"),
    [
        ("1.3.6.1.4.1.3902.1082.1001.320.2.1", ZTE_DESCR, (), "C320"),
        (".1.3.6.1.4.1.3902.1082.1001.300.2.1", ZTE_DESCR.replace("C320", "C300"), (), "C300"),
        ("1.3.6.1.4.1.3902.1015.320.1.2", ZTE_DESCR.replace("V2.1.0", "V1.2.5P3"), (), "C320"),
        ("1.3.6.1.4.1.3902.1015.300.3.1", "C300 Version V1.2.1 Software", (), "C300"),
        ("1.3.6.1.4.1.3902.1082.1001.777", ZTE_DESCR, (ZTE_CARDS,), ""),
    ],
)
def test_zte_olts_are_known(object_id: str, descr: str, rows: tuple[str, ...], model: str) -> None:
    detection = found(object_id, descr, *rows)
    assert (detection.profile, detection.model) == ("zte", model)


@pytest.mark.parametrize(
    ("object_id", "descr"),
    [
        ("1.3.6.1.4.1.3902.3.100.27", "ZXR10 5928 Software, Version: 5900"),
        ("1.3.6.1.4.1.3902.1082.1001.777", ZTE_DESCR),
        ("1.3.6.1.4.1.8072.3.2.10", "Linux host 6.1"),
        ("1.3.6.1.4.1.2011", ""),
        ("1.3.6.1.4.1.3902", ""),
        ("", ""),
    ],
)
def test_what_is_not_known_is_generic_and_says_why(object_id: str, descr: str) -> None:
    detection = found(object_id, descr)
    assert detection.profile == "generic"
    assert detection.why


TWIN = """\
profile: {name}
title: One of two
confidence: guess
source: a test
detect:
  any:
    - {{object_id: 1.3.6.1.4.1.37950.1.1.5.10.14.1, descr: '{descr}'}}
    - {{object_id: 1.3.6.1.4.1.17409, probe: 1.3.6.1.4.1.17409.2.8.4.1.1.7, probe_text: '^{text}'}}
indexes: {{onu: [port, onu]}}
tables: {{onus: {{of: onu, oid: 1.3.6.1.4.1.37950.2, index: onu, columns: {{name: 1}}}}}}
"""


def test_relatives_with_one_object_id_are_told_apart_by_their_words_or_their_tables() -> None:
    twins = {
        name: parse_profile(TWIN.format(name=name, descr=descr, text=text), name)
        for name, descr, text in (("epon", "^V1600[^G]", "A"), ("gpon", "^V1600G", "B"))
    }
    shared = "1.3.6.1.4.1.37950.1.1.5.10.14.1"
    assert detect(Identity(shared, "V1600D"), {}, twins).profile == "epon"
    assert detect(Identity(shared, "V1600G1"), {}, twins).profile == "gpon"
    company = Identity("1.3.6.1.4.1.17409", "olt-7")
    assert detect(company, {"1.3.6.1.4.1.17409.2.8.4.1.1.7": "B1"}, twins).profile == "gpon"
    assert detect(company, {}, twins).profile == "generic"


def test_a_device_that_two_profiles_claim_is_generic() -> None:
    twins = {
        name: parse_profile(TWIN.format(name=name, descr="V", text="A"), name) for name in ("one", "two")
    }
    detection = detect(Identity("1.3.6.1.4.1.37950.1.1.5.10.14.1", "V1600D"), {}, twins)
    assert detection == Detection("generic", "", "one and two claim it with equal right")
