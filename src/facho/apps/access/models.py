from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from facho.apps.access.audit_actions import Action, How
from facho.apps.access.audit_recording import Audited, AuditedRows
from facho.apps.localized_times import date_and_time
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
    """A secret that a program sends instead of a password. Only its digest is stored."""

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

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("owner", "name", "role", "expires_at", "revoked_at"))

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
        """Return the state of the token. A revoked token stays revoked after it expires."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        return TokenState.VALID if self.expires_at > now else TokenState.EXPIRED


class UserPreferences(models.Model):
    """How an account wants to see the pages. An account without a row has the defaults."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="preferences", verbose_name=_("user")
    )
    # Empty is the operator's time zone.
    time_zone = models.CharField(_("time zone"), max_length=64, default="", blank=True)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("time_zone",), called=("user__username",))

    class Meta:
        db_table = "user_preferences"
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return str(self.user)


class AuditEntry(models.Model):
    """One action of a person: who, when, through what and from where. It is never changed."""

    at = models.DateTimeField(_("at"), db_default=Now())
    who = models.CharField(_("who"), max_length=150, default="", blank=True)
    # Names can be given again; and who is gone has done it all the same.
    user_id = models.BigIntegerField(null=True)
    how = models.CharField(_("how"), max_length=10, choices=How.choices)
    address = models.CharField(_("address"), max_length=45, default="", blank=True)
    token = models.CharField(_("token"), max_length=80, default="", blank=True)
    action = models.CharField(_("action"), max_length=20, choices=Action.choices)
    # As roles name it: `hosts.olt`.
    model = models.CharField(_("what"), max_length=80)
    object_id = models.BigIntegerField("id", null=True)
    name = models.CharField(_("name"), max_length=200, default="", blank=True)
    # `{"port": {"old": 161, "new": 1161}}`; of a secret that it changed.
    changes = models.JSONField(_("changes"), default=dict, encoder=DjangoJSONEncoder)

    class Meta:
        db_table = "audit_log"
        ordering: ClassVar = ["-id"]
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit log")
        indexes: ClassVar = [
            models.Index(fields=["at"], name="audit_log_at"),
            models.Index(fields=["model", "object_id", "id"], name="audit_log_of"),
            models.Index(fields=["who", "id"], name="audit_log_who"),
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()}: {self.name}"


class LoginAttempt(models.Model):
    """A log-in that failed, or is being looked at. A log-in that succeeds removes those of its address."""

    # Of the name that was typed, which may be a password at the wrong place.
    account = models.CharField(max_length=64, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+", verbose_name=_("user")
    )
    address = models.CharField(_("address"), max_length=50)
    at = models.DateTimeField(_("at"))

    class Meta:
        db_table = "login_attempts"
        ordering: ClassVar = ["-at"]
        verbose_name = _("failed log-in")
        verbose_name_plural = _("failed log-ins")
        indexes: ClassVar = [
            models.Index(fields=["account", "at"], name="login_attempts_account"),
            models.Index(fields=["address", "at"], name="login_attempts_address"),
            models.Index(fields=["at"], name="login_attempts_at"),
        ]

    def __str__(self) -> str:
        return f"{self.address} {date_and_time(self.at)}"


class LoginAddress(models.Model):
    """An address from which somebody logged in to an account, and when that was last."""

    # As attempts have it: of the name that was typed.
    account = models.CharField(max_length=64, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("user")
    )
    address = models.CharField(_("address"), max_length=50)
    at = models.DateTimeField(_("at"))

    class Meta:
        db_table = "login_addresses"
        ordering: ClassVar = ["-at"]
        verbose_name = _("known address")
        verbose_name_plural = _("known addresses")
        indexes: ClassVar = [models.Index(fields=["at"], name="login_addresses_at")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "address"], name="login_addresses_one_per_account")
        ]

    def __str__(self) -> str:
        return f"{self.address} {date_and_time(self.at)}"
