"""ONUs by how their serial, their MAC or their description begins: by indexes alone, for there are a million.

What is in the middle of them would need an index of another kind; its place is here.
"""

from __future__ import annotations

import re
from typing import Any, Final

from django.db import connection
from django.db.models import Func, Q, TextField, Value
from django.db.models.functions import Lower
from django.db.models.lookups import GreaterThanOrEqual, LessThan

# Of a description: a whole one may be longer than what an index holds.
DESCRIPTION_INDEXED: Final = 40
# It comes after all that begins with what is before it.
_LAST: Final = "\U0010ffff"
_SEPARATORS: Final = re.compile(r"[-:.\s]")
_HEX: Final = re.compile(r"[0-9a-f]{1,12}")


class Beginning(Func):
    """In small letters and in the order of bytes, in which all that begins alike is together."""

    # In numbers, not in parameters: only so do databases see that an index has it.
    template = f'lower(substr(%(expressions)s, 1, {DESCRIPTION_INDEXED})) COLLATE "C"'
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **rest: Any) -> Any:
        """It has no other order."""
        return self.as_sql(compiler, connection, template=self.template.removesuffix(' COLLATE "C"'), **rest)


def beginning_with(text: str) -> Q:
    """In capitals or not, a serial and a MAC with whatever between their letters."""
    letters = _SEPARATORS.sub("", text)
    found = _description(text[:DESCRIPTION_INDEXED])
    for serial in dict.fromkeys((letters, letters.upper())):
        found |= _column("serial", serial)
    if _HEX.fullmatch(letters.lower()):
        found |= _column("mac", ":".join(re.findall("..?", letters.lower())))
    return found


def _description(text: str) -> Q:
    first, last = Lower(Value(text)), Lower(Value(text + _LAST))
    return Q(GreaterThanOrEqual(Beginning("description"), first), LessThan(Beginning("description"), last))


def _column(name: str, text: str) -> Q:
    if connection.vendor == "sqlite":
        # Its LIKE would look at every row.
        return Q(**{f"{name}__gte": text, f"{name}__lt": text + _LAST})
    return Q(**{f"{name}__startswith": text})
