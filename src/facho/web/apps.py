from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class WebConfig(AppConfig):
    name = "facho.web"
    default = True

    def ready(self) -> None:
        from facho.web.access import recording, sessions

        recording.connect()
        # Not with its middleware, which is loaded by the first request: a log-in may come before that.
        sessions.connect()


class AdminConfig(SimpleAdminConfig):
    default = False
    default_site = "facho.web.access.site.FachoAdminSite"
