"""The admin writes through commands alone: every model that it lets people add, change or delete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model, signals
from django.forms import MultiWidget
from django.test import Client, RequestFactory
from django.urls import reverse

from facho.apps.access.actors import _gathered
from facho.apps.hosts.models import Brand, Oid, Olt, OltModel
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import NotificationChannel, NotificationRule
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.core.roles import Role
from facho.engine.commands import brands, maintenance
from facho.engine.commands.jobs import NewJob, create_job
from facho.engine.commands.maintenance import Window
from facho.engine.commands.oids import NewOid, add_oid
from facho.engine.commands.users import add_user
from tests.api_clients import person
from tests.database.notification_receivers import make_channel, make_rule
from tests.factories import add_job, add_olts, at

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

RTL = "\N{RIGHT-TO-LEFT OVERRIDE}"
PASSWORD = "wonderful-horse-7"


@pytest.fixture
def administrator() -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(person(Role.ADMINISTRATOR))
    return client


def olt() -> Olt:
    return add_olts("Centro")[0]


def node() -> SnmpJobHost:
    olt()
    add_job("state", "Centro")
    return SnmpJobHost.objects.get()


def job() -> SnmpJob:
    return node().job


def own_oid() -> Oid:
    return add_oid(NewOid("own", "1.3.6.1.7", "huawei"))


def olt_model() -> OltModel:
    return brands.add_olt_model("huawei", "M1")


def window() -> MaintenanceWindow:
    olt()
    later = timedelta(days=3650)
    wanted = Window("window", olt="Centro", starts_at=at("10:00") + later, ends_at=at("12:00") + later)
    return maintenance.add_window(wanted, at("09:00"))


def rule() -> NotificationRule:
    return make_rule(make_channel())


def user() -> User:
    return add_user("jose", "viewer", PASSWORD).user


# How a row of each is made, and a field of its form with another value for it. None: it is only added.
EDITED: dict[type[Model], tuple[Callable[[], Model], str, str] | None] = {
    Brand: (lambda: Brand.objects.get(name="huawei"), "title", "Another"),
    OltModel: (olt_model, "name", "M2"),
    Oid: (own_oid, "name", "other"),
    Olt: (olt, "name", "Norte"),
    SnmpJob: (job, "name", "other"),
    SnmpJobHost: (node, "priority", "7"),
    MaintenanceWindow: (window, "name", "other"),
    NotificationChannel: (make_channel, "name", "other"),
    NotificationRule: (rule, "name", "other"),
    User: (user, "first_name", "José"),
    apps.get_model("access", "ApiToken"): None,
}


def page_of(model: type[Model], page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


@contextmanager
def writes_outside_commands() -> Iterator[list[str]]:
    """What is saved or deleted while no command is under way. Updates without a row in hand are not seen."""
    found: list[str] = []

    def look(sender: type[Model], **_: Any) -> None:
        ours = sender.__module__.startswith("facho.") or sender is User
        if ours and _gathered.get() is None:
            found.append(sender._meta.label)

    for signal in (signals.pre_save, signals.pre_delete):
        signal.connect(look, dispatch_uid="outside")
    try:
        yield found
    finally:
        for signal in (signals.pre_save, signals.pre_delete):
            signal.disconnect(dispatch_uid="outside")


def as_sent(answer: Any) -> dict[str, Any]:
    """What a browser sends back from a page of the admin when nothing is changed on it."""
    formsets = [each.formset for each in answer.context["inline_admin_formsets"]]
    forms = [answer.context["adminform"].form, *(form for each in formsets for form in each.forms)]
    forms += [each.management_form for each in formsets]
    return {name: value for form in forms for bound in form for name, value in sent(bound)}


def sent(bound: Any) -> Iterator[tuple[str, Any]]:
    value, widget = bound.value(), bound.field.widget
    if isinstance(widget, MultiWidget):
        for number, part in enumerate(widget.decompress(value) or ()):
            yield f"{bound.html_name}_{number}", "" if part is None else str(part)
    elif not (value is None or value is False or value == ""):
        yield bound.html_name, "on" if value is True else value


def permitted() -> Iterator[tuple[type[Model], Any, Any]]:
    # The web looks for its pages when its addresses are read.
    import_module(settings.ROOT_URLCONF)
    request = RequestFactory().get("/")
    request.user = person(Role.ADMINISTRATOR)
    for model, page in admin.site._registry.items():
        yield model, page, request


def test_every_model_that_people_can_write_is_tried_here() -> None:
    writable = {
        model
        for model, page, request in permitted()
        if page.has_add_permission(request)
        or page.has_change_permission(request)
        or page.has_delete_permission(request)
    }
    assert writable == set(EDITED)


def test_no_page_saves_or_deletes_as_django_would() -> None:
    for model, page, request in permitted():
        kind = type(page)
        if page.has_add_permission(request) or page.has_change_permission(request):
            assert kind.save_model is not admin.ModelAdmin.save_model, model
        assert kind.delete_model is not admin.ModelAdmin.delete_model, model
        assert kind.delete_queryset is not admin.ModelAdmin.delete_queryset, model


@pytest.mark.parametrize("model", [model for model, case in EDITED.items() if case])
def test_an_edit_is_made_by_a_command(administrator: Client, model: type[Model]) -> None:
    case = EDITED[model]
    assert case is not None
    make, field, value = case
    path = page_of(model, "change", make().pk)
    given = {**as_sent(administrator.get(path)), field: value}
    with writes_outside_commands() as found:
        answer = administrator.post(path, given)
    assert answer.status_code == 302, (answer.context["errors"], answer.context["adminform"].form.errors)
    assert not found
    assert str(as_sent(administrator.get(path))[field]) == value


@pytest.mark.parametrize("model", [model for model, case in EDITED.items() if case])
@pytest.mark.parametrize("way", ["page", "list"])
def test_a_row_is_deleted_by_a_command_or_not_at_all(
    administrator: Client, model: type[Model], way: str
) -> None:
    case = EDITED[model]
    assert case is not None
    row = case[0]()
    many = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    with writes_outside_commands() as found:
        if way == "page":
            answer = administrator.post(page_of(model, "delete", row.pk), {"post": "yes"})
        else:
            answer = administrator.post(page_of(model, "changelist"), many)
    assert answer.status_code in (200, 302, 403)
    assert not found
    # Django's own pages are still there, and do what they say where they are offered.
    offered = model in (OltModel, Oid, Olt, SnmpJob, NotificationRule) or (
        way == "page" and model in (MaintenanceWindow, NotificationChannel, User)
    )
    assert model._default_manager.filter(pk=row.pk).exists() is not offered


def test_an_oid_that_a_job_asks_for_is_not_deleted(administrator: Client) -> None:
    own, used = own_oid(), add_oid(NewOid("used", "1.3.6.1.8", "huawei"))
    create_job(NewJob("own job", "huawei", "walk", "10m", (), oids=["1.3.6.1.8"]), at("10:00"))
    said = administrator.post(page_of(Oid, "delete", used.pk), {"post": "yes"}, follow=True).content.decode()
    assert "used is used by own job" in said
    both = {"action": "delete_selected", "_selected_action": [own.pk, used.pk], "post": "yes"}
    said = administrator.post(page_of(Oid, "changelist"), both, follow=True).content.decode()
    assert "used is used by own job" in said
    assert {row.name for row in Oid.objects.filter(pk__in=[own.pk, used.pk])} == {"own", "used"}


def test_an_oid_of_a_profile_is_neither_changed_nor_deleted(administrator: Client) -> None:
    row = Oid.objects.exclude(synced={})[0]
    for page in ("change", "delete"):
        assert administrator.post(page_of(Oid, page, row.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    administrator.post(page_of(Oid, "changelist"), chosen)
    assert Oid.objects.filter(pk=row.pk).exists()


def test_a_model_that_an_olt_has_is_not_deleted(administrator: Client) -> None:
    model = olt_model()
    Olt.objects.filter(pk=olt().pk).update(model=model)
    said = administrator.post(page_of(OltModel, "delete", model.pk), {"post": "yes"}, follow=True)
    assert "M1 is the model of Centro" in said.content.decode()
    assert OltModel.objects.filter(pk=model.pk).exists()


def test_a_job_that_is_deleted_leaves_nothing_on_the_schedule(administrator: Client) -> None:
    made = job()
    administrator.post(page_of(SnmpJob, "delete", made.pk), {"post": "yes"})
    assert not SnmpJob.objects.exists()
    assert not SnmpJobHost.objects.exists()


ADDED: dict[type[Model], tuple[str, Callable[[], dict[str, Any]]]] = {
    Olt: (
        "name",
        lambda: {
            "brand": Brand.objects.get(name="huawei").pk, "address": "10.0.0.1", "port": "161", "model": "",
            "snmp_version": "2c", "community": "c", "enabled": "on", "site": "",
        },
    ),
    Oid: ("name", lambda: {"brand": Brand.objects.get(name="huawei").pk, "model": "", "oid": "1.3.6.1.9"}),
    OltModel: ("name", lambda: {"brand": Brand.objects.get(name="huawei").pk}),
    NotificationChannel: ("name", lambda: {"enabled": "on", "address": "json://a.example", "language": ""}),
    NotificationRule: (
        "name",
        lambda: {"channels": [make_channel().pk], "min_severity": "LOW", "no_repeat": "30m", "enabled": "on"},
    ),
    MaintenanceWindow: (
        "name",
        lambda: {
            "olt": olt().pk, "enabled": "on", "starts_at_0": "2035-06-10", "starts_at_1": "10:00",
            "ends_at_0": "2035-06-10", "ends_at_1": "12:00",
        },
    ),
    User: ("username", lambda: {"role": "viewer", "password1": PASSWORD, "password2": PASSWORD}),
    apps.get_model("access", "ApiToken"): (
        "name",
        lambda: {
            "role": "viewer", "owner": person(Role.VIEWER).pk, "expires_at_0": "2027-01-01",
            "expires_at_1": "10:00",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("model", ADDED)
def test_a_row_is_added_by_a_command(administrator: Client, model: type[Model]) -> None:
    field, others = ADDED[model]
    given = {field: "added", **others()}
    before = model._default_manager.count()
    with writes_outside_commands() as found:
        administrator.post(page_of(model, "add"), given)
    assert not found
    assert model._default_manager.count() == before + 1


@pytest.mark.parametrize(
    "text", [f"a{RTL}b", "a\N{ZERO WIDTH SPACE}b", "a\x07b", "a\N{HANGUL FILLER}b", "x" * 300]
)
@pytest.mark.parametrize("model", ADDED)
def test_a_name_that_looks_like_another_is_refused_wherever_one_is_written(
    administrator: Client, model: type[Model], text: str
) -> None:
    field, others = ADDED[model]
    given = {field: text, **others()}
    before = model._default_manager.count()
    answer = administrator.post(page_of(model, "add"), given)
    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert model._default_manager.count() == before


@pytest.mark.parametrize("field", ["first_name", "last_name", "username"])
def test_a_person_has_no_hidden_characters_either(administrator: Client, field: str) -> None:
    path = page_of(User, "change", user().pk)
    answer = administrator.post(path, {**as_sent(administrator.get(path)), field: f"jose{RTL}"})
    assert list(answer.context["adminform"].form.errors) == [field]


def test_passwords_are_changed_by_a_command(administrator: Client) -> None:
    other = user()
    given = {"password1": f"{PASSWORD}x", "password2": f"{PASSWORD}x"}
    with writes_outside_commands() as found:
        page = reverse("admin:auth_user_password_change", args=[other.pk])
        assert administrator.post(page, given).status_code == 302
    assert not found
    other.refresh_from_db()
    administrator.force_login(other)
    own = {"old_password": f"{PASSWORD}x", "new_password1": PASSWORD, "new_password2": PASSWORD}
    with writes_outside_commands() as found:
        assert administrator.post("/admin/password_change/", own).status_code == 302
    assert not found
    other.refresh_from_db()
    assert other.check_password(PASSWORD)
    # Who changed it stays logged in.
    assert administrator.get("/coordinator/dashboard/").status_code == 200
