"""A private nginx or Caddy on loopback, with TLS, that runs a file of deploy/proxy.

Of the file only names, paths and ports are replaced. What it leaves to the rest of the proxy's configuration,
such as where it keeps its own files, is written around it.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.services import packages, process
from tests.services.folder import temporary_folder
from tests.services.unavailable import Unavailable

SHIPPED: Final = Path(__file__).parents[2] / "deploy" / "proxy"
NAME: Final = "facho.example.net"
BEHIND: Final = "127.0.0.1:8000"
CERTIFICATE: Final = "/etc/ssl/facho/fullchain.pem"
KEY: Final = "/etc/ssl/facho/privkey.pem"


@dataclass(frozen=True, slots=True)
class Proxy:
    http_port: int
    https_port: int
    certificate: Path

    def trust(self) -> ssl.SSLContext:
        """As a browser that knows who signed the certificate, which is for NAME alone."""
        return ssl.create_default_context(cafile=str(self.certificate))


@contextlib.contextmanager
def run_nginx(behind: str) -> Iterator[Proxy]:
    """An nginx in front of what listens on `behind`, HOST:PORT."""
    program = packages.find("nginx", packages.NGINX)
    with temporary_folder() as folder:
        proxy = _prepare(folder)
        # On loopback alone. Without IPv6 on this machine, nginx would not start with the lines for it.
        ports = {
            f"listen {old}{port}": f"listen {new}{ours}"
            for old, new in (("[::]:", "[::1]:"), ("", "127.0.0.1:"))
            for port, ours in ((80, proxy.http_port), (443, proxy.https_port))
        }
        shipped = _shipped("nginx.conf", folder, {**ports, BEHIND: behind})
        if not process.has_ipv6():
            shipped = "\n".join(line for line in shipped.splitlines() if "listen [::1]" not in line)
        (folder / "facho.conf").write_text(shipped)
        main = folder / "main.conf"
        main.write_text(_AROUND_NGINX.format(folder=folder))
        argv = [program, "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(main)]
        with _running(packages.NGINX, argv, folder, proxy):
            yield proxy


@contextlib.contextmanager
def run_caddy(behind: str) -> Iterator[Proxy]:
    """A Caddy in front of what listens on `behind`, HOST:PORT."""
    program = packages.find("caddy", packages.CADDY)
    with temporary_folder() as folder:
        proxy = _prepare(folder)
        (folder / "facho.caddy").write_text(_shipped("Caddyfile", folder, {BEHIND: behind}))
        main = folder / "Caddyfile"
        around = {"http": proxy.http_port, "https": proxy.https_port, "folder": folder}
        main.write_text(_AROUND_CADDY.format(**around))
        argv = [program, "run", "--config", str(main), "--adapter", "caddyfile"]
        with _running(packages.CADDY, argv, folder, proxy):
            yield proxy


# The processes stay those of whoever runs the tests: the folder is theirs alone.
_AROUND_NGINX: Final = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/facho.conf;
}}
"""
_AROUND_CADDY: Final = """{{
	admin off
	http_port {http}
	https_port {https}
	default_bind 127.0.0.1
	storage file_system {folder}
}}
import {folder}/facho.caddy
"""


def _prepare(folder: Path) -> Proxy:
    certificate = folder / "fullchain.pem"
    _make_certificate(certificate, folder / "privkey.pem")
    return Proxy(_free_port(), _free_port(), certificate)


def _shipped(name: str, folder: Path, replaced: dict[str, str]) -> str:
    text = (SHIPPED / name).read_text()
    own = {CERTIFICATE: str(folder / "fullchain.pem"), KEY: str(folder / "privkey.pem")}
    for old, new in {**own, **replaced}.items():
        assert old in text, f"{name} has no {old}"
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def _running(package: packages.Package, argv: list[str], folder: Path, proxy: Proxy) -> Iterator[None]:
    log = folder / "output.log"
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(
                process.running(
                    argv, log=log, answers=lambda: _speaks_tls(proxy), env=environment, seconds=60
                )
            )
        except process.DidNotStart as error:
            raise Unavailable(package.name, f"it does not start; {error}") from error
        yield


def _speaks_tls(proxy: Proxy) -> bool:
    """Not only listens: a connection alone can be one that a port has made with itself."""
    try:
        with socket.create_connection((process.LOOPBACK, proxy.https_port), timeout=5) as plain:
            proxy.trust().wrap_socket(plain, server_hostname=NAME).close()
    except OSError:
        time.sleep(0.05)
        return False
    return True


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind((process.LOOPBACK, 0))
        port: int = trial.getsockname()[1]
        return port


def _make_certificate(certificate: Path, key_file: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
