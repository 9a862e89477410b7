from datetime import UTC, datetime, timedelta

from facho.demo.story import LOGGED, PAST, make_story

NOW = datetime(2026, 11, 18, 19, 31, 7, tzinfo=UTC)


def test_all_of_it_lies_in_the_past_and_is_over() -> None:
    story = make_story(NOW)
    assert story.start == NOW - PAST
    times = [(each.since, each.until) for each in story.outages]
    times += [(each.since, each.until) for each in story.cuts]
    assert len(times) == 4
    assert all(story.start < since < until < NOW for since, until in times)


def test_a_short_past_has_what_happened_in_it() -> None:
    story = make_story(NOW, timedelta(days=3))
    assert [each.olt for each in story.outages] == ["demo-fiberhome-1"]
    assert story.cuts == ()


def test_outages_are_not_older_than_the_log_that_reports_them() -> None:
    assert all(each.since > NOW - LOGGED for each in make_story(NOW).outages)


def test_an_outage_lies_within_an_hour() -> None:
    for each in make_story(NOW).outages:
        assert each.since.replace(minute=0, second=0) == each.until.replace(minute=0, second=0)
