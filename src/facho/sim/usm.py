"""SNMPv3 of a simulated agent: an engine with an id, a clock and users, which reports what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from facho.sim.security import CommunitySecurity, Opened, ReportDue
from facho.snmp import usm, v3
from facho.snmp.errors import BerError
from facho.snmp.message import PduType, Version, encode_binding, encode_pdu, version_of
from facho.snmp.usm import Auth, Priv, User
from facho.snmp.values import Counter32, encode_value

AUTH_PASSWORD: Final = "auth-password"  # noqa: S105 - of simulated users, on loopback
PRIV_PASSWORD: Final = "priv-password"  # noqa: S105
# Enterprise 8072 is net-snmp; the rest is an id that no real device has.
_ENGINE_PREFIX: Final = bytes.fromhex("80001f8804")
_NO_KEYS: Final = usm.Keys(b"", b"")


def _simulated_users() -> dict[str, User]:
    """Return a user for each security level and algorithm: `noauth`, `sha-256`, `sha-256-aes`."""
    users = [User("noauth")]
    for auth in Auth:
        users.append(User(auth.label.lower(), auth, AUTH_PASSWORD))
        users.extend(
            User(f"{auth.label}-{priv.label}".lower(), auth, AUTH_PASSWORD, priv, PRIV_PASSWORD)
            for priv in Priv
        )
    return {user.name: user for user in users}


SIMULATED_USERS: Final = _simulated_users()


class EngineSecurity:
    """SNMPv3 beside SNMPv1 and v2c, for one OLT."""

    def __init__(
        self, communities: CommunitySecurity, name: str, users: Iterable[User], uptime: Callable[[], float]
    ) -> None:
        self._communities = communities
        self._users = {user.name.encode(): user for user in users}
        self._uptime = uptime
        self._salt = 0
        self._reports = 0
        self.engine_id = _ENGINE_PREFIX + name.encode()[:27]
        self.boots = 1

    @property
    def v2c_header(self) -> bytes:
        return self._communities.v2c_header

    @property
    def time(self) -> int:
        return int(self._uptime())

    def open(self, datagram: bytes) -> Opened:
        """Open a request. Raises ReportDue where a report is the answer, and BerError for garbage."""
        if version_of(datagram) != Version.V3:
            return self._communities.open(datagram)
        asked = v3.decode_header(datagram)
        if asked.engine_id != self.engine_id:
            raise self._report(asked, v3.Stat.UNKNOWN_ENGINE)
        user = self._users.get(asked.user)
        if user is None:
            raise self._report(asked, v3.Stat.UNKNOWN_USER)
        if asked.is_signed != (user.auth is not None) or asked.is_encrypted != (user.priv is not None):
            raise self._report(asked, v3.Stat.UNSUPPORTED_LEVEL)
        return self._open(asked, user, usm.localised_keys(user, self.engine_id))

    def _open(self, asked: v3.Header, user: User, keys: usm.Keys) -> Opened:
        if user.auth is not None:
            if not v3.is_signed_by(asked, user.auth, keys.auth):
                raise self._report(asked, v3.Stat.WRONG_DIGEST)
            if asked.boots != self.boots or abs(asked.time - self.time) > v3.TIME_WINDOW_S:
                raise self._report(asked, v3.Stat.NOT_IN_TIME_WINDOW, user)
        try:
            plain = v3.plain_scoped(asked, user, keys)
            position = v3.pdu_position(plain)
        except BerError:
            raise self._report(asked, v3.Stat.DECRYPTION_ERROR) from None
        return Opened(
            Version.V3, plain, position, len(plain), asked.data[: len(asked.data) - len(plain)], asked
        )

    def seal(self, opened: Opened, pdu: bytes) -> bytes:
        asked = opened.asked
        if asked is None:
            return self._communities.seal(opened, pdu)
        user = self._users[asked.user]
        return self._seal(asked, user, usm.localised_keys(user, self.engine_id), pdu)

    def _report(self, asked: v3.Header, stat: v3.Stat, user: User | None = None) -> ReportDue:
        """Return a report; with a user it is signed, so that the client can set its clock by it."""
        self._reports += 1
        counter = encode_binding(stat.oid, encode_value(Counter32(self._reports)))
        signer = User(user.name, user.auth, user.auth_password) if user else None
        keys = usm.localised_keys(signer, self.engine_id) if signer else _NO_KEYS
        return ReportDue(self._seal(asked, signer, keys, encode_pdu(PduType.REPORT, 0, 0, 0, counter)))

    def _seal(self, asked: v3.Header, user: User | None, keys: usm.Keys, pdu: bytes) -> bytes:
        self._salt += 1
        outgoing = v3.Outgoing(
            asked.message_id, self.engine_id, self.boots, self.time, asked.user, reportable=False
        )
        return v3.seal(outgoing, user, keys, self._salt, v3.encode_scoped(self.engine_id, b"", pdu))
