"""The C-Data FD11xx profile: card, port and ONU as they are, and power that is linear."""

import pytest

from facho.vendors import Decoder, builtin
from tests.unit.vendors.rows import under

CDATA = builtin()["cdata_fd11"]
DECODER = Decoder(CDATA)
P = "1.3.6.1.4.1.34592.1.3"
A = (1, 1, 1)


@pytest.mark.parametrize(
    ("raw", "state"), [(1, "offline"), (2, "offline"), (3, "online"), (4, "online"), (5, "unknown")]
)
def test_an_onu_that_is_not_present_is_offline(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{P}.4.1.1", {"11": {A: raw}})).onus.columns["state"]
    assert str(said) == state
