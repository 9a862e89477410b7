from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.db.prefix import LowerPrefix
from facho.apps.hosts.models import Olt
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
    """A customer terminal. Within its OLT it is recognised by serial, else MAC, else index."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="onus", verbose_name=_("OLT"))
    # Its place as one text, which joins tables whatever their index; empty when another ONU took the place.
    address = models.CharField(_("place"), max_length=200, null=True)
    # The index suffix, in dots, of its row in the table that it was discovered in.
    raw_index = models.CharField(_("index"), max_length=200, default="", blank=True)
    frame = models.IntegerField(_("frame"), null=True)
    slot = models.IntegerField(_("slot"), null=True)
    port = models.IntegerField(_("port"), null=True)
    onu_id = models.IntegerField(_("ONU"), null=True)
    # What else is in an index that does not only count: a MAC or a name.
    extra = models.CharField(_("rest of the index"), max_length=200, default="", blank=True)
    # Which of these numbers columns tell and not the index, as "port": they are no part of the address.
    told_parts = models.CharField(_("numbers told by columns"), max_length=30, default="", blank=True)
    technology = models.CharField(_("technology"), max_length=10, default="", blank=True)
    serial = models.CharField(_("serial"), max_length=40, default="", blank=True)
    mac = models.CharField("MAC", max_length=17, default="", blank=True)
    description = models.TextField(_("description"), default="", blank=True)
    model = models.CharField(_("model"), max_length=120, default="", blank=True)
    plan = models.CharField(_("plan"), max_length=120, default="", blank=True)
    distance_m = models.IntegerField(_("distance (m)"), null=True)
    state = models.CharField(_("state"), max_length=20, default="", blank=True)
    # Its last state that said something, from before one that says nothing.
    state_before = models.CharField(_("state before"), max_length=20, default="", blank=True)
    down_cause = models.CharField(_("cause"), max_length=20, default="", blank=True)
    onu_rx_dbm = models.FloatField(_("power at the ONU (dBm)"), null=True)
    onu_tx_dbm = models.FloatField(_("power sent by the ONU (dBm)"), null=True)
    olt_rx_dbm = models.FloatField(_("power at the OLT (dBm)"), null=True)
    temperature_c = models.FloatField(_("temperature (C)"), null=True)
    # The middle of its last week, at the ONU or else at the OLT, as this fact says.
    rx_usual_dbm = models.FloatField(_("usual power (dBm)"), null=True)
    rx_usual_of = models.CharField(_("usual power of"), max_length=20, default="", blank=True)
    # What was last told of its power.
    optical_state = models.CharField(
        _("optical power"), max_length=10, choices=Optics.choices, default="", blank=True
    )
    presence = models.CharField(
        _("presence"), max_length=10, choices=Presence.choices, default=Presence.PRESENT
    )
    # The task whose table named it, if no discovery ever did: only that one can tell that it is gone.
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
            # For what begins with something too: PostgreSQL would only look for all of it.
            models.Index(fields=["serial"], name="onu_data_serial_like", opclasses=["varchar_pattern_ops"]),
            models.Index(fields=["mac"], name="onu_data_mac_like", opclasses=["varchar_pattern_ops"]),
            models.Index(LowerPrefix("description"), name="onu_data_description"),
            models.Index(fields=["state", "id"], name="onu_data_state"),
            # Few are.
            models.Index(fields=["id"], name="onu_data_weak", condition=~Q(optical_state="")),
            models.Index(fields=["id"], name="onu_data_absent", condition=Q(presence="absent")),
        ]

    def __str__(self) -> str:
        return self.serial or self.mac or f"{self.olt_id}/{self.address}"


class Collected(models.Model):
    """When rows of each datum of an OLT last arrived, in a collection that was not cut short."""

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
    """Rows of a table of an OLT that have an index that its profile cannot read, until a collection of the
    table has none.
    """

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
    """Something that happened to an ONU. It says who and where by itself, for the ONU may be gone or move."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="events", verbose_name=_("OLT"))
    # None for one that is not provisioned.
    onu = models.ForeignKey(Onu, models.SET_NULL, related_name="events", null=True, verbose_name="ONU")
    kind = models.CharField(_("event"), max_length=20, choices=EventKind.choices)
    at = models.DateTimeField(_("at"))
    serial = models.CharField(_("serial"), max_length=40, default="", blank=True)
    place = models.CharField(_("place"), max_length=200, default="", blank=True)
    # Where it was, of one that moved.
    before = models.CharField(_("place before"), max_length=200, default="", blank=True)
    # Why it went offline; of optics, its power.
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
            models.Index(fields=["at"], name="onu_events_at"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.serial or self.place}"


class PortOutage(models.Model):
    """Many ONUs of a port that went at once. Open until most of them are back."""

    class Cause(models.TextChoices):
        POWER_CUT = OutageCause.POWER_CUT.value, _("power cut")
        FIBRE_CUT = OutageCause.FIBRE_CUT.value, _("fibre cut")
        UNKNOWN = OutageCause.UNKNOWN.value, _("unknown cause")

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="port_outages", verbose_name=_("OLT"))
    # Of the port, as in `pon_ports`.
    place = models.CharField(_("port"), max_length=200)
    began_at = models.DateTimeField(_("began at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    cause = models.CharField(_("cause"), max_length=20, choices=Cause.choices)
    onus_affected = models.PositiveIntegerField(_("ONUs affected"))
    # Affected or not, when it was last looked at.
    onus_known = models.PositiveIntegerField(_("ONUs of the port"))
    # Who they are: the number of each, with its own cause.
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
        return f"{self.olt_id} {self.place} {self.began_at:%Y-%m-%d %H:%M}"

    @property
    def is_open(self) -> bool:
        return self.ended_at is None
