"""What is written about tokens while they are used."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from facho.apps.access.models import ApiToken

_WORTH_A_WRITE: Final = timedelta(minutes=1)


def note_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at >= _WORTH_A_WRITE:
        long_ago = Q(last_used_at=None) | Q(last_used_at__lte=now - _WORTH_A_WRITE)
        ApiToken.objects.filter(long_ago, id=token.id).update(last_used_at=now)
