"""The view of `/metrics`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from facho.apps.access.selectors import role_of_token
from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.config import current
from facho.core.roles import Role
from facho.web.api.authentication import BearerToken
from facho.web.metrics.catalogue import METRICS, ONU_METRICS
from facho.web.metrics.families import OPEN_METRICS, content_type, render_metrics
from facho.web.metrics.reading import onu_samples, samples
from facho.web.server.answer_cache import AnswerBusy, AnswerCache

_cache: Final = AnswerCache("facho.metrics")


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if not _has_metrics_token(request):
        return _refused("a token of the role metrics is needed", HTTPStatus.UNAUTHORIZED)
    open_metrics = OPEN_METRICS in request.headers.get("Accept", "")
    if "onus" not in request.GET:
        return _answer("fleet", _fleet, open_metrics=open_metrics)
    olt = Olt.objects.filter(name=request.GET.get("olt", "")).only("id", "name").first()
    if olt is None:
        return _refused("olt must be the name of an OLT: ?onus=1&olt=NAME", HTTPStatus.BAD_REQUEST)
    # A hash, since a name may have characters that cache keys may not.
    name = hashlib.sha256(olt.name.encode()).hexdigest()
    return _answer(f"olt.{name}", lambda open_: _onus_of(olt, open_), open_metrics=open_metrics)


def _has_metrics_token(request: HttpRequest) -> bool:
    """Return whether the request has a token of the role metrics; no session or other token is accepted."""
    try:
        shown = BearerToken().authenticate(Request(request))
    except APIException:
        return False
    return shown is not None and role_of_token(shown[1]) is Role.METRICS


def _answer(name: str, compute: Callable[[bool], bytes], *, open_metrics: bool) -> HttpResponse:
    try:
        text = _cache.get(f"{name}.{open_metrics}", current().metrics_kept, lambda: compute(open_metrics))
    except AnswerBusy:
        return _refused("the previous scrape is still running", HTTPStatus.SERVICE_UNAVAILABLE)
    return HttpResponse(text, content_type=content_type(open_metrics=open_metrics))


def _fleet(open_metrics: bool) -> bytes:
    return render_metrics(METRICS, samples(database_now(), current()), open_metrics=open_metrics)


def _onus_of(olt: Olt, open_metrics: bool) -> bytes:
    return render_metrics(ONU_METRICS, onu_samples(olt), open_metrics=open_metrics)


def _refused(sentence: str, status: HTTPStatus) -> HttpResponse:
    answer = HttpResponse(f"{sentence}\n", content_type="text/plain; charset=utf-8", status=status)
    if status is HTTPStatus.UNAUTHORIZED:
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
    return answer
