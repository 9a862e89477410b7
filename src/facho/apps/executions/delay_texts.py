"""The texts of why an execution was late or a slot was skipped, for pages and logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

from facho.core.delay import Why

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

DELAY_TEXTS: Final[Mapping[str, Text]] = {
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
