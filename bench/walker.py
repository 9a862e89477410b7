"""The Python clients under measurement, each in a process of its own: `python -m bench.walker`, with a job on
standard input.

Every client walks the same columns of the same agents, as many at once as it can, and reports how many values
it got and what that cost. One agent is walked first and not counted, so that no client pays for its first
call.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace

import uvloop

from facho.sim.usm import AUTH_PASSWORD, PRIV_PASSWORD, SIMULATED_USERS

COMMUNITY = "public"
USER = "sha-256-aes"


@dataclass(frozen=True, slots=True)
class Job:
    client: str
    addresses: list[tuple[str, int]]
    columns: list[str]
    repetitions: int
    # SNMPv3 with SHA-256 and AES-128, else v2c.
    v3: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    values: int
    cpu_s: float


async def walk_with_facho(job: Job) -> int:
    from facho.snmp import Client, Learned, Limits, Oid, Target, Version

    columns = [Oid.parse(column) for column in job.columns]
    limits = Limits(in_flight=len(columns), varbinds=job.repetitions)
    learned = Learned(job.repetitions, len(columns))
    async with Client() as client:
        agents = [
            await client.agent(
                Target(
                    host,
                    COMMUNITY,
                    port,
                    Version.V3 if job.v3 else Version.V2C,
                    limits=limits,
                    user=SIMULATED_USERS[USER] if job.v3 else None,
                ),
                learned=learned,
            )
            for host, port in job.addresses
        ]
        results = await asyncio.gather(*(agent.walk_table(columns) for agent in agents))
    incomplete = [result.reason for result in results if not result.complete]
    if incomplete:
        raise RuntimeError(str(incomplete[0]))
    return sum(len(column.rows) for result in results for column in result.columns.values())


async def walk_with_gufo_snmp(job: Job) -> int:
    from gufo.snmp import Aes128Key, Sha256Key, User
    from gufo.snmp.aio import SnmpSession

    user = User(USER, auth_key=Sha256Key(AUTH_PASSWORD.encode()), priv_key=Aes128Key(PRIV_PASSWORD.encode()))
    who = {"user": user} if job.v3 else {"community": COMMUNITY}

    async def walk(host: str, port: int, column: str) -> int:
        async with SnmpSession(
            addr=host, port=port, max_repetitions=job.repetitions, timeout=10.0, **who
        ) as session:
            return len([value async for _, value in session.getbulk(column)])

    return sum(
        await asyncio.gather(*(walk(*address, column) for address in job.addresses for column in job.columns))
    )


async def walk_with_gufo_snmp_sync(job: Job) -> int:
    """Its blocking client: one request at a time, no event loop."""
    from gufo.snmp.sync import SnmpSession

    count = 0
    for host, port in job.addresses:
        for column in job.columns:
            with SnmpSession(
                addr=host, port=port, community=COMMUNITY, max_repetitions=job.repetitions, timeout=10.0
            ) as session:
                count += len([value for _, value in session.getbulk(column)])
    return count


async def walk_with_pysnmp(job: Job) -> int:
    from pysnmp.hlapi.v1arch.asyncio import (
        CommunityData,
        ObjectIdentity,
        ObjectType,
        SnmpDispatcher,
        UdpTransportTarget,
        bulk_walk_cmd,
    )

    async def walk(host: str, port: int, column: str) -> int:
        count = 0
        target = await UdpTransportTarget.create((host, port), timeout=10.0)
        async for error, status, _, bindings in bulk_walk_cmd(
            dispatcher,
            CommunityData(COMMUNITY, mpModel=1),
            target,
            0,
            job.repetitions,
            ObjectType(ObjectIdentity(column)),
            lookupMib=False,
            lexicographicMode=False,
        ):
            if error or status:
                raise RuntimeError(str(error or status))
            count += len(bindings)
        return count

    with SnmpDispatcher() as dispatcher:
        walks = (walk(*address, column) for address in job.addresses for column in job.columns)
        return sum(await asyncio.gather(*walks))


CLIENTS: dict[str, Callable[[Job], Awaitable[int]]] = {
    "facho": walk_with_facho,
    "gufo_snmp": walk_with_gufo_snmp,
    "gufo_snmp_sync": walk_with_gufo_snmp_sync,
    "pysnmp": walk_with_pysnmp,
}


async def measure(job: Job) -> Cost:
    walk = CLIENTS[job.client]
    await walk(replace(job, addresses=job.addresses[:1]))
    started = time.process_time()
    values = await walk(job)
    return Cost(values, time.process_time() - started)


def main() -> None:
    given = json.loads(sys.stdin.read())
    job = Job(**given | {"addresses": [(host, port) for host, port in given["addresses"]]})
    sys.stdout.write(json.dumps(asdict(uvloop.run(measure(job)))))


if __name__ == "__main__":
    main()
