"""How many ONUs of an OLT are online, offline and why, weak, and absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from facho.apps.discovery.models import Onu, Presence
from facho.apps.discovery.selectors import WEAK
from facho.core.onu_states import DownCause, OnuStatus, down_cause, onu_status


@dataclass(frozen=True, slots=True)
class OnuCounts:
    """The present ONUs by their normalised states, as they were collected last, and the absent ones."""

    online: int
    starting: int
    offline: int
    unknown: int
    weak: int
    absent: int
    # The offline ones, the most frequent cause first.
    causes: Mapping[str, int]

    @property
    def present(self) -> int:
        return self.online + self.starting + self.offline + self.unknown


def count_onus(olt_id: int) -> OnuCounts:
    """Count them in one query, by the rules of `onus_in_state`, `onus_down_by` and `weak_onus`."""
    rows = Onu.objects.filter(olt=olt_id).order_by().values_list("presence", "state", "down_cause")
    statuses, causes = Counter[OnuStatus](), Counter[str]()
    weak = absent = 0
    counted = rows.annotate(count=Count("id"), weak=Count("id", filter=WEAK))
    for presence, state, reported, count, below in counted:
        if presence != Presence.PRESENT:
            absent += count
            continue
        weak += below
        statuses[status := onu_status(state)] += count
        if status is OnuStatus.OFFLINE:
            causes[down_cause(state, reported) or DownCause.UNKNOWN.value] += count
    return OnuCounts(
        online=statuses[OnuStatus.ONLINE],
        starting=statuses[OnuStatus.STARTING],
        offline=statuses[OnuStatus.OFFLINE],
        unknown=statuses[OnuStatus.UNKNOWN],
        weak=weak,
        absent=absent,
        causes=dict(causes.most_common()),
    )
