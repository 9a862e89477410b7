"""History of an ONU or a port: the parameters and the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.history.selectors import Series
from facho.apps.reason_words import reason_words
from facho.core.downsampling import DownsampledSpan, downsample
from facho.core.interval import BadInterval, parse_interval
from facho.web.api.filters import refuse_unknown

_DEFAULT_SPAN: Final = timedelta(hours=24)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Beyond these, converting the time zone would overflow.
_YEARS: Final = range(1971, 9999)

Read = Callable[[Sequence[str], datetime, datetime], Series]


class _Interval(serializers.CharField):
    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_interval(super().to_internal_value(data))
        except BadInterval as error:
            raise serializers.ValidationError(reason_words(error.reason)) from None


class _Moment(serializers.DateTimeField):
    def to_internal_value(self, value: Any) -> datetime:
        moment = super().to_internal_value(value)
        if moment.year not in _YEARS:
            self.fail("overflow")
        return moment


def _query_serializer(facts: Sequence[str]) -> serializers.Serializer[Any]:
    return inline_serializer(
        "HistoryQuestion",
        {
            "fact": serializers.MultipleChoiceField(choices=facts, required=False, help_text="default: all"),
            "from": _Moment(required=False, help_text="in ISO 8601; default: a day before `until`"),
            "until": _Moment(required=False, help_text="in ISO 8601; default: now"),
            "resolution": _Interval(required=False, help_text="such as 5m or 1h; default: every point"),
        },
    )


def _columns(what: str, **rest: Any) -> serializers.DictField:
    column = serializers.ListField(child=serializers.FloatField(allow_null=True))
    return serializers.DictField(child=column, help_text=what, **rest)


@cache
def _answer_serializer() -> serializers.Serializer[Any]:
    return inline_serializer(
        "History",
        {
            "from": serializers.DateTimeField(),
            "until": serializers.DateTimeField(),
            "resolution_s": serializers.FloatField(allow_null=True),
            "times": serializers.ListField(child=serializers.DateTimeField()),
            "values": _columns("by fact, one value for each time; means if there is a resolution"),
            "least": _columns("only with a resolution", required=False),
            "most": _columns("only with a resolution", required=False),
        },
    )


def history_schema(facts: Sequence[str]) -> Callable[[Any], Any]:
    """Return the OpenAPI decorator of an action that answers with the history of these facts."""
    return extend_schema(parameters=[_query_serializer(facts)], responses=_answer_serializer(), filters=False)


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    facts: Sequence[str]
    start: datetime
    end: datetime
    # None returns every point.
    resolution: timedelta | None

    @classmethod
    def parse(cls, request: Request, facts: Sequence[str], now: datetime) -> HistoryQuery:
        question = type(_query_serializer(facts))(data=request.query_params)
        refuse_unknown(request, question.fields)
        question.is_valid(raise_exception=True)
        given = question.validated_data
        end = given.get("until", now)
        start = given.get("from", end - _DEFAULT_SPAN)
        if start >= end:
            raise serializers.ValidationError({"from": [_("it must be before the end")]})
        named = [fact for fact in facts if fact in given.get("fact", ())]
        return cls(named or facts, start, end, given.get("resolution"))

    def span_of(self, at: datetime) -> datetime:
        """Return the start of the span of a time: a multiple of the resolution in every answer."""
        return at - (at - _EPOCH) % (self.resolution or timedelta.resolution)


def show_history(query: HistoryQuery, read: Read) -> Response:
    series = read(query.facts, query.start, query.end)
    found = _all_points(series) if query.resolution is None else _downsampled(series, query)
    resolution = None if query.resolution is None else query.resolution.total_seconds()
    return Response({"from": query.start, "until": query.end, "resolution_s": resolution, **found})


def _all_points(series: Series) -> dict[str, Any]:
    return {"times": series.moments(), "values": series.values}


def _downsampled(series: Series, query: HistoryQuery) -> dict[str, Any]:
    moments = series.moments()
    spans = {
        fact: downsample(zip(moments, values, strict=True), query.span_of)
        for fact, values in series.values.items()
    }
    # All facts have the same times, and so the same spans.
    times = [span.start for span in next(iter(spans.values()))]
    numbers: dict[str, Callable[[DownsampledSpan], float | None]] = {
        "values": lambda span: None if span.mean is None else round(span.mean, 3),
        "least": lambda span: span.least,
        "most": lambda span: span.most,
    }
    columns = {
        name: {fact: [number(span) for span in found] for fact, found in spans.items()}
        for name, number in numbers.items()
    }
    return {"times": times, **columns}
