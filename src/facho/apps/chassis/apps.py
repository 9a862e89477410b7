from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChassisConfig(AppConfig):
    name = "facho.apps.chassis"
    verbose_name = _("Chassis")
