"""`facho profile list`, `check` and `try`: what is known about each vendor's OLTs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvloop
from rich.console import Console
from rich.table import Table
from rich.text import Text

from facho.cli.asking import Asked, ask_device, ask_recording
from facho.cli.errors import Exit, exit_code_of, refuse
from facho.cli.facts import as_json, print_facts
from facho.cli.output import AsJson, print_text
from facho.cli.progress import counting
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
from facho.vendors import BadProfile, Decoder, Detection, Profile, builtin, load
from facho.vendors.facts import CONFIDENCE_WORDS, Confidence

app = typer.Typer(no_args_is_help=True, help="Vendor profiles: what the tables of each brand mean.")

_MOST_REASONS: Final = 5

_EXAMPLES_LIST: Final = """
**Examples**

`facho profile list`  the profiles that come with facho, and how sure each is

`facho profile list --json`
"""
_EXAMPLES_CHECK: Final = """
**Examples**

`facho profile check acme.yaml`  says what is wrong, with file, line and field

Exit codes: 0 all are fine, 2 mistakes were found.
"""
_EXAMPLES_TRY: Final = """
**Examples**

`facho profile try --address 10.0.0.1`  finds the profile of a device, and shows what it makes of it

`facho profile try acme.yaml --address 10.0.0.1 --community-env OLT_COMMUNITY`  with a profile of your own

`facho profile try huawei --recording walk.snmprec --json`  a built-in one, on a recording

Exit codes: 0 complete, 2 bad use, 3 no answer, 4 the agent refused, 5 incomplete. Rows that could not be
read are shown at the end, and do not count as incomplete.
"""


@app.command("list", epilog=_EXAMPLES_LIST)
def list_profiles(as_json: AsJson = False) -> None:
    """Show the built-in profiles, and how sure their entries are."""
    if as_json:
        told = [_described(profile) for profile in builtin().values()]
        print_text(json.dumps(told, indent=2, ensure_ascii=False))
        return
    table = Table("profile", "for", box=None, pad_edge=False)
    for heading in ("tables", "facts", *Confidence):
        table.add_column(heading, justify="right")
    for profile in builtin().values():
        sure = _confidence(profile)
        numbers = (len(profile.tables), _facts(profile), *(sure[each] for each in Confidence))
        table.add_row(profile.name, profile.title, *map(str, numbers))
    console = Console()
    console.print(table)
    console.print()
    for confidence, words in CONFIDENCE_WORDS.items():
        console.print(f"{confidence}: {words}")


def _described(profile: Profile) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "title": profile.title,
        "vendor": profile.vendor,
        "tables": len(profile.tables),
        "facts": _facts(profile),
        "confidence": {str(each): _confidence(profile)[each] for each in Confidence},
        "never_read": [never.oid for never in profile.request_rules.never],
        "quirks": [quirk.what for quirk in profile.quirks],
        "notes": {
            f"{table.name}.{column.fact}": column.note
            for table in profile.tables
            for column in table.columns
            if column.note
        },
    }


def _facts(profile: Profile) -> int:
    return sum(len(table.columns) for table in profile.tables)


def _confidence(profile: Profile) -> Counter[Confidence]:
    return Counter(origin.confidence for origin in profile.origins())


@app.command(epilog=_EXAMPLES_CHECK)
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Profiles in YAML.")],
) -> None:
    """Look for mistakes in profiles."""
    bad = False
    for file in files:
        try:
            profile = load(file)
        except BadProfile as error:
            typer.echo(str(error), err=True)
            bad = True
        else:
            typer.echo(
                f"{file}: fine: '{profile.name}', {len(profile.tables)} tables, {_facts(profile)} facts"
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
            metavar="[FILE]", help="A profile in YAML, or the name of a built-in one; else found."
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
        int, typer.Option(min=0, help="Of how many ONUs to ask what the OLT must ask them for.")
    ] = 64,
    rows: Annotated[int, typer.Option(min=0, help="How many rows of a table to show; 0 shows all.")] = 20,
    as_json_: AsJson = False,
) -> None:
    """Show what a profile makes of a device or of a recording: ONUs, ports, boards, health.

    Without a profile the device's own is found, and it says why.
    """
    if profile is not None and profile.endswith(".snmprec"):
        refuse(f"{profile} is a recording, not a profile: --recording {profile}")
    given = None if profile is None else _profile(profile)
    if (address is None) == (recording is None):
        refuse("give either --address or --recording")
    if recording is not None:
        asked = _ask_recording(recording, given)
    else:
        assert address is not None
        target = target_of(address, credentials, timeout, retries)
        asked = _ask_device(target, given, optics, deadline)
    _show(asked, rows, as_json_)
    if asked.errors:
        raise typer.Exit(Exit.INCOMPLETE)


def _ask_recording(file: Path, given: Profile | None) -> Asked:
    try:
        return ask_recording(file, builtin(), given)
    except BadRecording as error:
        refuse(str(error))


def _ask_device(target: Target, given: Profile | None, optics: int, deadline: float) -> Asked:
    with counting("values") as progress:
        try:
            return uvloop.run(
                ask_device(target, builtin(), given, optics=optics, deadline=deadline, progress=progress)
            )
        except SnmpError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(exit_code_of(error)) from error


def _profile(text: str) -> Profile:
    path = Path(text)
    if not path.exists() and text in builtin():
        return builtin()[text]
    try:
        return load(path)
    except BadProfile as error:
        refuse(str(error))


def _detected_json(detected: Detection) -> dict[str, object]:
    return {"profile": detected.profile, "model": detected.model, "why": str(detected.why)}


def _show(asked: Asked, rows: int, json_wanted: bool) -> None:
    decoded = Decoder(asked.profile).decode(asked.rows)
    reason = _reason(asked)
    if json_wanted:
        told = {
            "profile": asked.profile.name,
            "model": asked.detection.model or None,
            "why": str(asked.detection.why),
            "detected": _detected_json(asked.detected) if asked.detected else None,
            "complete": not asked.errors,
            "reason": reason,
            "optics_asked": asdict(asked.optics) if asked.optics else None,
            **as_json(decoded),
        }
        print_text(json.dumps(told, indent=2, ensure_ascii=False))
        return
    console = Console()
    model = f" ({asked.detection.model})" if asked.detection.model else ""
    console.print(Text(f"{asked.profile.title}{model}: {asked.detection.why}."), soft_wrap=True)
    if asked.detected and asked.detected != asked.detection:
        console.print(Text(_taken_for(asked.profile, asked.detected)), soft_wrap=True)
    print_facts(console, decoded, rows)
    if asked.optics and asked.optics.asked < asked.optics.online:
        console.print()
        share = f"{asked.optics.asked:,} of the {asked.optics.online:,} ONUs that are online"
        console.print(f"Asked {share} for what the OLT must ask them for (--optics).", soft_wrap=True)
    if reason:
        typer.echo(f"Not complete: {reason}", err=True)


def _taken_for(profile: Profile, detected: Detection) -> str:
    """Whether a profile that was asked for would be found without."""
    if detected.profile == profile.name:
        return f"It would be detected as that: {detected.why}."
    return f"It would not be detected as that, but as '{detected.profile}': {detected.why}."


def _reason(asked: Asked) -> str | None:
    reasons = list(dict.fromkeys(map(str, asked.errors)))
    more = len(reasons) - _MOST_REASONS
    return "; ".join([*reasons[:_MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]) or None
