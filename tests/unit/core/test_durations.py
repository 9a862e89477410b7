from datetime import timedelta

import pytest

from facho.core.durations import about, duration


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, "0.0 s"),
        (0.44, "0.4 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7800, "2 h 10 min"),
        (90000, "1 d 01 h"),
    ],
)
def test_a_length_of_time_reads_well(seconds: float, shown: str) -> None:
    assert duration(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (30, "30 s"),
        (150, "2 min 30 s"),
        (2400, "40 min"),
        (7200, "2 h"),
        (7800, "2 h 10 min"),
        (86400, "1 d"),
    ],
)
def test_a_length_of_time_in_a_sentence_has_no_second_unit_of_nothing(seconds: float, shown: str) -> None:
    assert about(timedelta(seconds=seconds)) == shown
