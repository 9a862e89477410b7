"""What people come for, from one page to the next, while a real engine collects from simulated OLTs."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Visit, Visiting, visiting
from tests.browser.engine import ONUS, System, whole_system
from tests.database.receivers import web_receiver
from tests.waiting import wait_until

DASHBOARD = "/coordinator/dashboard/"
# The engine and the browser share two cores with all that runs beside them.
SOON = 120_000


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with whole_system(tmp_path_factory.mktemp("journeys")) as system:
        yield system


@pytest.fixture
def visit(system: System, browser: Browser) -> Iterator[Visiting]:
    with visiting(system.site, browser) as visit:
        yield visit


@pytest.fixture(scope="module")
def sur(system: System) -> str:
    """The path of an OLT that is collected from."""
    return system.add_olt("Sur-02", 1)


def is_in_order(visitor: Visit) -> None:
    assert not visitor.is_wider_than_the_window()
    assert not visitor.complaints


def test_a_new_operator_comes_from_nothing_to_the_first_onus(system: System, visit: Visiting) -> None:
    host, port = system.fleet.addresses[0]
    visitor = visit(language="en", alone=True)
    page = visitor.go("/")
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.get_by_role("link", name="Add the first OLT").click()
    for field, value in {"name": "Centro-01", "address": host, "port": port, "community": "public"}.items():
        page.fill(f"#id_{field}", str(value))
    page.get_by_role("button", name="Test connection").click()
    expect(page.get_by_text("It answers.")).to_be_visible(timeout=SOON)
    visitor.shoot("start-olt")
    page.get_by_role("button", name="Test and add").click()
    expect(page.get_by_text("minutes per hour")).to_be_visible(timeout=SOON)
    visitor.shoot("start-jobs")
    page.get_by_role("button", name="Start collecting").click()
    expect(page.get_by_role("heading", name=f"{ONUS} ONUs on Centro-01")).to_be_visible(timeout=SOON)
    visitor.shoot("start-wait")
    page.get_by_role("link", name="Open Centro-01").click()
    expect(page.locator("#live").get_by_role("heading", name="Centro-01")).to_be_visible()
    is_in_order(visitor)


@pytest.mark.parametrize(
    ("language", "button", "refusal", "link"),
    [
        ("en", "Test and add", "Sur-02 already has the address", "Open Sur-02"),
        ("es", "Probar y agregar", "Sur-02 ya tiene la dirección", "Abrir Sur-02"),
    ],
)
def test_a_device_that_is_there_already_is_refused_and_leads_to_its_olt(
    system: System, sur: str, visit: Visiting, language: str, button: str, refusal: str, link: str
) -> None:
    host, port = system.fleet.addresses[1]
    visitor = visit("admin", language=language)
    page = visitor.go("/start/")
    for field, value in {"name": "Twice", "address": host, "port": port, "community": "public"}.items():
        page.fill(f"#id_{field}", str(value))
    page.get_by_role("button", name=button).click()
    expect(page.locator("#error_address")).to_contain_text(refusal)
    visitor.shoot(f"start-taken-{language}")
    page.get_by_role("link", name=link).click()
    expect(page).to_have_url(f"{system.site.url}{sur}")
    is_in_order(visitor)


def test_a_job_made_in_the_admin_shows_its_first_run_on_a_dashboard_that_is_open(
    sur: str, visit: Visiting
) -> None:
    watching, visitor = visit("viewer", language="es"), visit("admin", language="en")
    board = watching.go(DASHBOARD)
    board.evaluate("window.neverReloaded = true")
    page = visitor.go("/admin/snmp_jobs/snmpjob/add/")
    page.fill("#id_name", "distances")
    choose(page, "brand", "zte")
    page.select_option("#id_kind", "table")
    page.fill("#id_interval", "10m")
    distance = page.locator("input[value=distance_m]")
    page.locator(".fd-picker details", has=distance).locator("summary").click()
    distance.check()
    page.get_by_role("link", name="Add another OLT").click()
    choose(page, "nodes-0-olt", "Sur-02")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#what-if").get_by_role("cell", name="Sur-02")).to_be_visible(timeout=SOON)
    visitor.shoot("job-what-if")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#result_list").get_by_text("distances").first).to_be_visible()
    run = board.locator(".fd-ended tr", has_text="distances").first
    expect(run.get_by_text("exitosa")).to_be_visible(timeout=SOON)
    assert board.evaluate("window.neverReloaded")
    watching.shoot("journey-dashboard")
    is_in_order(watching)
    is_in_order(visitor)


def choose(page: Page, field: str, name: str) -> None:
    """In a box that looks names up as one types."""
    page.locator(f"#id_{field} ~ .select2").first.click()
    # The list of all names is replaced when the one of this name comes.
    with page.expect_response(lambda answer: f"term={name}" in answer.url):
        page.locator(".select2-search__field").last.fill(name)
    options = page.locator(".select2-results__option")
    expect(options.filter(has_not_text=name)).to_have_count(0)
    options.first.click()


def test_an_operator_runs_a_node_now_and_sees_it_end(sur: str, visit: Visiting) -> None:
    visitor = visit("operator", language="es", viewport=PHONE, dark=True)
    page = visitor.go(f"{sur}collection/")
    page.get_by_role("button", name="Ejecutar discovery").click()
    expect(page.get_by_text("discovery es la siguiente en Sur-02")).to_be_visible()
    by_hand = runs(page, "Ejecuciones recientes").filter(has_text="ejecutar ahora").first
    expect(by_hand.get_by_text("exitosa")).to_be_visible(timeout=SOON)
    visitor.shoot("journey-run-now")
    is_in_order(visitor)


def runs(page: Page, title: str) -> Locator:
    return page.locator("section", has=page.get_by_role("heading", name=title)).locator("tbody tr")


def test_an_olt_that_is_disabled_lets_go_of_what_runs_there(system: System, visit: Visiting) -> None:
    lento = system.add_olt("Lento-03", 2, jobs=False)
    with system.fleet.hold(2) as gate:
        system.add_usual_jobs("Lento-03")
        gate.wait_until_held()
        visitor = visit("operator", language="en", viewport=PHONE)
        page = visitor.go(f"{lento}collection/")
        running = runs(page, "Recent executions").filter(has=page.get_by_text("running", exact=True))
        expect(running).to_be_visible(timeout=SOON)
        page.get_by_role("link", name="Disable…", exact=True).first.click()
        page.get_by_role("button", name="Disable", exact=True).click()
        # The browser asks for the reason before anything is sent.
        expect(page.get_by_label("Reason")).to_be_focused()
        page.get_by_label("Reason").fill("too slow")
        page.get_by_role("button", name="Disable", exact=True).click()
        expect(page.get_by_text("Lento-03 is disabled: nothing is collected from it.")).to_be_visible(
            timeout=SOON
        )
        expect(runs(page, "Recent executions").get_by_text("aborted").first).to_be_visible(timeout=SOON)
        expect(running).to_have_count(0, timeout=SOON)
        visitor.shoot("journey-disabled")
        is_in_order(visitor)
    page.get_by_role("button", name="Undo: enable it again").click()
    expect(page.get_by_text("Lento-03 is enabled")).to_be_visible(timeout=SOON)
    disable_in_spanish(visit, lento)


def disable_in_spanish(visit: Visiting, olt: str) -> None:
    visitor = visit("operator", language="es")
    page = visitor.go(olt)
    page.get_by_role("link", name="Deshabilitar…", exact=True).first.click()
    page.get_by_label("Motivo").fill("cambio de tarjeta")
    page.get_by_role("button", name="Deshabilitar", exact=True).click()
    expect(page.locator("#live").get_by_text("cambio de tarjeta")).to_be_visible(timeout=SOON)
    page.get_by_role("button", name="Deshacer: habilitar de nuevo").click()
    expect(page.get_by_text("Lento-03 quedó habilitada")).to_be_visible(timeout=SOON)
    is_in_order(visitor)


def test_a_serial_in_the_search_box_leads_to_its_onu_and_its_chart(
    system: System, sur: str, visit: Visiting
) -> None:
    def with_power() -> list[tuple[str]]:
        return system.facho.rows("SELECT serial FROM onu_data WHERE onu_rx_dbm IS NOT NULL")

    serial = waited_for(with_power)[0][0]
    visitor = visit("viewer", language="es", viewport=PHONE)
    page = visitor.go(DASHBOARD)
    page.get_by_role("button", name="dock_to_right").click()
    page.get_by_role("searchbox", name="Buscar").fill(serial)
    page.keyboard.press("Enter")
    page.wait_for_url("**/onus/*/")
    expect(page.get_by_role("heading", name=serial)).to_be_visible()
    expect(page.locator(".fd-chart svg").nth(1)).to_be_visible()
    visitor.shoot("journey-onu")
    is_in_order(visitor)


def waited_for(ask: Callable[[], list[tuple[str]]]) -> list[tuple[str]]:
    wait_until(ask)
    return ask()


# What they may post to, each besides what those before may. What is posted here changes nothing.
OPERATORS = ("{olt}test/",)
ADMINISTRATORS = ("/start/", "/admin/snmp_jobs/snmpjob/add/", "/admin/hosts/olt/add/")


@pytest.mark.parametrize(
    ("role", "buttons", "refused"),
    [
        ("viewer", set(), OPERATORS + ADMINISTRATORS),
        ("operator", {"Probar la conexión", "Deshabilitar…"}, ADMINISTRATORS),
        ("admin", {"Probar la conexión", "Deshabilitar…", "Editar"}, ()),
    ],
)
def test_nobody_is_shown_what_they_may_not_do_and_whoever_tries_is_refused(
    sur: str, visit: Visiting, role: str, buttons: set[str], refused: tuple[str, ...]
) -> None:
    visitor = visit(role, language="es", viewport=PHONE)
    page = visitor.go(sur)
    expect(page.locator("#live h2").first).to_be_visible()
    shown = page.locator(".fd-doing :is(button, a.fd-small)").all_inner_texts()
    assert {"Probar la conexión", "Deshabilitar…", "Editar"} & set(shown) == buttons
    assert (page.locator('a[href="/start/"]').count() > 0) == (role == "admin")
    for path in OPERATORS + ADMINISTRATORS:
        assert (posted(visitor, path.format(olt=sur)) == 403) == (path in refused), path
    is_in_order(visitor)


def posted(visitor: Visit, path: str) -> int:
    """What a form that somebody made for themselves would be answered."""
    token = next(one["value"] for one in visitor.context.cookies() if one["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": visitor.site.url}
    return visitor.page.request.post(visitor.site.url + path, form={"name": "x"}, headers=headers).status


@pytest.mark.parametrize(
    ("language", "test", "accepted", "missing", "rule"),
    [
        ("en", "Send a test", "hook-en accepted the test.", "a value is needed", "important events"),
        ("es", "Enviar una prueba", "hook-es aceptó la prueba.", "falta un valor", "eventos importantes"),
    ],
)
def test_a_channel_is_chosen_by_its_service_tested_and_saved_with_a_first_rule(
    system: System, visit: Visiting, language: str, test: str, accepted: str, missing: str, rule: str
) -> None:
    name = f"hook-{language}"
    visitor = visit("admin", language=language, viewport=PHONE if language == "es" else DESKTOP)
    page = visitor.go("/admin/notifications/notificationchannel/add/")
    page.fill("#id_name", name)
    page.select_option("#id_service", "mail")
    expect(page.locator("#id_server")).to_be_visible()
    expect(page.locator("#id_web_address")).to_be_hidden()
    page.get_by_role("button", name=test, exact=True).click()
    expect(page.locator("#channel-tested")).to_contain_text(missing, timeout=SOON)
    page.select_option("#id_service", "webhook")
    expect(page.locator("#id_server")).to_be_hidden()
    with web_receiver() as web:
        page.fill("#id_web_address", f"http://127.0.0.1:{web.port}/in")
        page.get_by_role("button", name=test, exact=True).click()
        expect(page.locator("#channel-tested")).to_contain_text(accepted, timeout=SOON)
        assert len(web.got) == 1
    assert not system.facho.rows("SELECT 1 FROM notification_channels WHERE name = ?", name)
    visitor.shoot(f"channel-{language}")
    is_in_order(visitor)
    page.locator("[name=_save]").click()
    expect(page.locator("#result_list").get_by_role("link", name=name)).to_be_visible(timeout=SOON)
    page = visitor.go("/admin/notifications/notificationrule/")
    expect(page.locator("#result_list").get_by_role("link", name=rule)).to_be_visible()
    system.facho.does("notify", "rule", "remove", rule)
