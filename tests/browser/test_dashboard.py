"""The dashboard while somebody looks at it."""

from http import HTTPStatus

from playwright.sync_api import Response, expect

from tests.browser.conftest import PHONE, Visiting


def test_it_says_so_when_the_server_is_gone_and_when_it_is_back(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/coordinator/dashboard/")
    warning = page.get_by_text("The server does not answer")
    expect(warning).to_be_hidden()
    page.route("**/live/", lambda route: route.abort())
    expect(warning).to_be_visible(timeout=120_000)
    page.unroute("**/live/")
    expect(warning).to_be_hidden(timeout=120_000)


def test_a_part_that_has_not_changed_is_neither_sent_nor_replaced(visit: Visiting) -> None:
    visitor = visit("admin", language="en", alone=True)
    page = visitor.go("/coordinator/dashboard/")
    page.clock.install()
    page.reload()

    def poll() -> Response:
        """Let the ten seconds pass after which the page asks again."""
        with page.expect_response("**/overview/", timeout=120_000) as answer:
            page.clock.run_for(10_000)
        answer.value.finished()
        return answer.value

    def poll_until_unchanged() -> Response:
        # A chart in it moves once a minute.
        return next(each for each in iter(poll, None) if each.status == HTTPStatus.NOT_MODIFIED)

    assert poll_until_unchanged().request.header_value("if-none-match")
    page.evaluate("document.querySelector('#overview .fd-ended').dataset.kept = 'yes'")
    poll_until_unchanged()
    # The page has worked on an answer when it asks for the next.
    poll_until_unchanged()
    expect(page.locator("#overview .fd-ended")).to_have_attribute("data-kept", "yes")
    assert not visitor.complaints


def test_whoever_is_logged_out_meanwhile_comes_to_the_login_page(visit: Visiting) -> None:
    visitor = visit("admin", language="en", alone=True)
    page = visitor.go("/coordinator/dashboard/")
    visitor.context.clear_cookies(name="sessionid")
    expect(page.get_by_role("button", name="Log in")).to_be_visible(timeout=120_000)


def test_a_viewer_sees_everything_but_users_and_nothing_to_save_or_run(visit: Visiting) -> None:
    visitor = visit("viewer", language="es", viewport=PHONE)
    page = visitor.go("/coordinator/dashboard/")
    expect(page.get_by_role("heading", name="Ejecuciones recientes")).to_be_visible()
    visitor.shoot("dashboard-viewer")
    links = page.locator("#nav-sidebar-apps a")
    assert links.and_(page.locator("[href='/olts/']")).count() == 1
    assert links.and_(page.locator("[href='/admin/auth/user/']")).count() == 0
    page = visitor.go("/admin/hosts/olt/")
    expect(page.locator("#result_list").get_by_text("Centro-01").first).to_be_visible()
    assert page.locator("[href='/admin/hosts/olt/add/']").count() == 0
    # What is seen can be taken away, and nothing else be done with it.
    assert page.locator("[name='action'] option:not([value=''])").evaluate_all(
        "options => options.map(option => option.value)"
    ) == ["export_csv"]
    page = visitor.go("/admin/hosts/olt/1/change/")
    assert page.locator("[name='_save']").count() == 0
    visitor.shoot("olt-viewer")
    assert not visitor.complaints


def test_the_language_is_chosen_in_the_menu_and_stays(visit: Visiting) -> None:
    visitor = visit("admin", language="es", alone=True)
    page = visitor.go("/coordinator/dashboard/")
    page.locator("#nav-sidebar").get_by_text("admin", exact=True).click()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Recent executions")).to_be_visible()
    page = visitor.go("/admin/hosts/olt/")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert not visitor.complaints
