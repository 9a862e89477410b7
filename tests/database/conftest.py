from collections.abc import Iterator

import pytest
from django.utils import translation

from tests.database.setting_up import know_brands


@pytest.fixture
def brands(db: None) -> Iterator[None]:
    """The OID table of the profiles; and sentences in the language that the tests are written in."""
    with translation.override("en"):
        know_brands()
        yield
