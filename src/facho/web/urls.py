"""The pages of `facho.web`."""

from django.contrib.auth.views import LogoutView
from django.urls import path, register_converter
from django.urls.converters import IntConverter

from facho.web.components.banner import banner
from facho.web.dashboard import views as dashboard
from facho.web.executions import views as executions
from facho.web.first_run import views as first_run
from facho.web.hardware import views as hardware
from facho.web.login import views as login
from facho.web.metrics.views import metrics
from facho.web.olts import actions as olt_actions
from facho.web.olts import views as olts
from facho.web.olts.tabs import TabConverter
from facho.web.onus import views as onus
from facho.web.plans import views as plans
from facho.web.ports import views as ports
from facho.web.preferences import views as preferences
from facho.web.search import views as search
from facho.web.traffic import views as traffic
from facho.web.versions import views as versions
from facho.web.violations import views as violations


class IdConverter(IntConverter):
    """An id in a route, of no more digits than the integers of a database have."""

    regex = "[0-9]{1,18}"


register_converter(TabConverter, "olt_tab")
register_converter(IdConverter, "id")

urlpatterns = [
    path("", dashboard.root, name="root"),
    path("coordinator/dashboard/", dashboard.dashboard, name="dashboard"),
    path("metrics", metrics, name="metrics"),
    path("banner/", banner, name="banner"),
    path("banner/olts/<id:olt_id>/", banner, name="olt-banner"),
    path("coordinator/wall/", dashboard.wall, name="wall"),
    path("coordinator/dashboard/live/", dashboard.live_part, name="dashboard-live"),
    path("coordinator/dashboard/overview/", dashboard.overview_part, name="dashboard-overview"),
    path("coordinator/dashboard/timeline/", dashboard.timeline_part, name="timeline"),
    path("olts/", olts.olts, name="olts"),
    path("olts/rows/", olts.olt_rows, name="olt-rows"),
    path("olts/<id:olt_id>/", olts.olt, name="olt"),
    path("olts/<id:olt_id>/live/", olts.olt_live, name="olt-live"),
    path("olts/<id:olt_id>/<olt_tab:tab>/", olts.olt, name="olt-tab"),
    path("olts/<id:olt_id>/<olt_tab:tab>/part/", olts.olt_part, name="olt-part"),
    path("olts/<id:olt_id>/facts/", olts.olt_facts, name="olt-facts"),
    path("olts/<id:olt_id>/proposals/", olts.olt_proposals, name="olt-proposals"),
    path("olts/<id:olt_id>/test/", olt_actions.test_olt, name="olt-test"),
    path("olts/<id:olt_id>/enable/", olt_actions.enable_olt, name="olt-enable"),
    path("olts/<id:olt_id>/disable/", olt_actions.disable_olt, name="olt-disable"),
    path("olts/<id:olt_id>/recover/", olt_actions.recover_olt, name="olt-recover"),
    path("olts/<id:olt_id>/shift/", olt_actions.shift_node, name="olt-shift"),
    path(
        "olts/<id:olt_id>/violations/<id:violation_id>/acknowledge/",
        olt_actions.acknowledge_violation,
        name="violation-acknowledge",
    ),
    path("olts/<id:olt_id>/nodes/<id:node_id>/run/", olt_actions.run_node, name="node-run"),
    path("olts/<id:olt_id>/nodes/<id:node_id>/enable/", olt_actions.enable_node, name="node-enable"),
    path("olts/<id:olt_id>/nodes/<id:node_id>/disable/", olt_actions.disable_node, name="node-disable"),
    path("olts/<id:olt_id>/ports/<id:port_id>/", ports.port, name="port"),
    path("olts/<id:olt_id>/parts/<id:part_id>/", hardware.part, name="part"),
    path("olts/<id:olt_id>/uplinks/<id:uplink_id>/", hardware.uplink, name="uplink"),
    path("olts/<id:olt_id>/ports/at/<path:place>/", ports.port_at, name="port-at"),
    path("onus/<id:onu_id>/", onus.onu, name="onu"),
    path("onus/<id:onu_id>/read/", onus.read_now, name="onu-read"),
    path("onus/<id:onu_id>/reading/<id:execution_id>/", onus.reading, name="onu-reading"),
    path("onus/worst/", onus.worst, name="worst-onus"),
    path("onus/unprovisioned/", onus.unprovisioned, name="unprovisioned-onus"),
    path("traffic/", traffic.traffic, name="traffic"),
    path("traffic/tops/", traffic.traffic_tops, name="traffic-tops"),
    path("versions/", versions.versions, name="versions"),
    path("executions/<id:execution_id>/", executions.execution, name="execution"),
    path("plans/", plans.plans, name="plans"),
    path("plans/rows/", plans.plan_rows, name="plan-rows"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("violations/<id:violation_id>/", violations.violation, name="violation"),
    path("violations/<id:violation_id>/acknowledge/", violations.acknowledge, name="violation-seen"),
    path("search/", search.search, name="search"),
    path("start/", first_run.start, name="start"),
    path("start/<id:olt_id>/jobs/", first_run.jobs, name="start-jobs"),
    path("start/<id:olt_id>/what-if/", first_run.what_if, name="start-what-if"),
    path("start/<id:olt_id>/wait/", first_run.wait, name="start-wait"),
    # In place of the admin's own, which are for staff only.
    path("admin/login/", login.Login.as_view(), name="login"),
    path("admin/logout/", LogoutView.as_view(), name="logout"),
    path("admin/password_change/", login.password_change),
    path("admin/password_change/done/", login.password_change_done),
]
