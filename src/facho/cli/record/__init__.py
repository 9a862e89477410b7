"""`facho record`: record a real OLT in a file that can be replayed, tested against and shared."""

from __future__ import annotations

import ipaddress
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

from facho.cli.device_read import DeviceRead
from facho.cli.errors import Exit, exit_code_of, fail_device, refuse
from facho.cli.manual_execution import manual_runtime, stop_runtime_with, wait_for_turn
from facho.cli.output import AsJson, print_json
from facho.cli.processes import stop_on_signals
from facho.cli.progress import Steps, step_bar
from facho.cli.record.walk import (
    Interrupted,
    RecordingScope,
    RequestLimits,
    excluded_subtrees,
    never_read,
    record_device,
    to_records,
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
from facho.cli.system import database_now, system
from facho.core.reasons import Reason, several
from facho.engine.collect.column_reader import Guard
from facho.engine.collect.identify import identify
from facho.engine.collect.request_plan import is_under
from facho.sim import snmprec
from facho.sim.masking import mask_recording
from facho.snmp import Client, SnmpError, Target
from facho.vendors import Detection, profiles_in_use

if TYPE_CHECKING:
    from facho.apps.hosts.models import Olt

app = typer.Typer()

_EXAMPLES: Final = """
**Examples**

`facho record olt-norte -o norte.snmprec --mask`  all that facho reads of an OLT, with customers masked

`facho record 10.0.0.7 -o walk.snmprec --community-env OLT_COMMUNITY`  a device that is not in the database

`facho record 10.0.0.7 -o acme.snmprec --tree 1.3.6.1.4.1.99999`  a subtree of an unknown device

`facho profile try --recording norte.snmprec`, `facho sim --recording norte.snmprec`  read it, replay it

Exit codes: 0 complete, 2 bad use, 3 no answer, 4 the agent refused, 5 incomplete: the file has what was read.
"""


@app.command(epilog=_EXAMPLES)
def record(
    olt: Annotated[
        str, typer.Argument(metavar="OLT", help="Name of a stored OLT, or an address: ADDRESS[:PORT].")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")],
    mask: Annotated[
        bool, typer.Option("--mask", help="Replace names, serials and addresses of customers.")
    ] = False,
    tree: Annotated[
        list[str] | None,
        typer.Option("--tree", metavar="OID", help="Walk this whole subtree instead; again for more."),
    ] = None,
    onus: Annotated[
        int, typer.Option(min=0, help="The most ONUs for facts that the OLT must fetch from them.")
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
        float | None, typer.Option(min=0.01, help="Seconds to wait for each answer; 3 if not given.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, help="How often to ask again without an answer; 2 if not given.")
    ] = None,
    deadline: Deadline = 3600.0,
    as_json: AsJson = False,
) -> None:
    """Record the values of an OLT in a .snmprec file.

    A stored OLT is recorded under its lease: while the engine has it, this waits for its turn.
    """
    scope = RecordingScope(_check_trees(tree or []), onus, deadline)
    limits = RequestLimits(in_flight, repetitions, pause)
    given = (version, community, community_env, user, auth, priv, context or None)
    times = {"timeout": timeout, "retries": retries}
    overrides: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
    with _temporary_file(output, force=force) as temporary:
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
            target = limits.apply(replace(target_of(olt, credentials), **overrides))
            read = _read_address(target, scope)
        else:
            read = _read_stored(olt, scope, limits, overrides)
        count = _write(read, temporary, output, mask=mask)
    _print_result(read, output, count, scope, mask=mask, as_json=as_json)


def is_address(text: str) -> bool:
    """Say whether a text is an address and not the name of an OLT; the name of a host may be either."""
    if ":" in text:
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_trees(texts: list[str]) -> tuple[str, ...]:
    trees = tuple(map(str, parse_oids(texts)))
    never = never_read(profiles_in_use().values())
    for tree in trees:
        for each in never:
            if is_under(tree, each.oid):
                refuse(f"--tree: {tree} is not asked for, because {each.oid} is never read ({each.why})")
    if trees:
        heavy = "A whole tree can be heavy for an OLT, and may hold passwords: look through the file."
        typer.echo(heavy, err=True)
    for each in excluded_subtrees(trees, never):
        typer.echo(f"Left out: {each.oid} ({each.why}).", err=True)
    return trees


@contextmanager
def _temporary_file(output: Path, *, force: bool) -> Iterator[Path]:
    """Create a file beside `output`, so that half a recording never has that name.

    It is created before the device is read, to refuse at once what cannot be written. Only its owner can
    read it.
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


def _read_address(target: Target, scope: RecordingScope) -> DeviceRead:
    read: list[DeviceRead] = []

    async def ask(steps: Steps) -> None:
        async with Client() as client:
            identified = await identify(client, target, profiles_in_use())
            found = DeviceRead(profiles_in_use()[identified.detection.profile], identified.detection, {})
            read.append(found)
            await record_device(found, client, target, scope, never_read(profiles_in_use().values()), steps)

    with step_bar("values") as steps, _sigterm_as_interrupt():
        try:
            uvloop.run(ask(steps))
        except SnmpError as error:
            fail_device(error)
        except KeyboardInterrupt:
            if not read:
                raise
            read[0].errors.append(Interrupted("it was stopped"))
    return read[0]


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C: what was read is kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _read_stored(
    name: str, scope: RecordingScope, limits: RequestLimits, overrides: Mapping[str, Any]
) -> DeviceRead:
    """Read a stored OLT under its lease, as everything that asks it."""
    stopping = stop_on_signals()
    with system() as config, manual_runtime(config) as runtime, step_bar("values") as steps:
        from facho.engine.collect.work_builder import profile_of
        from facho.engine.collect.work_builder import target_of as target_of_stored
        from facho.engine.commands.runs import collect_all
        from facho.engine.schedule.manual_session import ManualResult, run_manual_session

        olt = _olt_named(name)
        target = limits.apply(replace(target_of_stored(olt, config), **overrides))
        profile, model = profile_of(olt), olt.model.name if olt.model else ""
        read = DeviceRead(profile, Detection(profile.name, model, Reason.of("stored_as_that")), {})

        async def ask(client: Client, guard: Guard, tag: int) -> ManualResult:
            never = never_read(profiles_in_use().values())
            await record_device(read, client, target, scope, never, steps, guard=guard, tag=tag)
            reasons = dict.fromkeys(error.reason for error in read.errors)
            return ManualResult(sum(map(len, read.rows.values())), several(reasons), read.load)

        execution_id = collect_all(name, database_now())
        steps.step("waiting for the OLT")
        wait_for_turn(execution_id, config, stopping)
        stop_runtime_with(stopping, runtime)
        try:
            whole = run_manual_session(execution_id, runtime, "record", ask)
        except SnmpError as error:
            fail_device(error)
        if not whole:
            read.errors.append(Interrupted("it was stopped, or the OLT was needed for something else"))
    return read


def _olt_named(name: str) -> Olt:
    from facho.engine.commands.errors import CommandError
    from facho.engine.commands.olts import olt_named

    try:
        return olt_named(name)
    except CommandError as error:
        hint = f"; a device of that name that is not stored is {name}:161"
        raise CommandError(error.field, error.message + hint) from None


def _write(read: DeviceRead, temporary: Path, output: Path, *, mask: bool) -> int:
    """Write the file and return the number of its values; without values there is no file."""
    records = to_records(read.rows)
    if not records:
        return 0
    if mask:
        others = [profile for profile in profiles_in_use().values() if profile is not read.profile]
        records = mask_recording(records, [read.profile, *others])
    snmprec.write(temporary, records)
    temporary.replace(output)
    return len(records)


def _print_result(
    read: DeviceRead, output: Path, count: int, scope: RecordingScope, *, mask: bool, as_json: bool
) -> None:
    reason = read.reason()
    if as_json:
        print_json(_result_json(read, output, count, scope, mask=mask))
    elif count:
        _print_summary(read, output, count, mask=mask)
    if reason and not as_json:
        typer.echo(f"Not complete: {reason}", err=True)
    if read.errors:
        raise typer.Exit(Exit.INCOMPLETE if count else exit_code_of(read.errors[0]))


def _result_json(
    read: DeviceRead, output: Path, count: int, scope: RecordingScope, *, mask: bool
) -> dict[str, Any]:
    return {
        "file": str(output) if count else None,
        "values": count,
        "profile": read.profile.name,
        "model": read.detection.model or None,
        "masked": mask,
        "complete": not read.errors,
        "reason": read.reason(),
        "left_out": [
            each.oid for each in excluded_subtrees(scope.trees, never_read(profiles_in_use().values()))
        ],
        "onus_asked": asdict(read.optics) if read.optics else None,
        "requests": read.load.requests,
        "timeouts": read.load.timeouts,
        "seconds": round(read.load.seconds, 3),
    }


def _print_summary(read: DeviceRead, output: Path, count: int, *, mask: bool) -> None:
    model = f" ({read.detection.model})" if read.detection.model else ""
    typer.echo(f"{output}: {count:,} values of {read.profile.title}{model}, {read.load.requests:,} requests.")
    if read.optics and read.optics.asked < read.optics.online:
        share = f"{read.optics.asked:,} of the {read.optics.online:,} ONUs that are online"
        typer.echo(f"Asked {share} for the facts that the OLT must fetch from them (--onus).")
    if not mask:
        typer.echo("It holds names and serials of customers; --mask replaces them.", err=True)
