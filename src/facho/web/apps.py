from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class WebConfig(AppConfig):
    name = "facho.web"
    default = True

    def ready(self) -> None:
        from facho.web.access import recording, sessions

        recording.connect()
        # Here and not in its middleware, which the first request loads: a login may come before that.
        sessions.connect()


class AdminConfig(SimpleAdminConfig):
    default = False
    default_site = "facho.web.access.site.FachoAdminSite"
