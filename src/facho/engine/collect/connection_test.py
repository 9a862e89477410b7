"""Ask OLTs what they are, as "test connection" does: one request at a time, and no lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import uvloop

from facho.engine.collect.identify import Identified, explain, identify
from facho.snmp import Client, SnmpError, Target
from facho.vendors import builtin

# So many OLTs of a long list are asked at once.
_AT_ONCE: Final = 32


@dataclass(frozen=True, slots=True)
class Silence:
    """Why an OLT could not be identified: one line, and what it follows from."""

    sentence: str
    error: SnmpError


def ask(target: Target) -> Identified | Silence:
    return ask_all([target], lambda: None)[0]


def ask_all(targets: Sequence[Target], done: Callable[[], None]) -> list[Identified | Silence]:
    """In their order. `done` is called after each."""
    return uvloop.run(_ask_all(targets, done))


async def _ask_all(targets: Sequence[Target], done: Callable[[], None]) -> list[Identified | Silence]:
    turn = asyncio.Semaphore(_AT_ONCE)
    async with Client() as client:

        async def one(target: Target) -> Identified | Silence:
            async with turn:
                try:
                    return await identify(client, target, builtin())
                except SnmpError as error:
                    return Silence(await explain(error, target), error)
                finally:
                    done()

        return await asyncio.gather(*map(one, targets))
