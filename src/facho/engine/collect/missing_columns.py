"""Which columns an OLT showed not to have, so that it need not be asked for them again.

SNMP cannot tell a table that is empty from one that is not there. So only what must have rows counts: what is
asked about ONUs that the OLT itself has just named, and its own ports, boards and health. Who waits to be
provisioned is mostly nobody, and is asked for always.
"""

from __future__ import annotations

from typing import Final

from facho.engine.collect.column_reader import Answers
from facho.engine.collect.questions import tables_of
from facho.engine.collect.work import Part
from facho.vendors import Decoded, Entity, Profile

DISCOVERY: Final = "discovery"
_ALWAYS_THERE: Final = frozenset({Entity.PORT, Entity.BOARD, Entity.FAN, Entity.OLT})
# One ONU may not know its own power. When so many do not, it is the OLT that has no such column.
ENOUGH: Final = 10


def lacking(part: Part, answers: Answers, decoded: Decoded, profile: Profile) -> frozenset[str]:
    """OIDs that were asked for. For a part that did not fail.

    Without what only serves to read the others: a get does not ask for names, and a walk that leaves them out
    would put every ONU somewhere else.
    """
    entities = {oid: {table.entity for table in tables} for oid, tables in tables_of(profile).items()}
    empty = {
        each: entities[each.read_as]
        for each in part.columns
        if not each.helps and entities.get(each.read_as) and not answers.rows.get(each.read_as)
    }
    if answers.onus_asked:
        if answers.lacking:
            return frozenset()
        sure = answers.onus_asked >= ENOUGH
        return frozenset(
            each.oid
            for each, of in empty.items()
            if Entity.ONU in of and (sure or each.read_as in answers.no_such_object)
        )
    known = _ALWAYS_THERE | ({Entity.ONU} if len(decoded.onus) else frozenset())
    return frozenset(each.oid for each, of in empty.items() if of <= known)


def tables_not_present(part: Part, lacks: frozenset[str], decoded: Decoded, profile: Profile) -> list[str]:
    """By name: those of which every column that was asked for is lacking. Of a discovery that found nobody,
    all: then there is nobody, or no table, and the OLT does not say which.
    """
    found_nobody = part.kind == DISCOVERY and not len(decoded.onus)
    there: dict[str, bool] = {}
    for column in part.columns:
        for table in tables_of(profile).get(column.read_as, ()):
            is_there = column.oid not in lacks and not found_nobody
            there[table.name] = there.get(table.name, False) or is_there
    return [name for name, is_there in there.items() if not is_there]
