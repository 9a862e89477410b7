"""What an OLT reports of itself: its boards, fans, power supplies and uplinks, now and over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from facho.apps import localized_numbers
from facho.apps.chassis.models import OltHealth, PartKind, Uplink
from facho.apps.chassis.selectors import (
    PartRow,
    UplinkRow,
    health_of,
    part_row,
    uplink_rates,
    uplink_row,
    uplinks_of,
)
from facho.apps.discovery.selectors import collected_at, parts_collected_at
from facho.apps.history.facts import ENTITIES, counter_of_rate, history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import Series, hourly_series, several_series, subject_series
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.core.frames import Samples
from facho.vendors import Entity, known_facts
from facho.vendors.facts import full_fact_name
from facho.web.components.charts import Chart, Period, Values, line_chart
from facho.web.components.sparklines import Sparkline, sparkline
from facho.web.components.traffic_charts import traffic_chart
from facho.web.words.facts import DatedFact, fact_name, fact_unit, fact_value, named_facts

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

# The periods that one can choose.
HOURS: Final = (24, 7 * 24, 30 * 24)
_DAY: Final = timedelta(hours=24)
# A collection of this very moment is in the period.
_INCLUDED: Final = timedelta(seconds=1)
_TRAFFIC: Final = ("in_bps", "out_bps")
_VERSIONS: Final[Mapping[str, str]] = {"sw_version": "SW", "hw_version": "HW"}
_ERRORS: Final = ("in_errors_s", "out_errors_s")
_DISCARDS: Final = ("in_discards_s", "out_discards_s")
# What the table of uplinks shows; the page of an uplink shows all. Of several facts it shows the sum.
_LINK_COLUMNS: Final[Sequence[tuple[Text | None, tuple[str, ...]]]] = (
    (None, ("in_bps",)),
    (None, ("out_bps",)),
    (None, ("rx_dbm",)),
    (None, ("tx_dbm",)),
    (None, ("temperature_c",)),
    (_("Errors"), _ERRORS),
    (_("Discards"), _DISCARDS),
)
# Facts that are drawn together in one chart, and its title.
_TOGETHER: Final[Sequence[tuple[Text, tuple[str, ...]]]] = (
    (_("Optical power"), ("tx_dbm", "rx_dbm")),
    (_("Errors"), _ERRORS),
    (_("Discards"), _DISCARDS),
)
# An OLT reports its speed in Mbit/s.
_MBIT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A number as it is now, and how it went; both empty where it is not known."""

    name: str
    text: str
    spark: Sparkline | None
    # The range of the period, for a tooltip.
    span: str
    # Errors or discards happen now.
    is_trouble: bool
    # When it was last collected, which may be long before others of its line, and how often.
    at: datetime | None
    every: timedelta | None

    @property
    def is_empty(self) -> bool:
        return not self.text and self.spark is None


@dataclass(frozen=True, slots=True)
class HardwareLine:
    """A part or an uplink in a table."""

    id: int
    # What it is, and what tells it apart from others of its kind.
    name: str
    place: str
    state: str
    # Versions and facts without a column of their own.
    facts: Sequence[tuple[str, str]]
    # As many as the table has columns.
    cells: Sequence[NumberCell]


@dataclass(frozen=True, slots=True)
class HardwareTable:
    """Only the columns are shown of which some line has a value."""

    columns: Sequence[str]
    lines: Sequence[HardwareLine]
    collected: datetime | None
    every: timedelta | None


@dataclass(frozen=True, slots=True)
class Hardware:
    now: datetime
    olt_id: int
    hours: int
    # The health of the OLT, by which one knows whether its values arrive.
    condition: str
    boards: HardwareTable
    uplinks: HardwareTable
    fans: HardwareTable
    psus: HardwareTable


class _Dates(NamedTuple):
    """When each fact of an OLT was last collected, and how often that is."""

    collected: Mapping[str, datetime]
    intervals: Intervals

    def of(self, entity: Entity, fact: str) -> tuple[datetime | None, timedelta | None]:
        """Return the date and the interval of a fact; of a rate those of its counter."""
        subject = Subject.UPLINK if entity is Entity.UPLINK else Subject.PART
        name = full_fact_name(entity, counter_of_rate(fact, subject) or fact)
        return self.collected.get(name), self.intervals.of(name)


@dataclass(frozen=True, slots=True)
class HardwarePage:
    """The page of one part or uplink."""

    now: datetime
    olt: Any
    hours: int
    name: str
    state: str
    facts: Sequence[DatedFact]
    charts: Sequence[Chart]
    collected: datetime | None
    every: timedelta | None


def part_name(row: PartRow) -> str:
    match row.kind:
        case PartKind.OLT:
            return "OLT"
        case PartKind.BOARD:
            return gettext("board %(place)s") % {"place": row.place}
        case PartKind.FAN:
            return gettext("fan %(place)s") % {"place": row.place}
        case _:
            return gettext("power supply %(place)s") % {"place": row.place}


def read_hardware(olt_id: int, condition: str, hours: int, now: datetime) -> Hardware:
    """Read the tab of an OLT in a fixed number of queries."""
    period = Period(now - timedelta(hours=hours), now, get_current_timezone())
    health, links = health_of(olt_id), uplinks_of(olt_id)
    boards = [*([health.olt] if health.olt else ()), *health.boards]
    has_parts = bool(boards or health.fans or health.psus)
    rates = uplink_rates(olt_id, now) if links else {}
    parts = _PeriodSeries(_read_series(olt_id, Subject.PART, period) if has_parts else {}, period)
    uplinks = _PeriodSeries(_read_series(olt_id, Subject.UPLINK, period) if links else {}, period)
    dates = _read_dates(olt_id)
    latest, every = parts_collected_at(dates.collected), dates.intervals

    part_columns = [(None, (fact,)) for fact in history_facts(Subject.PART)]

    def part_table(rows: Sequence[PartRow], *kinds: PartKind) -> HardwareTable:
        collected = max((latest[kind] for kind in kinds if kind in latest), default=None)
        items, states = [_part_item(row) for row in rows], f"{kinds[-1].value}.state"
        return _table(items, part_columns, parts, dates, (collected, every.of(states)))

    return Hardware(
        now,
        olt_id,
        hours,
        condition,
        part_table(boards, PartKind.OLT, PartKind.BOARD),
        _table(
            [_link_item(row, rates.get(row.id, {})) for row in links],
            _LINK_COLUMNS,
            uplinks,
            dates,
            (latest.get(Entity.UPLINK), every.of("uplink.state")),
        ),
        part_table(health.fans, PartKind.FAN),
        part_table(health.psus, PartKind.PSU),
    )


def _read_dates(olt_id: int) -> _Dates:
    return _Dates(collected_at(olt_id), collection_intervals([olt_id]).get(olt_id, Intervals()))


class _PeriodSeries(NamedTuple):
    """The numbers of a period, by the ids of parts or uplinks."""

    series: Mapping[int, Series]
    period: Period


def _read_series(olt_id: int, subject: Subject, period: Period) -> dict[int, Series]:
    """Read all numbers of a day; of more, one of each hour."""
    read = several_series if period.end - period.start <= _DAY else hourly_series
    return read(olt_id, subject, history_facts(subject), period.start, period.end + _INCLUDED)


@dataclass(frozen=True, slots=True)
class _Item:
    """A part or an uplink, as a table and its own page show it."""

    id: int
    entity: Entity
    name: str
    place: str
    state: str
    facts: Sequence[tuple[str, str]]
    # Those of now, by fact.
    numbers: Mapping[str, float | None]


def _part_item(row: PartRow) -> _Item:
    entity = Entity(row.kind)
    numbers = {fact: _number(row, fact) for fact in history_facts(Subject.PART)}
    return _Item(
        row.id, entity, row.name or "", part_name(row), row.state or "", _facts_of(row, entity), numbers
    )


def _link_item(row: UplinkRow, rates: Mapping[str, float]) -> _Item:
    numbers = {fact: rates.get(fact, _number(row, fact)) for fact in history_facts(Subject.UPLINK)}
    speed = ("", _speed(row.speed_mbps))
    others = _facts_of(row, Entity.UPLINK)
    facts = [(label, text) for label, text in (speed, *others) if text]
    return _Item(row.id, Entity.UPLINK, row.description or "", row.label, row.state or "", facts, numbers)


def _number(row: Any, fact: str) -> float | None:
    """Return a number from its column, or from the facts without one."""
    found: float | None = getattr(row, fact, row.facts.get(fact))
    return found


def _facts_of(row: PartRow | UplinkRow, entity: Entity) -> list[tuple[str, str]]:
    """Return versions and facts without a column; numbers with a history are shown with that."""
    versions = [
        (short, str(value)) for fact, short in _VERSIONS.items() if (value := getattr(row, fact, None))
    ]
    drawn = history_facts(Subject.UPLINK if entity is Entity.UPLINK else Subject.PART)
    others = {fact: value for fact, value in row.facts.items() if fact not in drawn}
    return [*versions, *named_facts(others, entity)]


def _speed(mbps: int | None) -> str:
    """Return the speed of an uplink; one that is down says 0."""
    return localized_numbers.bit_rate(mbps * _MBIT) if mbps else ""


def _table(
    items: Sequence[_Item],
    columns: Sequence[tuple[Text | None, tuple[str, ...]]],
    drawn: _PeriodSeries,
    dates: _Dates,
    collected: tuple[datetime | None, timedelta | None],
) -> HardwareTable:
    rows = [[_cell(item, title, facts, drawn, dates) for title, facts in columns] for item in items]
    shown = [place for place in range(len(columns)) if not all(cells[place].is_empty for cells in rows)]
    lines = [
        HardwareLine(
            item.id, item.name, item.place, item.state, item.facts, [cells[place] for place in shown]
        )
        for item, cells in zip(items, rows, strict=True)
    ]
    return HardwareTable([rows[0][place].name for place in shown] if rows else [], lines, *collected)


def _cell(
    item: _Item, title: Text | None, facts: tuple[str, ...], drawn: _PeriodSeries, dates: _Dates
) -> NumberCell:
    entity, series = _entity_with(facts[0], item.entity), drawn.series.get(item.id)
    value = _sum(item.numbers.get(fact) for fact in facts)
    spark = None
    if series is not None:
        values = map(_sum, zip(*(series.values[fact] for fact in facts), strict=True))
        spark = sparkline(series.times, list(values), drawn.period)
    ends = () if spark is None else (fact_value(facts[0], each, entity) for each in (spark.low, spark.high))
    name = fact_name(facts[0], entity) if title is None else str(title)
    is_trouble = facts in (_ERRORS, _DISCARDS) and bool(value)
    text, dated = fact_value(facts[0], value, entity), dates.of(item.entity, facts[0])
    return NumberCell(name, text, spark, " … ".join(ends), is_trouble, *dated)


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of those that are known, None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _entity_with(fact: str, entity: Entity) -> Entity:
    """Return an entity that has the fact: a column is about all kinds of parts, and named once."""
    known = known_facts()
    return next(each for each in (entity, *ENTITIES[Subject.PART]) if fact in known[each])


def read_part_page(part: OltHealth, hours: int, now: datetime) -> HardwarePage:
    item = _part_item(part_row(part))
    named = [
        (gettext("Model") if part.kind == PartKind.OLT else gettext("Type"), item.name),
        (fact_name("serial", Entity.BOARD), part.serial),
    ]
    return _page(part, Subject.PART, replace(item, facts=[*named, *item.facts]), hours, now)


def read_uplink_page(link: Uplink, hours: int, now: datetime) -> HardwarePage:
    row, entity = uplink_row(link), Entity.UPLINK
    item = _link_item(row, uplink_rates(link.olt_id, now).get(row.id, {}))
    named = [
        (gettext("Index"), row.uplink if row.uplink != row.label else ""),
        (fact_name("description", entity), row.description or ""),
        (fact_name("speed_mbps", entity), _speed(row.speed_mbps)),
        (fact_name("admin_state", entity), fact_value("admin_state", row.admin_state, entity)),
    ]
    item = replace(
        item,
        place=gettext("Uplink %(place)s") % {"place": item.place},
        facts=[*named, *_facts_of(row, entity)],
    )
    return _page(link, Subject.UPLINK, item, hours, now)


def _page(
    found: OltHealth | Uplink, subject: Subject, item: _Item, hours: int, now: datetime
) -> HardwarePage:
    period = Period(now - timedelta(hours=hours), now, get_current_timezone())
    facts = [fact for fact in history_facts(subject) if fact in known_facts()[item.entity]]
    series = subject_series(
        found.olt_id, found.pk, facts, period.start, period.end + _INCLUDED, subject=subject
    )
    dates = _read_dates(found.olt_id)
    others = [DatedFact(label, text) for label, text in item.facts]
    numbers = [
        DatedFact(
            fact_name(fact, item.entity),
            fact_value(fact, item.numbers.get(fact), item.entity),
            *dates.of(item.entity, fact),
        )
        for fact in facts
    ]
    return HardwarePage(
        now,
        found.olt,
        hours,
        item.place,
        item.state,
        [each for each in (*others, *numbers) if each.text],
        [chart for chart in _charts(series, item.entity, facts, period) if not chart.is_empty],
        parts_collected_at(dates.collected).get(item.entity.value),
        dates.intervals.of(f"{item.entity.value}.state"),
    )


def _charts(series: Series, entity: Entity, facts: Sequence[str], period: Period) -> list[Chart]:
    charts: list[Chart] = []
    if set(_TRAFFIC) <= set(facts):
        received, sent = (Samples(series.times, series.values[fact]) for fact in _TRAFFIC)
        charts.append(traffic_chart(gettext("Traffic"), received, sent, period))
    for title, together in _TOGETHER:
        if set(together) <= set(facts):
            charts.append(_chart(str(title), series, together, entity, period))
    drawn = {*_TRAFFIC, *(fact for _title, together in _TOGETHER for fact in together)}
    alone = [fact for fact in facts if fact not in drawn]
    return charts + [_chart(fact_name(fact, entity), series, [fact], entity, period) for fact in alone]


def _chart(title: str, series: Series, facts: Sequence[str], entity: Entity, period: Period) -> Chart:
    """Draw facts of one unit; a line that is alone needs no name."""
    lines = [
        Values(fact_name(fact, entity) if len(facts) > 1 else "", series.times, series.values[fact])
        for fact in facts
        if any(value is not None for value in series.values[fact])
    ]
    chart = line_chart(title, fact_unit(facts[0], entity), lines, period)
    # As the tables have them: of few errors a second, the usual decimals would show none.
    named = [
        line if line.last is None else replace(line, figures=[("", fact_value(facts[0], line.last, entity))])
        for line in chart.lines
    ]
    return replace(chart, lines=named)
