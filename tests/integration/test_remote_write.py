"""Samples sent to a real Prometheus, and read back through its query API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from facho.apps.history.store import close_hours, milliseconds
from facho.apps.remote_write.models import RemoteWriteCursor
from facho.apps.remote_write.selectors import read_remote_write
from facho.config import Config
from facho.core.write_request import encode_labels, encode_rows, write_request
from facho.engine.remote_write.receiver import Receiver, Unavailable
from tests.factories import at
from tests.remote_write_samples import MakeSite, Site, closing_sites
from tests.services.certificates import HOST, make_certificates
from tests.services.prometheus import Labels, Prometheus

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
BCRYPT_OF_SECRET = "$2b$04$apek0kEFoVvluHgRIoMBUeKMH1AAshVrIq7OtwE4Wek5zOpltla72"


@pytest.fixture
def prometheus(own_prometheus: Prometheus) -> Prometheus:
    return own_prometheus


@pytest.fixture
def make_site() -> Iterator[MakeSite]:
    with closing_sites() as make:
        yield make


def onu_labels(site: Site, number: int) -> Labels:
    onu = site.onus[number]
    labels = {
        "olt": "Centro-1",
        "onu": str(onu.pk),
        "place": f"0/1/{number // 2}:{number % 2}",
        "port": f"0/1/{number // 2}",
        "serial": f"HWTC{number:08X}",
        "site": "Bogotá",
    }
    return tuple(sorted(labels.items()))


def port_labels(port: int, **more: str) -> Labels:
    return tuple(sorted({"olt": "Centro-1", "port": f"0/1/{port}", "site": "Bogotá", **more}.items()))


def test_every_kind_of_number_arrives_with_its_labels(make_site: MakeSite, prometheus: Prometheus) -> None:
    site = make_site(at("10:00"), prometheus.write_url)
    sender = site.sender()
    sender.step()
    site.wait(MINUTE)
    site.collect({0: -20.5, 1: None, 2: -21.25, 3: -30.0}, in_bps=1600.0, cpu_pct=12.5, uplink_bps=3200.0)
    site.date_states()
    collected = site.clock.now.timestamp()
    site.wait(MINUTE)
    sender.step()

    def read(name: str) -> dict[Labels, list[tuple[float, float]]]:
        return prometheus.samples(name, site.clock.now.timestamp())

    assert read("facho_onu_rx_power_dbm") == {
        onu_labels(site, 0): [(collected, -20.5)],
        onu_labels(site, 2): [(collected, -21.25)],
        onu_labels(site, 3): [(collected, -30.0)],
    }
    assert read("facho_port_in_bps") == {port_labels(0): [(collected, 1600.0)]}
    olt = (("olt", "Centro-1"), ("site", "Bogotá"))
    assert read("facho_olt_cpu_pct") == {olt: [(collected, 1.0)]}
    assert read("facho_board_cpu_pct") == {(("board", "0/1"), *olt): [(collected, 12.5)]}
    uplink = (("name", "ge0"), *olt, ("uplink", "0/19/0"))
    assert read("facho_uplink_in_bps") == {uplink: [(collected, 3200.0)]}
    assert read("facho_uplink_up") == {uplink: [(collected, 0.0)]}
    online = {labels: values for labels, [(_, values)] in read("facho_onu_online").items()}
    assert online == {onu_labels(site, number): float(number != 1) for number in range(4)}
    counts = {labels: value for labels, [(_, value)] in read("facho_port_onus").items()}
    assert counts == {
        port_labels(0, state="online"): 1,
        port_labels(0, state="offline"): 1,
        port_labels(1, state="online"): 2,
        port_labels(1, state="offline"): 0,
    }
    assert set(read("facho_port_up")) == {port_labels(0), port_labels(1)}
    assert read("facho_olt_online")[(("brand", "huawei"), *olt)][-1] == (site.clock.now.timestamp(), 1.0)


def test_nothing_is_lost_while_the_receiver_is_away_for_hours(
    make_site: MakeSite, prometheus: Prometheus
) -> None:
    """The hours of the outage are closed meanwhile, and are read from there."""
    site = make_site(at("10:00"), prometheus.write_url)
    sender = site.sender()
    sender.step()
    sent = {}
    for minute in range(0, 200, 5):
        if minute == 20:
            prometheus.stop()
        if minute == 170:
            prometheus.start()
        site.wait(5 * MINUTE)
        power = -20.0 - minute / 100
        site.collect({0: power, 1: -25.0})
        sent[site.clock.now.timestamp()] = power
        sender.step()
        close_hours(site.clock.now, grace=site.config.history_close_after, most=10)
    for _ in range(20):
        site.wait(timedelta(seconds=1))
        sender.step()
    site.wait(MINUTE)
    sender.step()
    found = prometheus.samples("facho_onu_rx_power_dbm", site.clock.now.timestamp(), 4 * 3600)
    assert dict(found[onu_labels(site, 0)]) == pytest.approx(sent)
    assert len(found[onu_labels(site, 1)]) == len(sent)
    state = read_remote_write(site.clock.now)
    assert state.dropped == {"too_old": 0, "refused": 0, "unreadable": 0}
    assert state.failing_since is None
    assert state.olts_behind == 0


def test_a_killed_sender_is_followed_by_one_that_sends_the_rest(
    make_site: MakeSite, prometheus: Prometheus
) -> None:
    """A sender that was killed before it noted what it had sent: the receiver has a part of it."""
    site = make_site(at("10:00"), prometheus.write_url)
    site.sender().step()
    times: list[datetime] = []
    for power in (-20.0, -21.0):
        site.wait(MINUTE)
        site.collect({0: power})
        times.append(site.clock.now)
    site.wait(MINUTE)
    site.sender().step()
    RemoteWriteCursor.objects.update(sent_to=at("10:00"), due_at=site.clock.now)
    site.collect({0: -22.0})
    times.append(site.clock.now)
    site.wait(MINUTE)
    site.sender().step()
    found = prometheus.samples("facho_onu_rx_power_dbm", site.clock.now.timestamp())
    assert [time for time, _ in found[onu_labels(site, 0)]] == [time.timestamp() for time in times]
    assert read_remote_write(site.clock.now).sent > 0


def test_a_receiver_with_tls_certificates_and_users(prometheus: Prometheus, tmp_path: Path) -> None:
    right, wrong = (make_certificates(tmp_path, name) for name in ("right", "wrong"))
    prometheus.stop()
    prometheus.web_settings = (
        f"tls_server_config: {{cert_file: {right.certificate}, key_file: {right.key},"
        f" client_ca_file: {right.ca}, client_auth_type: RequireAndVerifyClientCert}}\n"
        f"basic_auth_users: {{ana: {BCRYPT_OF_SECRET}}}\n"
    )
    prometheus.start()
    config = Config(
        remote_write_url=f"https://{HOST}:{prometheus.port}/api/v1/write",
        remote_write_user="ana",
        remote_write_password="secret",
        remote_write_ca_file=str(right.ca),
        remote_write_cert_file=str(right.certificate),
        remote_write_key_file=str(right.key),
    )
    now = at("10:00")
    # Whatever a device calls itself.
    labels = encode_labels({"olt": 'a"b\\c\n\x01\ud800{}', "site": "Bogotá"})
    row = encode_rows(milliseconds(now), ["facho_onu_rx_power_dbm"], [labels], [[-20.0]], most=10)
    body = write_request(row)
    for settings, problem in (
        ({"remote_write_ca_file": str(wrong.ca)}, "its certificate is not trusted"),
        ({"remote_write_cert_file": "", "remote_write_key_file": ""}, "TLS|no connection|closes"),
        ({"remote_write_password": "wrong"}, "HTTP 401"),
    ):
        changed: dict[str, Any] = settings
        with (
            closing(Receiver(replace(config, **changed))) as receiver,
            pytest.raises(Unavailable, match=problem),
        ):
            receiver.send(body)
    with closing(Receiver(config)) as receiver:
        receiver.send(body)
    prometheus.stop()
    prometheus.web_settings = ""
    prometheus.start()
    found = prometheus.samples("facho_onu_rx_power_dbm", now.timestamp())
    assert found == {(("olt", 'a"b\\c\n\x01?{}'), ("site", "Bogotá")): [(now.timestamp(), -20.0)]}


def test_all_olts_of_a_fleet_are_sent_after_an_outage_of_hours(
    make_site: MakeSite, prometheus: Prometheus
) -> None:
    """A Prometheus takes nothing that is an hour older than its newest sample: no OLT gets ahead."""
    # More than one step takes.
    sites = [make_site(at("10:00"), prometheus.write_url, f"olt-{number}") for number in range(60)]
    clock = sites[0].clock
    sender = sites[0].sender()
    for _ in range(2):
        sender.step()
    prometheus.stop()
    for _ in range(11):
        clock.now += 17 * MINUTE
        for number, site in enumerate(sites):
            site.clock.now = clock.now + timedelta(seconds=number)
            site.collect({0: -20.0})
        sender.step()
        close_hours(clock.now, grace=site.config.history_close_after, most=100)
    prometheus.start()
    for _ in range(30):
        clock.now += timedelta(seconds=5)
        sender.step()
    found = prometheus.samples("facho_onu_rx_power_dbm", clock.now.timestamp(), 4 * 3600)
    assert [len(samples) for samples in found.values()] == [11] * 60
    assert read_remote_write(clock.now).refused == 0
