"""`facho versions`: the firmware and the hardware that ONUs and OLTs have."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from facho.cli.output import AsJson, print_json, print_rows, print_section
from facho.cli.system import system

app = typer.Typer()

_EXAMPLES: Final = """
**Examples**

`facho versions`  how many ONUs have each model, firmware and hardware, and how many OLTs each version

`facho versions --site Centro --json`

`facho onu list --model EG8145V5 --sw-version V5R019C10S125`  the ONUs of one of these

`facho export versions -o versions.csv`  by OLT, for a spreadsheet
"""
_ONU_COLUMNS: Final = ("model", "sw_version", "hw_version", "onus")
_OLT_COLUMNS: Final = ("brand", "model", "version", "hw_version", "olts")


@app.command(epilog=_EXAMPLES)
def versions(
    site: Annotated[str, typer.Option(help="Only of the OLTs of this site.")] = "",
    olt: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this OLT.")] = None,
    brand: Annotated[str | None, typer.Option(help="Only of the OLTs of this brand.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count ONUs and OLTs by model, firmware and hardware."""
    with system():
        from facho.apps.discovery.versions import VersionsOf, count_olt_versions, count_onu_versions
        from facho.engine.commands.olts import brand_for, check_site, olt_named

        of = VersionsOf(
            check_site(site) if site else "",
            None if olt is None else olt_named(olt).id,
            None if brand is None else brand_for(brand).pk,
        )
        onus = [asdict(each) for each in count_onu_versions(of)]
        olts = [asdict(each) for each in count_olt_versions(of)]
        if as_json:
            print_json({"onus": onus, "olts": olts})
            return
        print_rows(onus, _ONU_COLUMNS, "There are no ONUs yet.")
        print_section("OLTs", olts, _OLT_COLUMNS)
