"""Set up Django for commands that need the settings, the database and the keys.

Django is imported only here and inside `with system()`, so that `facho snmp` and all helps start quickly.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import typer

from facho.cli.errors import fail, refuse

if TYPE_CHECKING:
    from datetime import datetime

    from facho.apps.access.actors import Actor
    from facho.config import Config
    from facho.engine.commands.errors import CommandError

# The words on the command line for fields of commands. Other fields are options of the same name.
_WORDS: Final = {
    "name": "NAME",
    "address": "ADDRESS",
    "olts": "OLT",
    "olt": "OLT",
    "onu": "ONU",
    "job": "JOB",
    "starts_at": "--from",
    "ends_at": "--until",
    "weekdays": "--weekly",
    "start": "--at",
    "duration": "--for",
    "jobs": "JOB",
    "facts": "--fact",
    "oids": "--oid",
    "master": "--after",
    "max_requests_per_second": "--max-rate",
    "shortest_interval_s": "--shortest-interval",
    "notices": "--notice",
    "channels": "--channel",
    "channel": "CHANNEL",
    "rule": "RULE",
    "url": "address",
    "owner": "--user",
    "is_active": "NAME",
    "expires_at": "--for",
    "min_severity": "--severity",
    "node": "",
    "execution": "",
    "id": "ID",
}


@contextmanager
def system(*, ready: bool = True, by_person: bool = True) -> Iterator[Config]:
    """Set up Django with a database that is `ready`. Expected errors inside end the program with a sentence.

    Changes are audited as those of the person who typed the command, unless it is a process that keeps
    running.
    """
    config = set_up_django()
    from django.db import DatabaseError
    from django.utils import translation

    from facho.apps.access.actors import acting
    from facho.apps.db.database import check_reachable, database_sentence
    from facho.engine.commands.errors import CommandError
    from facho.engine.commands.setup import using_database
    from facho.engine.upkeep.schema import SchemaProblem, read_schema_difference, refuse_newer
    from facho.keys import KeyProblem

    # The command line is in English, whatever the language of the pages is.
    with translation.override("en"):
        try:
            check_reachable()
            if not ready:
                refuse_newer(read_schema_difference())
            with using_database(_say) if ready else nullcontext(), acting(_person if by_person else None):
                yield config
        except CommandError as error:
            refuse(_format_error(error))
        except (KeyProblem, SchemaProblem) as error:
            fail(str(error))
        except DatabaseError as error:
            fail(database_sentence(error))


def database_now() -> datetime:
    from facho.apps.db.database import database_now

    return database_now()


def _person() -> Actor:
    from facho.apps.access.actors import Actor
    from facho.apps.access.audit_actions import How

    try:
        name = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a user id without a name.
        name = str(os.getuid())
    return Actor(name, How.COMMAND_LINE)


def set_up_django() -> Config:
    from facho.config import BadSettings, current
    from facho.keys import KeyProblem

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "facho.settings")
    try:
        config = current()
        import django

        django.setup()
    except (BadSettings, KeyProblem) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename} cannot be used as FACHO_HOME: {error.strerror}")
    return config


def _format_error(error: CommandError) -> str:
    """Return the message, with the word on the command line that it is about."""
    word = _WORDS.get(error.field, "--" + error.field.replace("_", "-"))
    return f"{word}: {error.message}" if word else error.message


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
