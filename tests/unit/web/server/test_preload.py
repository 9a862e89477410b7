"""What a web process has loaded before its first request."""

from __future__ import annotations

import gc
import sys

import pytest
from django.template import engines

from facho.web.server import preload


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would change the process of the tests."""
    called: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: called.append("freeze"))
    monkeypatch.setattr(sys, "setswitchinterval", lambda _seconds: called.append("switch"))
    return called


def test_views_and_templates_are_loaded_and_then_left_out_of_collections(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def load(name: str) -> None:
        loaded.append(name)
        calls.append("template")

    monkeypatch.setattr(preload, "get_template", load)
    preload.prepare_process()
    assert {"dashboard/page.html", "components/page.html", "admin/base.html"} <= set(loaded)
    assert (calls[0], calls[1], calls[-1]) == ("switch", "template", "freeze")
    assert "facho.web.dashboard.views" in sys.modules


def test_all_of_our_templates_can_be_loaded() -> None:
    names = list(preload._template_names())
    assert len(names) > 100
    for name in names:
        engines["django"].get_template(name)
