"""Keys, signatures and ciphers of SNMPv3: as the RFCs write them down, and as pysnmp reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyasn1.type import univ
from pysnmp.proto.secmod.rfc3414.service import SnmpUSMSecurityModel

from facho.snmp import usm
from facho.snmp.client import Target
from facho.snmp.message import Version
from facho.snmp.usm import Auth, Keys, Priv, User, localised_keys
from facho.snmp.v3 import Engine, UserSecurity

ENGINE = bytes.fromhex("80001f8804") + b"olt-7"
AUTH_PASSWORD, PRIV_PASSWORD = "the signing secret", "the hiding secret"
BOTH = [(auth, priv) for auth in Auth for priv in Priv]

# Where the registries number the protocols.
AUTH_ID = {auth: (1, 3, 6, 1, 6, 3, 10, 1, 1, number) for number, auth in enumerate(Auth, 2)}
PRIV_ID = {
    Priv.DES: (1, 3, 6, 1, 6, 3, 10, 1, 2, 2),
    Priv.AES128: (1, 3, 6, 1, 6, 3, 10, 1, 2, 4),
    Priv.AES192: (1, 3, 6, 1, 4, 1, 9, 12, 6, 1, 1),
    Priv.AES256: (1, 3, 6, 1, 4, 1, 9, 12, 6, 1, 2),
    Priv.AES192C: (1, 3, 6, 1, 4, 1, 9, 12, 6, 1, 101),
    Priv.AES256C: (1, 3, 6, 1, 4, 1, 9, 12, 6, 1, 102),
}

privs = st.sampled_from(Priv)
clocks = st.integers(0, 2**31 - 1)
salts = st.integers(0, 2**70)


def user(auth: Auth, priv: Priv | None = None) -> User:
    return User("monitor", auth, AUTH_PASSWORD, priv, PRIV_PASSWORD if priv else "")


def names(pair: tuple[Auth, Priv]) -> str:
    return " ".join(each.label for each in pair)


@pytest.mark.parametrize(
    ("auth", "key"),
    [
        (Auth.MD5, "526f5eed9fcce26f8964c2930787d82b"),
        (Auth.SHA1, "6695febc9288e36282235fc7151f128497b38f3f"),
    ],
)
def test_a_password_becomes_the_key_that_rfc_3414_works_out(auth: Auth, key: str) -> None:
    """Its appendix A.3: the password "maplesyrup" on engine 2."""
    engine = bytes.fromhex("000000000000000000000002")
    signer = User("bert", auth, "maplesyrup", Priv.DES, "maplesyrup")
    keys = localised_keys(signer, engine)
    assert keys.auth == bytes.fromhex(key)
    assert keys.priv == bytes.fromhex(key)[:16]


@pytest.mark.parametrize(
    ("auth", "size"),
    list(zip(Auth, [12, 12, 16, 24, 32, 48], strict=True)),
    ids=lambda value: getattr(value, "label", value),
)
def test_a_signature_has_the_size_that_its_protocol_says(auth: Auth, size: int) -> None:
    assert len(usm.sign(auth, b"key", b"message")) == size == auth.size


@pytest.mark.parametrize("auth", Auth, ids=lambda auth: auth.label)
def test_signing_keys_and_signatures_are_those_of_pysnmp(auth: Auth) -> None:
    theirs = SnmpUSMSecurityModel.AUTH_SERVICES[AUTH_ID[auth]]
    key = localised_keys(user(auth), ENGINE).auth
    their_key = theirs.localize_key(theirs.hash_passphrase(AUTH_PASSWORD), univ.OctetString(ENGINE))
    assert key == their_key.asOctets()
    message = b"head" + bytes(auth.size) + b"tail"
    signed = theirs.authenticate_outgoing_message(their_key, message)
    assert signed == b"head" + usm.sign(auth, key, message) + b"tail"


@pytest.mark.parametrize("pair", BOTH, ids=names)
def test_hiding_keys_are_those_of_pysnmp_however_they_are_stretched(pair: tuple[Auth, Priv]) -> None:
    auth, priv = pair
    theirs, protocol = SnmpUSMSecurityModel.PRIV_SERVICES[PRIV_ID[priv]], AUTH_ID[auth]
    passed = theirs.hash_passphrase(protocol, PRIV_PASSWORD)
    their_key = theirs.localize_key(protocol, passed, univ.OctetString(ENGINE))
    assert localised_keys(user(auth, priv), ENGINE).priv == their_key.asOctets()
    assert len(their_key) == priv.key_size


def test_the_two_ways_to_stretch_differ_only_where_a_key_is_too_short() -> None:
    def same(auth: Auth, one: Priv, other: Priv) -> bool:
        return localised_keys(user(auth, one), ENGINE).priv == localised_keys(user(auth, other), ENGINE).priv

    assert not same(Auth.SHA1, Priv.AES192, Priv.AES192C)
    assert not same(Auth.SHA224, Priv.AES256, Priv.AES256C)
    assert same(Auth.SHA224, Priv.AES192, Priv.AES192C)
    assert same(Auth.SHA256, Priv.AES256, Priv.AES256C)


@pytest.mark.parametrize("priv", Priv, ids=lambda priv: priv.label)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 200])
def test_what_one_encrypts_the_other_decrypts(priv: Priv, size: int) -> None:
    theirs, plain = SnmpUSMSecurityModel.PRIV_SERVICES[PRIV_ID[priv]], bytes(range(size))
    key = localised_keys(user(Auth.SHA512, priv), ENGINE).priv
    their_key = univ.OctetString(key)
    hidden, salt = theirs.encrypt_data(their_key, (7, 4321, None), plain)
    assert usm.decrypt(priv, key, 7, 4321, salt.asOctets(), hidden.asOctets())[:size] == plain
    parameters, encrypted = usm.encrypt(priv, key, 7, 4321, 99, plain)
    # The two ask for the salt in forms of their own.
    their_salt = univ.OctetString(parameters) if priv is Priv.DES else list(parameters)
    shown = theirs.decrypt_data(their_key, (7, 4321, their_salt), univ.OctetString(encrypted))
    assert shown[:size] == plain


@given(privs, clocks, clocks, salts, st.binary(max_size=300))
def test_what_was_encrypted_can_be_read_again(
    priv: Priv, boots: int, time: int, salt: int, plain: bytes
) -> None:
    key = bytes(range(priv.key_size))
    parameters, encrypted = usm.encrypt(priv, key, boots, time, salt, plain)
    shown = usm.decrypt(priv, key, boots, time, parameters, encrypted)
    assert shown[: len(plain)] == plain
    assert shown[len(plain) :] == bytes(-len(plain) % 8 if priv is Priv.DES else 0)
    assert len(parameters) == 8


@given(privs, clocks, clocks, salts, st.binary(min_size=16, max_size=64))
def test_the_same_text_with_the_next_salt_looks_different(
    priv: Priv, boots: int, time: int, salt: int, plain: bytes
) -> None:
    key = bytes(range(priv.key_size))
    one, other = (usm.encrypt(priv, key, boots, time, salt + more, plain) for more in (0, 1))
    assert one[0] != other[0]
    assert one[1] != other[1]


@pytest.mark.parametrize(
    ("priv", "parameters", "encrypted"),
    [
        (Priv.AES128, b"1234567", b"x" * 16),
        (Priv.AES256, b"", b"x" * 16),
        (Priv.DES, b"123456789", b"x" * 16),
        (Priv.DES, b"12345678", b"x" * 15),
    ],
)
def test_what_cannot_have_been_encrypted_is_refused(priv: Priv, parameters: bytes, encrypted: bytes) -> None:
    with pytest.raises(ValueError, match=r"8 octets"):
        usm.decrypt(priv, bytes(priv.key_size), 1, 1, parameters, encrypted)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": ""}, "1 to 32 octets"),
        ({"name": "é" * 17}, "1 to 32 octets"),
        (
            {"name": "u", "priv": Priv.AES128, "priv_password": "long enough"},
            "privacy needs authentication: give an authentication protocol too",
        ),
        ({"name": "u", "auth": Auth.SHA1}, "an SNMPv3 authentication password has at least 8 characters"),
        ({"name": "u", "auth": Auth.SHA1, "auth_password": "7 chars"}, "authentication password has at"),
        (
            {"name": "u", "auth": Auth.SHA1, "auth_password": "8 chars.", "priv": Priv.DES},
            "an SNMPv3 privacy password has at least 8 characters",
        ),
    ],
)
def test_a_user_that_cannot_be_is_refused_with_a_sentence(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        User(**settings)
    for secret in ("7 chars", "8 chars.", "long enough"):
        assert secret not in str(refused.value)


@pytest.mark.parametrize("auth", Auth, ids=lambda auth: auth.label)
def test_no_secret_shows_where_a_user_is_written_out(auth: Auth) -> None:
    secret = user(auth, Priv.AES256)
    engine = Engine(lambda: 0.0)
    engine.id = ENGINE
    security = UserSecurity(secret, engine)
    keys = security.keys
    target = Target("192.0.2.1", version=Version.V3, user=secret)
    written = "".join(f"{each}{each!r}" for each in (secret, keys, target, security, [secret, keys]))
    for word in (AUTH_PASSWORD, PRIV_PASSWORD, keys.auth.hex(), keys.priv.hex(), repr(keys.auth)[2:-1]):
        assert word not in written


def test_a_password_is_its_octets_whatever_they_are() -> None:
    """As os.environ gives them: what is no UTF-8 stays what it was."""
    raw, theirs = b"caf\xe9-noir", SnmpUSMSecurityModel.AUTH_SERVICES[AUTH_ID[Auth.SHA256]]
    signer = User("monitor", Auth.SHA256, raw.decode(errors="surrogateescape"))
    their_key = theirs.localize_key(theirs.hash_passphrase(raw), univ.OctetString(ENGINE))
    assert localised_keys(signer, ENGINE).auth == their_key.asOctets()


def test_who_does_not_sign_has_no_keys() -> None:
    assert localised_keys(User("guest"), ENGINE) == Keys(b"", b"")
    assert localised_keys(user(Auth.MD5), ENGINE).priv == b""


@pytest.mark.parametrize(
    ("version", "who"), [(Version.V3, None), (Version.V2C, User("guest"))], ids=["no user", "no version 3"]
)
def test_a_user_and_version_3_belong_together(version: Version, who: User | None) -> None:
    with pytest.raises(ValueError, match="SNMPv3 needs a user, and a user needs SNMPv3"):
        Target("192.0.2.1", version=version, user=who)
