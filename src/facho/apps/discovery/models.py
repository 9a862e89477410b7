from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.db.prefix import LowerPrefix
from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_minute
from facho.core.optics import OpticalState
from facho.core.outage import OutageCause


class Presence(models.TextChoices):
    PRESENT = "present", _("present")
    ABSENT = "absent", _("absent")


class Optics(models.TextChoices):
    WELL = OpticalState.WELL.value, pgettext_lazy("optical power", "well")
    WEAK = OpticalState.WEAK.value, pgettext_lazy("optical power", "weak")
    FALLING = OpticalState.FALLING.value, pgettext_lazy("optical power", "fallen")


class Onu(models.Model):
    """A customer terminal. Within its OLT it is identified by serial, else MAC, else index."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="onus", verbose_name=_("OLT"))
    # Its place as one text, by which tables with different indexes are joined; NULL when another ONU took it.
    address = models.CharField(_("place"), max_length=200, null=True)
    # The index suffix, in dots, of its row in the table that it was discovered in.
    raw_index = models.CharField(_("index"), max_length=200, default="", blank=True)
    frame = models.IntegerField(_("frame"), null=True)
    slot = models.IntegerField(_("slot"), null=True)
    port = models.IntegerField(_("port"), null=True)
    onu_id = models.IntegerField(_("ONU"), null=True)
    # The rest of an index that has more than numbers: a MAC or a name.
    extra = models.CharField(_("rest of the index"), max_length=200, default="", blank=True)
    # The numbers that come from columns and not from the index, as "port": they are no part of the address.
    told_parts = models.CharField(_("numbers that columns provide"), max_length=30, default="", blank=True)
    technology = models.CharField(_("technology"), max_length=10, default="", blank=True)
    serial = models.CharField(_("serial"), max_length=40, default="", blank=True)
    mac = models.CharField("MAC", max_length=17, default="", blank=True)
    description = models.TextField(_("description"), default="", blank=True)
    model = models.CharField(_("model"), max_length=120, default="", blank=True)
    plan = models.CharField(_("plan"), max_length=120, default="", blank=True)
    hw_version = models.CharField(_("hardware version"), max_length=80, default="", blank=True)
    sw_version = models.CharField(_("software version"), max_length=120, default="", blank=True)
    distance_m = models.IntegerField(_("distance (m)"), null=True)
    state = models.CharField(_("state"), max_length=20, default="", blank=True)
    # Its last known state, while the present one is not known.
    state_before = models.CharField(_("state before"), max_length=20, default="", blank=True)
    down_cause = models.CharField(_("cause"), max_length=20, default="", blank=True)
    onu_rx_dbm = models.FloatField(_("power at the ONU (dBm)"), null=True)
    onu_tx_dbm = models.FloatField(_("power sent by the ONU (dBm)"), null=True)
    olt_rx_dbm = models.FloatField(_("power at the OLT (dBm)"), null=True)
    temperature_c = models.FloatField(_("temperature (C)"), null=True)
    ip = models.CharField(_("IP address"), max_length=39, default="", blank=True)
    # Facts without a column, and its customer ports: see `facho.apps.extras`.
    extras = models.TextField(_("other facts"), default="", blank=True)
    # The baseline: the median of its last week, of the power that `rx_usual_of` names.
    rx_usual_dbm = models.FloatField(_("usual power (dBm)"), null=True)
    rx_usual_of = models.CharField(_("usual power of"), max_length=20, default="", blank=True)
    # How its power was last judged.
    optical_state = models.CharField(
        _("optical power"), max_length=10, choices=Optics.choices, default="", blank=True
    )
    # Since when it has been offline, and whether the OLT says so; otherwise that is when it was seen.
    offline_since = models.DateTimeField(_("offline since"), null=True)
    offline_dated = models.BooleanField(_("dated by the OLT"), default=False)
    presence = models.CharField(
        _("presence"), max_length=10, choices=Presence.choices, default=Presence.PRESENT
    )
    # The task whose table named it, if no discovery ever did: only that one can show that it is gone.
    named_by = models.CharField(_("named by"), max_length=60, default="", blank=True)
    # Complete discoveries in a row that did not have it.
    missed = models.PositiveSmallIntegerField(_("missed"), default=0)
    first_seen = models.DateTimeField(_("first seen"))
    # When its presence last changed.
    last_seen = models.DateTimeField(_("last seen"))

    class Meta:
        db_table = "onu_data"
        ordering: ClassVar = ["olt_id", "frame", "slot", "port", "onu_id"]
        verbose_name = "ONU"
        verbose_name_plural = "ONUs"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "address"], name="onu_data_one_per_address"),
            models.CheckConstraint(condition=Q(presence__in=Presence.values), name="onu_data_presence_known"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "slot", "port", "onu_id"], name="onu_data_place"),
            # Also for texts by their beginning, which PostgreSQL does not find by a plain index.
            models.Index(fields=["serial"], name="onu_data_serial_like", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["mac"], name="onu_data_mac_like", opclasses=["varchar_pattern_ops"]),
            models.Index(LowerPrefix("description"), name="onu_data_description"),
            models.Index(fields=["state", "id"], name="onu_data_state"),
            models.Index(fields=["model", "sw_version", "hw_version"], name="onu_data_versions"),
            models.Index(fields=["sw_version", "id"], name="onu_data_software"),
            models.Index(
                fields=["ip"],
                name="onu_data_ip_like",
                opclasses=["varchar_pattern_ops"],
                condition=~Q(ip=""),
            ),
            # Few ONUs are weak or absent.
            models.Index(fields=["id"], name="onu_data_weak", condition=~Q(optical_state="")),
            models.Index(fields=["id"], name="onu_data_absent", condition=Q(presence="absent")),
        ]

    def __str__(self) -> str:
        return self.serial or self.mac or f"{self.olt_id}/{self.address}"


class ClockState(models.Model):
    """How far the clock of an OLT is ahead of UTC: see `facho.core.olt_clock`."""

    olt = models.OneToOneField(Olt, models.CASCADE, related_name="clock", verbose_name=_("OLT"))
    # In seconds; of a clock that says its time zone, its error.
    low_s = models.FloatField(_("ahead by at least (s)"))
    high_s = models.FloatField(_("ahead by at most (s)"))
    has_zone = models.BooleanField(_("says its time zone"), default=False)
    since = models.DateTimeField(_("so since"))
    has_jumped = models.BooleanField(_("was set since we know it"), default=False)
    checked_at = models.DateTimeField(_("checked at"))
    read_at = models.DateTimeField(_("read at"), null=True)

    class Meta:
        db_table = "olt_clocks"
        ordering: ClassVar = ["olt_id"]
        verbose_name = _("clock of an OLT")
        verbose_name_plural = _("clocks of OLTs")

    def __str__(self) -> str:
        return f"{self.olt_id}"


class VersionCount(models.Model):
    """How many present ONUs of an OLT have a model, a firmware and a hardware; empty is not known.

    Kept with the ONUs: counting a million rows takes longer than a page may.
    """

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="version_counts", verbose_name=_("OLT"))
    model = models.CharField(_("model"), max_length=120, default="", blank=True)
    sw_version = models.CharField(_("software version"), max_length=120, default="", blank=True)
    hw_version = models.CharField(_("hardware version"), max_length=80, default="", blank=True)
    onus = models.PositiveIntegerField("ONUs")

    class Meta:
        db_table = "onu_versions"
        ordering: ClassVar = ["olt_id", "model", "sw_version", "hw_version"]
        verbose_name = _("ONUs by version")
        verbose_name_plural = _("ONUs by version")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["olt", "model", "sw_version", "hw_version"], name="onu_versions_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.model} {self.sw_version}"


class Collected(models.Model):
    """The time at which rows of a datum last arrived, in a collection that did not break off."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="collected", verbose_name=_("OLT"))
    datum = models.CharField(_("datum"), max_length=60)
    collected_at = models.DateTimeField(_("collected at"))

    class Meta:
        db_table = "olt_collected"
        ordering: ClassVar = ["olt_id", "datum"]
        verbose_name = _("last collected")
        verbose_name_plural = _("last collected")
        constraints: ClassVar = [models.UniqueConstraint(fields=["olt", "datum"], name="olt_collected_once")]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.datum}"


class UnreadableRows(models.Model):
    """Rows of a table whose index the profile cannot read. Removed when a collection has none."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="unreadable_rows", verbose_name=_("OLT"))
    table = models.CharField(_("table"), max_length=60)
    rows = models.PositiveIntegerField(_("rows"))
    # The index of one of them, in dots.
    example = models.CharField(_("example"), max_length=200)
    since = models.DateTimeField(_("since"))
    last_seen = models.DateTimeField(_("last seen"))

    class Meta:
        db_table = "olt_unreadable_rows"
        ordering: ClassVar = ["olt_id", "table"]
        verbose_name = _("rows that cannot be read")
        verbose_name_plural = _("rows that cannot be read")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "table"], name="olt_unreadable_rows_once")
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.table}"


class EventKind(models.TextChoices):
    NEW = "new", _("new")
    MOVED = "moved", _("moved")
    ONLINE = "online", _("online")
    OFFLINE = "offline", _("offline")
    ABSENT = "absent", _("absent")
    RETURNED = "returned", _("returned")
    DUPLICATE = "duplicate", _("duplicate serial")
    UNPROVISIONED = "unprovisioned", _("not provisioned")
    WEAK = "weak", _("weak optical power")
    FALLING = "falling", _("optical power fell")
    RECOVERED = "recovered", _("optical power recovered")


class OnuEvent(models.Model):
    """Something that happened to an ONU. It has its own serial and place: the ONU may move or be removed."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="events", verbose_name=_("OLT"))
    # NULL for an unprovisioned ONU.
    onu = models.ForeignKey(Onu, models.SET_NULL, related_name="events", null=True, verbose_name="ONU")
    kind = models.CharField(_("event"), max_length=20, choices=EventKind.choices)
    # When it was seen.
    at = models.DateTimeField(_("at"))
    # When it happened, as the OLT dates it, on our clock.
    happened_at = models.DateTimeField(_("happened at"), null=True, blank=True)
    serial = models.CharField(_("serial"), max_length=40, default="", blank=True)
    place = models.CharField(_("place"), max_length=200, default="", blank=True)
    # Where an ONU that moved was before.
    before = models.CharField(_("place before"), max_length=200, default="", blank=True)
    # Why it went offline; for optical power, the power.
    cause = models.CharField(_("cause"), max_length=20, default="", blank=True)

    class Meta:
        db_table = "onu_events"
        ordering: ClassVar = ["-at", "-id"]
        verbose_name = _("ONU event")
        verbose_name_plural = _("ONU events")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=EventKind.values), name="onu_events_kind_known")
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "at"], name="onu_events_of_olt"),
            models.Index(fields=["onu", "at"], name="onu_events_of_onu"),
            models.Index(fields=["kind", "at"], name="onu_events_of_kind"),
            # To count how often each ONU went offline without reading the events themselves.
            models.Index(fields=["at", "onu"], name="onu_events_offline", condition=Q(kind="offline")),
            models.Index(fields=["at"], name="onu_events_at"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.serial or self.place}"


class PortOutage(models.Model):
    """Many ONUs of a port that went offline together. Open until most of them are back."""

    class Cause(models.TextChoices):
        POWER_CUT = OutageCause.POWER_CUT.value, _("power cut")
        FIBRE_CUT = OutageCause.FIBRE_CUT.value, _("fibre cut")
        UNKNOWN = OutageCause.UNKNOWN.value, _("unknown cause")

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="port_outages", verbose_name=_("OLT"))
    # That of the port, as in `pon_ports`.
    place = models.CharField(_("port"), max_length=200)
    began_at = models.DateTimeField(_("began at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    cause = models.CharField(_("cause"), max_length=20, choices=Cause.choices)
    onus_affected = models.PositiveIntegerField(_("ONUs affected"))
    # All ONUs of the port, affected or not, when the outage last changed.
    onus_known = models.PositiveIntegerField(_("ONUs of the port"))
    # The ids of the affected ONUs, each with its own cause.
    onus = models.JSONField("ONUs", default=dict)

    class Meta:
        db_table = "port_outages"
        ordering: ClassVar = ["-began_at", "-id"]
        verbose_name = _("port outage")
        verbose_name_plural = _("port outages")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["olt", "place"], condition=Q(ended_at__isnull=True), name="port_outages_one_open"
            ),
            models.CheckConstraint(
                condition=Q(cause__in=[each.value for each in OutageCause]), name="port_outages_cause_known"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "began_at"], name="port_outages_of_olt"),
            models.Index(fields=["began_at"], name="port_outages_began"),
            models.Index(fields=["ended_at"], name="port_outages_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.place} {date_and_minute(self.began_at)}"

    @property
    def is_open(self) -> bool:
        return self.ended_at is None
