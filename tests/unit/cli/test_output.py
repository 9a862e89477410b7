"""Long output reaches its reader whole, however little a pipe takes at a time."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from rich.table import Table

from facho.cli.output import console, print_rows, print_text


class NarrowPipe:
    """Takes seven octets at once, as an unbuffered pipe takes what it has room for."""

    def __init__(self) -> None:
        self.taken = b""

    def write(self, octets: memoryview) -> int:
        some = bytes(octets[:7])
        self.taken += some
        return len(some)

    def flush(self) -> None:
        pass


def test_what_a_pipe_does_not_take_at_once_is_offered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = NarrowPipe()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=pipe))
    print_text("São José, " * 10)
    assert pipe.taken.decode() == "São José, " * 10 + "\n"


def test_nothing_is_cut_off_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = Table("serial", "description", box=None, pad_edge=False)
    table.add_row("HWTC12345678", "a customer " * 20)
    console().print(table)
    heading, row = capsys.readouterr().out.splitlines()
    assert row.startswith("HWTC12345678")
    assert row.count("a customer") == 20
    assert len(heading) < 300


def test_a_row_may_lack_a_column_that_others_have(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([{"port": 1, "speed": "1000"}, {"port": 2}], ("port", "speed", "state"), "none")
    heading, first, second = (line.split() for line in capsys.readouterr().out.splitlines())
    assert (heading, first, second) == (["port", "speed"], ["1", "1000"], ["2"])
