"""`facho keys`: the keys that credentials are encrypted with."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import typer

from facho.cli.errors import Exit
from facho.cli.output import AsJson, print_json
from facho.cli.system import system

if TYPE_CHECKING:
    from facho.engine.commands.keys import Rotation

app = typer.Typer(no_args_is_help=True, help="The keys that SNMP credentials are encrypted with.")

_EXAMPLES_NEW: Final = """
**Examples**

`facho keys new`  a key for FACHO_CREDENTIAL_KEYS, to be put in front of the others
"""
_EXAMPLES_ROTATE: Final = """
**Examples**

`facho keys rotate`  encrypts all credentials with a new key; interrupted, it is just run again

With the keys in FACHO_CREDENTIAL_KEYS: put a new one (`facho keys new`) in front there, restart, then rotate.

Exit codes: 0 done, 1 some credentials cannot be opened by any key.
"""


@app.command(epilog=_EXAMPLES_NEW)
def new() -> None:
    """Print a new key."""
    from facho.keys import new_key

    typer.echo(new_key())


@app.command(epilog=_EXAMPLES_ROTATE)
def rotate(as_json: AsJson = False) -> None:
    """Encrypt all credentials with a new key, and drop the old ones."""
    with system():
        from facho.engine.commands.keys import rotate as rotate_keys

        done = rotate_keys()
        if as_json:
            print_json(asdict(done))
        else:
            _print_rotation(done)
        if done.unreadable:
            raise typer.Exit(Exit.FAILED)


def _print_rotation(done: Rotation) -> None:
    if done.resumed:
        typer.echo("An interrupted rotation was finished.")
    typer.echo(f"{done.encrypted_again} credentials were encrypted again.")
    if done.unreadable:
        named = ", ".join(done.unreadable[:10])
        typer.echo(
            f"No key opens those of {named}: enter them again. The old keys stay until then.", err=True
        )
    elif not done.from_environment:
        typer.echo("The old key is gone. Make a new backup of the key file.")
    elif done.unneeded_keys:
        typer.echo("Only the first key of FACHO_CREDENTIAL_KEYS is needed now: the others can be removed.")
    else:
        typer.echo("FACHO_CREDENTIAL_KEYS has one key. Put a new one in front of it: facho keys new")
