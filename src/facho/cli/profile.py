"""`facho profile`: list, check and try vendor profiles."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvloop
from rich.console import Console
from rich.table import Table
from rich.text import Text

from facho.cli.device_read import DeviceRead, read_device, read_recording
from facho.cli.errors import Exit, fail_device, refuse
from facho.cli.fact_tables import ONUS, facts_of, facts_page
from facho.cli.output import AsJson, print_json
from facho.cli.progress import value_counter
from facho.cli.snmp_options import (
    CredentialOptions,
    Deadline,
    Retries,
    Timeout,
    target_of,
    with_credentials,
)
from facho.sim.snmprec import BadRecording
from facho.snmp import SnmpError, Target
from facho.vendors import (
    BadProfile,
    Decoded,
    Decoder,
    Detection,
    Entity,
    Facts,
    Key,
    Profile,
    State,
    builtin,
    load,
)
from facho.vendors.facts import CONFIDENCE_WORDS, Confidence

app = typer.Typer(no_args_is_help=True, help="Vendor profiles: the tables of each brand.")

_MOST_REASONS: Final = 5
_TITLES: Final = {
    Entity.OLT: "OLT",
    Entity.BOARD: "Boards",
    Entity.FAN: "Fans",
    Entity.PSU: "Power supplies",
    Entity.UPLINK: "Uplinks",
    Entity.PORT: "Ports",
    Entity.ONU: "ONUs",
    Entity.UNI: "ONU ports",
    Entity.AUTOFIND: "ONUs that are not configured",
}
_NAMES: Final = {
    Entity.BOARD: "boards",
    Entity.FAN: "fans",
    Entity.PSU: "power_supplies",
    Entity.UPLINK: "uplinks",
    Entity.PORT: "ports",
    Entity.ONU: "onus",
    Entity.UNI: "unis",
    Entity.AUTOFIND: "autofind",
}
# The facts of ONUs that fit on a terminal; JSON has all.
_ONU_COLUMNS: Final = (
    "serial", "mac", "name", "description", "model", "state", "down_cause", "distance_m", "onu_rx_dbm",
    "olt_rx_dbm",
)  # fmt: skip

_EXAMPLES_LIST: Final = """
**Examples**

`facho profile list`  the built-in profiles, and how sure each is

`facho profile list --json`
"""
_EXAMPLES_FACTS: Final = """
**Examples**

`facho profile facts nokia`  what is known of a Nokia ISAM, and what reading it costs

`facho profile facts --markdown`  the page docs/reference/facts.md

`facho profile facts huawei zte --json`
"""
_EXAMPLES_CHECK: Final = """
**Examples**

`facho profile check acme.yaml`  says what is wrong, with file, line and field

Exit codes: 0 all are fine, 2 mistakes were found.
"""
_EXAMPLES_TRY: Final = """
**Examples**

`facho profile try --address 10.0.0.1`  detects the profile of a device, and shows its facts

`facho profile try acme.yaml --address 10.0.0.1 --community-env OLT_COMMUNITY`  with a profile of your own

`facho profile try huawei --recording walk.snmprec --json`  a built-in one, on a recording

Exit codes: 0 complete, 2 bad use, 3 no answer, 4 the agent refused, 5 incomplete. Rows that could not be
read are shown at the end, and do not count as incomplete.
"""


@app.command("list", epilog=_EXAMPLES_LIST)
def list_profiles(as_json: AsJson = False) -> None:
    """List the built-in profiles, and how sure their entries are."""
    if as_json:
        print_json([_profile_json(profile) for profile in builtin().values()])
        return
    table = Table("profile", "for", box=None, pad_edge=False)
    for heading in ("tables", "facts", *Confidence):
        table.add_column(heading, justify="right")
    for profile in builtin().values():
        sure = _count_confidence(profile)
        numbers = (len(profile.tables), _count_facts(profile), *(sure[each] for each in Confidence))
        table.add_row(profile.name, profile.title, *map(str, numbers))
    console = Console()
    console.print(table)
    console.print()
    for confidence, words in CONFIDENCE_WORDS.items():
        console.print(f"{confidence}: {words}")


def _profile_json(profile: Profile) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "title": profile.title,
        "vendor": profile.vendor,
        "tables": len(profile.tables),
        "facts": _count_facts(profile),
        "confidence": {str(each): _count_confidence(profile)[each] for each in Confidence},
        "never_read": [never.oid for never in profile.request_rules.never],
        "quirks": [quirk.what for quirk in profile.quirks],
        "notes": {
            f"{table.name}.{column.fact}": column.note
            for table in profile.tables
            for column in table.columns
            if column.note
        },
    }


def _count_facts(profile: Profile) -> int:
    return sum(len(table.columns) for table in profile.tables)


def _count_confidence(profile: Profile) -> Counter[Confidence]:
    return Counter(origin.confidence for origin in profile.origins())


@app.command("facts", epilog=_EXAMPLES_FACTS)
def list_facts(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PROFILE]...", help="Families; else all.")
    ] = None,
    *,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The page of the reference, as Markdown.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the facts of each family: from which column, how it is read, and what that costs."""
    if unknown := set(names or ()) - builtin().keys():
        refuse(f"no profile is called {', '.join(sorted(unknown))}: there are {', '.join(builtin())}")
    profiles = [builtin()[name] for name in names or builtin()]
    if markdown:
        typer.echo(facts_page(profiles), nl=False)
    elif as_json:
        print_json({profile.name: [asdict(fact) for fact in facts_of(profile)] for profile in profiles})
    else:
        _print_facts_of(profiles)


def _print_facts_of(profiles: list[Profile]) -> None:
    console = Console()
    for number, profile in enumerate(profiles):
        console.print(Text(f"\n{profile.title}" if number else profile.title, style="bold"))
        table = Table("fact", "column", "read", box=None, pad_edge=False)
        table.add_column(f"requests, {ONUS:,} ONUs", justify="right")
        table.add_column("confidence")
        for fact in facts_of(profile):
            table.add_row(fact.fact, fact.oid, fact.read, f"{fact.requests:,}", fact.confidence)
        console.print(table)


@app.command(epilog=_EXAMPLES_CHECK)
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Profiles in YAML.")],
) -> None:
    """Check profiles for mistakes."""
    bad = False
    for file in files:
        try:
            profile = load(file)
        except BadProfile as error:
            typer.echo(str(error), err=True)
            bad = True
        else:
            typer.echo(
                f"{file}: fine: '{profile.name}', {len(profile.tables)} tables, {_count_facts(profile)} facts"
            )
    if bad:
        raise typer.Exit(Exit.BAD_USE)


@app.command("try", epilog=_EXAMPLES_TRY)
@with_credentials
def try_profile(
    *,
    profile: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="A profile in YAML, or the name of a built-in one; else detected."
        ),
    ] = None,
    address: Annotated[
        str | None, typer.Option("--address", metavar="ADDRESS[:PORT]", help="The device to ask.")
    ] = None,
    recording: Annotated[
        Path | None, typer.Option("--recording", metavar="FILE", help="A .snmprec file instead of a device.")
    ] = None,
    credentials: CredentialOptions,
    timeout: Timeout = 3.0,
    retries: Retries = 2,
    deadline: Deadline = 600.0,
    optics: Annotated[
        int, typer.Option(min=0, help="The most ONUs for facts that the OLT must fetch from them.")
    ] = 64,
    rows: Annotated[int, typer.Option(min=0, help="How many rows of a table to show; 0 shows all.")] = 20,
    as_json_: AsJson = False,
) -> None:
    """Show the facts that a profile reads from a device or a recording: ONUs, ports, boards, health.

    Without a profile, the profile of the device is detected.
    """
    if profile is not None and profile.endswith(".snmprec"):
        refuse(f"{profile} is a recording, not a profile: --recording {profile}")
    given = None if profile is None else _load_profile(profile)
    if (address is None) == (recording is None):
        refuse("give either --address or --recording")
    if recording is not None:
        read = _read_recording(recording, given)
    else:
        assert address is not None
        target = target_of(address, credentials, timeout, retries)
        read = _read_device(target, given, optics, deadline)
    _print_read(read, rows, as_json=as_json_)
    if read.errors:
        raise typer.Exit(Exit.INCOMPLETE)


def _read_recording(file: Path, given: Profile | None) -> DeviceRead:
    try:
        return read_recording(file, builtin(), given)
    except BadRecording as error:
        refuse(str(error))


def _read_device(target: Target, given: Profile | None, optics: int, deadline: float) -> DeviceRead:
    with value_counter("values") as progress:
        try:
            return uvloop.run(
                read_device(target, builtin(), given, optics=optics, deadline=deadline, progress=progress)
            )
        except SnmpError as error:
            fail_device(error)


def _load_profile(text: str) -> Profile:
    path = Path(text)
    if not path.exists() and text in builtin():
        return builtin()[text]
    try:
        return load(path)
    except BadProfile as error:
        refuse(str(error))


def _detection_json(detected: Detection) -> dict[str, object]:
    return {"profile": detected.profile, "model": detected.model, "why": str(detected.why)}


def _print_read(read: DeviceRead, rows: int, *, as_json: bool) -> None:
    decoded = Decoder(read.profile).decode(read.rows)
    reason = read.reason(_MOST_REASONS)
    if as_json:
        result = {
            "profile": read.profile.name,
            "model": read.detection.model or None,
            "why": str(read.detection.why),
            "detected": _detection_json(read.detected) if read.detected else None,
            "complete": not read.errors,
            "reason": reason,
            "optics_asked": asdict(read.optics) if read.optics else None,
            **_decoded_json(decoded),
        }
        print_json(result)
        return
    console = Console()
    model = f" ({read.detection.model})" if read.detection.model else ""
    console.print(Text(f"{read.profile.title}{model}: {read.detection.why}."), soft_wrap=True)
    if read.detected and read.detected != read.detection:
        console.print(Text(_describe_detection(read.profile, read.detected)), soft_wrap=True)
    _print_facts(console, decoded, rows)
    if read.optics and read.optics.asked < read.optics.online:
        console.print()
        share = f"{read.optics.asked:,} of the {read.optics.online:,} ONUs that are online"
        console.print(
            f"Asked {share} for the facts that the OLT must fetch from them (--optics).", soft_wrap=True
        )
    if reason:
        typer.echo(f"Not complete: {reason}", err=True)


def _describe_detection(profile: Profile, detected: Detection) -> str:
    """Say what the device would be detected as without the given profile."""
    if detected.profile == profile.name:
        return f"It would be detected as that: {detected.why}."
    return f"It would not be detected as that, but as '{detected.profile}': {detected.why}."


def _decoded_json(decoded: Decoded) -> dict[str, Any]:
    olt = decoded[Entity.OLT]
    return {
        "olt": {fact: _value_json(value) for fact, value in olt.row(0).items()} if len(olt) else {},
        **{name: _rows_json(decoded[entity]) for entity, name in _NAMES.items()},
        "problems": {
            "count": len(decoded.problems),
            "first": [
                {"table": each.table, "fact": each.fact, "index": each.index, "why": each.why}
                for each in decoded.problems.first
            ],
        },
    }


def _rows_json(facts: Facts) -> list[dict[str, Any]]:
    return [
        {
            **_key_json(key),
            **({"technology": technology} if technology else {}),
            **{fact: _value_json(value) for fact, value in facts.row(number).items()},
        }
        for number, (key, technology) in enumerate(zip(facts.keys, facts.technologies, strict=True))
    ]


def _key_json(key: Key) -> dict[str, Any]:
    # A fact of the same name, which is added after these, replaces the part of the key.
    return {part: value for part, value in key._asdict().items() if value is not None}


def _value_json(value: object) -> Any:
    match value:
        case State():
            return {"is": value.meaning, "word": value.word}
        case datetime():
            return value.isoformat()
        case None | int() | float() | str():
            return value
        case _:
            return str(value)


def _print_facts(console: Console, decoded: Decoded, most: int) -> None:
    """Print up to `most` rows of each table; 0 is all of them."""
    for entity, title in _TITLES.items():
        facts = decoded[entity]
        if len(facts):
            console.print()
            console.print(
                Text(f"{title}: {len(facts):,}" if entity is not Entity.OLT else title, style="bold")
            )
            console.print(_olt_table(facts) if entity is Entity.OLT else _rows_table(facts, most))
    _print_problems(console, decoded, most)


def _olt_table(facts: Facts) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for fact, value in facts.row(0).items():
        table.add_row(fact, _format_fact(value))
    return table


def _rows_table(facts: Facts, most: int) -> Table:
    names = [name for name in facts.columns if facts.entity is not Entity.ONU or name in _ONU_COLUMNS]
    names = [name for name in names if any(value not in (None, "") for value in facts.columns[name])]
    table = Table(box=None, pad_edge=False)
    for heading in ("place", *names):
        # Keep these whole on a narrow terminal: people look ONUs up by them.
        table.add_column(heading, no_wrap=heading in ("place", "serial", "mac"))
    for number, key in enumerate(facts.keys[: most or None]):
        table.add_row(str(key), *(_format_fact(facts.columns[name][number]) for name in names))
    if 0 < most < len(facts):
        table.add_row(f"{len(facts) - most:,} more")
    return table


def _format_fact(value: object) -> Text:
    match value:
        case None:
            return Text("")
        case State() if value.word != value.meaning:
            return Text(f"{value.meaning} ({value.word})")
        case datetime():
            return Text(f"{value:%Y-%m-%d %H:%M:%S}")
        case float():
            return Text(f"{value:g}")
        case _:
            return Text(str(value))


def _print_problems(console: Console, decoded: Decoded, most: int) -> None:
    problems = decoded.problems
    if not len(problems):
        return
    console.print()
    console.print(Text(f"Rows that could not be read: {len(problems):,}", style="bold"))
    for problem in problems.first[: most or None]:
        console.print(Text(str(problem)), soft_wrap=True)
    if 0 < most < len(problems):
        console.print(f"{len(problems) - most:,} more")
