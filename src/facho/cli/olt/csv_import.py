"""`facho olt import`: add or change the OLTs of a CSV file, all of them or only the good lines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from facho.apps.db.database import database_now
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt, SnmpVersion
from facho.cli.errors import Exit, refuse
from facho.cli.olt.wanted import (
    CONNECTION,
    WantedOlt,
    changes_as_json,
    changes_of,
    parse_limit,
    parse_whole,
    title_of,
)
from facho.cli.output import print_json
from facho.config import Config
from facho.engine.collect.identify import Identified
from facho.engine.collect.work_builder import target_of
from facho.engine.commands.connection_test import Silence, ask_all, new_target
from facho.engine.commands.credentials import CredentialFields, build_credentials
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olt_addresses import address_of, port_of
from facho.engine.commands.olt_batches import OltRow, RowOutcome, import_rows, preview_olts
from facho.engine.commands.olts import AUTO, LIMITS, NewOlt, OltChanges, OltLimits, brand_for
from facho.snmp import Target

_KNOWN: Final = (
    "name", "address", "port", "version", "community", "brand", "model", "site", "enabled", "user", "auth",
    "auth_password", "priv", "priv_password", "context", *LIMITS,
)  # fmt: skip
_ENABLED: Final = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Options:
    # Of new OLTs without one in the file.
    community: str | None = field(repr=False)
    update: bool
    test: bool
    keep_going: bool
    dry_run: bool
    as_json: bool


@dataclass(slots=True)
class Line:
    """A line of the file, and its result."""

    number: int
    name: str
    wanted: NewOlt | OltChanges | None = None
    detected: Identified | None = None
    error: str = ""
    brand: str = ""
    outcome: RowOutcome = RowOutcome.REFUSED
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "line": self.number,
            "name": self.name,
            "ok": not self.error,
            "result": self.outcome.value,
            "brand": self.brand or None,
            "changes": changes_as_json(self.changes),
            "error": self.error or None,
        }


def import_file(path: Path, options: Options, config: Config) -> None:
    lines = _read_lines(path, options)
    if options.test:
        _test_connections(lines, config)
    saved = _save_lines(lines, options)
    broken = sum(bool(line.error) for line in lines)
    count = sum(line.outcome in (RowOutcome.ADDED, RowOutcome.CHANGED) for line in lines) if saved else 0
    if options.as_json:
        print_json({"saved": count, "broken": broken, "lines": [line.as_json() for line in lines]})
    else:
        _print_lines(lines, broken, saved=saved, dry_run=options.dry_run)
    if broken:
        raise typer.Exit(Exit.INCOMPLETE if count else Exit.BAD_USE)


def _read_lines(path: Path, options: Options) -> list[Line]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        refuse(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}")
    lines = text.splitlines(keepends=True)
    reader = csv.reader(lines, strict=True, delimiter=_delimiter(lines))
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(path, header, update=options.update)
        rows = list(_read_rows(reader, header))
    except csv.Error as error:
        refuse(f"{path}, line {reader.line_num}: {error}")
    names = [cells.get("name", "") for _, cells, _ in rows]
    olts = Olt.objects.select_related("brand", "model").filter(name__in=names) if options.update else ()
    return _parse_rows(rows, {olt.name: olt for olt in olts}, options)


def _delimiter(lines: Sequence[str]) -> str:
    """Return what separates the columns: spreadsheets write semicolons where the comma is that of numbers."""
    return ";" if lines and ";" in lines[0] and "," not in lines[0] else ","


def _check_header(path: Path, header: Sequence[str], *, update: bool) -> None:
    if unknown := [name for name in header if name not in _KNOWN]:
        refuse(f"{path}, line 1: '{unknown[0]}' is no column; these are: {', '.join(_KNOWN)}")
    needed = ("name",) if update else ("name", "address")
    if missing := [name for name in needed if name not in header]:
        refuse(f"{path}, line 1: the column '{missing[0]}' is missing")
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        refuse(f"{path}, line 1: the column '{twice[0]}' is there twice")


def _read_rows(reader: Any, header: Sequence[str]) -> Iterator[tuple[int, dict[str, str], str]]:
    """Yield the number, the cells and the error of each line that is not empty."""
    for row in reader:
        if any(cell.strip() for cell in row):
            cells = {name: cell.strip() for name, cell in zip(header, row, strict=False)}
            bad = f"it has {len(row)} columns, and the first line has {len(header)}"
            yield reader.line_num, cells, "" if len(row) == len(header) else bad


def _parse_rows(
    rows: Sequence[tuple[int, dict[str, str], str]], olts: Mapping[str, Olt], options: Options
) -> list[Line]:
    first: dict[str, int] = {}
    lines = []
    for number, cells, bad in rows:
        line = Line(number, cells.get("name", ""), error=bad)
        lines.append(line)
        if not bad and line.name and first.setdefault(line.name, number) != number:
            line.error = f"name: line {first[line.name]} has this name too"
        if line.error:
            continue
        try:
            olt = olts.get(line.name)
            if olt is None and not cells.get("address"):
                raise CommandError("address", "no OLT has this name yet; a new one needs an address")
            line.wanted = _new_olt(cells, options.community) if olt is None else _changes(olt, cells)
        except CommandError as error:
            line.error = f"{error.field}: {error.message}"
    return lines


def _new_olt(cells: dict[str, str], community: str | None) -> NewOlt:
    version = cells.get("version") or SnmpVersion.V2C.value
    brand = cells.get("brand") or AUTO
    if brand != AUTO:
        brand_for(brand)
    port = _parse_port(cells)
    limits: dict[str, Any] = _parse_limits(cells)
    enabled = _parse_enabled(cells)
    return NewOlt(
        cells["name"],
        address_of(cells.get("address", "")),
        None if port is None else port_of(port),
        version,
        _build_credentials(cells, version, community),
        brand,
        cells.get("site", ""),
        OltLimits(**limits),
        enabled is not False,
        cells.get("model") or None,
    )


def _changes(olt: Olt, cells: dict[str, str]) -> OltChanges:
    """Return the changes of an OLT; an empty cell leaves what it has."""
    brand, enabled = cells.get("brand") or AUTO, _parse_enabled(cells)
    return changes_of(
        olt,
        WantedOlt(
            address=cells.get("address") or None,
            port=_parse_port(cells),
            version=cells.get("version") or None,
            credentials=_credential_fields(cells),
            brand=None if brand == AUTO else brand,
            model=cells.get("model") or None,
            site=cells.get("site") or None,
            limits=_parse_limits(cells),
            # Enabling one that is enabled would resume it, and a line that changes nothing does nothing.
            enabled=None if enabled == olt.enabled else enabled,
        ),
    )


def _parse_port(cells: dict[str, str]) -> int | None:
    text = cells.get("port", "")
    return parse_whole("port", text) if text else None


def _parse_limits(cells: dict[str, str]) -> dict[str, float | None]:
    return {limit: parse_limit(limit, cells[limit]) for limit in LIMITS if cells.get(limit)}


def _parse_enabled(cells: dict[str, str]) -> bool | None:
    text = cells.get("enabled", "").lower()
    if text and text not in _ENABLED:
        raise CommandError("enabled", f"'{text}' is neither yes nor no")
    return _ENABLED.get(text)


def _credential_fields(cells: dict[str, str]) -> CredentialFields:
    return CredentialFields(**{each.name: cells.get(each.name, "") for each in fields_of(CredentialFields)})


def _build_credentials(cells: dict[str, str], version: str, community: str | None) -> Credentials:
    given = _credential_fields(cells)
    if version in (SnmpVersion.V1, SnmpVersion.V2C) and not (given.community or community):
        raise CommandError("community", "none is given, neither here nor by --community-env")
    return build_credentials(version, replace(given, community=given.community or community or ""))


def _test_connections(lines: Sequence[Line], config: Config) -> None:
    """Ask new OLTs what they are, and those with another address or other credentials whether they answer."""
    asked = [(line, target) for line in lines if (target := _target_of(line, config)) is not None]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("asking the OLTs", total=len(asked))
        answers = ask_all([target for _, target in asked], lambda: progress.advance(task))
    for (line, _), answer in zip(asked, answers, strict=True):
        if isinstance(answer, Silence):
            line.error = str(answer.reason)
        elif isinstance(line.wanted, NewOlt):
            line.detected = answer


def _target_of(line: Line, config: Config) -> Target | None:
    if isinstance(line.wanted, NewOlt):
        return new_target(line.wanted, config)
    if line.wanted is None:
        return None
    try:
        (changed,) = preview_olts({line.name: line.wanted})
    except CommandError:
        # Saving it reports the error.
        return None
    return target_of(changed.olt, config) if changed.changes.keys() & CONNECTION else None


def _save_lines(lines: Sequence[Line], options: Options) -> bool:
    """Save the good lines and note the result of each. Return whether they were saved."""
    good = [line for line in lines if not line.error and line.wanted is not None]
    rows = [OltRow(line.name, line.wanted, line.detected) for line in good if line.wanted is not None]
    undo = options.dry_run or (len(good) < len(lines) and not options.keep_going)
    results, saved = import_rows(rows, database_now(), keep_going=options.keep_going, dry_run=undo)
    for line, result in zip(good, results, strict=True):
        line.outcome, line.changes = result.outcome, result.changes
        line.brand = result.olt.brand.name if result.olt else ""
        if result.error is not None:
            line.error = f"{result.error.field}: {result.error.message}"
    return saved


def _print_lines(lines: Sequence[Line], broken: int, *, saved: bool, dry_run: bool) -> None:
    for line in lines:
        if line.error:
            typer.echo(f"line {line.number}: {line.name or '(no name)'}: {line.error}", err=True)
        else:
            typer.echo(f"line {line.number}: {line.name}: {_describe(line)}")
    if broken and not saved:
        hint = "" if dry_run else " (--keep-going saves the others)"
        typer.echo(f"Nothing was saved: {broken} of {len(lines)} lines are broken{hint}.", err=True)
        return
    counts = Counter(line.outcome for line in lines)
    added, changed = counts[RowOutcome.ADDED], counts[RowOutcome.CHANGED]
    sentence = f"{added} of {len(lines)} OLTs were added"
    if changed or counts[RowOutcome.UNCHANGED]:
        sentence = (
            f"{added} OLTs were added, {changed} changed, {counts[RowOutcome.UNCHANGED]} stay as they are"
        )
    typer.echo(f"Nothing was saved, this was a dry run: {sentence}." if not saved else f"{sentence}.")


def _describe(line: Line) -> str:
    if line.outcome is RowOutcome.CHANGED:
        return f"changed: {', '.join(map(title_of, line.changes))}"
    return f"added, {line.brand}" if line.outcome is RowOutcome.ADDED else line.outcome.value
