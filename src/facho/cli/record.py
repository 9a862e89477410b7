"""`facho record`: a walk of a real OLT into a file that can be replayed, tested against and given away."""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import uvloop

from facho.cli.asking import Asked
from facho.cli.errors import Exit, exit_code_of, refuse
from facho.cli.manual_execution import runtime_by_hand, stop_with, wait_for_turn
from facho.cli.output import AsJson, print_text
from facho.cli.processes import stop_on_signals
from facho.cli.progress import Steps, stepping
from facho.cli.recording import (
    Gently,
    Interrupted,
    Wanted,
    left_out,
    never_read,
    record_into,
    records_of,
)
from facho.cli.snmp_options import (
    AUTH_ENV,
    PRIV_ENV,
    AuthPasswordEnv,
    AuthProtocol,
    CommunityEnv,
    CommunityText,
    Context,
    CredentialOptions,
    Deadline,
    PrivPasswordEnv,
    PrivProtocol,
    UserName,
    VersionName,
    parse_oids,
    target_of,
)
from facho.cli.system import system
from facho.core.reasons import Reason, several
from facho.engine.collect.conversation import Guard
from facho.engine.collect.identify import identify
from facho.engine.collect.questions import is_under
from facho.sim import snmprec
from facho.sim.masking import mask_recording
from facho.snmp import Client, SnmpError, Target
from facho.vendors import Detection, Profile, builtin

if TYPE_CHECKING:
    from facho.apps.hosts.models import Olt

app = typer.Typer()

_TIMEOUT_S: Final = 3.0
_RETRIES: Final = 2
_EXAMPLES: Final = """
**Examples**

`facho record olt-norte -o norte.snmprec --mask`  what facho reads of an OLT, customers masked

`facho record 10.0.0.7 -o walk.snmprec --community-env OLT_COMMUNITY`  a device that is not stored

`facho record 10.0.0.7 -o acme.snmprec --tree 1.3.6.1.4.1.99999`  all that an unknown device has

`facho profile try --recording norte.snmprec`, `facho sim --recording norte.snmprec`  read it, replay it

Exit codes: 0 complete, 2 bad use, 3 no answer, 4 the agent refused, 5 incomplete: what came is in the file.
"""


@app.command(epilog=_EXAMPLES)
def record(
    olt: Annotated[
        str, typer.Argument(metavar="OLT", help="Name of a stored OLT, or an address: ADDRESS[:PORT].")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to make.")],
    mask: Annotated[
        bool, typer.Option("--mask", help="Put stand-ins for customers: names, serials, addresses.")
    ] = False,
    tree: Annotated[
        list[str] | None,
        typer.Option("--tree", metavar="OID", help="Walk this whole subtree instead; again for more."),
    ] = None,
    onus: Annotated[
        int, typer.Option(min=0, help="Of how many ONUs to ask what the OLT must ask them for.")
    ] = 64,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
    in_flight: Annotated[int, typer.Option(min=1, help="Requests at once, at most.")] = 1,
    repetitions: Annotated[int, typer.Option(min=1, help="Values in a request, at most.")] = 10,
    pause: Annotated[float, typer.Option(min=0.0, help="Seconds from one request to the next.")] = 0.0,
    version: Annotated[
        VersionName | None, typer.Option("-v", "--version", help="SNMP version of an address; 2c if none.")
    ] = None,
    community: CommunityText = None,
    community_env: CommunityEnv = None,
    user: UserName = None,
    auth: AuthProtocol = None,
    priv: PrivProtocol = None,
    auth_password_env: AuthPasswordEnv = AUTH_ENV,
    priv_password_env: PrivPasswordEnv = PRIV_ENV,
    context: Context = "",
    timeout: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds to wait for each answer; 3 if not said.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, help="How often to ask again when none comes; 2 if not said.")
    ] = None,
    deadline: Deadline = 3600.0,
    as_json: AsJson = False,
) -> None:
    """Record what an OLT says, in a .snmprec file.

    A stored OLT is recorded under its lease: while the engine has it, this waits for its turn.
    """
    wanted = Wanted(_trees(tree or []), onus, deadline)
    gently = Gently(in_flight, repetitions, pause)
    given = (version, community, community_env, user, auth, priv, context or None)
    patience = _Patience(timeout, retries)
    with _reserved(output, force=force) as reserved:
        if is_address(olt) or any(each is not None for each in given):
            credentials = CredentialOptions(
                version or VersionName.V2C,
                community,
                community_env,
                user,
                auth,
                priv,
                auth_password_env,
                priv_password_env,
                context,
            )
            target = gently.limit(patience.of(target_of(olt, credentials, _TIMEOUT_S, _RETRIES)))
            asked = _from_address(target, wanted)
        else:
            asked = _from_stored(olt, wanted, gently, patience)
        count = _keep(asked, reserved, output, mask=mask)
    _report(asked, output, count, wanted, mask=mask, as_json=as_json)


class _Patience:
    """How long to wait, where a person said so; else as it is."""

    def __init__(self, timeout: float | None, retries: int | None) -> None:
        self._said: dict[str, Any] = {"timeout": timeout, "retries": retries}

    def of(self, target: Target) -> Target:
        return replace(target, **{name: value for name, value in self._said.items() if value is not None})


def is_address(text: str) -> bool:
    """Names of OLTs do not look like that; a host's name alone may be the name of an OLT."""
    if ":" in text:
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _trees(texts: list[str]) -> tuple[str, ...]:
    trees = tuple(map(str, parse_oids(texts)))
    never = never_read(builtin().values())
    for tree in trees:
        for each in never:
            if is_under(tree, each.oid):
                refuse(f"--tree: {tree} is not asked for, because {each.oid} is never read ({each.why})")
    if trees:
        heavy = "A whole tree can be heavy for an OLT, and may hold passwords: look through the file."
        typer.echo(heavy, err=True)
    for each in left_out(trees, never):
        typer.echo(f"Left out: {each.oid} ({each.why}).", err=True)
    return trees


@contextmanager
def _reserved(output: Path, *, force: bool) -> Iterator[Path]:
    """A file beside the one that is wanted, so that no half of a recording ever has its name.

    Made before anything is asked: who cannot write there is told at once. Only its owner can read it.
    """
    if output.exists() and not force:
        refuse(f"-o: {output} exists: give another name, or --force to overwrite it")
    try:
        handle, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    except OSError as error:
        refuse(f"-o: {output} cannot be written: {error.strerror}")
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _from_address(target: Target, wanted: Wanted) -> Asked:
    asked: list[Asked] = []

    async def ask(steps: Steps) -> None:
        async with Client() as client:
            identified = await identify(client, target, builtin())
            found = Asked(builtin()[identified.detection.profile], identified.detection, {})
            asked.append(found)
            await record_into(found, client, target, wanted, never_read(builtin().values()), steps)

    with stepping("values") as steps, _ended_as_by_hand():
        try:
            uvloop.run(ask(steps))
        except SnmpError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(exit_code_of(error)) from error
        except KeyboardInterrupt:
            if not asked:
                raise
            asked[0].errors.append(Interrupted("it was stopped"))
    return asked[0]


@contextmanager
def _ended_as_by_hand() -> Iterator[None]:
    """SIGTERM is as good as Ctrl-C: whoever ends it, what came is kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _from_stored(name: str, wanted: Wanted, gently: Gently, patience: _Patience) -> Asked:
    """Under the OLT's lease, as everything that asks it."""
    stopping = stop_on_signals()
    with system() as config, runtime_by_hand(config) as runtime, stepping("values") as steps:
        from facho.apps.db.clock import database_now
        from facho.engine.collect.targets import target_of as target_of_stored
        from facho.engine.collect.work_builder import profile_of
        from facho.engine.commands.runs import collect_all
        from facho.engine.schedule.manual_session import ManualResult, run_manual_session

        olt = _named(name)
        target = gently.limit(patience.of(target_of_stored(olt, config)))
        asked = _asked_as(profile_of(olt), olt.model.name if olt.model else "")

        async def ask(client: Client, guard: Guard, tag: int) -> ManualResult:
            never = never_read(builtin().values())
            await record_into(asked, client, target, wanted, never, steps, guard=guard, tag=tag)
            reasons = dict.fromkeys(error.reason for error in asked.errors)
            return ManualResult(_count(asked.rows), several(reasons), asked.load)

        execution_id = collect_all(name, database_now())
        steps.step("waiting for the OLT")
        wait_for_turn(execution_id, config, stopping)
        stop_with(stopping, runtime)
        try:
            whole = run_manual_session(execution_id, runtime, "record", ask)
        except SnmpError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(exit_code_of(error)) from error
        if not whole:
            asked.errors.append(Interrupted("it was stopped, or the OLT was needed for something else"))
    return asked


def _named(name: str) -> Olt:
    from facho.engine.commands.errors import CommandError
    from facho.engine.commands.olts import olt_named

    try:
        return olt_named(name)
    except CommandError as error:
        hint = f"; a device of that name that is not stored is {name}:161"
        raise CommandError(error.field, error.message + hint) from None


def _asked_as(profile: Profile, model: str) -> Asked:
    return Asked(profile, Detection(profile.name, model, Reason.of("stored_as_that")), {})


def _count(rows: Mapping[str, Mapping[bytes, object]]) -> int:
    return sum(map(len, rows.values()))


def _reason(asked: Asked) -> str | None:
    return "; ".join(dict.fromkeys(map(str, asked.errors))) or None


def _keep(asked: Asked, reserved: Path, output: Path, *, mask: bool) -> int:
    """How many values are in the file. Where nothing came there is none."""
    records = records_of(asked.rows)
    if not records:
        return 0
    if mask:
        others = [profile for profile in builtin().values() if profile is not asked.profile]
        records = mask_recording(records, [asked.profile, *others])
    snmprec.write(reserved, records)
    reserved.replace(output)
    return len(records)


def _report(asked: Asked, output: Path, count: int, wanted: Wanted, *, mask: bool, as_json: bool) -> None:
    reason = _reason(asked)
    if as_json:
        told = _told(asked, output, count, wanted, reason, mask=mask)
        print_text(json.dumps(told, indent=2, ensure_ascii=False))
    elif count:
        _say(asked, output, count, mask=mask)
    if reason and not as_json:
        typer.echo(f"Not complete: {reason}", err=True)
    if asked.errors:
        raise typer.Exit(Exit.INCOMPLETE if count else exit_code_of(asked.errors[0]))


def _told(
    asked: Asked, output: Path, count: int, wanted: Wanted, reason: str | None, *, mask: bool
) -> dict[str, Any]:
    return {
        "file": str(output) if count else None,
        "values": count,
        "profile": asked.profile.name,
        "model": asked.detection.model or None,
        "masked": mask,
        "complete": not asked.errors,
        "reason": reason,
        "left_out": [each.oid for each in left_out(wanted.trees, never_read(builtin().values()))],
        "onus_asked": asdict(asked.optics) if asked.optics else None,
        "requests": asked.load.requests,
        "timeouts": asked.load.timeouts,
        "seconds": round(asked.load.seconds, 3),
    }


def _say(asked: Asked, output: Path, count: int, *, mask: bool) -> None:
    model = f" ({asked.detection.model})" if asked.detection.model else ""
    typer.echo(
        f"{output}: {count:,} values of {asked.profile.title}{model}, {asked.load.requests:,} requests."
    )
    if asked.optics and asked.optics.asked < asked.optics.online:
        share = f"{asked.optics.asked:,} of the {asked.optics.online:,} ONUs that are online"
        typer.echo(f"Asked {share} for what the OLT must ask them for (--onus).")
    if not mask:
        typer.echo("It holds names and serials of customers as they are; --mask puts stand-ins.", err=True)
