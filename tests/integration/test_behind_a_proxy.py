"""The pages behind the proxies that deploy/proxy ships, with TLS: who logs in, and from where."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from tests.integration.own_facho import OwnFacho, new_facho
from tests.services import process
from tests.services.proxies import NAME, Proxy

DEPLOY = Path(__file__).parents[2] / "deploy"
LOGIN = "/admin/login/"
PASSWORD = "a-long-password-7"
FAILURES = 2
# What the pages say to who comes by TLS.
HSTS = "max-age=31536000; includeSubDomains"


@dataclass(frozen=True, slots=True)
class Web:
    facho: OwnFacho
    port: int


def shipped_settings(*names: str) -> dict[str, str]:
    """What the env file has for these in its comments, which whoever has a proxy takes away."""
    text = (DEPLOY / "systemd" / "facho.env.example").read_text()
    given = dict(re.findall(r"^#([A-Z_]+)=(.*)$", text, re.MULTILINE))
    return {name: given[name] for name in names}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """Served with the settings of the env file that deploy/ ships, for a proxy on this machine."""
    made = new_facho(tmp_path_factory)
    added = made.run("user", "add", "ana", "--role", "administrator", "--ask", given=f"{PASSWORD}\n")
    assert added.returncode == 0, added.stderr
    port = free_port()
    settings = {
        "FACHO_HOME": str(made.home),
        "FACHO_WEB_ADDRESS": f"127.0.0.1:{port}",
        **shipped_settings("FACHO_ALLOWED_HOSTS", "FACHO_TLS", "FACHO_TRUSTED_PROXIES"),
        "FACHO_LOGIN_PER_ADDRESS": str(FAILURES),
    }
    argv = [sys.executable, "-m", "facho", "web"]
    log = made.home / "output.log"
    with process.running(argv, log=log, answers=lambda: answers(port), env=settings, seconds=120):
        yield Web(made, port)


@pytest.fixture(scope="module")
def proxy(web: Web, proxy_in_front: Callable[[str], Proxy]) -> Proxy:
    return proxy_in_front(f"127.0.0.1:{web.port}")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> str:
    """The beginning of the clients' addresses: both proxies have the same web behind them, which counts."""
    return "127.0.1" if "nginx" in request.node.name else "127.0.2"


@dataclass(slots=True)
class Browser:
    """Comes to the proxy from an address of its own, and keeps cookies."""

    proxy: Proxy
    address: str
    headers: dict[str, str] = field(default_factory=dict)
    cookies: SimpleCookie = field(default_factory=SimpleCookie)

    @property
    def origin(self) -> str:
        return f"https://{NAME}:{self.proxy.https_port}"

    def ask(
        self, method: str, path: str, body: str = "", **headers: str
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection(NAME, self.proxy.https_port)
        plain = connect(self.proxy.https_port, self.address)
        connection.sock = self.proxy.trust().wrap_socket(plain, server_hostname=NAME)
        cookies = "; ".join(f"{name}={each.value}" for name, each in self.cookies.items())
        ours = {"Cookie": cookies, "Accept-Language": "en", **self.headers, **headers}
        connection.request(method, path, body, ours)
        answer = connection.getresponse()
        for line in answer.headers.get_all("Set-Cookie", []):
            self.cookies.load(line)
        text = answer.read().decode()
        connection.close()
        return answer, text

    def log_in(self, name: str, password: str) -> http.client.HTTPResponse:
        page = self.ask("GET", LOGIN)[1]
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token is not None, page[:500]
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
        about = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        return self.ask("POST", LOGIN, urlencode(form), **about, Referer=self.origin + LOGIN)[0]


def connect(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))


def answers(port: int) -> bool:
    """Whether a web is there: a connection alone can be one that a port has made with itself."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status in (200, 503)
    except (OSError, http.client.HTTPException):
        time.sleep(0.05)
        return False
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def test_a_person_logs_in_over_tls_and_the_cookies_stay_there(proxy: Proxy, place: str) -> None:
    browser = Browser(proxy, f"{place}.2")
    answer = browser.log_in("ana", PASSWORD)
    assert answer.status == 302
    assert {name: bool(each["secure"]) for name, each in browser.cookies.items()} == {
        "csrftoken": True,
        "sessionid": True,
    }
    assert answer.headers["Strict-Transport-Security"] == HSTS
    page, text = browser.ask("GET", "/coordinator/dashboard/")
    assert (page.status, "ana" in text) == (200, True)


def test_the_audit_log_has_the_persons_address_whatever_they_claim(
    web: Web, proxy: Proxy, place: str
) -> None:
    liar = Browser(proxy, f"{place}.3", {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "http"})
    assert liar.log_in("ana", PASSWORD).status == 302
    newest = "SELECT action, who, address FROM audit_log ORDER BY id DESC LIMIT 1"
    assert web.facho.rows(newest) == [("login", "ana", f"{place}.3")]


def test_who_guesses_is_locked_out_and_others_are_not(proxy: Proxy, place: str) -> None:
    guesser = Browser(proxy, f"{place}.4")
    tries = [guesser.log_in(f"nobody-{number}", "wrong").status for number in range(FAILURES + 1)]
    assert tries == [200] * FAILURES + [429]
    claims = Browser(proxy, f"{place}.4", {"X-Forwarded-For": "6.6.6.7"})
    assert claims.log_in("ana", PASSWORD).status == 429
    assert Browser(proxy, f"{place}.5").log_in("ana", PASSWORD).status == 302


def test_plain_http_is_sent_to_tls(proxy: Proxy) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", proxy.http_port, timeout=60)) as connection:
        connection.request("GET", LOGIN, headers={"Host": NAME})
        answer = connection.getresponse()
        assert answer.status in (301, 308)
        assert answer.headers["Location"].startswith(f"https://{NAME}")


def test_the_health_is_told_through_the_proxy(proxy: Proxy, place: str) -> None:
    answer, text = Browser(proxy, f"{place}.6").ask("GET", "/health")
    # No engine runs here, which is what it says.
    told = json.loads(text)
    assert (answer.status, told["status"], told["logs_writable"]) == (503, "failing", True)


def test_past_the_proxy_nobody_is_believed_to_come_by_tls(web: Web) -> None:
    claims = {"Host": NAME, "X-Forwarded-Proto": "https", "X-Forwarded-For": "6.6.6.6"}
    with closing(http.client.HTTPConnection(NAME, web.port)) as connection:
        connection.sock = connect(web.port, "127.0.0.9")
        connection.request("GET", LOGIN, headers=claims)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (301, f"https://{NAME}{LOGIN}")


def container_check(port: int) -> subprocess.CompletedProcess[str]:
    """The health check of the container, with the port of this web."""
    service: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"][
        "web"
    ]
    kind, program, *words = service["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    # Five seconds are enough for a container, and not for a machine that runs all tests.
    ours = [word.replace("8000", str(port)).replace("timeout=5", "timeout=60") for word in words]
    return subprocess.run(
        [sys.executable, *ours], capture_output=True, text=True, timeout=120, env={**os.environ}
    )


def test_a_container_of_the_web_is_healthy_with_tls_in_front(web: Web) -> None:
    done = container_check(web.port)
    assert done.returncode == 0, done.stderr


def test_a_container_whose_web_does_not_answer_is_not_healthy() -> None:
    assert container_check(free_port()).returncode != 0


def test_the_web_does_not_start_with_tls_and_no_proxy_that_is_believed(web: Web) -> None:
    done = web.facho.run("web", FACHO_TLS="yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert "FACHO_TRUSTED_PROXIES is empty" in done.stderr
