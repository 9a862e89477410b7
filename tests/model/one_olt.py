"""The engine at work on one OLT, event by event: each job takes as long as the test says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from facho.apps.executions.models import Execution
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.engine.process.leases import StartedExecution
from tests.engine_day import Day


class OneOlt:
    def __init__(
        self, day: Day, takes: Mapping[str, float], coordinate: timedelta = timedelta(minutes=5)
    ) -> None:
        self.day = day
        self.coordinate = coordinate
        self.takes = takes
        self._running: tuple[StartedExecution, datetime, float] | None = None
        self._coordinate_at = day.now

    def until(self, end: datetime) -> None:
        while (at := min(end, self._next())) < end or at <= self.day.now < end:
            self.day.now = max(self.day.now, at)
            self._happen()
        self.day.now = end

    def _next(self) -> datetime:
        slots = SnmpJobHost.objects.filter(next_run_at__isnull=False).values_list("next_run_at", flat=True)
        ends = [self._running[1]] if self._running else []
        return min([each for each in slots if each is not None] + ends + [self._coordinate_at])

    def _happen(self) -> None:
        if self._running and self._running[1] <= self.day.now:
            started, _, seconds = self._running
            self.day.end([started], seconds=seconds)
            self._running = None
        self.day.queue()
        for started in self.day.begin():
            job = Execution.objects.values_list("node__job__name", flat=True).get(id=started.execution_id)
            seconds = self.takes[str(job)]
            self._running = started, self.day.now + timedelta(seconds=seconds), seconds
        if self._coordinate_at <= self.day.now:
            self.day.coordinate()
            self._coordinate_at = self.day.now + self.coordinate
