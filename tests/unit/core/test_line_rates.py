"""What a PON can carry."""

from __future__ import annotations

import pytest

from facho.core.line_rates import port_technology


@pytest.mark.parametrize(
    ("name", "of_table", "expected"),
    [
        ("GPON 0/1/0", "gpon", "gpon"),
        ("XGS-PON 0/1/0", "gpon", "xgspon"),
        ("xgspon-1/1/1", "", "xgspon"),
        ("XG-PON 0/2/3", "gpon", "xgpon"),
        ("1/1/xp1", "", "xgspon"),
        ("1/2/gp8", "", "gpon"),
        ("gpon-1/1/1", "", "gpon"),
        ("10G EPON 0/3/1", "epon", "epon"),
        ("10GEPON 0/3/1", "epon", "10gepon"),
        ("epon_olt-1/2/1", "", "epon"),
        ("", "gpon", "gpon"),
        ("pon1", "", ""),
        # A name never turns the ports of one standard into those of the other.
        ("EPON 0/1/1", "gpon", "gpon"),
    ],
)
def test_the_name_of_a_port_tells_its_technology(name: str, of_table: str, expected: str) -> None:
    assert port_technology(name, of_table) == expected
