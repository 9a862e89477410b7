"""A recording that can be given away: customers' identities replaced, and still read by its profile.

The same text, serial or address gets the same stand-in everywhere in one recording, and another one in the
next: stand-ins are drawn by chance, so that there is nothing to look them up in.

What is where: `columns` says what each column holds, `looks` judges what no profile knows, `stand_ins` has
what is put in place of what, `rows` goes through a recording.
"""

from facho.vendors.masking.rows import Row, mask

__all__ = ["Row", "mask"]
