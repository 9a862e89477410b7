"""The texts of messages: severity, numbers and links as their readers need them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.urls import resolve

from facho.config import BadSettings, Config, read_config
from facho.core.notifications import NotificationKind, NotifiedEvent, page_path
from facho.core.severity import Severity
from facho.engine.events.notification_texts import compose_message
from tests.factories import at

pytestmark = pytest.mark.one_database
CONFIG = Config(language="en")
ONU = {"name": "ONU-1", "place": "0/1/3/7", "power_dbm": -29.44, "usual_dbm": -20.0}
WEAK = NotifiedEvent(
    NotificationKind.OPTICAL_WEAK,
    Severity.MEDIUM,
    at("10:00"),
    7,
    "olt-7",
    details={"port": "0/1/3", "count": 1, "onus": [ONU]},
)


def test_a_message_names_its_severity_and_writes_numbers_as_its_reader_does() -> None:
    english = compose_message(WEAK, "en", CONFIG).body
    assert "-29.4 dBm, usually -20.0 dBm" in english
    assert "Severity: medium" in english
    spanish = compose_message(WEAK, "es", CONFIG).body
    assert "-29,4 dBm" in spanish
    assert "-20,0 dBm" in spanish
    assert "Severidad: media" in spanish


def test_the_end_of_something_has_no_severity() -> None:
    over = replace(WEAK, kind=NotificationKind.OPTICAL_RECOVERED)
    assert "Severity" not in compose_message(over, "en", CONFIG).body


def test_a_message_links_to_its_page_if_the_pages_have_an_address() -> None:
    assert "http" not in compose_message(WEAK, "en", CONFIG).body
    config = replace(CONFIG, public_url="https://facho.example.net/")
    assert compose_message(WEAK, "en", config).body.endswith(
        "\nhttps://facho.example.net/olts/7/ports/at/0/1/3/"
    )
    for kind in NotificationKind:
        assert resolve(page_path(replace(WEAK, kind=kind))).url_name
    assert resolve(page_path(replace(WEAK, olt_id=None))).url_name == "dashboard"


def test_an_address_of_the_pages_that_is_none_is_refused() -> None:
    with pytest.raises(BadSettings, match="FACHO_PUBLIC_URL"):
        read_config({"FACHO_PUBLIC_URL": "facho.example.net"})
