"""OLTs that attack who asks them cost the others nothing: one process asks both for a minute."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

from facho.sim.fleet import FleetConfig
from facho.sim.presets import HOSTILE
from facho.sim.process import FleetProcess
from tests.faults.engines import Engine, Facho, set_up
from tests.waiting import wait_until

HEALTHY: Final = 20
ONUS: Final = 100
# Twenty discoveries take a second or two; on a machine that does other things besides, several.
INTERVAL_S: Final = 20
# A minute of them.
SLOTS: Final = 3
DISCOVERY: Final = ("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", f"{INTERVAL_S}s")
SETTINGS: Final = {
    # One OLT that keeps a poller busy must not make others wait: that is what pollers are for.
    "FACHO_POLLERS": str(HEALTHY + len(HOSTILE)),
    # No honest answer is late because this machine is.
    "FACHO_REQUEST_TIMEOUT": "5",
    "FACHO_LEASE": "30",
    "FACHO_LEASE_RENEW": "2",
    "FACHO_WORKER_SEEN_WITHIN": "60",
    # Each attack comes again and again.
    "FACHO_MAX_ATTEMPTS": "1000",
    "FACHO_ANSWER_OCTETS": "2000000",
}
# Octets by which the engine may grow in a minute of attacks.
GROWTH: Final = 96 * 1024 * 1024

RUNS = """
SELECT min(runs) FROM (
    SELECT count(e.id) AS runs FROM olts o
    LEFT JOIN snmp_executions e ON e.olt_id = o.id AND e.state = 'SUCCESS'
    WHERE o.name LIKE 'olt-%' GROUP BY o.id
) AS each_olt
"""
FAILED = """
SELECT o.name, e.state, e.error FROM snmp_executions e JOIN olts o ON o.id = e.olt_id
WHERE o.name LIKE 'olt-%' AND (e.state IN ('FAILED', 'ABORTED') OR e.error <> '')
"""
STORED = "SELECT count(*) FROM onu_data d JOIN olts o ON o.id = d.olt_id WHERE o.name LIKE 'olt-%'"
SKIPPED = """
SELECT o.name, s.count, s.why, s.detail FROM skipped_slots s JOIN olts o ON o.id = s.olt_id
WHERE o.name LIKE 'olt-%'
"""


def resident_bytes(engine: Engine) -> int:
    pages = Path(f"/proc/{engine.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def test_twenty_olts_stay_on_time_and_memory_flat_beside_hostile_ones(tmp_path: Path) -> None:
    facho = Facho(tmp_path, f"sqlite:///{tmp_path / 'facho.db'}", SETTINGS)
    with (
        FleetProcess(FleetConfig(olts=HEALTHY, onus=ONUS)) as healthy,
        FleetProcess(FleetConfig(olts=len(HOSTILE), onus=ONUS)) as hostile,
    ):
        for number, preset in enumerate(HOSTILE.values()):
            hostile.set_scenario(preset.scenario, number)
        set_up(facho, healthy, [DISCOVERY], hostile=hostile)
        with facho.engine() as engine:
            facho.wait_for(engine)
            wait_until(lambda: all(olt.answers for olt in hostile.report().olts), what=facho.picture)
            wait_until(lambda: facho.one(RUNS), 600, what=facho.picture)
            before, runs = resident_bytes(engine), facho.one(RUNS)
            wait_until(lambda: facho.one(RUNS) >= runs + SLOTS, 600, what=facho.picture)
            grown = resident_bytes(engine) - before
            engine.stop()
        assert facho.rows(FAILED) == []
        assert facho.rows(SKIPPED) == []
        assert facho.one(STORED) == HEALTHY * ONUS
        assert grown < GROWTH
