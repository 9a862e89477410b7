"""Fills the database of a server with what its pages show: `python sample.py` with the server's environment.

Times are around the moment at which it runs, as those of a living system would be.
"""

import math
import sys
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink  # noqa: E402
from facho.apps.discovery.models import Collected, Onu, OnuEvent, PortOutage  # noqa: E402
from facho.apps.execution_coordinator.models import (  # noqa: E402
    CoordinatorLog,
    CoordinatorState,
    ExecutionPlan,
    OltConfiguration,
    QuotaTracker,
    QuotaViolation,
    TaskForecast,
)
from facho.apps.executions.models import Attempt, Execution, SkippedSlots, State, Trigger  # noqa: E402
from facho.apps.history.models import Subject  # noqa: E402
from facho.apps.history.store import append_frame, insert_past_frames, make_frame, milliseconds  # noqa: E402
from facho.apps.hosts.credentials import Credentials  # noqa: E402
from facho.apps.hosts.models import Brand, Oid, Olt, OltModel  # noqa: E402
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost, SnmpJobOid  # noqa: E402
from facho.apps.traffic.store import KnownTraffic, traffic_row, upsert_traffic  # noqa: E402
from facho.apps.zabbix_pollers.models import Poller, PollerStats, PollerStatus, Worker  # noqa: E402
from facho.core.changes import Device, OltState, Task, encode_state, fingerprint  # noqa: E402
from facho.core.quota import hour_of, running_hour  # noqa: E402
from facho.core.rates import Drops  # noqa: E402
from facho.core.traffic import TOTAL_NUMBER, TopRate, TrafficTotal  # noqa: E402
from facho.engine.commands.users import add_user  # noqa: E402

PASSWORD = "a-long-password-7"
NOW = timezone.now()


def ago(seconds: float) -> Any:
    return NOW - timedelta(seconds=seconds)


def people() -> None:
    User.objects.create_superuser("admin", password=PASSWORD)
    for role in ("viewer", "operator"):
        add_user(role, role, PASSWORD)


def olts() -> list[Olt]:
    huawei = Brand.objects.get_or_create(name="huawei", defaults={"title": "Huawei"})[0]
    model = OltModel.objects.get_or_create(brand=huawei, name="MA5800-X7")[0]
    names = ("Centro-01", "Norte-02", "Sur-03", "Puerto-04", "Cerro-con-un-nombre-bastante-largo-05")
    found = []
    for number, name in enumerate(names, 1):
        olt = Olt(name=name, brand=huawei, model=model, address=f"10.0.0.{number}", site="Antofagasta")
        olt.credentials = Credentials(community="sample-community")
        olt.reachable = True
        found.append(olt)
    found[3].reachable, found[3].unreachable_since = False, ago(4000)
    found[3].suspended_reason, found[3].suspended_at = "no answer from 10.0.0.4:161", ago(3900)
    found[3].next_probe_at = NOW + timedelta(minutes=20)
    for olt in found:
        olt.save()
    return found


def jobs(olts: list[Olt]) -> list[SnmpJob]:
    brand = olts[0].brand
    oid = Oid.objects.create(brand=brand, name="own column", oid="1.3.6.1.4.1.99999.1.1", provides="plan")
    specs = (("Discovery Huawei", "discovery", 600, 90), ("Optics Huawei", "get", 300, 40))
    found = []
    for name, kind, interval, priority in specs:
        job = SnmpJob.objects.create(
            name=name, brand=brand, kind=kind, interval_s=interval, priority=priority, task_type=kind,
            facts=["onu_rx_dbm"] if kind == "get" else [],
        )  # fmt: skip
        found.append(job)
        for number, olt in enumerate(olts):
            SnmpJobHost.objects.create(
                job=job, olt=olt, next_run_at=NOW + timedelta(seconds=30 * number + 20)
            )
    SnmpJobOid.objects.create(job=found[1], oid=oid)
    return found


def execution(job: SnmpJob, olt: Olt, state: State, **values: Any) -> Execution:
    node = SnmpJobHost.objects.get(job=job, olt=olt)
    slot = values.pop("slot", ago(60))
    base = {"trigger": Trigger.SCHEDULE, "slot": slot, "not_before": slot, "queued_at": slot}
    return Execution.objects.create(node=node, olt=olt, state=state, **{**base, **values})


def executions(olts: list[Olt], jobs: list[SnmpJob]) -> None:
    discovery, optics = jobs
    running = execution(discovery, olts[0], State.RUNNING, slot=ago(45), started_at=ago(44), attempt=1)
    execution(optics, olts[0], State.WAITING, slot=ago(40))
    execution(optics, olts[1], State.WAITING, slot=ago(200), not_before=NOW + timedelta(minutes=3), attempt=1)
    execution(optics, olts[2], State.WAITING, slot=ago(3), run_now=True, trigger=Trigger.RUN_NOW)
    for number in range(1, 13):
        ended(jobs[number % 2], olts[number % 5], number, running)
    SkippedSlots.objects.create(
        node=SnmpJobHost.objects.get(job=optics, olt=olts[3]),
        olt=olts[3],
        first_slot=ago(3000),
        last_slot=ago(600),
        count=9,
        why="suspended",
        detail="no answer",
    )


def ended(job: SnmpJob, olt: Olt, number: int, blocker: Execution) -> None:
    slot = ago(300 * number)
    late = number % 4 == 1
    failed = number % 5 == 3
    started = slot + timedelta(seconds=72.4 if late else 0.8)
    done = execution(
        job,
        olt,
        State.FAILED if failed else State.SUCCESS,
        slot=slot,
        started_at=started,
        ended_at=started + timedelta(seconds=7.5 * number),
        delay_ms=72400 if late else 800,
        why_late="olt_busy" if late else "",
        blocked_by=blocker if late else None,
        counts={} if failed else {"rows": 4096 * number, "onus": 512 * number},
        error="time-out: no answer to 3 requests after 1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3" if failed else "",
        load={} if failed else {"requests": 90 * number, "timeouts": 0},
        parts=[part(job, number, failed=failed)],
        attempt=1,
        worker="host-a:4711",
    )
    Attempt.objects.create(
        execution=done, number=1, started_at=started, ended_at=done.ended_at, error=done.error
    )


def part(job: SnmpJob, number: int, *, failed: bool) -> dict[str, Any]:
    found = {"job": job.name, "kind": job.kind, "task_type": job.task_type, "seconds": 7.5 * number}
    if failed:
        return {**found, "state": "failed", "rows": 0, "error": "time-out: no answer to 3 requests"}
    return {
        **found,
        "state": "success",
        "rows": 4096 * number,
        "onus_asked": 512 * number,
        "onus_unanswered": 3,
    }


def onus(olts: list[Olt]) -> None:
    for number in range(40):
        Onu.objects.create(
            olt=olts[number % 3],
            address=f"0/1/{number % 8}/{number}",
            frame=0,
            slot=1,
            port=number % 8,
            onu_id=number,
            serial=f"HWTC{number:08X}",
            description=f"cliente {number}",
            state="online" if number % 7 else "los",
            down_cause="" if number % 7 else "los",
            onu_rx_dbm=-19.5 - number / 5,
            olt_rx_dbm=-21.0 - number / 5,
            optical_state="weak" if number > 37 else "",
            distance_m=1000 + number,
            temperature_c=44.0 + number % 9,
            first_seen=ago(86400),
            last_seen=ago(86400),
        )
    for datum in ("onu_rx_dbm", "olt_rx_dbm", "temperature_c", "state", "distance_m", "description"):
        for olt in olts[:3]:
            Collected.objects.create(olt=olt, datum=datum, collected_at=ago(120))


def events(olts: list[Olt]) -> None:
    onu = Onu.objects.get(serial="HWTC00000007")
    told = {"olt": olts[0], "onu": onu, "serial": onu.serial, "place": "0/1/7:7"}
    for kind, more in (
        ("new", {}),
        ("moved", {"before": "0/1/3:12"}),
        ("absent", {}),
        ("offline", {"cause": "power_off"}),
        ("online", {}),
    ):
        OnuEvent.objects.create(kind=kind, at=ago(900), **told, **more)
    for hours in range(2, 20, 3):
        went, back = 3600 * hours, 3600 * hours - 2400
        OnuEvent.objects.create(
            kind="offline", at=ago(went), happened_at=ago(went + 200), cause="los", **told
        )
        OnuEvent.objects.create(kind="online", at=ago(back), happened_at=ago(back + 200), **told)
    OnuEvent.objects.create(kind="falling", at=ago(9000), **told)
    powers(onu)
    waiting = "HWTC0000BEEF"
    OnuEvent.objects.create(kind="unprovisioned", olt=olts[1], at=ago(60), serial=waiting, place="0/1/4")
    Unprovisioned.objects.create(
        olt=olts[1], identity=waiting, serial=waiting, place="0/1/4", frame=0, slot=1, port=4,
        model="EG8145V5", first_seen=ago(60), last_seen=ago(60),
    )  # fmt: skip


def powers(onu: Onu) -> None:
    """A day, every ten minutes; it falls by 4 dB two hours and a half before now."""
    for number in range(144, 0, -1):
        fall = 4.0 if number < 15 else 0.0
        said = {
            "onu_rx_dbm": [-20.2 - fall - number % 5 / 10],
            "olt_rx_dbm": [-22.8 - fall - number % 7 / 10],
            "temperature_c": [44.0 + 3 * math.sin(number / 23)],
        }
        append_frame(onu.olt_id, ago(600 * number), "onu", [onu.pk], said)
    now = {
        "state": "online",
        "onu_rx_dbm": -24.3,
        "olt_rx_dbm": -26.9,
        "optical_state": "falling",
        "temperature_c": 44.1,
    }
    Onu.objects.filter(pk=onu.pk).update(**now, down_cause="", rx_usual_dbm=-20.4, rx_usual_of="onu_rx_dbm")


def chassis(olts: list[Olt]) -> None:
    for port in range(8):
        PonPort.objects.create(
            olt=olts[0], place=f"0/1/{port}", frame=0, slot=1, port=port, name=f"GPON 0/1/{port}",
            technology="gpon", state="down" if port == 5 else "up", tx_dbm=None if port == 5 else 4.2,
            temperature_c=41.0, voltage_v=3.27, bias_ma=14.0, onus_told=64, updated_at=ago(300),
        )  # fmt: skip
    hardware(olts[0])


def hardware(olt: Olt) -> None:
    """A usual OLT: six boards, two fans, two power supplies and four uplinks, with a day of numbers."""
    versions: dict[str, Any] = {
        "sw_version": "MA5800V100R019C10",
        "hw_version": "H901MABR",
        "serial": "2102351ABC",
    }
    load: dict[str, Any] = {"cpu_pct": 34.0, "memory_pct": 51.0, "temperature_c": 39.0, "power_w": 412.0}
    hardware_part(olt, "olt", None, name="MA5800-X7", state="", **versions, **load)
    boards = {1: "H805GPFD", 2: "H805GPFD", 3: "H901GPHF", 4: "H901GPHF", 8: "H901MPLB", 9: "H801SCUN"}
    for slot, name in boards.items():
        load = {"cpu_pct": 88.0 if slot == 9 else 18.0 + slot, "memory_pct": 40.0 + slot}
        load |= {"temperature_c": 46.0 + slot, "power_w": 31.5}
        versions = {"sw_version": "612(2019-11-6)", "hw_version": "VER.B", "serial": f"02106{slot}"}
        hardware_part(olt, "board", slot, name=name, **versions, **load)
    for slot in (0, 1):
        hardware_part(olt, "fan", slot, speed_rpm=4200.0 + 100 * slot, speed_pct=55.0)
    hardware_part(olt, "psu", 0, name="H801PDVA", voltage_v=-53.4)
    hardware_part(olt, "psu", 1, name="H801PDVA", state="offline")
    for port in range(4):
        uplink(olt, port)


def hardware_part(olt: Olt, kind: str, slot: int | None, *, state: str = "ok", **columns: Any) -> None:
    row = OltHealth.objects.create(
        olt=olt, part=kind if slot is None else f"{kind} 0/{slot}", kind=kind, slot=slot, state=state,
        frame=None if slot is None else 0, updated_at=ago(300), **columns,
    )  # fmt: skip
    numbers = {fact: value for fact, value in columns.items() if isinstance(value, float)}
    a_day_of(olt, Subject.PART, row.pk, numbers)


def uplink(olt: Olt, port: int) -> None:
    up = port != 2
    optics = {"tx_dbm": -2.1 - port / 10, "rx_dbm": -6.4 - port, "temperature_c": 39.0 + port}
    row = Uplink.objects.create(
        olt=olt, place=f"0/9/{port}", name=f"ethernet0/9/{port}", state="up" if up else "down",
        description=("to the core", "to the core, second way", "", "video headend")[port],
        admin_state="enabled", speed_mbps=10_000 if up else 0, updated_at=ago(120), **(optics if up else {}),
    )  # fmt: skip
    faults = dict.fromkeys(("out_errors_s", "in_discards_s", "out_discards_s"), 0.0)
    faults["in_errors_s"] = 0.4 if port == 1 else 0.0
    if up:
        a_day_of(olt, Subject.UPLINK, row.pk, optics | faults)


def a_day_of(olt: Olt, subject: Subject, number: int, numbers: dict[str, float]) -> None:
    """Every ten minutes; in the middle of the day nothing was collected for two hours."""
    for step in range(144, -1, -1):
        if not 60 < step < 72:
            waves = 1 + 0.2 * math.sin(step / 23 + number) + step % 5 / 100
            values = {fact: [value * waves] for fact, value in numbers.items()}
            append_frame(olt.pk, ago(600 * step + 30), subject, [number], values)


def an_olt(olt: Olt, jobs: list[SnmpJob]) -> None:
    """What the page of an OLT shows besides: a day of load, a plan, an outage, a day of optics."""
    Olt.objects.filter(id=olt.id).update(
        learned={"varbinds": 24, "in_flight": 4, "most_varbinds": 60}, uptime_s=9_000_000, cpu_pct=34.0,
        cpu_read_at=ago(300),
        version="MA5800V100R019C10", lacks={"1.3.6.1.4.1.2011.6.128.1.1.2.51.1.6": NOW.isoformat()},
    )  # fmt: skip
    for number in range(1, 24):
        at, load = ago(3600 * number), {"requests": 900 + 37 * number, "seconds": 300 + 9.0 * number}
        parts = [
            {"node": 1, "job": jobs[0].name, "state": "success", "seconds": 8.4, "rows": 512},
            {"node": 2, "job": jobs[1].name, "state": "failed", "seconds": 3.1, "error": "no answer"},
        ]
        load |= {"timeouts": 3 if number in (5, 6) else 0}
        times = {"slot": at, "started_at": at, "ended_at": at + timedelta(seconds=12)}
        execution(jobs[0], olt, State.SUCCESS, delay_ms=900, load=load, parts=parts, **times)
    hour = running_hour(NOW, timezone.get_default_timezone())
    ExecutionPlan.objects.create(
        olt=olt, period_start=hour.start, period_end=hour.end, load_p50_min=38.5, load_p95_min=44.0,
        total_tasks=18, lost_slots=1, created_at=NOW, updated_at=NOW, signature="s",
    )  # fmt: skip
    TaskForecast.objects.create(olt=olt, task_type="discovery", samples=312, error_pct=7.4, updated_at=NOW)
    PortOutage.objects.create(
        olt=olt, place="0/1/5", began_at=ago(1500), cause="fibre_cut", onus_affected=24, onus_known=31
    )
    port = PonPort.objects.get(olt=olt, place="0/1/3")
    for number in range(56):
        onu = Onu(olt=olt, address=f"0/1/3/{100 + number}", frame=0, slot=1, port=3, onu_id=100 + number)
        onu.serial, onu.description = f"HWTC{0xA000 + number:08X}", f"Cliente {number}, Calle Prat 12{number}"
        onu.state, onu.onu_rx_dbm = "online", -17.5 - number % 13 + number / 40
        onu.first_seen, onu.last_seen, onu.distance_m = ago(9e6), ago(86400 * number), 300 + 41 * number
        onu.save()
    for step in range(48):
        numbers = {"tx_dbm": [4.2 + step % 5 / 20], "temperature_c": [41.0 + step % 9], "onus_online": [50.0]}
        append_frame(olt.id, ago(1800 * (48 - step)), Subject.PORT, [port.id], numbers)


def week_of_traffic(olt: Olt) -> None:
    """Five minutes apart: busy in the evening, more on Sunday, and one night without any collection."""
    # It is behind another OLT, whose ports are not collected.
    onu = Onu.objects.get(serial="HWTC00000007")
    onus = list(Onu.objects.filter(olt=olt).values_list("id", flat=True)[:24])
    ports = list(PonPort.objects.filter(olt=olt).order_by("port").values_list("id", flat=True))
    uplinks = list(Uplink.objects.filter(olt=olt, state="up").order_by("place").values_list("id", flat=True))
    frames, rows = [], []
    for step in range(7 * 288, -1, -1):
        at = ago(300 * step)
        if 700 < step < 760:
            continue
        many = load_at(at)
        shares: dict[tuple[int, Subject], dict[int, tuple[float, float]]] = {
            (onu.olt_id, Subject.ONU): {onu.pk: share_of(many, 0, 9e7)},
            (olt.pk, Subject.ONU): {number: share_of(many, place, 9e7) for place, number in enumerate(onus)},
            (olt.pk, Subject.PORT): {
                number: share_of(many, place, 9e8) for place, number in enumerate(ports)
            },
            (olt.pk, Subject.UPLINK): {
                number: share_of(many, place, 3e9)[::-1] for place, number in enumerate(uplinks)
            },
        }
        for (olt_id, subject), rates in shares.items():
            sent, received = RATES[subject]
            total = tuple(sum(each[side] for each in rates.values()) for side in (0, 1))
            numbers = dict(rates) if subject == Subject.ONU else {**rates, TOTAL_NUMBER: total}
            columns = {
                sent: [one for one, _ in numbers.values()],
                received: [two for _, two in numbers.values()],
            }
            frames += make_frame(olt_id, at, subject, list(numbers), columns)
            if step == 0:
                rows += [traffic_now(olt_id, subject, rates)]
    insert_past_frames(frames, NOW)
    upsert_traffic(rows)


RATES = {
    Subject.ONU: ("up_bps", "down_bps"),
    Subject.PORT: ("in_bps", "out_bps"),
    Subject.UPLINK: ("in_bps", "out_bps"),
}


def load_at(at: Any) -> float:
    """How busy the customers are, 0 to 1."""
    from_nine = abs(at.hour + at.minute / 60 - 21)
    evening = math.exp(-((min(from_nine, 24 - from_nine) / 4) ** 2))
    day = 0.35 + 0.15 * math.sin(at.hour / 24 * 2 * math.pi)
    return (0.15 + 0.6 * evening + 0.2 * day) * (1.2 if at.weekday() == 6 else 1) + math.sin(at.minute) / 30


def share_of(many: float, place: int, most: float) -> tuple[float, float]:
    down = most * many / (1 + place / 3)
    return down / 7, down


def traffic_now(olt_id: int, subject: Subject, rates: dict[int, tuple[float, float]]) -> Any:
    def total(at: Any, times: float) -> TrafficTotal:
        top = [TopRate(number, int(times * one), int(times * two)) for number, (one, two) in rates.items()]
        sums = (sum(each.in_bps or 0 for each in top), sum(each.out_bps or 0 for each in top))
        return TrafficTotal(milliseconds(at), *sums, top[:20])

    ports = {} if subject == Subject.ONU else {n: (int(a), int(b), "gpon") for n, (a, b) in rates.items()}
    peaks = [total(ago(3 * 3600), 1.4), total(NOW, 1)]
    drops = Drops(over=2, resets=48, gaps=130)
    known = KnownTraffic(300, NOW, total(NOW, 1), ports, peaks, drops)
    return traffic_row(olt_id, subject, known)


def engine(olts: list[Olt]) -> None:
    Worker.objects.create(
        name="host-a:4711", pollers=10, started_at=ago(9000), seen_at=NOW + timedelta(seconds=10)
    )
    node = SnmpJobHost.objects.filter(olt=olts[0]).first()
    for number in range(1, 11):
        busy = number == 1
        Poller.objects.create(
            poller_id=number,
            worker="host-a:4711",
            status=PollerStatus.BUSY if busy else PollerStatus.FREE,
            current_node=node if busy else None,
            heartbeat=NOW,
        )
    PollerStats.objects.create(
        timestamp=ago(20),
        total_pollers=10,
        free_pollers=2,
        busy_pollers=8,
        busy_percentage=81.5,
        queue_size=3,
        is_saturated=True,
        total_tasks_completed=1234,
        total_tasks_delayed=12,
    )
    for loop in ("scheduler", "coordinator"):
        CoordinatorState.objects.create(name=loop, value={}, updated_at=NOW + timedelta(hours=1))


BUSY = {"why": "olt_busy", "what": "Discovery Huawei", "count": 5, "lost_s": 1500}
SILENT = {"why": "failed", "what": "time-out: no answer to 3 requests", "count": 2, "lost_s": 1200}
SUSPENDED = {"why": "suspended", "what": "", "count": 1, "lost_s": 600}


def quotas(olts: list[Olt]) -> None:
    hour = hour_of(NOW, timezone.get_default_timezone())
    # Hours ago, OLT, task type; completed, failed, skipped, pending; status, reasons.
    for ago_h, olt, task, figures, status, reasons in (
        (0, 0, "discovery", (3, 0, 1, 2), "IN_PROGRESS", [{**BUSY, "count": 1, "lost_s": 600}]),
        (0, 0, "get_onu_rx_dbm", (4, 0, 5, 3), "IN_PROGRESS", [BUSY]),
        (0, 1, "get_onu_rx_dbm", (9, 1, 0, 2), "IN_PROGRESS", [{**SILENT, "count": 1, "lost_s": 300}]),
        (0, 4, "get_description_and_another_long_name", (12, 0, 0, 0), "COMPLETED", []),
        (0, 2, "discovery", (2, 0, 1, 0), "INTERRUPTED", []),
        (1, 0, "get_onu_rx_dbm", (7, 0, 5, 0), "QUOTA_NOT_MET", [BUSY]),
        (1, 1, "discovery", (5, 1, 0, 0), "PARTIAL", [SILENT]),
        (1, 3, "discovery", (0, 2, 4, 0), "FAILED", [SILENT, SUSPENDED]),
    ):
        start, end = hour.start - timedelta(hours=ago_h), hour.end - timedelta(hours=ago_h)
        names = ("completed", "failed", "skipped", "pending")
        QuotaTracker.objects.create(
            olt=olts[olt], task_type=task, period_start=start, period_end=end, status=status, reasons=reasons,
            closed_at=None if status == "IN_PROGRESS" else NOW, quota_required=sum(figures),
            **{f"quota_{name}": count for name, count in zip(names, figures, strict=True)},
            total_duration_ms=42_000 * figures[0], avg_duration_ms=42_000 if figures[0] else 0,
            created_at=start, updated_at=NOW,
        )  # fmt: skip


def violations(olts: list[Olt]) -> None:
    hour = hour_of(NOW, timezone.get_default_timezone())
    names = ("task_type", "required", "completed", "failed", "skipped", "percent", "severity", "reasons")
    busy: tuple[tuple[Any, ...], ...] = (
        ("discovery", 6, 6, 0, 0, 100.0, None, []),
        ("get_onu_rx_dbm", 12, 7, 0, 5, 58.3, "MEDIUM", [BUSY]),
    )
    silent: tuple[tuple[Any, ...], ...] = (
        ("discovery", 6, 0, 2, 4, 0.0, "CRITICAL", [SILENT, SUSPENDED]),
        ("get_description_and_another_long_name", 12, 5, 2, 5, 41.7, "HIGH", [BUSY, SILENT]),
    )
    for olt, severity, tasks in ((0, "MEDIUM", busy), (3, "CRITICAL", silent)):
        told = [dict(zip(names, task, strict=True)) for task in tasks]
        reasons = [reason for task in tasks for reason in task[-1]]
        QuotaViolation.objects.create(
            olt=olts[olt], severity=severity, report={"tasks": told, "reasons": reasons},
            period_start=hour.start - timedelta(hours=1), period_end=hour.start, created_at=ago(60),
            notified=olt == 0, notified_at=ago(50) if olt == 0 else None,
        )  # fmt: skip
    # An old one that nobody acknowledges.
    old = hour.start - timedelta(days=40)
    QuotaViolation.objects.create(
        olt=olts[1], severity="HIGH",
        report={"tasks": [dict(zip(names, silent[1], strict=True))], "reasons": [BUSY]},
        period_start=old, period_end=old + timedelta(hours=1), created_at=old + timedelta(hours=1),
    )  # fmt: skip


def logs(olts: list[Olt]) -> None:
    for olt, event, level, message, details in (
        (
            olts[0],
            "TASK_ADDED",
            "INFO",
            "tarea Optics Huawei agregada en Centro-01, cada 5 min",
            {"job": "Optics Huawei", "task_type": "get_onu_rx_dbm", "interval_s": 300},
        ),
        (olts[3], "OLT_SUSPENDED", "ERROR", "Puerto-04 suspendida: sin respuesta from 10.0.0.4:161", {}),
        (olts[0], "QUOTA_VIOLATION", "CRITICAL", "cuota no cumplida en Centro-01: get_onu_rx_dbm 7/12", {}),
        (None, "SATURATION_BEGINS", "WARNING", "pollers saturados: 81.5 % ocupados", {"queue_size": 3}),
    ):
        CoordinatorLog.objects.create(
            olt=olt, event_type=event, level=level, message=message, details=details, timestamp=ago(30)
        )
    device = Device(True, "Centro-01", "huawei", "", "10.0.0.1", 161, "2c", "Ñuñoa", None, None, None, None)
    task = Task(1, True, 300, 40, 2, "Optics Huawei", "get", "get", None, 3, 120, ("onu_rx_dbm",), ())
    state = encode_state(OltState(device, (task,)))
    OltConfiguration.objects.create(
        olt=olts[0], fingerprint=fingerprint(state), state=state, changed_at=ago(900)
    )


def fill() -> None:
    call_command("migrate", verbosity=0)
    people()
    made = olts()
    made_jobs = jobs(made)
    executions(made, made_jobs)
    onus(made)
    events(made)
    chassis(made)
    an_olt(made[0], made_jobs)
    week_of_traffic(made[0])
    engine(made)
    quotas(made)
    violations(made)
    logs(made)


if __name__ == "__main__":
    {"fill": fill, "people": people}[sys.argv[1]]()
