"""Our SNMPv3 messages mean to others what they mean to us: pysnmp and pyasn1 are the second opinion, both
ways.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pyasn1.codec.ber import decoder, encoder
from pysnmp.proto import rfc1905
from pysnmp.proto.mpmod.rfc3412 import ScopedPDU, SNMPv3Message
from pysnmp.proto.secmod.rfc3414.service import SnmpUSMSecurityModel, UsmSecurityParameters

from facho.sim.usm import SIMULATED_USERS
from facho.snmp import usm, v3
from facho.snmp.message import PduType, encode_binding, encode_pdu
from facho.snmp.usm import Auth, User
from facho.snmp.v3 import Outgoing
from facho.snmp.values import Oid, encode_value

ids = st.integers(0, 2**31 - 1) | st.sampled_from([0, 127, 128, 2**31 - 1])
engine_ids = st.binary(min_size=5, max_size=32)
users = st.sampled_from(list(SIMULATED_USERS.values()))
outgoings = st.builds(Outgoing, ids, engine_ids, ids, ids, st.binary(max_size=32), reportable=st.booleans())
NAME = Oid.parse("1.3.6.1.2.1.1.1.0")
AUTH_ID = {auth: (1, 3, 6, 1, 6, 3, 10, 1, 1, number) for number, auth in enumerate(Auth, 2)}


def scoped_pdu(outgoing: Outgoing, context: bytes, text: bytes) -> bytes:
    bindings = encode_binding(NAME.content, encode_value(text))
    pdu = encode_pdu(PduType.RESPONSE, outgoing.message_id, 0, 0, bindings)
    return v3.encode_scoped(outgoing.engine_id, context, pdu)


def decoded(data: bytes, kind: Any) -> Any:
    read, rest = decoder.decode(data, asn1Spec=kind)
    assert rest == b""
    return read


def octets(value: Any) -> bytes:
    given: bytes = value.asOctets()
    return given


def level(user: User) -> int:
    return (user.auth is not None) + 2 * (user.priv is not None)


@settings(max_examples=60)
@given(outgoings, users, st.integers(0, 2**64 - 1), st.binary(max_size=32), st.binary(max_size=300))
def test_pysnmp_reads_what_we_write(
    outgoing: Outgoing, user: User, salt: int, context: bytes, text: bytes
) -> None:
    keys = usm.localised_keys(user, outgoing.engine_id)
    scoped = scoped_pdu(outgoing, context, text)
    data = v3.seal(outgoing, user, keys, salt, scoped)
    message = decoded(data, SNMPv3Message())
    head = message["msgGlobalData"]
    assert (int(message["msgVersion"]), int(head["msgSecurityModel"])) == (3, 3)
    assert int(head["msgID"]) == outgoing.message_id
    assert octets(head["msgFlags"]) == bytes((level(user) | 4 * outgoing.reportable,))
    security = decoded(octets(message["msgSecurityParameters"]), UsmSecurityParameters())
    assert octets(security["msgAuthoritativeEngineId"]) == outgoing.engine_id
    assert int(security["msgAuthoritativeEngineBoots"]) == outgoing.boots
    assert int(security["msgAuthoritativeEngineTime"]) == outgoing.time
    assert octets(security["msgUserName"]) == outgoing.user
    kind = "plaintext" if user.priv is None else "encryptedPDU"
    assert message["msgData"].getName() == kind
    if user.auth is not None and (theirs := SnmpUSMSecurityModel.AUTH_SERVICES[AUTH_ID[user.auth]]):
        signature = security["msgAuthenticationParameters"]
        # It raises if the signature is not what it works out.
        theirs.authenticate_incoming_message(signature.clone(keys.auth), signature, data)
    plain = v3.plain_scoped(v3.decode_header(data), user, keys)
    read = decoded(plain, ScopedPDU())
    assert octets(read["contextEngineId"]) == outgoing.engine_id
    assert octets(read["contextName"]) == context
    pdu = read["data"].getComponent()
    assert int(pdu["request-id"]) == outgoing.message_id
    assert octets(pdu["variable-bindings"][0][1].getComponent().getComponent().getComponent()) == text


@settings(max_examples=60)
@given(outgoings, st.sampled_from([0, 1, 4, 5]), st.binary(max_size=48), st.binary(max_size=8), st.binary())
def test_we_read_what_pysnmp_writes(
    outgoing: Outgoing, flags: int, digest: bytes, salt: bytes, context: bytes
) -> None:
    security = UsmSecurityParameters()
    security["msgAuthoritativeEngineId"] = outgoing.engine_id
    security["msgAuthoritativeEngineBoots"] = outgoing.boots
    security["msgAuthoritativeEngineTime"] = outgoing.time
    security["msgUserName"] = outgoing.user
    security["msgAuthenticationParameters"] = digest
    security["msgPrivacyParameters"] = salt
    message = SNMPv3Message()
    message["msgVersion"] = 3
    message["msgGlobalData"]["msgID"] = outgoing.message_id
    message["msgGlobalData"]["msgMaxSize"] = 65507
    message["msgGlobalData"]["msgFlags"] = bytes((flags,))
    message["msgGlobalData"]["msgSecurityModel"] = 3
    message["msgSecurityParameters"] = encoder.encode(security)
    scoped = ScopedPDU()
    scoped["contextEngineId"] = outgoing.engine_id
    scoped["contextName"] = context
    pdu = rfc1905.ReportPDU()
    pdu["request-id"], pdu["error-status"], pdu["error-index"] = outgoing.message_id, 0, 0
    # Cleared, an empty list is a value; before, it is only a type.
    empty = rfc1905.VarBindList()
    empty.clear()
    pdu["variable-bindings"] = empty
    scoped["data"]["report"] = pdu
    message["msgData"]["plaintext"] = scoped
    data = encoder.encode(message)
    header = v3.decode_header(data)
    assert (header.message_id, header.flags, header.engine_id) == (
        outgoing.message_id,
        flags,
        outgoing.engine_id,
    )
    assert (header.boots, header.time, header.user) == (outgoing.boots, outgoing.time, outgoing.user)
    assert (header.digest, header.salt) == (digest, salt)
    assert data[header.digest_at : header.digest_at + len(digest)] == digest
    assert header.scoped == encoder.encode(scoped)
    read = v3.decode_scoped(header.scoped)
    assert (read.pdu_type, read.request_id) == (PduType.REPORT, outgoing.message_id)
