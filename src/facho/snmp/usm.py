"""The user-based security model of SNMPv3 (RFC 3414, 3826, 7860): keys, digests and ciphers.

The primitives are OpenSSL's, through hashlib, hmac and cryptography. AES with 192 and 256 bits was never
standardised, and a localised key of SHA-1 or MD5 is too short for it: vendors stretch it in two ways, and
both are here.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle, islice
from typing import Final

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

SHORTEST_PASSWORD: Final = 8
_MEGABYTE: Final = 1_048_576


class Auth(enum.Enum):
    """Authentication protocols: name, hash, and octets of the digest in a message."""

    MD5 = ("MD5", "md5", 12)
    SHA1 = ("SHA", "sha1", 12)
    SHA224 = ("SHA-224", "sha224", 16)
    SHA256 = ("SHA-256", "sha256", 24)
    SHA384 = ("SHA-384", "sha384", 32)
    SHA512 = ("SHA-512", "sha512", 48)

    def __init__(self, label: str, digest: str, size: int) -> None:
        self.label = label
        self.digest = digest
        self.size = size


class Stretch(enum.Enum):
    """The ways to extend a localised key that is too short."""

    HASH_AGAIN = "Blumenthal: the hash of the key so far is added to it; what net-snmp does"
    LOCALISE_AGAIN = "Reeder: the key is localised again, as if it were a password; what Cisco does"


class Priv(enum.Enum):
    """Privacy protocols: name, octets of the key, and the way to extend a short key."""

    DES = ("DES", 16, Stretch.HASH_AGAIN)
    AES128 = ("AES", 16, Stretch.HASH_AGAIN)
    AES192 = ("AES-192", 24, Stretch.HASH_AGAIN)
    AES256 = ("AES-256", 32, Stretch.HASH_AGAIN)
    AES192C = ("AES-192-C", 24, Stretch.LOCALISE_AGAIN)
    AES256C = ("AES-256-C", 32, Stretch.LOCALISE_AGAIN)

    def __init__(self, label: str, key_size: int, stretch: Stretch) -> None:
        self.label = label
        self.key_size = key_size
        self.stretch = stretch


class BadUser(ValueError):
    """Refused data of an SNMPv3 user; `field` is user, auth, auth_password or priv_password."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class User:
    """An SNMPv3 user with its passwords, which are not in its representation."""

    name: str
    auth: Auth | None = None
    auth_password: str = field(default="", repr=False)
    priv: Priv | None = None
    priv_password: str = field(default="", repr=False)
    context: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.name.encode()) <= 32:
            raise BadUser("user", "an SNMPv3 user name has 1 to 32 octets")
        if self.priv is not None and self.auth is None:
            sentence = "SNMPv3 privacy needs authentication: give an authentication protocol too"
            raise BadUser("auth", sentence)
        if self.auth is not None and len(self.auth_password) < SHORTEST_PASSWORD:
            sentence = f"an SNMPv3 authentication password has at least {SHORTEST_PASSWORD} characters"
            raise BadUser("auth_password", sentence)
        if self.priv is not None and len(self.priv_password) < SHORTEST_PASSWORD:
            sentence = f"an SNMPv3 privacy password has at least {SHORTEST_PASSWORD} characters"
            raise BadUser("priv_password", sentence)


@dataclass(frozen=True, slots=True)
class Keys:
    """A user's keys on one engine."""

    auth: bytes = field(repr=False)
    priv: bytes = field(repr=False)


@lru_cache(maxsize=4096)
def localised_keys(user: User, engine_id: bytes) -> Keys:
    """Return the keys of a user on an engine, cached: a megabyte is hashed for each password."""
    if user.auth is None:
        return Keys(b"", b"")
    auth_key = _localise(user.auth, _octets(user.auth_password), engine_id)
    if user.priv is None:
        return Keys(auth_key, b"")
    priv_key = _localise(user.auth, _octets(user.priv_password), engine_id)
    return Keys(auth_key, _stretched(user.auth, user.priv, priv_key, engine_id))


def _octets(password: str) -> bytes:
    """Return the octets of a password, which need not be UTF-8 in the environment."""
    return password.encode(errors="surrogateescape")


@lru_cache(maxsize=256)
def _password_key(auth: Auth, password: bytes) -> bytes:
    """Return the hash of a megabyte of the repeated password (RFC 3414, A.2)."""
    repeated = password * (_MEGABYTE // len(password) + 1)
    return hashlib.new(auth.digest, repeated[:_MEGABYTE], usedforsecurity=False).digest()


def _localise(auth: Auth, password: bytes, engine_id: bytes) -> bytes:
    key = _password_key(auth, password)
    return _hash(auth, key + engine_id + key)


def _stretched(auth: Auth, priv: Priv, key: bytes, engine_id: bytes) -> bytes:
    last = key
    while len(key) < priv.key_size:
        if priv.stretch is Stretch.HASH_AGAIN:
            key += _hash(auth, key)
        else:
            last = _localise(auth, last, engine_id)
            key += last
    return key[: priv.key_size]


def _hash(auth: Auth, data: bytes) -> bytes:
    return hashlib.new(auth.digest, data, usedforsecurity=False).digest()


def sign(auth: Auth, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, auth.digest)[: auth.size]


def is_signed(auth: Auth, key: bytes, message: bytes, signature: bytes) -> bool:
    return hmac.compare_digest(sign(auth, key, message), signature)


def encrypt(priv: Priv, key: bytes, boots: int, time: int, salt: int, plain: bytes) -> tuple[bytes, bytes]:
    """Return (privacy parameters, encrypted octets). The salt must not be used again."""
    if priv is Priv.DES:
        parameters = (boots & 0xFFFF_FFFF).to_bytes(4, "big") + (salt & 0xFFFF_FFFF).to_bytes(4, "big")
        padded = plain + bytes(-len(plain) % 8)
        return parameters, _des(key, parameters).encryptor().update(padded)
    parameters = (salt & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "big")
    return parameters, _aes(key, boots, time, parameters).encryptor().update(plain)


def decrypt(priv: Priv, key: bytes, boots: int, time: int, parameters: bytes, encrypted: bytes) -> bytes:
    """Decrypt octets. Raises ValueError where the protocol cannot have made them; a wrong key gives noise."""
    if len(parameters) != 8:
        raise ValueError("the privacy parameters have not 8 octets")
    if priv is not Priv.DES:
        return _aes(key, boots, time, parameters).decryptor().update(encrypted)
    if len(encrypted) % 8:
        raise ValueError("what DES encrypted is no multiple of 8 octets")
    return _des(key, parameters).decryptor().update(encrypted)


def _des(key: bytes, parameters: bytes) -> Cipher[CBC]:
    """Return DES as triple DES with three equal keys; the second half of the key changes the start."""
    start = bytes(a ^ b for a, b in zip(key[8:16], parameters, strict=True))
    return Cipher(TripleDES(bytes(islice(cycle(key[:8]), 24))), CBC(start))


def _aes(key: bytes, boots: int, time: int, parameters: bytes) -> Cipher[CFB]:
    start = (boots & 0xFFFF_FFFF).to_bytes(4, "big") + (time & 0xFFFF_FFFF).to_bytes(4, "big") + parameters
    return Cipher(AES(key), CFB(start))
