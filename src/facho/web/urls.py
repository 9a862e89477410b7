"""The pages of `facho.web`."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from facho.web import views
from facho.web.metrics.views import metrics
from facho.web.pages import first_run, olt_acts, olts, onu_reading, onus, ports, search, worst

urlpatterns = [
    path("", views.root, name="root"),
    path("coordinator/dashboard/", views.dashboard, name="dashboard"),
    path("metrics", metrics, name="metrics"),
    path("coordinator/dashboard/live/", views.live_part, name="dashboard-live"),
    path("coordinator/dashboard/overview/", views.overview_part, name="dashboard-overview"),
    path("coordinator/dashboard/timeline/", views.timeline_part, name="timeline"),
    path("olts/", olts.olts, name="olts"),
    path("olts/<int:olt_id>/", olts.olt, name="olt"),
    path("olts/<int:olt_id>/live/", olts.olt_live, name="olt-live"),
    path("olts/<int:olt_id>/facts/", olts.olt_rest, name="olt-facts"),
    path("olts/<int:olt_id>/proposals/", olts.olt_proposals, name="olt-proposals"),
    path("olts/<int:olt_id>/test/", olt_acts.test_olt, name="olt-test"),
    path("olts/<int:olt_id>/enable/", olt_acts.enable_olt, name="olt-enable"),
    path("olts/<int:olt_id>/disable/", olt_acts.disable_olt, name="olt-disable"),
    path("olts/<int:olt_id>/shift/", olt_acts.shift_node, name="olt-shift"),
    path(
        "olts/<int:olt_id>/violations/<int:violation_id>/acknowledge/",
        olt_acts.acknowledge_violation,
        name="violation-acknowledge",
    ),
    path("olts/<int:olt_id>/nodes/<int:node_id>/run/", olt_acts.run_node, name="node-run"),
    path("olts/<int:olt_id>/nodes/<int:node_id>/enable/", olt_acts.enable_node, name="node-enable"),
    path("olts/<int:olt_id>/nodes/<int:node_id>/disable/", olt_acts.disable_node, name="node-disable"),
    path("olts/<int:olt_id>/ports/<int:port_id>/", ports.port, name="port"),
    path("olts/<int:olt_id>/ports/at/<path:place>/", ports.port_at, name="port-at"),
    path("onus/<int:onu_id>/", onus.onu, name="onu"),
    path("onus/<int:onu_id>/read/", onu_reading.read_now, name="onu-read"),
    path("onus/<int:onu_id>/reading/<int:execution_id>/", onu_reading.reading, name="onu-reading"),
    path("onus/worst/", worst.worst, name="worst-onus"),
    path("onus/unprovisioned/", onus.unprovisioned, name="unprovisioned-onus"),
    path("search/", search.search, name="search"),
    path("start/", first_run.start, name="start"),
    path("start/<int:olt_id>/jobs/", first_run.jobs, name="start-jobs"),
    path("start/<int:olt_id>/what-if/", first_run.what_if, name="start-what-if"),
    path("start/<int:olt_id>/wait/", first_run.wait, name="start-wait"),
    # In place of the admin's own, which are for staff only.
    path("admin/login/", views.Login.as_view(), name="login"),
    path("admin/logout/", LogoutView.as_view(), name="logout"),
    path("admin/password_change/", views.password_change),
    path("admin/password_change/done/", views.password_change_done),
]
