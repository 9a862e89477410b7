"""The names of facts as metrics of Prometheus, derived so that a declared fact needs no code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The names that `/metrics` has for the same values.
_POWERS_OF_ONUS: Final[Mapping[str, str]] = {
    "onu_rx_dbm": "rx_power_dbm",
    "onu_tx_dbm": "tx_power_dbm",
    "olt_rx_dbm": "olt_rx_power_dbm",
}


def metric_name(entity: str, fact: str) -> str:
    """Return the metric of a fact of an entity: `facho_port_tx_dbm`, `facho_onu_up_bps`."""
    if entity == "onu":
        fact = _POWERS_OF_ONUS.get(fact, fact)
    return f"facho_{entity}_{fact}"
