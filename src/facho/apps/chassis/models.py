"""The ports, uplinks and parts of OLTs, and the unprovisioned ONUs at their ports."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from facho.apps.hosts.models import Olt


class PonPort(models.Model):
    """A PON port. One that the OLT does not list any more is kept: its ONUs may come back."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="pon_ports", verbose_name=_("OLT"))
    place = models.CharField(_("place"), max_length=200)
    frame = models.IntegerField(_("frame"), null=True)
    slot = models.IntegerField(_("slot"), null=True)
    port = models.IntegerField(_("port"), null=True)
    name = models.CharField(_("name"), max_length=120, default="", blank=True)
    technology = models.CharField(_("technology"), max_length=10, default="", blank=True)
    state = models.CharField(_("state"), max_length=20, default="", blank=True)
    admin_state = models.CharField(_("administrative state"), max_length=20, default="", blank=True)
    down_cause = models.CharField(_("cause"), max_length=20, default="", blank=True)
    tx_dbm = models.FloatField(_("power sent (dBm)"), null=True)
    rx_dbm = models.FloatField(_("power received (dBm)"), null=True)
    temperature_c = models.FloatField(_("temperature (C)"), null=True)
    voltage_v = models.FloatField(_("voltage (V)"), null=True)
    bias_ma = models.FloatField(_("laser current (mA)"), null=True)
    # What the OLT says; the ONUs that were found are counted from their own rows.
    onus_told = models.IntegerField(_("ONUs, says the OLT"), null=True)
    onus_online_told = models.IntegerField(_("ONUs online, says the OLT"), null=True)
    # JSON: the facts without a column of their own.
    extras = models.TextField(_("other facts"), default="", blank=True)
    # When something about it changed.
    updated_at = models.DateTimeField(_("changed at"))

    class Meta:
        db_table = "pon_ports"
        ordering: ClassVar = ["olt_id", "frame", "slot", "port", "id"]
        verbose_name = _("PON port")
        verbose_name_plural = _("PON ports")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "place"], name="pon_ports_one_per_place")
        ]
        indexes: ClassVar = [models.Index(fields=["olt", "slot", "port"], name="pon_ports_place")]

    def __str__(self) -> str:
        return self.name or self.place

    @property
    def cause(self) -> str:
        """Return why the port is down; OLTs report the cause of the last time also while it is up."""
        return "" if self.state == "up" else self.down_cause


class PartKind(models.TextChoices):
    OLT = "olt", "OLT"
    BOARD = "board", _("board")
    FAN = "fan", _("fan")
    PSU = "psu", _("power supply")


class OltHealth(models.Model):
    """The health of the OLT itself, or of one of its boards, fans or power supplies."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="health", verbose_name=_("OLT"))
    # "olt", "board 0/1", "fan 0/2" or "psu 0/1".
    part = models.CharField(_("part"), max_length=200)
    kind = models.CharField(_("kind"), max_length=10, choices=PartKind.choices)
    frame = models.IntegerField(_("frame"), null=True)
    slot = models.IntegerField(_("slot"), null=True)
    # What it is: the model of an OLT, the type of a board.
    name = models.CharField(_("name"), max_length=120, default="", blank=True)
    state = models.CharField(_("state"), max_length=20, default="", blank=True)
    cpu_pct = models.FloatField(_("CPU (%)"), null=True)
    memory_pct = models.FloatField(_("memory (%)"), null=True)
    temperature_c = models.FloatField(_("temperature (C)"), null=True)
    power_w = models.FloatField(_("power drawn (W)"), null=True)
    voltage_v = models.FloatField(_("voltage (V)"), null=True)
    speed_rpm = models.FloatField(_("speed (rpm)"), null=True)
    speed_pct = models.FloatField(_("speed (%)"), null=True)
    sw_version = models.CharField(_("software version"), max_length=120, default="", blank=True)
    hw_version = models.CharField(_("hardware version"), max_length=80, default="", blank=True)
    serial = models.CharField(_("serial"), max_length=80, default="", blank=True)
    extras = models.TextField(_("other facts"), default="", blank=True)
    updated_at = models.DateTimeField(_("changed at"))

    class Meta:
        db_table = "olt_health"
        ordering: ClassVar = ["olt_id", "-kind", "frame", "slot", "id"]
        verbose_name = _("OLT health")
        verbose_name_plural = _("OLT health")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "part"], name="olt_health_one_per_part"),
            models.CheckConstraint(condition=Q(kind__in=PartKind.values), name="olt_health_kind_known"),
        ]

    def __str__(self) -> str:
        return self.part


class Uplink(models.Model):
    """An interface of an OLT towards the network. One that is gone is kept as down."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="uplinks", verbose_name=_("OLT"))
    place = models.CharField(_("place"), max_length=200)
    name = models.CharField(_("name"), max_length=120, default="", blank=True)
    description = models.CharField(_("description"), max_length=255, default="", blank=True)
    state = models.CharField(_("state"), max_length=20, default="", blank=True)
    admin_state = models.CharField(_("administrative state"), max_length=20, default="", blank=True)
    speed_mbps = models.IntegerField(_("speed (Mbit/s)"), null=True)
    tx_dbm = models.FloatField(_("power sent (dBm)"), null=True)
    rx_dbm = models.FloatField(_("power received (dBm)"), null=True)
    temperature_c = models.FloatField(_("temperature (C)"), null=True)
    voltage_v = models.FloatField(_("voltage (V)"), null=True)
    bias_ma = models.FloatField(_("laser current (mA)"), null=True)
    extras = models.TextField(_("other facts"), default="", blank=True)
    updated_at = models.DateTimeField(_("changed at"))

    class Meta:
        db_table = "olt_uplinks"
        ordering: ClassVar = ["olt_id", "id"]
        verbose_name = _("uplink")
        verbose_name_plural = _("uplinks")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "place"], name="olt_uplinks_one_per_place")
        ]

    def __str__(self) -> str:
        return self.name or self.place


class Unprovisioned(models.Model):
    """An ONU that the OLT found at a port, and that nobody has provisioned."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="unprovisioned", verbose_name=_("OLT"))
    # Its serial, else its MAC, else its row in the OLT's list.
    identity = models.CharField(_("identity"), max_length=200)
    # That of the port where it is.
    place = models.CharField(_("place"), max_length=200, default="", blank=True)
    frame = models.IntegerField(_("frame"), null=True)
    slot = models.IntegerField(_("slot"), null=True)
    port = models.IntegerField(_("port"), null=True)
    serial = models.CharField(_("serial"), max_length=40, default="", blank=True)
    mac = models.CharField("MAC", max_length=17, default="", blank=True)
    model = models.CharField(_("model"), max_length=120, default="", blank=True)
    vendor_id = models.CharField(_("maker"), max_length=40, default="", blank=True)
    sw_version = models.CharField(_("software version"), max_length=120, default="", blank=True)
    extras = models.TextField(_("other facts"), default="", blank=True)
    # What the OLT says, by its own clock.
    seen_at = models.DateTimeField(_("found by the OLT at"), null=True)
    first_seen = models.DateTimeField(_("first seen"))
    last_seen = models.DateTimeField(_("last seen"))

    class Meta:
        db_table = "unprovisioned_onus"
        ordering: ClassVar = ["olt_id", "frame", "slot", "port", "identity"]
        verbose_name = _("unprovisioned ONU")
        verbose_name_plural = _("unprovisioned ONUs")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "identity"], name="unprovisioned_onus_once")
        ]
        indexes: ClassVar = [models.Index(fields=["first_seen"], name="unprovisioned_first_seen")]

    def __str__(self) -> str:
        return self.identity
