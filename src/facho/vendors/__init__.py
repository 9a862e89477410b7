"""Vendor profiles in YAML, and the decoder of the tables that they describe. No Django.

    profile = builtin()["huawei"]
    decoder = Decoder(profile)                       # once
    decoded = decoder.decode({oid: column.rows for oid, column in ...})
    decoded.onus.keys[0], decoded.onus.columns["onu_rx_dbm"][0]
    decoded.problems.first                           # rows that could not be read

What is where: `facts` has the facts with their units and states; `schema` is a profile as data;
`profile_entries` and the `parse` modules read it from YAML; `index`, `raw_values` and `rules` decode indexes
and values, `encode` is their inverse; `decode` does whole tables; `detect` finds the profile of a device;
`library` has the profiles in force: the built-in ones, and those of the operator, which `own_profiles` reads.
"""

from facho.vendors.decode import Decoded, Decoder, Facts, Problem, UnreadableRows
from facho.vendors.detect import Detection, Identity, detect, find_interface, probes, searches
from facho.vendors.errors import BadProfile
from facho.vendors.facts import Entity
from facho.vendors.index import Key
from facho.vendors.library import (
    GENERIC,
    builtin,
    builtin_facts,
    current_library,
    known_facts,
    load,
    profile_of_family,
    profiles_in_use,
    with_extra,
)
from facho.vendors.rules import State
from facho.vendors.schema import Profile

__all__ = [
    "GENERIC",
    "BadProfile",
    "Decoded",
    "Decoder",
    "Detection",
    "Entity",
    "Facts",
    "Identity",
    "Key",
    "Problem",
    "Profile",
    "State",
    "UnreadableRows",
    "builtin",
    "builtin_facts",
    "current_library",
    "detect",
    "find_interface",
    "known_facts",
    "load",
    "probes",
    "profile_of_family",
    "profiles_in_use",
    "searches",
    "with_extra",
]
