"""The raw rows of a simulated OLT, without a network between."""

from facho.sim.families.family import Family
from facho.sim.model import OltModel, Shape
from facho.snmp.values import Value

NOW = 1_790_000_000.0


def model(shape: Shape, number: int = 3) -> OltModel:
    return OltModel(number, shape, seed=7, born=NOW - 60, name=f"olt-{number}")


def rows(family: Family, olt: OltModel) -> dict[str, dict[bytes, Value]]:
    spaces = family.spaces(olt.shape)
    return {
        column.oid: {
            suffix: column.value(olt, row, NOW) for row, suffix in enumerate(spaces[column.index].suffixes)
        }
        for column in family.columns
    }
