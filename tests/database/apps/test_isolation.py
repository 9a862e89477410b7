"""A test sees nothing that another one left in the process."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from facho.config import current


@pytest.mark.parametrize("_time", [1, 2])
def test_nothing_is_cached_by_an_earlier_test(_time: int) -> None:
    assert cache.get("isolation") is None
    cache.set("isolation", "left")


def test_requests_are_counted_in_memory_also_by_the_first_test_of_a_process() -> None:
    # Only here: it must not matter who imports it first.
    from facho.web import throttles

    assert throttles._shared(current()).__dict__["_path"] == ":memory:"
