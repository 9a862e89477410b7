"""What benchmarks print for people, from figures made by hand."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.adapt import Comparison, Run
from facho.cli.bench import benchmarks_of
from facho.snmp import Learned


def test_the_grid_of_settings_is_printed_with_what_was_lost(capsys: pytest.CaptureFixture[str]) -> None:
    fixed = {
        Learned(10, 1): Run(2.0, 100, 0, True, Learned(10, 1)),
        Learned(10, 2): Run(1.0, 50, 5, True, Learned()),
    }
    found = Run(1.1, 60, 0, True, Learned(10, 2))
    Comparison("slow", fixed, (found,)).print()
    printed = capsys.readouterr().out
    assert "2.00 s" in printed
    assert "1.00 s (10% lost)" in printed
    assert "1.10 s" in printed


def test_an_installed_package_says_thatbenchmarks_of_need_a_checkout(tmp_path: Path) -> None:
    result = CliRunner().invoke(benchmarks_of(tmp_path), ["snmp", "--json"])
    assert result.exit_code == 2
    assert "benchmarks need a source checkout" in result.output
