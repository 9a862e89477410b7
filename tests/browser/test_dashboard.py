"""The dashboard while somebody looks at it."""

from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Visiting


def test_a_new_execution_appears_without_reloading(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/coordinator/dashboard/")
    expect(page.get_by_text("something new happened")).to_have_count(0)
    page.evaluate("window.neverReloaded = true")
    visitor.site.sample("another")
    expect(page.get_by_text("something new happened")).to_be_visible(timeout=10_000)
    assert page.evaluate("window.neverReloaded")
    assert not visitor.complaints


def test_it_says_so_when_the_server_is_gone_and_when_it_is_back(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/coordinator/dashboard/")
    warning = page.get_by_text("The server does not answer")
    expect(warning).to_be_hidden()
    page.route("**/live/", lambda route: route.abort())
    expect(warning).to_be_visible(timeout=10_000)
    page.unroute("**/live/")
    expect(warning).to_be_hidden(timeout=10_000)


def test_whoever_is_logged_out_meanwhile_comes_to_the_login_page(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/coordinator/dashboard/")
    visitor.context.clear_cookies(name="sessionid")
    expect(page.get_by_role("button", name="Log in")).to_be_visible(timeout=10_000)


def test_somebody_who_is_no_staff_sees_it_and_nothing_of_the_admin(visit: Visiting) -> None:
    visitor = visit("viewer", language="es", viewport=PHONE)
    page = visitor.go("/coordinator/dashboard/")
    expect(page.get_by_role("heading", name="Últimas ejecuciones")).to_be_visible()
    assert page.locator("#nav-sidebar-apps a").count() == 1
    visitor.shoot("dashboard-viewer")
    page = visitor.go("/admin/")
    expect(page.get_by_text("que no puede ver esa página")).to_be_visible()
    visitor.shoot("login-viewer")
    assert not visitor.complaints


def test_the_language_is_chosen_in_the_menu_and_stays(visit: Visiting) -> None:
    visitor = visit("admin", language="es")
    page = visitor.go("/coordinator/dashboard/")
    page.locator("#nav-sidebar").get_by_text("admin", exact=True).click()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Last executions")).to_be_visible()
    page = visitor.go("/admin/hosts/olt/")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert not visitor.complaints
