"""The severity of a missed quota, whatever the numbers."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from facho.core.quota import Status, status_of
from facho.core.severity import Severity, severity_of, worst_severity

ORDER = [None, *Severity]
COUNTS = st.integers(1, 2000)


@given(COUNTS, st.data())
def test_less_done_is_never_less_bad(required: int, data: st.DataObject) -> None:
    less, more = sorted(data.draw(st.tuples(st.integers(0, required), st.integers(0, required))))
    assert ORDER.index(severity_of(required, less)) >= ORDER.index(severity_of(required, more))


@given(COUNTS, st.data())
def test_the_share_alone_decides(required: int, data: st.DataObject) -> None:
    completed = data.draw(st.integers(0, required))
    share = Fraction(completed, required)
    bounds = [
        (share < Fraction(25, 100), Severity.CRITICAL),
        (share <= Fraction(50, 100), Severity.HIGH),
        (share <= Fraction(65, 100), Severity.MEDIUM),
        (share < Fraction(80, 100), Severity.LOW),
    ]
    assert severity_of(required, completed) == next((severity for yes, severity in bounds if yes), None)


@given(COUNTS, st.data())
def test_there_is_a_severity_exactly_when_the_quota_was_not_kept(required: int, data: st.DataObject) -> None:
    completed = data.draw(st.integers(0, required))
    missed = status_of(required, completed) in (Status.QUOTA_NOT_MET, Status.FAILED)
    assert missed == (severity_of(required, completed) is not None)


@given(st.lists(st.sampled_from(ORDER)))
def test_nothing_is_worse_than_the_worst(severities: list[Severity | None]) -> None:
    found = worst_severity(severities)
    assert found in [*severities, None]
    assert all(ORDER.index(each) <= ORDER.index(found) for each in severities)
