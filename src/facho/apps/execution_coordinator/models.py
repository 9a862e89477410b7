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
