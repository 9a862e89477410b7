from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.access.audit_recording import Audited, AuditedRows
from facho.apps.db.fields import PresetKeyField, ReasonCharField
from facho.apps.hosts.credentials import Credentials, CredentialsField
from facho.core.olt_status import down_since
from facho.vendors import GENERIC


class Brand(models.Model):
    """A vendor family: its name is that of its profile."""

    name = models.SlugField(_("name"), max_length=40, unique=True)
    title = models.CharField(_("title"), max_length=120)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("name", "title"))

    class Meta:
        db_table = "brands"
        ordering: ClassVar = ["name"]
        verbose_name = _("brand")
        verbose_name_plural = _("brands")

    def __str__(self) -> str:
        return self.title or self.name

    @property
    def is_generic(self) -> bool:
        return self.name == GENERIC


class OltModel(models.Model):
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="models", verbose_name=_("brand"))
    name = models.CharField(_("name"), max_length=60)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("brand", "name"))

    class Meta:
        db_table = "olt_models"
        ordering: ClassVar = ["brand__name", "name"]
        verbose_name = _("OLT model")
        verbose_name_plural = _("OLT models")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["brand", "name"], name="olt_models_one_name_per_brand")
        ]

    def __str__(self) -> str:
        return self.name


class SnmpVersion(models.TextChoices):
    V1 = "1", "v1"
    V2C = "2c", "v2c"
    V3 = "3", "v3"


class Olt(models.Model):
    id = PresetKeyField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
    name = models.CharField(_("name"), max_length=80, unique=True)
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="olts", verbose_name=_("brand"))
    model = models.ForeignKey(
        OltModel, models.SET_NULL, related_name="olts", null=True, blank=True, verbose_name=_("model")
    )
    address = models.CharField(_("address"), max_length=253, help_text=_("IPv4, IPv6 or a name"))
    port = models.PositiveIntegerField(
        _("port"), default=161, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    snmp_version = models.CharField(
        _("SNMP version"), max_length=2, choices=SnmpVersion.choices, default=SnmpVersion.V2C
    )
    credentials: CredentialsField = CredentialsField(_("credentials"), default=Credentials)
    site = models.CharField(_("site"), max_length=80, blank=True, default="", db_index=True)
    enabled = models.BooleanField(pgettext_lazy("OLT", "enabled"), default=True)
    # Who disabled it, when and why; empty while it is enabled.
    disabled_at = models.DateTimeField(_("disabled at"), null=True, editable=False)
    disabled_by = models.CharField(_("disabled by"), max_length=150, default="", editable=False)
    disabled_reason = models.CharField(_("why it is disabled"), max_length=200, default="", editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    # Limits of this OLT; an empty one is that of the settings.
    max_in_flight = models.PositiveSmallIntegerField(
        _("requests in flight"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    max_varbinds = models.PositiveSmallIntegerField(
        _("values per request"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    max_requests_per_second = models.FloatField(
        _("requests per second"), null=True, blank=True, validators=[MinValueValidator(0.1)]
    )
    shortest_interval_s = models.PositiveIntegerField(
        _("shortest interval (s)"), null=True, blank=True, validators=[MinValueValidator(1)]
    )

    # Written by the engine, never by people.
    reachable = models.BooleanField(_("reachable"), null=True, editable=False)
    unreachable_since = models.DateTimeField(_("unreachable since"), null=True, editable=False)
    suspended_reason = ReasonCharField(_("why it is suspended"), max_length=300, editable=False)
    suspended_at = models.DateTimeField(_("suspended at"), null=True, editable=False)
    next_probe_at = models.DateTimeField(_("next probe"), null=True, editable=False)
    failed_probes = models.PositiveIntegerField(_("failed probes"), default=0, editable=False)
    learned = models.JSONField(_("learned"), default=dict, editable=False)
    cpu_pct = models.FloatField(_("CPU (%)"), null=True, editable=False)
    cpu_read_at = models.DateTimeField(_("CPU read at"), null=True, editable=False)
    version = models.CharField(_("software version"), max_length=120, default="", blank=True, editable=False)
    uptime_s = models.BigIntegerField(_("uptime (s)"), null=True, editable=False)
    uptime_read_at = models.DateTimeField(_("uptime read at"), null=True, editable=False)
    # Executions of any node since one succeeded.
    failed_in_a_row = models.PositiveIntegerField(_("failed in a row"), default=0, editable=False)
    # Why it is not in order although it answers: of the last hour, and of its plan.
    degraded_reason = ReasonCharField(_("why it is degraded"), max_length=300, editable=False)
    overloaded_reason = ReasonCharField(_("why it is overloaded"), max_length=300, editable=False)
    # Since when the states of its ONUs come from interrupted collections, which prove nothing.
    states_unsure_since = models.DateTimeField(_("states unsure since"), null=True, editable=False)
    # When the baselines of its ONUs were last computed.
    optics_usual_at = models.DateTimeField(_("usual power worked out at"), null=True, editable=False)
    # The missing columns of its profile, and since when that is known.
    lacks = models.JSONField(_("tables it does not have"), default=dict, editable=False)
    sys_descr = models.TextField("sysDescr", default="", blank=True, editable=False)
    sys_object_id = models.CharField("sysObjectID", max_length=200, default="", blank=True, editable=False)
    # Set when a person removed it: it stays disabled while its rows are deleted step by step.
    removed_at = models.DateTimeField(_("removed at"), null=True, editable=False)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(
        (
            "name", "brand", "model", "address", "port", "snmp_version", "site", "enabled", "max_in_flight",
            "max_varbinds", "max_requests_per_second", "shortest_interval_s", "removed_at", "disabled_reason",
        ),
        secrets=("credentials",),
    )  # fmt: skip

    class Meta:
        db_table = "olts"
        ordering: ClassVar = ["name"]
        verbose_name = _("OLT")
        verbose_name_plural = _("OLTs")
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(name=""), name="olts_have_a_name"),
            models.CheckConstraint(condition=Q(port__gte=1, port__lte=65535), name="olts_port_is_a_port"),
            models.CheckConstraint(
                condition=Q(snmp_version__in=SnmpVersion.values), name="olts_version_is_known"
            ),
            models.CheckConstraint(
                condition=Q(max_in_flight__isnull=True) | Q(max_in_flight__gte=1),
                name="olts_some_in_flight",
            ),
            models.CheckConstraint(
                condition=Q(max_varbinds__isnull=True) | Q(max_varbinds__gte=1), name="olts_some_varbinds"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_probe_at"],
                name="olts_to_probe",
                condition=Q(next_probe_at__isnull=False),
            ),
            models.Index(fields=["removed_at"], name="olts_to_remove", condition=Q(removed_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_suspended(self) -> bool:
        return bool(self.suspended_reason)

    @property
    def down_since(self) -> datetime | None:
        return down_since(self.unreachable_since, self.suspended_at)


class Oid(models.Model):
    """A column that can be asked for. Those of the profiles are synced; operators add their own."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="oids", verbose_name=_("brand"))
    model = models.ForeignKey(
        OltModel, models.CASCADE, related_name="oids", null=True, blank=True, verbose_name=_("model")
    )
    name = models.CharField(_("name"), max_length=120)
    oid = models.CharField(_("OID"), max_length=300)
    entity = models.CharField(_("about"), max_length=20, default="", blank=True)
    provides = models.CharField(_("provides"), max_length=40, default="", blank=True, db_index=True)
    # The column of the profile whose rules decode the values; empty for an operator's own.
    profile_oid = models.CharField(_("read as"), max_length=300, default="", blank=True)
    # The values of the last sync: where the row differs from them, an operator changed it.
    synced = models.JSONField(default=dict, editable=False)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("brand", "model", "name", "oid", "entity", "provides", "profile_oid"))

    class Meta:
        db_table = "oids"
        ordering: ClassVar = ["brand__name", "name"]
        verbose_name = _("OID")
        verbose_name_plural = _("OIDs")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["brand", "model", "name"], name="oids_one_name_per_model"),
            # NULL models count as different in the first constraint.
            models.UniqueConstraint(
                fields=["brand", "name"], name="oids_one_name_per_brand", condition=Q(model__isnull=True)
            ),
            models.CheckConstraint(condition=Q(oid__regex=r"^[0-2](\.[0-9]+)+$"), name="oids_are_numeric"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.oid})"
