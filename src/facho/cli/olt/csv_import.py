"""`facho olt import`: add the OLTs of a CSV file, all of them or only the good lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, Final

import typer
from django.db import transaction
from rich.progress import Progress

from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import SnmpVersion
from facho.cli.errors import Exit, refuse
from facho.cli.output import print_json
from facho.config import Config
from facho.engine.collect.identify import Identified
from facho.engine.commands.connection_test import Silence, ask_all, new_target
from facho.engine.commands.credentials import CredentialFields, build_credentials
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olt_addresses import address_of, port_of
from facho.engine.commands.olts import (
    AUTO,
    NewOlt,
    OltLimits,
    add_olt,
    brand_for,
)

_NEEDED: Final = ("name", "address")
_KNOWN: Final = (
    *_NEEDED, "port", "version", "community", "brand", "site", "user", "auth", "auth_password", "priv",
    "priv_password", "context", "max_in_flight", "max_varbinds", "shortest_interval_s",
)  # fmt: skip


@dataclass(slots=True)
class Line:
    """A line of the file, and its result."""

    number: int
    name: str
    new: NewOlt | None = None
    detected: Identified | None = None
    error: str = ""
    brand: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "line": self.number,
            "name": self.name,
            "ok": not self.error,
            "brand": self.brand or None,
            "error": self.error or None,
        }


class _RollBack(Exception):
    """Rolls the transaction back."""


def import_file(
    path: Path, community: str | None, config: Config, *, test: bool, keep_going: bool, as_json: bool
) -> None:
    lines = list(_read_lines(path, community))
    if test:
        _test_connections(lines, config)
    saved = _save_lines(lines, keep_going=keep_going)
    broken = sum(bool(line.error) for line in lines)
    if as_json:
        print_json({"saved": saved, "broken": broken, "lines": [line.as_json() for line in lines]})
    else:
        _print_lines(lines, saved, broken)
    if broken:
        raise typer.Exit(Exit.INCOMPLETE if saved else Exit.BAD_USE)


def _read_lines(path: Path, community: str | None) -> Iterator[Line]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        refuse(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}")
    rows = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        _check_header(path, header)
        for row in rows:
            if any(cell.strip() for cell in row):
                yield _parse_line(rows.line_num, header, row, community)
    except csv.Error as error:
        refuse(f"{path}, line {rows.line_num}: {error}")


def _check_header(path: Path, header: Sequence[str]) -> None:
    if unknown := [name for name in header if name not in _KNOWN]:
        refuse(f"{path}, line 1: '{unknown[0]}' is no column; these are: {', '.join(_KNOWN)}")
    if missing := [name for name in _NEEDED if name not in header]:
        refuse(f"{path}, line 1: the column '{missing[0]}' is missing")


def _parse_line(number: int, header: Sequence[str], row: Sequence[str], community: str | None) -> Line:
    cells = {name: cell.strip() for name, cell in zip(header, row, strict=False)}
    line = Line(number, cells.get("name", ""))
    if len(row) != len(header):
        line.error = f"it has {len(row)} columns, and the first line has {len(header)}"
        return line
    try:
        line.new = _new_olt(cells, community)
    except CommandError as error:
        line.error = f"{error.field}: {error.message}"
    return line


def _new_olt(cells: dict[str, str], community: str | None) -> NewOlt:
    version = cells.get("version") or "2c"
    brand = cells.get("brand") or AUTO
    if brand != AUTO:
        brand_for(brand)
    port = _parse_number(cells, "port")
    return NewOlt(
        cells["name"],
        address_of(cells["address"]),
        None if port is None else port_of(port),
        version,
        _build_credentials(cells, version, community),
        brand,
        cells.get("site", ""),
        OltLimits(
            max_in_flight=_parse_number(cells, "max_in_flight"),
            max_varbinds=_parse_number(cells, "max_varbinds"),
            shortest_interval_s=_parse_number(cells, "shortest_interval_s"),
        ),
    )


def _parse_number(cells: dict[str, str], column: str) -> int | None:
    text = cells.get(column, "")
    if text and not (text.isascii() and text.isdigit()):
        raise CommandError(column, f"'{text}' is not a whole number")
    return int(text) if text else None


def _build_credentials(cells: dict[str, str], version: str, community: str | None) -> Credentials:
    fields = CredentialFields(**{each.name: cells.get(each.name, "") for each in fields_of(CredentialFields)})
    if version in (SnmpVersion.V1, SnmpVersion.V2C) and not (fields.community or community):
        raise CommandError("community", "none is given, neither here nor by --community-env")
    return build_credentials(version, replace(fields, community=fields.community or community or ""))


def _test_connections(lines: Sequence[Line], config: Config) -> None:
    asked = [(line, new_target(line.new, config)) for line in lines if line.new is not None]
    with Progress(transient=True) as progress:
        task = progress.add_task("asking the OLTs", total=len(asked))
        answers = ask_all([target for _, target in asked], lambda: progress.advance(task))
    for (line, _), answer in zip(asked, answers, strict=True):
        if isinstance(answer, Silence):
            line.error = str(answer.reason)
        else:
            line.detected = answer


def _save_lines(lines: Sequence[Line], *, keep_going: bool) -> int:
    saved = 0
    try:
        with transaction.atomic():
            for line in lines:
                saved += _save_line(line)
            if saved < len(lines) and not keep_going:
                raise _RollBack
    except _RollBack:
        return 0
    return saved


def _save_line(line: Line) -> bool:
    if line.error or line.new is None:
        return False
    try:
        line.brand = add_olt(line.new, detected=line.detected).brand.name
    except CommandError as error:
        line.error = f"{error.field}: {error.message}"
        return False
    return True


def _print_lines(lines: Sequence[Line], saved: int, broken: int) -> None:
    for line in lines:
        if line.error:
            typer.echo(f"line {line.number}: {line.name or '(no name)'}: {line.error}", err=True)
        else:
            typer.echo(f"line {line.number}: {line.name}: {line.brand}")
    if broken and not saved:
        typer.echo(
            f"Nothing was saved: {broken} of {len(lines)} lines are broken (--keep-going saves the others).",
            err=True,
        )
    else:
        typer.echo(f"{saved} of {len(lines)} OLTs were added.")
