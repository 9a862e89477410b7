from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class DiscoveryConfig(AppConfig):
    name = "facho.apps.discovery"
    verbose_name = _("ONUs")

    def ready(self) -> None:
        from facho.apps.discovery.description_search import have_description_words

        post_migrate.connect(have_description_words, sender=self)
