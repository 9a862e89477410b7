from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    name = "facho.apps.access"
    verbose_name = _("Access")

    def ready(self) -> None:
        from facho.apps.access import hooks

        hooks.connect()
