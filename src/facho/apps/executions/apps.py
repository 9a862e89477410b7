from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ExecutionsConfig(AppConfig):
    name = "facho.apps.executions"
    verbose_name = _("Executions")
