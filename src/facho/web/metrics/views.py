"""Who may ask for the metrics, and what is answered."""

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
from facho.apps.db.clock import database_now
from facho.apps.hosts.models import Olt
from facho.config import current
from facho.core.roles import Role
from facho.web.api.authentication import BearerToken
from facho.web.metrics.catalogue import METRICS, ONU_METRICS
from facho.web.metrics.families import OPEN_METRICS, content_type, written
from facho.web.metrics.reading import onu_samples, samples
from facho.web.server.answer_cache import AnswerBusy, AnswerCache

_once: Final = AnswerCache("facho.metrics")


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if not _is_of_metrics(request):
        return _refused("a token of the role metrics is needed", HTTPStatus.UNAUTHORIZED)
    open_metrics = OPEN_METRICS in request.headers.get("Accept", "")
    if "onus" not in request.GET:
        return _answer("fleet", _fleet, open_metrics=open_metrics)
    olt = Olt.objects.filter(name=request.GET.get("olt", "")).only("id", "name").first()
    if olt is None:
        return _refused("olt must be the name of an OLT: ?onus=1&olt=NAME", HTTPStatus.BAD_REQUEST)
    # Its name may be anything, and would not be for the cache.
    about = hashlib.sha256(olt.name.encode()).hexdigest()
    return _answer(f"olt.{about}", lambda open_: _of_olt(olt, open_), open_metrics=open_metrics)


def _is_of_metrics(request: HttpRequest) -> bool:
    """Neither a session nor any other token will do: what reads this is a program with one purpose."""
    try:
        shown = BearerToken().authenticate(Request(request))
    except APIException:
        return False
    return shown is not None and role_of_token(shown[1]) is Role.METRICS


def _answer(about: str, work_out: Callable[[bool], bytes], *, open_metrics: bool) -> HttpResponse:
    try:
        text = _once.get(f"{about}.{open_metrics}", current().metrics_kept, lambda: work_out(open_metrics))
    except AnswerBusy:
        return _refused("the scrape before this one goes on", HTTPStatus.SERVICE_UNAVAILABLE)
    return HttpResponse(text, content_type=content_type(open_metrics=open_metrics))


def _fleet(open_metrics: bool) -> bytes:
    return written(METRICS, samples(database_now(), current()), open_metrics=open_metrics)


def _of_olt(olt: Olt, open_metrics: bool) -> bytes:
    return written(ONU_METRICS, onu_samples(olt), open_metrics=open_metrics)


def _refused(sentence: str, status: HTTPStatus) -> HttpResponse:
    answer = HttpResponse(f"{sentence}\n", content_type="text/plain; charset=utf-8", status=status)
    if status is HTTPStatus.UNAUTHORIZED:
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
    return answer
