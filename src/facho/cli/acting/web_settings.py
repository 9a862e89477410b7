"""What the doctor says of the pages' settings: whether TLS, proxies, names and the address fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address

from facho.cli.acting.checkup import Finding, error, ok, warning
from facho.config import Config, web_contradictions
from facho.core.addresses import network_of
from facho.snmp.address import parse_address
from facho.snmp.errors import AddressError


def web_settings(config: Config, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong; one line that nothing is, otherwise."""
    wrong = [*_errors(config), *_warnings(config, environment)]
    yield from wrong or [ok("web", _described(config))]


def _errors(config: Config) -> Iterator[Finding]:
    for reason in web_contradictions(config):
        yield error("web", reason, "set FACHO_TRUSTED_PROXIES")
    for text in config.trusted_proxies:
        network = network_of(text)
        if network is not None and network.prefixlen == 0:
            told = f"FACHO_TRUSTED_PROXIES has {text}: everybody is believed to come from any address"
            yield error("web", told, "name the addresses that the proxies connect from")


def _warnings(config: Config, environment: Mapping[str, str]) -> Iterator[Finding]:
    for_others = _is_for_others(config)
    behind_proxy = config.tls or bool(config.trusted_proxies)
    if for_others and not config.tls:
        told = f"the pages are served at {config.web_address} without TLS: passwords can be read on the way"
        yield warning("web", told, "put a proxy with TLS in front, and set FACHO_TLS=yes")
    elif config.trusted_proxies and not config.tls:
        told = "a proxy is in front and FACHO_TLS is no: browsers send cookies without TLS, too"
        yield warning("web", told, "set FACHO_TLS=yes, if the proxy has TLS")
    if (for_others or behind_proxy) and not config.allowed_hosts:
        told = "FACHO_ALLOWED_HOSTS is empty: under any name but localhost the pages are refused"
        yield warning("web", told, "set it to the names in people's browsers")
    if "*" in config.allowed_hosts:
        told = "FACHO_ALLOWED_HOSTS has *: the pages answer under any name, also that of somebody else"
        yield warning("web", told, "set it to the names in people's browsers")
    if "FORWARDED_ALLOW_IPS" in environment:
        yield warning("web", "FORWARDED_ALLOW_IPS is not read", "set FACHO_TRUSTED_PROXIES instead")


def _is_for_others(config: Config) -> bool:
    """Whether others than this machine can connect to the pages. A name of a machine is taken for that."""
    try:
        host, _port = parse_address(config.web_address, default_port=8000)
        return not ip_address(host).is_loopback
    except (AddressError, ValueError):
        return not config.web_address.startswith("localhost")


def _described(config: Config) -> str:
    if config.tls:
        return f"at {config.web_address}, behind TLS of {', '.join(config.trusted_proxies)}"
    return f"at {config.web_address}, for this machine alone"
