"""Why a run was late, in the words of who reads it: on a page, or in a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

from facho.core.delay import Why

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

WHY: Final[Mapping[str, Text]] = {
    Why.OLT_BUSY: _("OLT busy"),
    Why.POLLERS_BUSY: _("all pollers busy"),
    Why.OLT_UNREACHABLE: _("OLT unreachable"),
    Why.SUSPENDED: _("suspended"),
    Why.RETRYING: _("retrying"),
    Why.CPU_HIGH: _("CPU of the OLT too high"),
    Why.MAINTENANCE: _("maintenance"),
    Why.ENGINE_STOPPED: _("the engine was stopped"),
    Why.STILL_RUNNING: _("the previous run had not ended"),
}
