"""The URLs of all pages."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

admin.autodiscover()

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("facho.web.urls")),
    path("language/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("facho.web.api.v1.urls")),
]
handler400 = "facho.web.access.error_pages.bad_request"
handler403 = "facho.web.access.pages.forbidden"
handler404 = "facho.web.access.error_pages.not_found"
handler500 = "facho.web.api.problems.handle_server_error"
