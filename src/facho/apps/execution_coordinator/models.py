from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _


class CoordinatorState(models.Model):
    """What the loops leave for one another and for people: the time of each one's last step."""

    name = models.CharField(_("name"), max_length=60, unique=True)
    value = models.JSONField(_("value"), default=dict)
    updated_at = models.DateTimeField(_("updated at"))

    class Meta:
        db_table = "coordinator_state"
        ordering: ClassVar = ["name"]
        verbose_name = _("state of a loop")
        verbose_name_plural = _("states of loops")

    def __str__(self) -> str:
        return self.name


class StorageSample(models.Model):
    """How large the database was, and how much room its disk had. One an hour."""

    at = models.DateTimeField(_("at"), unique=True)
    database_bytes = models.PositiveBigIntegerField(_("database (bytes)"))
    # Empty when whoever measured could not see the disk of the database.
    free_bytes = models.PositiveBigIntegerField(_("free (bytes)"), null=True)

    class Meta:
        db_table = "storage_samples"
        ordering: ClassVar = ["-at"]
        verbose_name = _("size of the database")
        verbose_name_plural = _("sizes of the database")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"
