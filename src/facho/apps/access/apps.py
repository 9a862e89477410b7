from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    name = "facho.apps.access"
    verbose_name = _("Access")

    def ready(self) -> None:
        from facho.apps.access import audit_signals
        from facho.apps.access.groups import have_groups

        audit_signals.connect()
        post_migrate.connect(have_groups, sender=self)
