"""`facho bench history`, so small that only its working is seen and not its speed."""

from __future__ import annotations

import pytest

from bench.history import Work, _Month
from facho.apps.history.models import HistoryFrame, HistoryHour

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("brands")
def test_it_keeps_a_day_and_reads_it_back(capsys: pytest.CaptureFixture[str]) -> None:
    """That what it read was whole, it sees itself."""
    work = Work(onus=70, days=1, ports=1, reads=2)
    result = _Month(work, lambda _note: None).measure()
    told = result.as_json()
    # All but the last hour, which is open, on two ports.
    assert told["rows"] == 23 * 2
    # And a day of traffic.
    assert HistoryHour.objects.count() == (23 + 24) * 2
    assert HistoryFrame.objects.count() == 12 + 12
    assert told["samples"] <= 23 * 12 * 4 * 70
    assert result.rates.samples == 24 * 12 * 2 * 70
    assert result.month.ms.count == 2
    for name in (
        "bytes_per_sample",
        "onu_month_ms_p95",
        "append_cpu_ms_p50",
        "bytes_per_rate_sample",
        "append_rates_ms_p50",
        "close_ms_p50",
        "port_day_ms_p50",
    ):
        assert told[name] > 0
    result.print()
    assert "bytes a sample" in capsys.readouterr().out
