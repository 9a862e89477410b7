"""The V-SOL GPON profile: phases, serials as text, and power in every form that it was seen in."""

import pytest

from facho.snmp.values import Value
from facho.vendors import Decoder, builtin
from tests.unit.vendors.rows import under

VSOL = builtin()["vsol_gpon"]
DECODER = Decoder(VSOL)
P = "1.3.6.1.4.1.37950.1.1"
A = (1, 1)


@pytest.mark.parametrize(
    ("raw", "power"),
    [
        (b"-19.32(dBm)", -19.32),
        (b"-19.32 dBm", -19.32),
        (b"-19.32", -19.32),
        (b"0.01 mW (-19.32 dBm)", -19.32),
        (-193, -19.3),
        (b"-", None),
        (b"'-'", None),
        (b"-65535", None),
        (-65535, None),
        (b"N/A", None),
        (b"", None),
    ],
)
def test_power_is_read_in_every_form(raw: Value, power: float | None) -> None:
    found = DECODER.decode(under(f"{P}.6.1.1.3.1", {"7": {A: raw}}))
    assert found.onus.columns["onu_rx_dbm"] == [power]
    assert found.problems.first == []


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        *enumerate(
            [
                "starting",
                "los",
                "starting",
                "online",
                "power_off",
                "auth_failed",
                "offline",
                "disabled",
                "starting",
            ]
        ),
    ],
)
def test_phases_count_from_zero(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{P}.6.1.1.1.1", {"5": {A: raw}})).onus.columns["state"]
    assert str(said) == state


@pytest.mark.parametrize(("raw", "state"), [(0, "offline"), (1, "online"), (2, "offline")])
def test_without_the_phase_the_management_channel_tells_the_state(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{P}.6.1.1.1.1", {"4": {A: raw}})).onus.columns["state"]
    assert str(said) == state
