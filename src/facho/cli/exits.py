"""What the exit code of a command says, the same in every command."""

from __future__ import annotations

import enum

from facho.snmp import SnmpError
from facho.snmp.errors import AddressError, AgentRefused, NoAnswer, SecurityError, TooBig, UnreadableRows


class Exit(enum.IntEnum):
    COMPLETE = 0
    # The system itself is not well: its settings, its database, its keys, or what it was to do.
    FAILED = 1
    BAD_USE = 2
    NO_ANSWER = 3
    REFUSED = 4
    INCOMPLETE = 5


def exit_of(error: SnmpError) -> Exit:
    """Of a device from which nothing was read, because of this."""
    match error:
        case NoAnswer():
            return Exit.NO_ANSWER
        case AgentRefused() | SecurityError() | TooBig() | UnreadableRows():
            return Exit.REFUSED
        case AddressError():
            return Exit.BAD_USE
        case _:
            return Exit.INCOMPLETE
