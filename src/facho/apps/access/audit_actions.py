"""The actions and interfaces of the audit log."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class How(models.TextChoices):
    ADMIN = "admin", _("admin")
    PAGES = "pages", _("pages")
    API = "api", "API"
    COMMAND_LINE = "cli", _("command line")


class Action(models.TextChoices):
    ADD = "add", pgettext_lazy("audit", "added")
    CHANGE = "change", pgettext_lazy("audit", "changed")
    DELETE = "delete", pgettext_lazy("audit", "deleted")
    # Something suspended, resumed by a person before its probe.
    RESUME = "resume", pgettext_lazy("audit", "resumed")
    RUN = "run", pgettext_lazy("audit", "run now")
    ABORT = "abort", pgettext_lazy("audit", "aborted")
    TEST = "test", pgettext_lazy("audit", "tested")
    ROTATE = "rotate", pgettext_lazy("audit", "keys rotated")
    EXPORT = "export", pgettext_lazy("audit", "exported")
    LOG_IN = "login", pgettext_lazy("audit", "logged in")
    LOG_IN_FAILED = "login_failed", pgettext_lazy("audit", "failed to log in")
    LOG_OUT = "logout", pgettext_lazy("audit", "logged out")
