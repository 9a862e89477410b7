"""Who a device says that it is."""

from facho.engine.collect.identify import identity_of
from facho.snmp import Oid


def test_a_description_that_ends_as_in_c_is_the_text_alone() -> None:
    """PostgreSQL would refuse the rest, and a pattern would not find the end."""
    values = {Oid.parse("1.3.6.1.2.1.1.1.0"): b"FD1608S\0"}
    assert identity_of(values).descr == "FD1608S"


def test_of_a_description_without_end_the_beginning_is_taken() -> None:
    """Patterns of profiles are compared with it, on the loop that asks all OLTs."""
    values = {Oid.parse("1.3.6.1.2.1.1.1.0"): b"x" * 60_000}
    assert identity_of(values).descr == "x" * 1024
