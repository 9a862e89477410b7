"""How often something is tried that has endless cases: other ones in each run, more where there is time."""

import os

from hypothesis import settings

# As `make bench` has it. Each run of the checks thinks of other cases, so that they add up all the same.
_LONG = "TESTS_LONG" in os.environ


def often(examples: int) -> settings:
    return settings(max_examples=examples if _LONG else examples // 4)
