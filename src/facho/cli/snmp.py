"""`facho snmp`: get and walk values with the SNMP client of the collector."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, NoReturn

import typer
import uvloop

from facho.cli.errors import Exit, exit_code_of, refuse
from facho.cli.output import AsJson, print_text
from facho.cli.progress import value_counter
from facho.cli.snmp_options import (
    Address,
    CredentialOptions,
    Deadline,
    Oids,
    Retries,
    Timeout,
    parse_oids,
    target_of,
    with_credentials,
)
from facho.engine.collect.identify import closed_port_reason
from facho.snmp import Client, Load, Oid, SnmpError, Target, Value
from facho.snmp.client import Agent
from facho.snmp.closed_port import port_is_closed
from facho.snmp.errors import NoAnswer
from facho.snmp.values import json_value, type_name

app = typer.Typer(no_args_is_help=True, help="Ask an SNMP agent by hand.")

# After so many seconds without an answer, check whether the port is closed.
_PATIENCE_S: Final = 0.5
_EXIT_CODES: Final = "Exit codes: 0 complete, 2 bad use, 3 no answer, 4 the agent refused, 5 incomplete."


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows and errors of a get or a walk, as they are printed."""

    rows: list[tuple[Oid, Value]]
    errors: list[SnmpError]
    load: Load

    @property
    def exit_code(self) -> Exit:
        if not self.errors:
            return Exit.COMPLETE
        return Exit.INCOMPLETE if self.rows else exit_code_of(self.errors[0])

    @property
    def reason(self) -> str | None:
        return "; ".join(dict.fromkeys(map(str, self.errors))) or None

    def as_json(self) -> dict[str, Any]:
        return {
            "complete": not self.errors,
            "reason": self.reason,
            "rows": [
                {"oid": str(oid), "type": type_name(value), "value": json_value(value)}
                for oid, value in self.rows
            ],
            "requests": self.load.requests,
            "timeouts": self.load.timeouts,
            "seconds": round(self.load.seconds, 3),
        }


_EXAMPLES_GET: Final = f"""
**Examples**

`facho snmp get 10.0.0.1 1.3.6.1.2.1.1.1.0 1.3.6.1.2.1.1.3.0`

`OLT_COMMUNITY=... facho snmp get olt-7:1161 1.3.6.1.2.1.1.5.0 --community-env OLT_COMMUNITY --json`

{_EXIT_CODES}
"""
_EXAMPLES_WALK: Final = f"""
**Examples**

`facho snmp walk 10.0.0.1 1.3.6.1.2.1.2.2.1.2`  one column

`facho snmp walk 10.0.0.1 1.3.6.1.2.1.31.1.1.1.1 1.3.6.1.2.1.2.2.1.8`  two columns at once

`facho snmp walk '[2001:db8::7]' 1.3.6.1.2.1.1 -v 1 --json`

`facho snmp walk 10.0.0.1 1.3.6.1.2.1.1 -v 3 --user monitor --auth SHA-256 --priv AES`  asks for the passwords

`FACHO_AUTH_PASSWORD=... FACHO_PRIV_PASSWORD=... facho snmp walk ...`  takes them from the environment

With --json: `complete`, `reason`, `rows` (`oid`, `type`, `value`), `requests`, `timeouts`, `seconds`.

{_EXIT_CODES}
"""


@app.command(epilog=_EXAMPLES_GET)
@with_credentials
def get(
    address: Address,
    oids: Oids,
    credentials: CredentialOptions,
    timeout: Timeout = 3.0,
    retries: Retries = 2,
    deadline: Deadline = 60.0,
    as_json: AsJson = False,
) -> None:
    """Read single values."""
    wanted = parse_oids(oids)
    target = target_of(address, credentials, timeout, retries)

    async def ask(agent: Agent, _progress: Callable[[int], None]) -> Outcome:
        result = await agent.get_many(wanted, deadline=deadline)
        errors = [*result.failed.values(), *([result.error] if result.error else [])]
        return Outcome(
            [(oid, result.values[oid]) for oid in wanted if oid in result.values], errors, result.load
        )

    _report(target, ask, as_json)


@app.command(epilog=_EXAMPLES_WALK)
@with_credentials
def walk(
    address: Address,
    oids: Oids,
    credentials: CredentialOptions,
    timeout: Timeout = 3.0,
    retries: Retries = 2,
    deadline: Deadline = 1800.0,
    bulk: Annotated[bool, typer.Option("--bulk/--no-bulk", help="Use GETBULK, or only GETNEXT.")] = True,
    as_json: AsJson = False,
) -> None:
    """Read columns or subtrees to their end."""
    columns = parse_oids(oids)
    target = target_of(address, credentials, timeout, retries, bulk=bulk)

    async def ask(agent: Agent, progress: Callable[[int], None]) -> Outcome:
        result = await agent.walk_table(columns, deadline=deadline, progress=progress)
        rows = [
            (Oid(oid.content + index), value)
            for oid, column in result.columns.items()
            for index, value in column.rows.items()
        ]
        return Outcome(rows, result.errors, result.load)

    _report(target, ask, as_json)


def _report(
    target: Target, ask: Callable[[Agent, Callable[[int], None]], Awaitable[Outcome]], as_json: bool
) -> NoReturn:
    with value_counter("rows") as progress:
        try:
            outcome = uvloop.run(_ask_agent(target, ask, progress))
        except SnmpError as error:
            refuse(str(error))
    if as_json:
        print_text(json.dumps(outcome.as_json(), indent=2, ensure_ascii=False))
    else:
        for oid, value in outcome.rows:
            shown = json_value(value)
            typer.echo(f"{oid} = {type_name(value)}" + ("" if shown is None else f": {shown}"))
        if outcome.reason:
            typer.echo(f"Not complete: {outcome.reason}", err=True)
    raise typer.Exit(outcome.exit_code)


async def _ask_agent(
    target: Target,
    ask: Callable[[Agent, Callable[[int], None]], Awaitable[Outcome]],
    progress: Callable[[int], None],
) -> Outcome:
    """Ask the agent; give up soon when the host reports that its port is closed."""
    async with Client() as client:
        agent = await client.agent(target)
        asking = asyncio.ensure_future(ask(agent, progress))
        try:
            await asyncio.wait((asking,), timeout=_PATIENCE_S)
            if not asking.done() and not agent.was_answered and await port_is_closed(target):
                return Outcome([], [NoAnswer(closed_port_reason(target))], Load(requests=1))
            return await asking
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
