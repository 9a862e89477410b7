from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from facho.core.roles import Role


class RoleName(models.TextChoices):
    """The roles of `facho.core.roles`, as the database has them and as people read them."""

    METRICS = Role.METRICS.slug, _("metrics only")
    VIEWER = Role.VIEWER.slug, _("viewer")
    OPERATOR = Role.OPERATOR.slug, _("operator")
    ADMINISTRATOR = Role.ADMINISTRATOR.slug, _("administrator")


class TokenState(models.TextChoices):
    VALID = "valid", _("valid")
    EXPIRED = "expired", _("expired")
    REVOKED = "revoked", _("revoked")


class ApiToken(models.Model):
    """What a program shows instead of a password. Only its digest is kept."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=80)
    role = models.CharField(_("role"), max_length=20, choices=RoleName.choices)
    # Its first characters, by which people tell one from another.
    begins = models.CharField(_("begins with"), max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(_("created at"), editable=False)
    expires_at = models.DateTimeField(_("expires at"))
    revoked_at = models.DateTimeField(_("revoked at"), null=True, editable=False)
    # To the minute: not every request is worth a write.
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)

    class Meta:
        db_table = "api_tokens"
        ordering: ClassVar = ["owner", "name"]
        verbose_name = _("token")
        verbose_name_plural = _("tokens")
        indexes: ClassVar = [models.Index(fields=["expires_at"], name="api_tokens_expires_at")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "name"],
                condition=models.Q(revoked_at=None),
                name="api_tokens_one_name_per_owner",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def state_at(self, now: datetime) -> TokenState:
        """What was revoked stays so, also when it would be over by now."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        return TokenState.VALID if self.expires_at > now else TokenState.EXPIRED
