"""What each answer of a receiver means, over a real connection on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from facho.config import Config
from facho.engine.remote_write.receiver import Receiver, Refused, Unavailable, file_problems
from facho.masking import MASK, add_secrets
from tests.factories import at


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.closes = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/api/v1/write?a=b"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        self.server.connections += 1
        super().setup()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        for name, value in {**self.server.headers, "Content-Length": str(len(self.server.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            # Nobody reads the rest of a long one.
            self.wfile.write(self.server.body)
        self.close_connection = self.server.closes

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def receiver_of() -> Iterator[Callable[..., Receiver]]:
    made = []

    def make(url: str, **settings: Any) -> Receiver:
        made.append(Receiver(Config(remote_write_url=url, **settings)))
        return made[-1]

    yield make
    for each in made:
        each.close()


MakeReceiver = Callable[..., Receiver]


def test_a_request_is_what_receivers_expect_and_the_connection_is_kept(
    server: Server, receiver_of: MakeReceiver
) -> None:
    receiver = receiver_of(server.url, remote_write_tenant="isp")
    for body in (b"one", b"two"):
        receiver.send(body)
    (path, headers, first), (_, _, second) = server.seen
    assert (path, first, second) == ("/api/v1/write?a=b", b"one", b"two")
    assert headers["Content-Encoding"] == "snappy"
    assert headers["Content-Type"] == "application/x-protobuf"
    assert headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
    assert headers["X-Scope-OrgID"] == "isp"
    assert "Authorization" not in headers
    assert server.connections == 1


def test_a_connection_that_the_receiver_closed_is_made_again(
    server: Server, receiver_of: MakeReceiver
) -> None:
    server.closes = True
    receiver = receiver_of(server.url)
    for body in (b"one", b"two"):
        receiver.send(body)
    assert [body for _, _, body in server.seen] == [b"one", b"two"]
    assert server.connections == 2


@pytest.mark.parametrize("status", [400, 409, 413, 422])
def test_samples_that_are_wrong_are_refused(server: Server, receiver_of: MakeReceiver, status: int) -> None:
    server.status, server.body = status, b"out of order sample\nfor x"
    with pytest.raises(Refused, match=f"HTTP {status} .*: out of order sample.*for x"):
        receiver_of(server.url).send(b"x")


@pytest.mark.parametrize("status", [301, 401, 403, 404, 429, 500, 503])
def test_with_any_other_answer_samples_wait(server: Server, receiver_of: MakeReceiver, status: int) -> None:
    """A token that has expired, or a wrong path, must not cost a day of samples."""
    server.status = status
    with pytest.raises(Unavailable, match=f"HTTP {status}") as caught:
        receiver_of(server.url).send(b"x")
    assert caught.value.pause is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        ("999999", 300),
        (format_datetime(at("00:00")), 0),
        ("soon", None),
        ("", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999", None),
    ],
)
def test_the_pause_that_a_receiver_wants(
    server: Server, receiver_of: MakeReceiver, text: str, seconds: float | None
) -> None:
    server.status, server.headers = 429, {"Retry-After": text}
    with pytest.raises(Unavailable) as caught:
        receiver_of(server.url).send(b"x")
    assert caught.value.pause == (None if seconds is None else timedelta(seconds=seconds))


def test_a_receiver_that_is_not_there_is_away(receiver_of: MakeReceiver) -> None:
    with pytest.raises(Unavailable, match="no connection: "):
        receiver_of("http://127.0.0.1:9/write").send(b"x")


def test_a_receiver_that_does_not_answer_is_away(receiver_of: MakeReceiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/write"
        with pytest.raises(Unavailable, match="no answer in time"):
            receiver_of(url, remote_write_timeout=timedelta(milliseconds=50)).send(b"x")


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"])
def test_a_receiver_that_answers_byte_by_byte_is_not_waited_for(
    receiver_of: MakeReceiver, begin: bytes
) -> None:
    """Each byte comes within the time-out."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        receiver = receiver_of(
            f"http://127.0.0.1:{listening.getsockname()[1]}/write",
            remote_write_timeout=timedelta(milliseconds=200),
        )
        thread = threading.Thread(target=drip, args=(listening, begin))
        thread.start()
        began = time.monotonic()
        with nullcontext() if begin else pytest.raises(Unavailable, match="no answer in time"):
            receiver.send(b"x")
        assert time.monotonic() - began < 2
        receiver.close()
        thread.join()


def drip(listening: socket.socket, begin: bytes) -> None:
    """Answer with a byte every 20 ms, until the other end is closed, for 4 seconds at most."""
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        connection.sendall(begin)
        for _ in range(200):
            connection.sendall(b"H")
            time.sleep(0.02)


def test_a_receiver_that_closes_in_the_middle_of_its_answer_is_away(receiver_of: MakeReceiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                request = b""
                while not request.endswith(b"\r\n\r\nx"):
                    request += connection.recv(65536)
                connection.sendall(b"HTTP/1.1 2")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Unavailable, match="no answer that is HTTP"):
            receiver_of(f"http://127.0.0.1:{listening.getsockname()[1]}/write").send(b"x")
        thread.join()


def test_a_long_answer_is_cut_and_is_no_part_of_the_next_one(
    server: Server, receiver_of: MakeReceiver
) -> None:
    receiver = receiver_of(server.url)
    server.status, server.body = 503, b"x" * 10_000_000
    with pytest.raises(Unavailable) as caught:
        receiver.send(b"one")
    assert len(str(caught.value)) <= 300
    server.status, server.body = 204, b""
    receiver.send(b"two")
    assert server.connections == 2


def test_a_name_and_a_password_or_a_token_are_sent(
    server: Server, receiver_of: MakeReceiver, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    receiver_of(server.url, remote_write_user="ana", remote_write_password="p:ss").send(b"x")
    receiver_of(server.url, remote_write_token="a-token").send(b"x")
    receiver_of(server.url, remote_write_token_file=str(file)).send(b"x")
    sent = [headers["Authorization"] for _, headers, _ in server.seen]
    assert sent == ["Basic YW5hOnA6c3M=", "Bearer a-token", "Bearer from-a-file"]


def test_a_token_that_was_renewed_is_read_again_after_it_was_refused(
    server: Server, receiver_of: MakeReceiver, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("old-token")
    receiver = receiver_of(server.url, remote_write_token_file=str(file))
    server.status = 401
    with pytest.raises(Unavailable):
        receiver.send(b"x")
    file.write_text("new-token")
    server.status = 204
    receiver.send(b"x")
    assert server.seen[-1][1]["Authorization"] == "Bearer new-token"


def test_a_secret_that_the_receiver_repeats_is_masked(server: Server, receiver_of: MakeReceiver) -> None:
    server.status, server.body = 401, b"bad token very-secret-token"
    config = Config(remote_write_url=server.url, remote_write_token="very-secret-token")
    add_secrets(config.remote_write_token)
    with pytest.raises(Unavailable) as caught:
        receiver_of(server.url, remote_write_token="very-secret-token").send(b"x")
    assert "very-secret-token" not in str(caught.value)
    assert MASK in str(caught.value)
    assert "very-secret-token" not in repr(config)


def test_a_secret_that_is_cut_off_is_masked_before(server: Server, receiver_of: MakeReceiver) -> None:
    token = "another-very-secret-token"
    add_secrets(token)
    receiver = receiver_of(server.url, remote_write_token=token)
    for before in range(170, 300, 10):
        server.status, server.body = 400, b"x" * before + token.encode()
        with pytest.raises(Refused) as caught:
            receiver.send(b"x")
        assert "another" not in str(caught.value)


@pytest.mark.parametrize("key", ["key-in-the-url", "key%2fin-the-url", "pw7", "p+w"])
def test_a_key_in_the_url_is_masked(server: Server, receiver_of: MakeReceiver, key: str) -> None:
    server.status, server.body = 404, f"no such path: /api/v1/write?a=b&p={key}".encode()
    with pytest.raises(Unavailable) as caught:
        receiver_of(f"{server.url}&p={key}").send(b"x")
    assert key not in str(caught.value)
    assert "/api/v1/write" in str(caught.value)


def test_a_key_in_the_path_of_the_url_is_masked(server: Server, receiver_of: MakeReceiver) -> None:
    server.status, server.body = 404, b"no such path: /3f2a91c07b6e4d558fa0/write"
    with pytest.raises(Unavailable) as caught:
        receiver_of(server.url.replace("/api", "/3f2a91c07b6e4d558fa0")).send(b"x")
    assert "3f2a91c07b6e4d558fa0" not in str(caught.value)


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    config = Config(
        remote_write_url="https://x/write",
        remote_write_token_file=str(tmp_path / "none"),
        remote_write_ca_file=str(empty),
    )
    token, authority = file_problems(config)
    assert token == (
        f"FACHO_REMOTE_WRITE_TOKEN_FILE: {tmp_path}/none cannot be read: No such file or directory"
    )
    assert authority.startswith(f"FACHO_REMOTE_WRITE_CA_FILE: {empty} cannot be used: ")
    assert file_problems(Config(remote_write_url="https://x/", remote_write_password_file=str(empty))) == []
    wrong = Config(remote_write_url="x", remote_write_user="a", remote_write_password_file=str(empty))
    assert file_problems(wrong) == [
        f"FACHO_REMOTE_WRITE_PASSWORD_FILE: {empty} must have one line, the secret"
    ]
