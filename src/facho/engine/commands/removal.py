"""Remove an OLT with everything stored about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from facho.config import Config
from facho.engine.commands.olts import olt_named
from facho.engine.process.loops import pause_for_other_writers
from facho.engine.upkeep.olt_removal import lost_with, remove_olt_in_chunks


def goes_with(name: str) -> Mapping[str, int]:
    """Return how many rows of each table would be deleted with the OLT."""
    return {model._meta.db_table: count for model, count in lost_with([olt_named(name).id]).items()}


def remove_olt(
    name: str,
    now: datetime,
    config: Config,
    *,
    between: Callable[[], None] = pause_for_other_writers,
    chunks: int | None = None,
) -> bool:
    """Disable the OLT, then delete its rows in chunks. Return whether it is gone.

    What is left after `chunks` chunks, or after an interruption, is deleted by the engine's housekeeping.
    """
    return remove_olt_in_chunks(olt_named(name).id, now, config, between=between, chunks=chunks)
