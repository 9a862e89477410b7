"""Static files as a browser gets them."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.one_database

SCRIPT = "/static/facho/live.js"


@pytest.mark.django_db
@pytest.mark.parametrize("wanted", ["bytes=0-9", "bytes=99999999-"])
def test_a_file_is_sent_whole_whatever_part_is_asked_for(client: Client, wanted: str) -> None:
    whole = client.get(SCRIPT)
    assert whole.status_code == 200
    assert len(whole.content) > 10
    part = client.get(SCRIPT, headers={"range": wanted})
    assert (part.status_code, part.content) == (200, whole.content)
