"""Names of the states of ONUs, ports and boards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import pgettext_lazy

from facho.apps.discovery.models import Onu, Presence
from facho.apps.localized_numbers import localized
from facho.core.onu_states import DownCause, OnuStatus, down_cause, onu_status
from facho.web.components.state_band import Stretch

if TYPE_CHECKING:
    # It becomes a string in the reader's language.
    from django.utils.functional import _StrPromise as Text

ONU_STATES: Final[Mapping[str, Text]] = {
    "online": pgettext_lazy("ONU", "online"),
    "starting": pgettext_lazy("ONU", "starting"),
    "los": pgettext_lazy("ONU", "no light"),
    "power_off": pgettext_lazy("ONU", "no power"),
    "auth_failed": pgettext_lazy("ONU", "authentication failed"),
    "disabled": pgettext_lazy("ONU", "disabled"),
    "offline": pgettext_lazy("ONU", "offline"),
    "unknown": pgettext_lazy("ONU", "unknown"),
}
# The normalised states, by which people filter.
ONU_STATUSES: Final[Mapping[str, Text]] = {each.value: ONU_STATES[each.value] for each in OnuStatus}
DOWN_CAUSES: Final[Mapping[str, Text]] = {
    **ONU_STATES,
    "signal": pgettext_lazy("ONU", "signal failure"),
    "reboot": pgettext_lazy("ONU", "restarted"),
    "rogue": pgettext_lazy("ONU", "rogue ONU"),
    "optics_off": pgettext_lazy("ONU", "transmitter off"),
    "other": pgettext_lazy("ONU", "other cause"),
}
# Those by which people filter.
CAUSE_CHOICES: Final[Mapping[str, Text]] = {each.value: DOWN_CAUSES[each.value] for each in DownCause}
LINK_STATES: Final[Mapping[str, Text]] = {
    "up": pgettext_lazy("port", "up"),
    "down": pgettext_lazy("port", "down"),
    "unknown": pgettext_lazy("port", "unknown"),
}
PORT_CAUSES: Final[Mapping[str, Text]] = {
    "los": pgettext_lazy("port", "no light"),
    "no_module": pgettext_lazy("port", "no optical module"),
    "module_fault": pgettext_lazy("port", "faulty optical module"),
    "disabled": pgettext_lazy("port", "disabled"),
    "other": pgettext_lazy("port", "other cause"),
    "unknown": pgettext_lazy("port", "unknown"),
}
BOARD_STATES: Final[Mapping[str, Text]] = {
    "ok": pgettext_lazy("board", "in service"),
    "standby": pgettext_lazy("board", "standby"),
    "starting": pgettext_lazy("board", "starting"),
    "fault": pgettext_lazy("board", "faulty"),
    "mismatch": pgettext_lazy("board", "not the configured board"),
    "disabled": pgettext_lazy("board", "disabled"),
    "offline": pgettext_lazy("board", "offline"),
    "unknown": pgettext_lazy("board", "unknown"),
}


def cause_name(cause: str) -> str:
    """Return the name of a cause; a power stays a power: `-24.5 dBm`."""
    return str(DOWN_CAUSES.get(cause) or localized(cause))


def onu_state_name(state: str) -> str:
    """Return the name of the normalised state for a reported one."""
    return str(ONU_STATES[onu_status(state)])


def onu_cause_name(onu: Onu) -> str:
    """Return why an ONU is offline; empty while it is not, and when that is not known."""
    return cause_name(down_cause(onu.state, onu.down_cause)) if onu.presence == Presence.PRESENT else ""


def stretch_name(stretch: Stretch) -> str:
    """Return a name such as `offline: no power`."""
    if stretch.state == Presence.ABSENT:
        return str(Presence.ABSENT.label)
    name = str(ONU_STATES[stretch.state])
    return f"{name}: {cause_name(stretch.cause)}" if stretch.cause else name
