from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class WebConfig(AppConfig):
    name = "facho.web"
    default = True


class AdminConfig(SimpleAdminConfig):
    default = False
    default_site = "facho.web.access.site.FachoAdminSite"
