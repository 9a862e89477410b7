from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RemoteWriteConfig(AppConfig):
    name = "facho.apps.remote_write"
    verbose_name = _("Remote write")
