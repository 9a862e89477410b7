from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ExecutionCoordinatorConfig(AppConfig):
    name = "facho.apps.execution_coordinator"
    verbose_name = _("Coordinator")
