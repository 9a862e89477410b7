from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class HostsConfig(AppConfig):
    name = "facho.apps.hosts"
    verbose_name = _("OLTs")
