"""Test the connection to OLTs: ask them what they are, one request at a time and without a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import uvloop

from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note
from facho.apps.hosts.credentials import Unreadable
from facho.apps.hosts.models import Brand, Olt, OltModel, SnmpVersion
from facho.config import Config, current
from facho.core.reasons import Reason, text_reason
from facho.engine.collect.identify import Identified, explain, identify
from facho.engine.collect.work_builder import SNMP_VERSIONS, target_of
from facho.engine.commands.credentials import unreadable_sentence
from facho.engine.commands.olts import NewOlt, check_new
from facho.snmp import Client, SnmpError, Target
from facho.vendors import profiles_in_use

# OLTs of a long list that are asked at the same time.
_AT_ONCE: Final = 32


@dataclass(frozen=True, slots=True)
class Silence:
    """Why an OLT could not be identified, and the error behind it."""

    reason: Reason
    error: SnmpError


def check_connection(
    olt: Olt, *, timeout: float | None = None, retries: int | None = None
) -> Identified | Silence:
    """Ask an OLT what it is, with the address and credentials of the row, saved or not."""
    if isinstance(olt.credentials, Unreadable):
        return Silence(text_reason(unreadable_sentence()), SnmpError(str(olt.credentials.problem)))
    target = target_of(olt, current())
    note(Action.TEST, Olt, olt.pk, olt.name or olt.address, address=olt.address)
    return ask(
        replace(
            target,
            timeout=target.timeout if timeout is None else timeout,
            retries=target.retries if retries is None else retries,
        )
    )


def check_new_connection(new: NewOlt) -> Identified | Silence:
    """Ask an OLT that is to be added what it is, after everything that can be checked without it.

    Raises CommandError.
    """
    return ask(new_target(check_new(new), current()))


def new_target(new: NewOlt, config: Config) -> Target:
    return Target(
        new.address,
        new.credentials.community,
        config.snmp_port if new.port is None else new.port,
        SNMP_VERSIONS[SnmpVersion(new.version)],
        config.request_timeout.total_seconds(),
        config.request_retries,
        user=new.credentials.user,
        most_rows=config.walk_rows,
        most_octets=config.answer_octets,
    )


def detected_rows(answer: Identified) -> tuple[Brand | None, OltModel | None]:
    """Return the brand and the model that an OLT says it is, where the database has them."""
    brand = Brand.objects.filter(name=answer.detection.profile).first()
    return brand, OltModel.objects.filter(brand=brand, name=answer.detection.model).first()


def ask(target: Target) -> Identified | Silence:
    return ask_all([target], lambda: None)[0]


def ask_all(targets: Sequence[Target], done: Callable[[], None]) -> list[Identified | Silence]:
    """Return the answers in the order of the targets. `done` is called after each."""
    return uvloop.run(_ask_all(targets, done))


async def _ask_all(targets: Sequence[Target], done: Callable[[], None]) -> list[Identified | Silence]:
    limit = asyncio.Semaphore(_AT_ONCE)
    async with Client() as client:

        async def ask_target(target: Target) -> Identified | Silence:
            async with limit:
                try:
                    return await identify(client, target, profiles_in_use())
                except SnmpError as error:
                    return Silence(await explain(error, target), error)
                finally:
                    done()

        return await asyncio.gather(*map(ask_target, targets))
