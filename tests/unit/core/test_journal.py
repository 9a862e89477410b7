"""How loud each event of the journal is."""

from __future__ import annotations

from facho.core.journal import Event, Level, level_of


def test_what_people_did_is_news_and_what_went_wrong_is_more() -> None:
    assert level_of(Event.TASK_ADDED) == Level.INFO
    assert level_of(Event.OLT_BACK) == Level.INFO
    assert level_of(Event.EMERGENCY_REPLAN) == Level.WARNING
    assert level_of(Event.OLT_SUSPENDED) == Level.ERROR
    assert level_of(Event.QUOTA_VIOLATION) == Level.CRITICAL
