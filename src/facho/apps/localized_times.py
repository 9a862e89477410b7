"""Write moments in the one date format of the language: `2026-11-18 14:05:09`, or `18/11/2026 14:05:09`.

They are in the active time zone. The formats are those of `web.components.formats`, which Django uses too.
"""

from __future__ import annotations

from datetime import datetime

from django.utils.formats import date_format
from django.utils.timezone import localtime


def clock(at: datetime) -> str:
    return f"{localtime(at):%H:%M:%S}"


def minute_clock(at: datetime) -> str:
    return f"{localtime(at):%H:%M}"


def date(at: datetime) -> str:
    return str(date_format(localtime(at), "SHORT_DATE_FORMAT"))


def date_and_time(at: datetime) -> str:
    return f"{date(at)} {clock(at)}"


def date_and_minute(at: datetime) -> str:
    return f"{date(at)} {minute_clock(at)}"
