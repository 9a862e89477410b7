"""The errors of the SNMP client.

A walk or a get returns the errors of the agent together with what was read, so that a caller can keep the
rows and know that the table is not complete. Errors are raised only where there is nothing to return (a bad
OID, a name that does not resolve, a closed client).
"""

from __future__ import annotations

from facho.core.reasons import Reason, ReasonError


class SnmpError(ReasonError):
    """Base of every error of this package."""


class BadOid(SnmpError, ValueError):
    """An OID that is not written as numbers with dots."""


class BerError(SnmpError):
    """Bytes that are not a well-formed SNMP message."""


class AddressError(SnmpError):
    """An address that cannot be used: a name that does not resolve, a port out of range."""


class ClientClosed(SnmpError):
    """The client was closed while an operation was going on."""


class NoAnswer(SnmpError):
    """The agent answered no attempt: off, unreachable, or it does not know the community."""


class DeadlineExceeded(NoAnswer):
    """The deadline of the whole operation passed."""


class AgentRefused(SnmpError):
    """The agent answered with an error status that asking differently will not change."""

    def __init__(self, reason: Reason | str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class TooBig(SnmpError):
    """The agent says that even the smallest answer is too big for it."""


class CorruptAnswer(SnmpError):
    """The agent answers our request with bytes that cannot be decoded, even when asked for a single value."""


class TooMuch(SnmpError):
    """The agent sent more rows or octets than any real one has: asking on would fill the memory."""


class UnreadableRows(SnmpError):
    """The agent fails (genErr) on some rows, which the walk skipped and names."""


class RepeatingOids(SnmpError):
    """The agent answers with rows that it had already given: asking on would never end."""


class OidsWentBack(SnmpError):
    """The agent left the column backwards, so its end was not seen."""


class AgentRestarted(SnmpError):
    """sysUpTime went back during the walk: the agent restarted, and the rows may not fit together."""


class SecurityError(SnmpError):
    """The SNMPv3 engine of the agent refused a request, and reported why."""


class UnknownUser(SecurityError):
    """usmStatsUnknownUserNames."""


class WrongDigest(SecurityError):
    """usmStatsWrongDigests: another authentication password or protocol."""


class DecryptionFailed(SecurityError):
    """usmStatsDecryptionErrors: another privacy password or protocol."""


class UnsupportedLevel(SecurityError):
    """usmStatsUnsupportedSecLevels."""


class NotInTimeWindow(SecurityError):
    """usmStatsNotInTimeWindows, again after our clock of the engine was set."""


class UnknownEngine(SecurityError):
    """usmStatsUnknownEngineIDs, again after the engine was discovered anew."""
