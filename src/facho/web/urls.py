"""The pages of `facho.web`."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from facho.web import views
from facho.web.metrics.views import metrics

urlpatterns = [
    path("", views.root, name="root"),
    path("coordinator/dashboard/", views.dashboard, name="dashboard"),
    path("metrics", metrics, name="metrics"),
    path("coordinator/dashboard/live/", views.live_part, name="dashboard-live"),
    path("coordinator/dashboard/overview/", views.overview_part, name="dashboard-overview"),
    path("coordinator/dashboard/timeline/", views.timeline_part, name="timeline"),
    # In place of the admin's own, which are for staff only.
    path("admin/login/", views.Login.as_view(), name="login"),
    path("admin/logout/", LogoutView.as_view(), name="logout"),
    path("admin/password_change/", views.password_change),
    path("admin/password_change/done/", views.password_change_done),
]
