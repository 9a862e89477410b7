"""Numbers over time, of an ONU or a port: what may be asked, and how it is answered."""

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
from facho.core.downsampling import DownsampledSpan, downsample
from facho.core.interval import BadInterval, parse_interval
from facho.web.api.filters import refuse_unknown

_USUALLY: Final = timedelta(hours=24)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Beyond these, a time zone would lead out of what a time can be.
_YEARS: Final = range(1971, 9999)

Read = Callable[[Sequence[str], datetime, datetime], Series]


class _Interval(serializers.CharField):
    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_interval(super().to_internal_value(data))
        except BadInterval:
            raise serializers.ValidationError(_("use a whole number and s, m, h or d, such as 5m")) from None


class _Moment(serializers.DateTimeField):
    def to_internal_value(self, value: Any) -> datetime:
        moment = super().to_internal_value(value)
        if moment.year not in _YEARS:
            self.fail("overflow")
        return moment


def _question(facts: Sequence[str]) -> serializers.Serializer[Any]:
    return inline_serializer(
        "HistoryQuestion",
        {
            "fact": serializers.MultipleChoiceField(choices=facts, required=False, help_text="else all"),
            "from": _Moment(required=False, help_text="in ISO 8601; else a day before the end"),
            "until": _Moment(required=False, help_text="in ISO 8601; else now"),
            "resolution": _Interval(required=False, help_text="as 5m or 1h; else every point"),
        },
    )


def _columns(what: str, **rest: Any) -> serializers.DictField:
    column = serializers.ListField(child=serializers.FloatField(allow_null=True))
    return serializers.DictField(child=column, help_text=what, **rest)


@cache
def _answer() -> serializers.Serializer[Any]:
    return inline_serializer(
        "History",
        {
            "from": serializers.DateTimeField(),
            "until": serializers.DateTimeField(),
            "resolution_s": serializers.FloatField(allow_null=True),
            "times": serializers.ListField(child=serializers.DateTimeField()),
            "values": _columns("by fact, one for each time; with a resolution, means"),
            "least": _columns("only with a resolution", required=False),
            "most": _columns("only with a resolution", required=False),
        },
    )


def described(facts: Sequence[str]) -> Callable[[Any], Any]:
    """For the action that answers with these."""
    return extend_schema(parameters=[_question(facts)], responses=_answer(), filters=False)


@dataclass(frozen=True, slots=True)
class Asked:
    facts: Sequence[str]
    start: datetime
    end: datetime
    # None for every point.
    resolution: timedelta | None

    @classmethod
    def by(cls, request: Request, facts: Sequence[str], now: datetime) -> Asked:
        question = type(_question(facts))(data=request.query_params)
        refuse_unknown(request, question.fields)
        question.is_valid(raise_exception=True)
        given = question.validated_data
        end = given.get("until", now)
        start = given.get("from", end - _USUALLY)
        if start >= end:
            raise serializers.ValidationError({"from": [_("it must be before the end")]})
        named = [fact for fact in facts if fact in given.get("fact", ())]
        return cls(named or facts, start, end, given.get("resolution"))

    def span_of(self, at: datetime) -> datetime:
        """Spans begin at whole multiples of the resolution, so that two questions have the same ones."""
        return at - (at - _EPOCH) % (self.resolution or timedelta.resolution)


def answer(asked: Asked, read: Read) -> Response:
    series = read(asked.facts, asked.start, asked.end)
    found = _every(series) if asked.resolution is None else _condensed(series, asked)
    resolution = None if asked.resolution is None else asked.resolution.total_seconds()
    return Response({"from": asked.start, "until": asked.end, "resolution_s": resolution, **found})


def _every(series: Series) -> dict[str, Any]:
    return {"times": series.moments(), "values": series.values}


def _condensed(series: Series, asked: Asked) -> dict[str, Any]:
    moments = series.moments()
    spans = {
        fact: downsample(zip(moments, values, strict=True), asked.span_of)
        for fact, values in series.values.items()
    }
    # All facts share their times, and so their spans.
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
