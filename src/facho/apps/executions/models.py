from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.db.fields import ReasonCharField, ReasonTextField
from facho.apps.discovery.models import Onu
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.delay import Why
from facho.core.pool import HIGHEST_PRIORITY


class State(models.TextChoices):
    WAITING = "WAITING", _("waiting")
    PENDING = "PENDING", _("pending")
    RUNNING = "RUNNING", _("running")
    SUCCESS = "SUCCESS", _("success")
    FAILED = "FAILED", _("failed")
    ABORTED = "ABORTED", _("aborted")


QUEUED = (State.WAITING, State.PENDING)
ACTIVE = (State.PENDING, State.RUNNING)
OPEN = (State.WAITING, State.PENDING, State.RUNNING)


class Trigger(models.TextChoices):
    SCHEDULE = "schedule", _("schedule")
    RETRY = "retry", _("retry")
    RUN_NOW = "run-now", _("run now")


class Execution(models.Model):
    """One run of a composite node on its OLT: for one slot, or because a person asked."""

    # A row is written four times, and each time it gets an entry in every index without a condition. So keys
    # of other tables have no index of their own where another index begins with them.
    # Empty for a manual execution of everything the family offers, and for the reading of one ONU.
    node = models.ForeignKey(
        SnmpJobHost,
        models.CASCADE,
        related_name="executions",
        null=True,
        db_index=False,
        verbose_name=_("node"),
    )
    olt = models.ForeignKey(
        Olt, models.CASCADE, related_name="executions", db_index=False, verbose_name=_("OLT")
    )
    # Set for the reading of one ONU. Hardly any execution has it, so it has a partial index.
    onu = models.ForeignKey(
        Onu, models.CASCADE, related_name="readings", null=True, db_index=False, verbose_name="ONU"
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    trigger = models.CharField(_("trigger"), max_length=10, choices=Trigger.choices)
    # A person asked for it to go first, also when it waited for its slot anyway.
    run_now = models.BooleanField(_("run now"), default=False)
    slot = models.DateTimeField(pgettext_lazy("grid", "slot"))
    # Never before the slot: since when it waits.
    not_before = models.DateTimeField(_("not before"))
    # That of the node, or of its job. Stored, so that an index has the queue in the order of claims.
    priority = models.PositiveSmallIntegerField(
        _("priority"), default=HIGHEST_PRIORITY, db_default=HIGHEST_PRIORITY, editable=False
    )
    queued_at = models.DateTimeField(_("queued at"))
    started_at = models.DateTimeField(_("started at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)
    delay_ms = models.PositiveBigIntegerField(_("delay (ms)"), null=True)
    why_late = models.CharField(
        _("why late"), max_length=20, default="", blank=True, choices=[(why.value, why.value) for why in Why]
    )
    # Few executions have it, so it has a partial index.
    blocked_by = models.ForeignKey(
        "self", models.SET_NULL, related_name="+", null=True, db_index=False, verbose_name=_("waited for")
    )
    attempt = models.PositiveSmallIntegerField(_("attempts"), default=0)
    parts = models.JSONField(_("parts"), default=list)
    counts = models.JSONField(_("counts"), default=dict)
    load = models.JSONField(_("load"), default=dict)
    result = models.JSONField(_("result"), default=dict)
    # What the slot counts for in quotas, fixed when it was queued: node, task type and interval (s) of each
    # part. Empty for a run that a person asked for.
    owes = models.JSONField(default=list, editable=False)
    error = ReasonTextField(_("error"))
    worker = models.CharField(_("worker"), max_length=120, default="", blank=True)
    # The lease: the OLT belongs to the holder of this token until it expires.
    lease_token = models.CharField(max_length=32, default="", blank=True)
    lease_expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "snmp_executions"
        ordering: ClassVar = ["-id"]
        verbose_name = _("execution")
        verbose_name_plural = _("executions")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=State.values), name="snmp_executions_state_known"),
            models.UniqueConstraint(
                fields=["olt"], condition=Q(state__in=ACTIVE), name="snmp_executions_one_active_per_olt"
            ),
            models.UniqueConstraint(
                fields=["node"], condition=Q(state__in=QUEUED), name="snmp_executions_one_queued_per_node"
            ),
            models.UniqueConstraint(
                fields=["onu"], condition=Q(state__in=QUEUED), name="snmp_executions_one_queued_per_onu"
            ),
            models.UniqueConstraint(
                fields=["node", "slot"],
                condition=~Q(trigger=Trigger.RUN_NOW),
                name="snmp_executions_slot_once",
            ),
        ]
        indexes: ClassVar = [
            # The two orders of `core.pool.across_olts`: of what is delayed, and of what is not.
            models.Index(
                fields=["not_before", "-priority", "id"],
                name="snmp_executions_delayed",
                condition=Q(state=State.WAITING),
            ),
            models.Index(
                fields=["-priority", "not_before", "id"],
                name="snmp_executions_prompt",
                condition=Q(state=State.WAITING),
            ),
            models.Index(
                fields=["olt"], name="snmp_executions_olt_waiting", condition=Q(state=State.WAITING)
            ),
            models.Index(
                fields=["olt"],
                name="snmp_executions_run_now",
                condition=Q(state=State.WAITING, run_now=True),
            ),
            models.Index(fields=["olt"], name="snmp_executions_leased", condition=~Q(lease_token="")),
            models.Index(fields=["olt", "-id"], name="snmp_executions_of_olt"),
            models.Index(fields=["olt", "ended_at"], name="snmp_executions_ended"),
            models.Index(fields=["ended_at"], name="snmp_executions_ended_at"),
            models.Index(fields=["node", "-id"], name="snmp_executions_of_node"),
            models.Index(fields=["state", "-id"], name="snmp_executions_by_state"),
            models.Index(fields=["slot"], name="snmp_executions_slot"),
            models.Index(fields=["olt", "slot"], name="snmp_executions_olt_slot"),
            models.Index(
                fields=["onu", "-id"], name="snmp_executions_of_onu", condition=Q(onu__isnull=False)
            ),
            models.Index(
                fields=["blocked_by"],
                name="snmp_executions_blocked_by",
                condition=Q(blocked_by__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}"


class Attempt(models.Model):
    # The index of the constraint begins with it.
    execution = models.ForeignKey(
        Execution, models.CASCADE, related_name="attempts", db_index=False, verbose_name=_("execution")
    )
    number = models.PositiveSmallIntegerField(_("number"))
    started_at = models.DateTimeField(_("started at"))
    ended_at = models.DateTimeField(_("ended at"), null=True)
    error = ReasonTextField(_("error"))
    worker = models.CharField(_("worker"), max_length=120, default="", blank=True)

    class Meta:
        db_table = "execution_attempts"
        ordering: ClassVar = ["execution_id", "number"]
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["execution", "number"], name="execution_attempts_numbered")
        ]

    def __str__(self) -> str:
        return f"{self.execution_id}.{self.number}"


class SkippedSlots(models.Model):
    """Consecutive slots of a node that were not executed for one reason."""

    node = models.ForeignKey(
        SnmpJobHost, models.CASCADE, related_name="skipped_slots", verbose_name=_("node")
    )
    olt = models.ForeignKey(Olt, models.CASCADE, related_name="skipped_slots", verbose_name=_("OLT"))
    first_slot = models.DateTimeField(_("first slot"))
    last_slot = models.DateTimeField(_("last slot"))
    count = models.PositiveIntegerField(_("slots"))
    why = models.CharField(_("why"), max_length=20, choices=[(why.value, why.value) for why in Why])
    detail = ReasonCharField(_("detail"), max_length=300)
    execution = models.ForeignKey(
        Execution, models.SET_NULL, related_name="+", null=True, verbose_name=_("because of")
    )

    class Meta:
        db_table = "skipped_slots"
        ordering: ClassVar = ["-id"]
        verbose_name = _("skipped slots")
        verbose_name_plural = _("skipped slots")
        indexes: ClassVar = [
            models.Index(fields=["olt", "last_slot"], name="skipped_slots_of_olt"),
            models.Index(fields=["last_slot"], name="skipped_slots_last_slot"),
        ]

    def __str__(self) -> str:
        return f"{self.node_id}: {self.count} x {self.why}"


class ExecutionTotals(models.Model):
    """Counters of all executions of one kind on one OLT: they only grow.

    Executions that were removed for their age still count. Rows of a removed OLT stay, without it: otherwise
    the sums over all OLTs would shrink.
    """

    olt = models.ForeignKey(
        Olt, models.SET_NULL, related_name="execution_totals", null=True, verbose_name=_("OLT")
    )
    # Empty for manual executions; "onu" for readings of one ONU.
    kind = models.CharField(_("kind"), max_length=10, default="", blank=True)
    succeeded = models.PositiveBigIntegerField(_("succeeded"), default=0)
    failed = models.PositiveBigIntegerField(_("failed"), default=0)
    # Duration of the last attempt, of those that succeeded or failed, and how many took no longer.
    seconds = models.FloatField(_("seconds"), default=0.0)
    within_1s = models.PositiveBigIntegerField(default=0)
    within_3s = models.PositiveBigIntegerField(default=0)
    within_10s = models.PositiveBigIntegerField(default=0)
    within_30s = models.PositiveBigIntegerField(default=0)
    within_60s = models.PositiveBigIntegerField(default=0)
    within_120s = models.PositiveBigIntegerField(default=0)
    within_300s = models.PositiveBigIntegerField(default=0)
    within_600s = models.PositiveBigIntegerField(default=0)
    within_1800s = models.PositiveBigIntegerField(default=0)
    delayed = models.PositiveBigIntegerField(_("delayed"), default=0)
    delay_seconds = models.FloatField(_("delay (s)"), default=0.0)
    # Attempts after the first, and the time from the end of one attempt to the begin of the next.
    retries = models.PositiveBigIntegerField(_("retries"), default=0)
    retry_wait_seconds = models.FloatField(_("time between retries (s)"), default=0.0)
    # The load of all attempts, whatever their outcome.
    requests = models.PositiveBigIntegerField(_("requests"), default=0)
    timeouts = models.PositiveBigIntegerField(_("timeouts"), default=0)
    varbinds = models.PositiveBigIntegerField(_("values"), default=0)
    bytes_sent = models.PositiveBigIntegerField(_("bytes sent"), default=0)
    bytes_received = models.PositiveBigIntegerField(_("bytes received"), default=0)
    snmp_seconds = models.FloatField(_("seconds of SNMP"), default=0.0)

    class Meta:
        db_table = "execution_totals"
        ordering: ClassVar = ["olt__name", "kind"]
        verbose_name = _("totals of executions")
        verbose_name_plural = _("totals of executions")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "kind"], name="execution_totals_one_per_kind")
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.kind}"
