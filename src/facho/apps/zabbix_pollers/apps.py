from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ZabbixPollersConfig(AppConfig):
    name = "facho.apps.zabbix_pollers"
    verbose_name = _("Pollers")
