"""Where each thing of the API is."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.routers import SimpleRouter

from facho.web.api.v1.executions import Executions
from facho.web.api.v1.nodes import Nodes

router = SimpleRouter()
router.register("executions", Executions, basename="execution")
router.register("nodes", Nodes, basename="node")
# Run a node now, where other pollers of this field have it.
router.register("pollers/nodes", Nodes, basename="poller-node")

app_name = "api"
urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerView.as_view(url_name="api:schema"), name="docs"),
    path("", include(router.urls)),
]
