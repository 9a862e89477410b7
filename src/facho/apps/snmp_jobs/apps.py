from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SnmpJobsConfig(AppConfig):
    name = "facho.apps.snmp_jobs"
    verbose_name = _("SNMP jobs")
