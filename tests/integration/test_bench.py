"""The comparison with other clients, on a table so small that only its working is seen and not its speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bench import snmp


@pytest.mark.parametrize("peers", [snmp.PEERS, snmp.V3_PEERS], ids=["v2c", "v3"])
def test_every_client_walks_the_whole_table_and_gets_a_ratio(
    peers: tuple[snmp.Peer, ...], monkeypatch: pytest.MonkeyPatch, net_snmp: Callable[[str], str]
) -> None:
    net_snmp("snmpbulkwalk")
    monkeypatch.setattr(snmp, "OLTS", 2)
    monkeypatch.setattr(snmp, "ONUS", 40)
    # The exporter's clock is too coarse for so little work.
    quick = [replace(peer, repetitions=(10,)) for peer in peers if peer.name != "snmp_exporter"]
    told = snmp.compare(quick, 1, lambda _: None).as_json()
    names = {peer.name for peer in quick}
    assert told["values_per_cpu_second"].keys() == told["ratios"].keys() == names
    assert told["ratios"]["facho"] == 1.0
    assert all(ratio > 0 for ratio in told["ratios"].values())


def test_what_is_not_installed_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snmp, "OLTS", 1)
    monkeypatch.setattr(snmp, "ONUS", 40)
    ours, *_ = snmp.PEERS
    peers = [replace(ours, repetitions=(10,)), replace(ours, name="absent", installed=lambda: False)]
    told = snmp.compare(peers, 1, lambda _: None).as_json()
    assert told["values_per_cpu_second"]["absent"] is None
    assert told["ratios"]["absent"] is None
