"""URLs of the API."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from facho.core.roles import Role
from facho.web.access.pages import for_role
from facho.web.api.index import Index, NotFoundView
from facho.web.api.v1.audit import Audit
from facho.web.api.v1.brands import Brands, Models
from facho.web.api.v1.coordinator import Coordinator, Logs, Retention
from facho.web.api.v1.executions import Executions, SkippedSlotsRows
from facho.web.api.v1.health import LastCollected, OltHealths, TablesWithUnreadableRows
from facho.web.api.v1.jobs import Jobs
from facho.web.api.v1.maintenance import Windows
from facho.web.api.v1.nodes import Nodes, RunNow
from facho.web.api.v1.notifications import Channels, NotificationRules
from facho.web.api.v1.oids import Oids
from facho.web.api.v1.olts import Olts
from facho.web.api.v1.onus import Events, Onus
from facho.web.api.v1.plans import Forecasts, Plans
from facho.web.api.v1.pollers import Pollers, StatsHistory
from facho.web.api.v1.ports import Outages, Ports, UnprovisionedOnus, Uplinks
from facho.web.api.v1.quotas import Quotas, Violations
from facho.web.api.v1.tokens import Tokens
from facho.web.api.v1.what_if import WhatIfs

router = SimpleRouter()
router.register("collected", LastCollected, basename="collected")
router.register("audit", Audit, basename="audit")
router.register("brands", Brands, basename="brand")
router.register("events", Events, basename="event")
router.register("executions", Executions, basename="execution")
router.register("forecasts", Forecasts, basename="forecast")
router.register("health", OltHealths, basename="health")
router.register("jobs", Jobs, basename="job")
router.register("logs", Logs, basename="log")
router.register("maintenance-windows", Windows, basename="maintenance-window")
router.register("models", Models, basename="model")
router.register("nodes", Nodes, basename="node")
router.register("notification-channels", Channels, basename="notification-channel")
router.register("notification-rules", NotificationRules, basename="notification-rule")
router.register("oids", Oids, basename="oid")
router.register("olts", Olts, basename="olt")
router.register("onus", Onus, basename="onu")
router.register("outages", Outages, basename="outage")
router.register("plans", Plans, basename="plan")
router.register("poller-stats", StatsHistory, basename="poller-stats")
router.register("pollers", Pollers, basename="poller")
# Another path of "run now", as other pollers have it.
router.register("pollers/nodes", RunNow, basename="poller-node")
router.register("ports", Ports, basename="port")
router.register("quotas", Quotas, basename="quota")
router.register("retention", Retention, basename="retention")
router.register("skipped-slots", SkippedSlotsRows, basename="skipped-slots")
router.register("tokens", Tokens, basename="token")
router.register("unprovisioned", UnprovisionedOnus, basename="unprovisioned")
router.register("unreadable-rows", TablesWithUnreadableRows, basename="unreadable-rows")
router.register("uplinks", Uplinks, basename="uplink")
router.register("violations", Violations, basename="violation")
router.register("what-if", WhatIfs, basename="what-if")

app_name = "api"
_things: list[URLPattern | URLResolver] = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    # The split view loads its script by URL: the content security policy forbids inline scripts.
    path(
        "docs/",
        for_role(Role.VIEWER)(SpectacularSwaggerSplitView.as_view(url_name="api:schema")),
        name="docs",
    ),
    path("coordinator/", Coordinator.as_view(), name="coordinator"),
    path("", include(router.urls)),
]
urlpatterns = [
    path("", Index.as_view(patterns=_things), name="index"),
    *_things,
    # A dot would not match a newline.
    re_path(r"^[\s\S]*/$", NotFoundView.as_view()),
]
