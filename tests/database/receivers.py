"""Real receivers on this machine: a web server and a mail server, each of a few lines."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebReceiver:
    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.status = 200
        self.location = ""
        self.asked: list[str] = []
        # While it is not set, requests hang.
        self.answers = threading.Event()
        self.answers.set()
        self.port = 0


@contextmanager
def web_receiver() -> Iterator[WebReceiver]:
    receiver = WebReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.asked.append(self.path)
            receiver.answers.wait(10)
            if receiver.status == 200:
                receiver.got.append(json.loads(body))
            self.send_response(receiver.status)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as receiver.port:
        yield receiver


class MailReceiver:
    def __init__(self) -> None:
        self.got: list[EmailMessage] = []
        self.port = 0


@contextmanager
def mail_receiver() -> Iterator[MailReceiver]:
    receiver = MailReceiver()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 here")
            for line in self.rfile:
                verb = line.strip().upper()[:4]
                if verb == b"DATA":
                    self.say("354 go on")
                    self.take()
                self.say("221 bye" if verb == b"QUIT" else "250 well")

        def take(self) -> None:
            lines = iter(self.rfile.readline, b".\r\n")
            receiver.got.append(message_from_bytes(b"".join(lines), policy=policy.default))

        def say(self, answer: str) -> None:
            self.wfile.write(f"{answer}\r\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with _serving(Server(("127.0.0.1", 0), Handler)) as receiver.port:
        yield receiver


@contextmanager
def _serving(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
