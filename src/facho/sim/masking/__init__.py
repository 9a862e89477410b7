"""A recording that can be given away: customers' identities replaced, and still read by its profile.

The same text, serial or address gets the same stand-in everywhere in one recording, and another one in the
next: stand-ins are drawn at random, so that they cannot be looked up.

`columns` says what each column holds, `heuristics` classifies values of columns that no profile knows,
`stand_ins` chooses the replacements, `recording` applies them to all rows.
"""

from facho.sim.masking.recording import mask_recording

__all__ = ["mask_recording"]
