"""How facts are written down in the tables of more than one brand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from facho.sim.model import OltModel

# Some with letters outside ASCII, because operators write them and decoders trip over them.
_ZONES: Final = ("Centro", "Norte", "Sur", "Este", "Peñón", "São José", "Bairro Alto", "Ñuñoa")


def date_and_time(at: float | None) -> bytes:
    """DateAndTime without its zone; eight zero octets when there is no such moment."""
    if at is None:
        return bytes(8)
    moment = datetime.fromtimestamp(at, UTC)
    return moment.year.to_bytes(2, "big") + bytes(
        (moment.month, moment.day, moment.hour, moment.minute, moment.second, 0)
    )


def customer(olt: OltModel, row: int) -> str:
    zone = _ZONES[olt.noise(row) >> 10 & 7]
    return f"cli-{olt.number:03d}-{row:05d} {zone}"
