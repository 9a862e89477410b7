from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.access.audit_recording import Audited, AuditedRows
from facho.apps.db.fields import ReasonCharField
from facho.apps.hosts.models import Brand, Oid, Olt

PRIORITY = (MinValueValidator(1), MaxValueValidator(100))


class JobKind(models.TextChoices):
    DISCOVERY = "discovery", _("discovery")
    GET = "get", _("get")
    WALK = "walk", _("walk")
    TABLE = "table", pgettext_lazy("kind", "table")
    BULK = "bulk", _("bulk")


class JobTarget(models.TextChoices):
    """The OLTs that a job is for. All but a selection include OLTs that are added later."""

    ALL = "all", _("all OLTs")
    SITE = "site", _("all OLTs of a site")
    BRAND = "brand", _("all OLTs of its brand")
    SELECTION = "selection", _("chosen OLTs")


class SnmpJob(models.Model):
    """A job: a template of what to ask and how often, attached to many OLTs of a brand."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="jobs", verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=10, choices=JobKind.choices)
    # Facts by name are looked up for each OLT: brand and model, then brand, then generic.
    facts = models.JSONField(_("facts"), default=list, blank=True)
    oids = models.ManyToManyField(
        Oid, through="SnmpJobOid", related_name="jobs", blank=True, verbose_name=_("OIDs")
    )
    interval_s = models.PositiveIntegerField(_("interval (s)"), validators=[MinValueValidator(1)])
    priority = models.PositiveSmallIntegerField(_("priority"), validators=PRIORITY)
    max_attempts = models.PositiveSmallIntegerField(
        _("attempts"), default=3, validators=[MinValueValidator(1)]
    )
    retry_delay_s = models.PositiveIntegerField(_("delay between attempts (s)"), default=120)
    task_type = models.CharField(_("task type"), max_length=60, db_index=True)
    master = models.ForeignKey(
        "self",
        models.SET_NULL,
        related_name="chained",
        null=True,
        blank=True,
        verbose_name=_("runs after"),
    )
    target = models.CharField(
        _("target"), max_length=10, choices=JobTarget.choices, default=JobTarget.SELECTION
    )
    target_site = models.CharField(_("site"), max_length=80, blank=True, default="")
    enabled = models.BooleanField(pgettext_lazy("job", "enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(
        (
            "name", "brand", "kind", "facts", "interval_s", "priority", "max_attempts", "retry_delay_s",
            "task_type", "master", "target", "target_site", "enabled",
        )
    )  # fmt: skip

    class Meta:
        db_table = "snmp_jobs"
        ordering: ClassVar = ["name"]
        verbose_name = _("SNMP job")
        verbose_name_plural = _("SNMP jobs")
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(name=""), name="snmp_jobs_have_a_name"),
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="snmp_jobs_kind_is_known"),
            models.CheckConstraint(
                condition=Q(target__in=JobTarget.values), name="snmp_jobs_target_is_known"
            ),
            models.CheckConstraint(condition=Q(interval_s__gte=1), name="snmp_jobs_have_an_interval"),
            models.CheckConstraint(
                condition=Q(priority__gte=1, priority__lte=100), name="snmp_jobs_priority_in_range"
            ),
            models.CheckConstraint(condition=Q(max_attempts__gte=1), name="snmp_jobs_try_once"),
            models.CheckConstraint(condition=~Q(master=F("id")), name="snmp_jobs_not_after_itself"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def interval(self) -> timedelta:
        return timedelta(seconds=self.interval_s)


class SnmpJobOid(models.Model):
    job = models.ForeignKey(SnmpJob, models.CASCADE, related_name="job_oids")
    oid = models.ForeignKey(Oid, models.CASCADE, related_name="job_oids", verbose_name=_("OID"))

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("job", "oid"), called=("job__name", "oid__oid"))

    class Meta:
        db_table = "snmp_job_oids"
        verbose_name = _("OID of a job")
        verbose_name_plural = _("OIDs of a job")
        constraints: ClassVar = [models.UniqueConstraint(fields=["job", "oid"], name="snmp_job_oids_once")]

    def __str__(self) -> str:
        return str(self.oid)


class SnmpJobHost(models.Model):
    """A node: one job on one OLT, and when it runs there."""

    job = models.ForeignKey(SnmpJob, models.CASCADE, related_name="nodes", verbose_name=_("job"))
    olt = models.ForeignKey(Olt, models.CASCADE, related_name="nodes", verbose_name=_("OLT"))
    enabled = models.BooleanField(_("enabled"), default=True)
    interval_s = models.PositiveIntegerField(
        _("own interval (s)"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    priority = models.PositiveSmallIntegerField(_("own priority"), null=True, blank=True, validators=PRIORITY)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    # Written by the engine. A chained node has no slots of its own.
    next_run_at = models.DateTimeField(_("next run"), null=True, editable=False)
    last_run_at = models.DateTimeField(_("last run"), null=True, editable=False)
    failures_in_a_row = models.PositiveIntegerField(_("failures in a row"), default=0, editable=False)
    suspended_reason = ReasonCharField(_("why it is suspended"), max_length=300, editable=False)
    suspended_at = models.DateTimeField(_("suspended at"), null=True, editable=False)
    next_probe_at = models.DateTimeField(_("next probe"), null=True, editable=False)
    failed_probes = models.PositiveIntegerField(_("failed probes"), default=0, editable=False)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(
        ("job", "olt", "enabled", "interval_s", "priority"), called=("job__name", "olt__name")
    )

    class Meta:
        db_table = "snmp_job_hosts"
        ordering: ClassVar = ["olt__name", "job__name"]
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "olt"], name="snmp_job_hosts_once_per_olt"),
            models.CheckConstraint(
                condition=Q(interval_s__isnull=True) | Q(interval_s__gte=1),
                name="snmp_job_hosts_interval",
            ),
            models.CheckConstraint(
                condition=Q(priority__isnull=True) | Q(priority__gte=1, priority__lte=100),
                name="snmp_job_hosts_priority",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_run_at"], name="snmp_job_hosts_next_run_at"),
            models.Index(
                fields=["next_probe_at"],
                name="snmp_job_hosts_to_probe",
                condition=Q(next_probe_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job} @ {self.olt}"

    @property
    def is_suspended(self) -> bool:
        return bool(self.suspended_reason)
