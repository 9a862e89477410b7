"""Limits of an OID, and so of a row's index, which is a part of one (RFC 2578, 3.5)."""

from __future__ import annotations

from typing import Final

MOST_ARCS: Final = 128
LARGEST_ARC: Final = 0xFFFF_FFFF
