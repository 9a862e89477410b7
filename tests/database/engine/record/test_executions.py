"""Whole executions against a simulated OLT, with the time in the test's hands."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import TextField, Value

from facho.apps.discovery.models import Collected, Onu, OnuEvent, Presence
from facho.apps.executions.models import Execution, SkippedSlots, State, Trigger
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import columns_for
from facho.apps.hosts.store import sync_profiles
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.core.reasons import in_english
from facho.engine.commands.olts import OltChanges, update_olt
from facho.engine.commands.runs import run_now
from facho.engine.record import onus
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.probes import AT_ONCE, claim_due_probes, run_probes
from facho.engine.schedule.runner import Runtime, SnmpTask, run_execution
from facho.engine.schedule.slots import queue_due_slots
from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.scenario import Scenario
from facho.vendors import builtin
from tests.factories import at, make_job, make_node, make_olt
from tests.virtual_fleet import VirtualFleet

pytestmark = pytest.mark.django_db(transaction=True)

ONUS = 1000
CONFIG = replace(Config(), request_timeout=timedelta(seconds=0.15), request_retries=1)
PLAIN = PRESETS["plain"].scenario


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=ONUS)) as fleet:
        yield fleet


class Site:
    """One OLT, one poller, and a clock that the test sets."""

    def __init__(self, fleet: VirtualFleet) -> None:
        self._fleet = fleet
        self._runtime = Runtime(CONFIG, "here", fleet.snmp, lambda: self.now)
        self.now = at("10:00")
        self.olt = make_olt("north", port=fleet.addresses[0][1])
        fleet.set_scenario(PLAIN)

    def behave(self, scenario: Scenario) -> None:
        self._fleet.set_scenario(scenario)

    def limit(self, **settings: int) -> None:
        self._runtime = replace(self._runtime, config=replace(CONFIG, **settings))  # type: ignore[arg-type]

    @property
    def requests(self) -> int:
        return self._fleet.report().olts[0].requests

    def node(self, job: SnmpJob, **columns: Any) -> SnmpJobHost:
        return make_node(self.olt, job, **columns)

    def pass_to(self, clock: str) -> None:
        self.now = at(clock)

    def step(self) -> list[Execution]:
        """Everything that can be done now: due slots queued, claimed and run, one after the other."""
        register_worker("here", 1, self.now)
        queue_due_slots(self.now, CONFIG)
        done: list[int] = []
        while claimed := claim_executions(self.now, CONFIG):
            for execution_id in claimed:
                run_execution(execution_id, self._runtime)
            done += claimed
        return [Execution.objects.get(id=each) for each in done]

    def probe(self) -> list[bool]:
        due = claim_due_probes(self.now, CONFIG)
        return run_probes(
            due,
            SnmpTask(self._runtime.snmp).run,
            self._runtime.snmp.probe_client,
            self._runtime.clock,
            CONFIG,
        )


@pytest.fixture
def site(fleet: VirtualFleet) -> Site:
    sync_profiles(builtin())
    return Site(fleet)


def parts_of(execution: Execution) -> list[tuple[str, str]]:
    return [(part["job"], part["state"]) for part in execution.parts]


def test_a_composite_of_seven_nodes_is_one_execution_with_the_result_of_each(site: Site) -> None:
    master = make_job("discovery")
    site.node(master, next_run_at=at("10:00"))
    facts = ("description", "state", "down_cause", "distance_m", "model", "onu_rx_dbm")
    for number, fact in enumerate(facts):
        kind = "get" if fact == "onu_rx_dbm" else "table"
        site.node(make_job(f"{fact}", kind, facts=[fact], master=master, priority=60 - number))

    (execution,) = site.step()

    assert execution.state == State.SUCCESS
    assert parts_of(execution) == [("discovery", "success"), *((fact, "success") for fact in facts)]
    assert all(part["seconds"] > 0 for part in execution.parts)
    assert execution.attempts.count() == 1
    online = Onu.objects.filter(state="online")
    assert Onu.objects.count() == ONUS
    assert online.filter(onu_rx_dbm__isnull=False).count() == online.count() > 0
    assert set(facts) <= set(Collected.objects.values_list("datum", flat=True))
    assert set(SnmpJobHost.objects.values_list("last_run_at", flat=True)) == {at("10:00")}


def test_a_disabled_part_is_left_out(site: Site) -> None:
    master = make_job("discovery")
    site.node(master, next_run_at=at("10:00"))
    site.node(make_job("description", "table", facts=["description"], master=master), enabled=False)
    (execution,) = site.step()
    assert parts_of(execution) == [("discovery", "success")]


def test_when_the_master_fails_its_chain_is_not_run(site: Site) -> None:
    master = make_job("discovery")
    site.node(master, next_run_at=at("10:00"))
    site.node(make_job("description", "table", facts=["description"], master=master))
    site.behave(Scenario(silent=True))

    (execution,) = site.step()

    assert execution.state == State.WAITING
    assert parts_of(execution) == [("discovery", "failed"), ("description", "skipped")]
    assert in_english(execution.parts[1]["error"]) == "not run: discovery failed"
    ran = dict(SnmpJobHost.objects.values_list("job__name", "last_run_at"))
    assert ran == {"discovery": at("10:00"), "description": None}


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"walk_rows": 2_000}, "gave more than 2,000 rows, and the walk was ended"),
        ({"answer_octets": 50_000}, "sent more than 50,000 octets, and was not asked for more"),
    ],
)
def test_an_olt_whose_table_never_ends_is_told_in_the_reason(
    site: Site, limits: dict[str, int], reason: str
) -> None:
    site.limit(**limits)
    site.node(make_job("discovery"), next_run_at=at("10:00"))
    site.behave(PRESETS["endless-table"].scenario)

    (execution,) = site.step()

    assert execution.state == State.WAITING
    told = in_english(execution.parts[0]["error"])
    assert reason in told
    assert (told.count("raise FACHO_WALK_ROWS"), told.count("FACHO_ANSWER_OCTETS")) == (1, 1)
    assert Onu.objects.count() == 0


def test_the_octets_of_an_execution_are_those_of_all_its_parts(site: Site) -> None:
    site.limit(answer_octets=120_000)
    master = make_job("discovery")
    site.node(master, next_run_at=at("10:00"))
    for fact in ("description", "state", "distance_m", "model"):
        site.node(make_job(fact, "table", facts=[fact], master=master))

    (execution,) = site.step()

    assert execution.parts[0]["state"] == "success"
    assert "sent more than 120,000 octets" in in_english(execution.parts[-1]["error"])


def test_discovery_and_get_due_together_run_in_that_order(site: Site) -> None:
    get = site.node(make_job("description", "get", facts=["description"]), next_run_at=at("10:00"))
    discovery = site.node(make_job("discovery"), next_run_at=at("10:00"))

    executions = site.step()

    assert [execution.node_id for execution in executions] == [discovery.id, get.id]
    assert {execution.state for execution in executions} == {State.SUCCESS}
    assert Onu.objects.exclude(description="").count() == ONUS


def test_a_get_of_a_thousand_onus_names_the_four_that_spoil_it(site: Site) -> None:
    site.node(make_job("discovery"), next_run_at=at("10:00"))
    site.node(make_job("description", "get", facts=["description"]), next_run_at=at("10:01"))
    site.step()
    site.behave(Scenario(generr_rows=(10, 500, 990), silent_rows=(700,), columns=("description",)))
    site.pass_to("10:01")
    before = site.requests

    (execution,) = site.step()

    assert execution.state == State.SUCCESS
    assert Onu.objects.exclude(description="").count() == ONUS - 4
    assert len(execution.parts[0]["unanswered"]) == 4
    assert execution.counts["unanswered"] == 4
    # Fifty of twenty values each; then the batch of 200 with the silent one in fours, and one of those one
    # by one, each with its question for the uptime.
    assert site.requests - before < 250


def test_a_get_on_a_dead_olt_ends_after_the_question_for_its_uptime(site: Site) -> None:
    site.node(make_job("discovery"), next_run_at=at("10:00"))
    site.node(make_job("description", "get", facts=["description"]), next_run_at=at("10:01"))
    site.step()
    site.behave(Scenario(silent=True))
    site.pass_to("10:01")
    before = site.requests

    (execution,) = site.step()

    assert execution.state == State.WAITING
    assert "no answer" in str(execution.error)
    assert site.requests - before == 1 + CONFIG.request_retries


def test_only_three_complete_discoveries_without_it_make_an_onu_absent(site: Site) -> None:
    site.node(make_job("discovery", max_attempts=99, retry_delay_s=3600), next_run_at=at("10:00"))
    site.step()
    Onu.objects.filter(id=Onu.objects.order_by("-onu_id", "-id").values("id")[:1]).update(
        serial="GONE00000001", address="0/99/9:9", slot=99, port=9, onu_id=9
    )
    gone = Onu.objects.get(serial="GONE00000001")
    # The place that it had is taken by the ONU that the OLT reports there: a new one.
    for minutes in (10, 20):
        site.now = at("10:00") + timedelta(minutes=minutes)
        assert site.step()[-1].state == State.SUCCESS
    site.behave(Scenario(silent=True))
    for minutes in (30, 40, 50):
        site.now = at("10:00") + timedelta(minutes=minutes)
        site.step()
    gone.refresh_from_db()
    assert (gone.presence, gone.missed) == (Presence.PRESENT, 2)
    assert Onu.objects.filter(presence=Presence.ABSENT).count() == 0

    site.behave(PLAIN)
    site.pass_to("11:00")
    assert site.step()[-1].state == State.SUCCESS

    gone.refresh_from_db()
    assert (gone.presence, gone.missed) == (Presence.ABSENT, 3)
    assert Onu.objects.filter(presence=Presence.PRESENT).count() == ONUS
    # Each was told once, and the counts of the last execution are plain numbers.
    assert Counter(OnuEvent.objects.values_list("kind", flat=True)) == {"new": ONUS + 1, "absent": 1}
    counts = Execution.objects.latest("id").counts
    assert {counts[kind] for kind in ("new", "moved", "returned", "duplicates", "unknown")} == {0}
    assert "told" not in counts


def test_a_discovery_that_breaks_off_keeps_what_it_read_of_known_onus_and_concludes_nothing(
    site: Site,
) -> None:
    discovery = make_job("discovery", facts=["description"])
    site.node(discovery, next_run_at=at("10:00"))
    site.step()
    Onu.objects.update(description="old")
    site.behave(Scenario(silent_rows=(600,)))
    site.pass_to("10:10")

    (execution,) = site.step()

    assert execution.state == State.WAITING
    assert Onu.objects.count() == ONUS
    assert Onu.objects.filter(missed__gt=0).count() == 0
    assert Onu.objects.exclude(description="old").count() > 0


def test_an_olt_that_dies_is_retried_suspended_probed_and_comes_back(site: Site) -> None:
    node = site.node(make_job("discovery", interval=600), next_run_at=at("10:00"))
    other = site.node(make_job("state", "table", 600, facts=["state"]), next_run_at=at("10:05"))
    site.behave(Scenario(silent=True))

    (first,) = site.step()
    assert (first.state, first.attempt, first.not_before) == (State.WAITING, 1, at("10:02"))
    assert (first.lease_token, first.trigger) == ("", Trigger.RETRY)
    site.pass_to("10:01:59")
    assert site.step() == []
    site.pass_to("10:02")
    (second,) = site.step()
    assert (second.id, second.attempt, second.why_late) == (first.id, 2, "retrying")
    site.pass_to("10:04")
    (third,) = site.step()
    assert (third.state, third.attempt) == (State.FAILED, 3)

    olt = Olt.objects.get()
    assert olt.suspended_reason == third.error
    assert (olt.reachable, olt.unreachable_since) == (False, at("10:00"))
    assert olt.next_probe_at == at("10:05")
    node.refresh_from_db()
    assert (str(node.suspended_reason), node.enabled) == ("", True)

    site.pass_to("10:05")
    assert site.step() == []
    assert SkippedSlots.objects.get(node=other).why == "olt_unreachable"
    assert site.probe() == [False]
    site.pass_to("10:09")
    assert site.probe() == []
    site.pass_to("10:10")
    site.behave(PLAIN)
    assert site.probe() == [True]

    back = Olt.objects.get()
    assert (str(back.suspended_reason), back.reachable, back.next_probe_at) == ("", True, None)
    for each in (node, other):
        each.refresh_from_db()
        assert each.next_run_at == at("10:20")
    site.pass_to("10:20")
    assert [execution.state for execution in site.step()] == [State.SUCCESS, State.SUCCESS]
    assert Olt.objects.get().failed_probes == 0


@pytest.mark.parametrize(("suspended", "probes_of_olt"), [("", 0), ("it fails", 2)])
def test_a_run_that_resumes_its_node_proves_nothing_for_the_probes_of_its_olt(
    site: Site, suspended: str, probes_of_olt: int
) -> None:
    node = site.node(make_job("discovery"), next_run_at=at("12:00"))
    SnmpJobHost.objects.update(suspended_reason=suspended, failed_probes=3)
    Olt.objects.update(failed_probes=2)
    run_now(node.id, site.now)
    (execution,) = site.step()
    assert execution.state == State.SUCCESS
    node.refresh_from_db()
    assert (node.is_suspended, node.failed_probes) == (False, 0)
    assert Olt.objects.get().failed_probes == probes_of_olt


def test_a_node_that_fails_on_an_olt_that_answers_is_suspended_alone(site: Site) -> None:
    job = make_job("discovery", interval=3600, max_attempts=1)
    node = site.node(job, next_run_at=at("10:00"))
    site.behave(Scenario(generr_rows=tuple(range(ONUS))))

    (execution,) = site.step()

    assert execution.state == State.FAILED
    node.refresh_from_db()
    assert node.suspended_reason
    # As much of it as its column holds.
    assert str(execution.error).startswith(str(node.suspended_reason))
    assert node.next_probe_at == at("10:01")
    olt = Olt.objects.get()
    assert (str(olt.suspended_reason), olt.reachable) == ("", True)


def test_run_now_on_a_suspended_olt_that_answers_brings_it_back(site: Site) -> None:
    node = site.node(make_job("discovery", interval=600), next_run_at=at("10:30"))
    Olt.objects.update(suspended_reason="no answer", suspended_at=at("09:00"), next_probe_at=at("10:40"))
    Execution.objects.create(
        node=node,
        olt=site.olt,
        trigger=Trigger.RUN_NOW,
        run_now=True,
        slot=site.now,
        not_before=site.now,
        queued_at=site.now,
    )

    (execution,) = site.step()

    assert execution.state == State.SUCCESS
    node.refresh_from_db()
    assert str(Olt.objects.get().suspended_reason) == ""
    assert node.next_run_at == at("10:10")


def test_what_the_family_does_not_have_is_said_and_the_rest_is_collected(site: Site) -> None:
    master = make_job("discovery")
    site.node(master, next_run_at=at("10:00"))
    site.node(make_job("plan", "table", facts=["plan"], master=master))
    (execution,) = site.step()
    assert execution.state == State.SUCCESS
    assert parts_of(execution) == [("discovery", "success"), ("plan", "skipped")]
    assert in_english(execution.parts[1]["error"]) == (
        "not asked: OLTs of the family 'huawei' have nothing for it"
    )


def test_a_busy_olt_is_asked_one_request_at_a_time_and_spared_gets(site: Site) -> None:
    master = make_job("discovery")
    site.node(master, next_run_at=at("10:00"))
    site.node(make_job("description", "get", facts=["description"], master=master))
    Olt.objects.update(cpu_pct=93.0, cpu_read_at=at("09:58"))
    (execution,) = site.step()
    assert parts_of(execution) == [("discovery", "success"), ("description", "skipped")]
    assert in_english(execution.parts[1]["error"]) == "skipped: OLT CPU too high"
    assert Onu.objects.count() == ONUS


def test_the_cpu_that_a_collection_reads_is_remembered(site: Site) -> None:
    site.node(make_job("health", "table", facts=["board.cpu_pct"]), next_run_at=at("10:00"))
    site.step()
    olt = Olt.objects.get()
    assert olt.cpu_pct is not None
    assert olt.cpu_read_at == at("10:00")
    assert olt.learned["in_flight"] >= 1


def test_what_the_database_refuses_ends_the_execution_and_frees_the_olt(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it were tried: the OLT and a poller would be held for ever."""
    site.node(make_job("discovery"), next_run_at=site.now)

    def store(*_: object, **__: object) -> None:
        Execution.objects.create(node=None, olt=site.olt, state="lost", slot=site.now)

    monkeypatch.setattr(onus, "store_findings", store)
    (execution,) = site.step()
    assert (execution.state, execution.attempt, execution.lease_token) == (State.WAITING, 1, "")
    assert str(execution.error) == "internal error, see the log: IntegrityError"
    assert execution.attempts.get().ended_at == site.now


def test_an_olt_whose_credentials_no_key_opens_is_told_so_and_holds_up_nobody(site: Site) -> None:
    site.node(make_job("discovery", max_attempts=1), next_run_at=site.now)
    other = make_olt(port=site.olt.port, suspended_reason="silent", next_probe_at=at("10:01"))
    Olt.objects.filter(id=site.olt.id).update(credentials=Value("lost", output_field=TextField()))
    (execution,) = site.step()
    assert execution.state == State.FAILED
    assert str(execution.error).startswith("the credentials were encrypted with a key that is not here")
    assert SnmpJobHost.objects.get(olt=site.olt).is_suspended
    site.pass_to("10:01:30")
    assert site.probe() == [True]
    other.refresh_from_db()
    assert not other.is_suspended
    assert SnmpJobHost.objects.get(olt=site.olt).failed_probes == 1


def test_lost_credentials_can_be_entered_anew(site: Site) -> None:
    Olt.objects.filter(id=site.olt.id).update(credentials=Value("lost", output_field=TextField()))
    update_olt(site.olt.name, OltChanges(credentials=Credentials(community="again")), at("10:00"))
    assert Olt.objects.get(id=site.olt.id).credentials.community == "again"


def test_many_silent_olts_are_probed_together(site: Site) -> None:
    for number in range(AT_ONCE + 1):
        make_olt(port=9, suspended_reason="silent", next_probe_at=at("10:00") + number * timedelta(seconds=1))
    site.pass_to("10:05")
    assert site.probe() == [False] * AT_ONCE
    assert site.probe() == [False]
    assert site.probe() == []


@pytest.mark.parametrize("off", ["node", "job"])
def test_what_a_person_disabled_is_not_probed(site: Site, off: str) -> None:
    job = make_job(enabled=off != "job")
    site.node(job, enabled=off != "node", suspended_reason="fails", next_probe_at=site.now)
    assert site.probe() == []


def test_an_olt_that_was_not_asked_is_not_said_to_answer(site: Site) -> None:
    node = site.node(make_job("optics", kind="get", facts=["onu_rx_dbm"]), next_run_at=site.now)
    queue_due_slots(site.now, CONFIG)
    away = {"reachable": False, "unreachable_since": at("09:00"), "cpu_pct": 95.0, "cpu_read_at": site.now}
    Olt.objects.filter(id=site.olt.id).update(**away)
    (execution,) = site.step()
    assert (execution.node, execution.state, str(execution.error)) == (
        node, "ABORTED", "skipped: OLT CPU too high"
    )  # fmt: skip
    assert Olt.objects.get(id=site.olt.id).unreachable_since == at("09:00")


def test_what_was_left_out_is_not_said_to_be_collected(site: Site) -> None:
    site.node(make_job("distance", kind="table", facts=["distance_m"]), next_run_at=site.now)
    columns = [each.oid for each in columns_for(site.olt, ["distance_m"], "table")]
    noted = dict.fromkeys(columns, site.now.isoformat())
    Olt.objects.filter(id=site.olt.id).update(lacks=noted)
    (execution,) = site.step()
    assert (execution.state, execution.load["requests"]) == ("SUCCESS", 0)
    assert not Collected.objects.filter(olt=site.olt).exists()


def test_a_chained_node_is_dated_when_it_was_asked_for_whether_or_not_it_failed(site: Site) -> None:
    master = make_job("discovery")
    site.node(master, next_run_at=site.now)
    for fact in ("distance_m", "description"):
        site.node(make_job(fact, "table", facts=[fact], master=master))
    lacks = [each.oid for each in columns_for(site.olt, ["distance_m"], "table")]
    Olt.objects.filter(id=site.olt.id).update(lacks=dict.fromkeys(lacks, site.now.isoformat()))
    site.behave(Scenario(generr_rows=(10,), columns=("description",)))
    (execution,) = site.step()
    assert parts_of(execution)[1:] == [("distance_m", "success"), ("description", "failed")]
    ran = dict(SnmpJobHost.objects.values_list("job__name", "last_run_at"))
    assert ran == {"discovery": site.now, "distance_m": None, "description": site.now}


def test_a_fact_whose_table_is_not_present_is_not_dated_as_collected(site: Site) -> None:
    columns = tuple(each.oid for each in columns_for(site.olt, ["distance_m"], "table"))
    site.behave(Scenario(lacks=columns))
    site.node(make_job("distance", kind="table", facts=["distance_m"]), next_run_at=site.now)
    (execution,) = site.step()
    assert execution.state == State.SUCCESS
    assert not Collected.objects.filter(olt=site.olt).exists()


def test_a_technology_that_an_olt_has_no_board_for_is_asked_for_once_a_day(site: Site) -> None:
    site.node(make_job("discovery"), next_run_at=at("10:00"))
    (first,) = site.step()
    assert Olt.objects.get(id=site.olt.id).lacks
    site.pass_to("10:10")
    (second,) = site.step()
    assert second.load["requests"] < first.load["requests"]
    assert (second.counts["onus"], second.counts["absent"]) == (ONUS, 0)
