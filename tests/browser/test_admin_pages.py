"""The forms that ask before they save."""

from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Visiting


def test_an_olt_is_tested_with_what_was_typed(visit: Visiting) -> None:
    for language, viewport, button in (
        ("es", PHONE, "Probar la conexión"),
        ("en", DESKTOP, "Test connection"),
    ):
        visitor = visit("admin", language=language, viewport=viewport, dark=language == "es")
        page = visitor.go("/admin/hosts/olt/add/")
        expect(page.locator("#id_v3_user")).to_be_hidden()
        page.fill("#id_address", "127.0.0.1")
        # Discard: nobody listens there.
        page.fill("#id_port", "9")
        page.fill("#id_community", "public")
        page.get_by_role("button", name=button).click()
        expect(page.locator("#olt-tested .fd-danger")).to_be_visible(timeout=120_000)
        visitor.shoot(f"olt-tested-{language}")
        assert not visitor.is_wider_than_the_window()
        assert not visitor.complaints


def test_what_is_wrong_with_a_new_olt_is_said_beside_the_form_that_stays(visit: Visiting) -> None:
    visitor = visit("admin", language="en", viewport=PHONE, dark=True)
    page = visitor.go("/start/")
    page.fill("#id_name", "Oeste-09")
    page.fill("#id_address", "127.0.0.1")
    page.fill("#id_port", "9")
    page.fill("#id_community", "public")
    page.get_by_role("button", name="Test connection").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing listens on UDP port 9", timeout=120_000)
    expect(page.locator("#id_community")).to_have_value("public")
    visitor.shoot("start-wrong")
    assert not visitor.is_wider_than_the_window()
    assert not visitor.complaints


def test_what_an_olt_said_it_is_goes_into_its_form(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    said = (
        '<button type="button" data-use-brand="77" data-use-brand-name="Huawei" data-use-model="78" '
        'data-use-model-name="MA5800-X7">Use</button>'
    )
    page = visitor.page
    page.route("**/olt/test/", lambda route: route.fulfill(body=said, content_type="text/html"))
    visitor.go("/admin/hosts/olt/add/")
    page.get_by_role("button", name="Test connection").click()
    page.get_by_role("button", name="Use", exact=True).click()
    expect(page.locator("#id_brand")).to_have_value("77")
    expect(page.locator("#select2-id_model-container")).to_contain_text("MA5800-X7")
    page.select_option("#id_snmp_version", "3")
    expect(page.locator("#id_v3_user")).to_be_visible()
    expect(page.locator("#id_community")).to_be_hidden()
    visitor.shoot("olt-used")
    assert not visitor.complaints


def test_a_job_is_previewed_beside_its_form(visit: Visiting) -> None:
    for language, viewport, button in (("es", PHONE, "Vista previa"), ("en", DESKTOP, "Preview")):
        visitor = visit("admin", language=language, viewport=viewport, dark=language == "es")
        page = visitor.go("/admin/snmp_jobs/snmpjob/1/change/")
        page.fill("#id_interval", "20m")
        page.get_by_role("button", name=button).click()
        expect(page.locator("#what-if .fd-name").first).to_be_visible(timeout=120_000)
        visitor.shoot(f"job-previewed-{language}")
        assert not visitor.is_wider_than_the_window()
        assert not visitor.complaints
