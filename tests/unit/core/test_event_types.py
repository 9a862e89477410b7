"""How loud each event of the journal is."""

from __future__ import annotations

from facho.core.event_types import EventType, Level, level_of


def test_what_people_did_is_news_and_what_went_wrong_is_more() -> None:
    assert level_of(EventType.TASK_ADDED) == Level.INFO
    assert level_of(EventType.OLT_BACK) == Level.INFO
    assert level_of(EventType.EMERGENCY_REPLAN) == Level.WARNING
    assert level_of(EventType.OLT_SUSPENDED) == Level.ERROR
    assert level_of(EventType.QUOTA_VIOLATION) == Level.CRITICAL
