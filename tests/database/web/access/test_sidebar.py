"""The sidebar, which is rendered once for all who have the same."""

from __future__ import annotations

from itertools import product

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import set_script_prefix
from django.utils import translation
from unfold.sites import UnfoldAdminSite

from facho.core.roles import OF_PEOPLE, Role
from facho.web.access import site
from tests.api_clients import person

pytestmark = pytest.mark.django_db

PATHS = (
    "/olts/",
    "/olts/7/",
    "/coordinator/dashboard/",
    "/admin/hosts/olt/add/",
    "/admin/auth/user/",
    "/none/",
)


def test_everybody_gets_the_sidebar_that_unfold_makes_for_them() -> None:
    people = [*(person(role, role.slug) for role in OF_PEOPLE), User.objects.create_superuser("root")]
    # Twice: the second time none of them is the first of its kind.
    for user, path, language, _time in product(people, PATHS, ("en", "es"), (1, 2)):
        request = RequestFactory().get(path)
        request.user = user
        with translation.override(language):
            plain = UnfoldAdminSite.get_sidebar_list(admin.site, request)
            wanted = render_to_string("components/sidebar.html", {"groups": plain})
            assert admin.site.get_sidebar_list(request) == [wanted]  # type: ignore[attr-defined]


def test_the_links_follow_the_prefix_of_the_site() -> None:
    request = RequestFactory().get("/olts/")
    request.user = person(Role.VIEWER)
    try:
        for prefix in ("/", "/facho/", "/"):
            set_script_prefix(prefix)
            (sidebar,) = admin.site.get_sidebar_list(request)  # type: ignore[attr-defined]
            assert f'href="{prefix}olts/"' in sidebar
    finally:
        set_script_prefix("/")


def test_a_page_shows_which_entry_is_open(client: Client) -> None:
    client.force_login(person(Role.VIEWER))
    for _time in range(2):
        for path in ("/olts/", "/onus/worst/"):
            page = client.get(path).content.decode()
            assert page.count('aria-current="page"') == 1
            assert f'href="{path}"' in page[: page.index('aria-current="page"')].rpartition("<a ")[2]


def test_paths_with_many_links_in_them_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_MOST_SIDEBARS", 3)
    admin.site._sidebars.clear()  # type: ignore[attr-defined]
    user = person(Role.VIEWER)
    for chosen in product(("", "/olts/"), ("", "/start/"), ("", "/admin/auth/user/")):
        request = RequestFactory().get("".join(chosen) or "/")
        request.user = user
        admin.site.get_sidebar_list(request)  # type: ignore[attr-defined]
    assert len(admin.site._sidebars) <= 3  # type: ignore[attr-defined]
