"""`facho bench`: run the benchmarks, which are part of a source checkout only."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import typer

import facho
from facho.cli.errors import refuse

_CHECKOUT: Final = Path(facho.__file__).parents[2]


def benchmarks_of(checkout: Path) -> typer.Typer:
    if (checkout / "bench" / "harness.py").is_file():
        sys.path.insert(0, str(checkout))
        found: typer.Typer = import_module("bench.harness").app
        return found
    return _without_benchmarks()


def _without_benchmarks() -> typer.Typer:
    app = typer.Typer()

    @app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def bench() -> None:
        """Run a benchmark; only in a source checkout."""
        refuse("benchmarks need a source checkout of facho: they are not part of the installed package")

    return app


app = benchmarks_of(_CHECKOUT)
