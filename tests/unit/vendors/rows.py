"""Raw rows as the client gives them, written by hand."""

from facho.sim import snmprec
from facho.snmp import Oid
from facho.snmp.values import Value, encode_arcs
from facho.vendors import Facts, Key, Profile
from tests.unit.vendors.recordings import RECORDINGS

Table = dict[str, dict[bytes, Value]]
Cells = dict[tuple[int, ...] | int, Value]


def column(rows: Cells) -> dict[bytes, Value]:
    return {encode_arcs((index,) if isinstance(index, int) else index): raw for index, raw in rows.items()}


def under(base: str, columns: dict[str, Cells]) -> Table:
    """Columns by the end of their OID."""
    return {f"{base}.{end}": column(rows) for end, rows in columns.items()}


def by_key(facts: Facts) -> dict[Key, dict[str, object]]:
    return {key: facts.row(number) for number, key in enumerate(facts.keys)}


def recorded(profile: Profile, file: str) -> Table:
    records = snmprec.read(RECORDINGS / file)
    return rows_of(profile, {record.oid.content: record.value for record in records})


def rows_of(profile: Profile, values: dict[bytes, Value]) -> Table:
    found: Table = {}
    for oid in profile.oids():
        prefix = Oid.parse(oid).content
        found[oid] = {
            content[len(prefix) :]: value
            for content, value in values.items()
            if content.startswith(prefix) and len(content) > len(prefix)
        }
    return found
