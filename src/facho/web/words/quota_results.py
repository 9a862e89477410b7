"""Results of quotas as pages show them: fewer than the statuses that are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.execution_coordinator.models import QuotaStatus

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text


class QuotaResult(NamedTuple):
    """What an operator tells apart. How far a quota was met or missed is in its bar."""

    key: str
    name: Text
    colour: str
    statuses: tuple[QuotaStatus, ...]


RESULTS: Final = (
    QuotaResult("open", _("in progress"), "info", (QuotaStatus.IN_PROGRESS,)),
    QuotaResult(
        "met", pgettext_lazy("quota", "met"), "success", (QuotaStatus.COMPLETED, QuotaStatus.PARTIAL)
    ),
    QuotaResult(
        "missed", pgettext_lazy("quota", "not met"), "danger", (QuotaStatus.QUOTA_NOT_MET, QuotaStatus.FAILED)
    ),
    QuotaResult("excused", pgettext_lazy("quota", "not counted"), "default", (QuotaStatus.INTERRUPTED,)),
)
RESULT_OF: Final[Mapping[str, QuotaResult]] = {
    status: result for result in RESULTS for status in result.statuses
}
