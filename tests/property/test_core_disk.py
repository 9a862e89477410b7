"""Whatever was measured, a forecast can be told."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from facho.core.disk import Sample, forecast

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)

sizes = st.integers(0, 10**15)
samples = st.builds(
    Sample,
    st.timedeltas(timedelta(days=-1), timedelta(days=10)).map(lambda ago: NOW - ago),
    sizes,
    st.none() | sizes,
)


@given(st.lists(samples, max_size=30), sizes, st.none() | sizes)
def test_growth_and_days_are_never_negative(before: list[Sample], size: int, free: int | None) -> None:
    found = forecast(before, Sample(NOW, size, free))
    assert found.per_day is None or found.per_day >= 0
    assert found.days_left is None or found.days_left >= 0
    assert timedelta() <= found.span <= timedelta(days=7)


@given(st.lists(samples, max_size=30))
def test_the_order_of_the_samples_does_not_matter(before: list[Sample]) -> None:
    assert forecast(before, Sample(NOW, 1)) == forecast(before[::-1], Sample(NOW, 1))


@given(st.integers(6, 168), st.integers(0, 10**9), st.integers(1, 10**12))
def test_a_straight_line_is_found_exactly(hours: int, per_hour: int, free: int) -> None:
    line = [
        Sample(NOW - timedelta(hours=ago), 10**12 - ago * per_hour, free + ago * per_hour)
        for ago in range(hours, -1, -12)
    ]
    now = Sample(NOW, 10**12, free)
    found = forecast(line, now)
    assert found.per_day is not None
    assert abs(found.per_day - 24 * per_hour) < 1
    assert (found.days_left is None) == (per_hour == 0)
