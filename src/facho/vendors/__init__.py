"""What the tables of each brand mean: YAML profiles, and the decoder that works by them. No Django.

    profile = builtin()["huawei"]
    decoder = Decoder(profile)                       # once
    decoded = decoder.decode({oid: column.rows for oid, column in ...})
    decoded.onus.keys[0], decoded.onus.columns["onu_rx_dbm"][0]
    decoded.problems.first                           # rows that could not be read

What is where: `vocabulary` has the facts, units and states; `schema` is a profile as data;
`profile_entries` and the `parse` modules read it from YAML; `index`, `octets` and `rules` turn indices and
values into places and facts, `unread` turns both back; `decode` does it for whole tables; `detect` finds the
profile of a device; `library` has the built-in profiles.
"""

from facho.vendors.decode import Decoded, Decoder, Facts, Problem, UnreadableRows
from facho.vendors.detect import Detection, Identity, detect, probes
from facho.vendors.errors import BadProfile
from facho.vendors.index import Key
from facho.vendors.library import GENERIC, builtin, load, with_extra
from facho.vendors.rules import Said
from facho.vendors.schema import Profile
from facho.vendors.vocabulary import Entity

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
    "Said",
    "UnreadableRows",
    "builtin",
    "detect",
    "load",
    "probes",
    "with_extra",
]
