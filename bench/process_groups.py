"""CPU time and memory of groups of processes, with all their children, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

_TICKS: Final = os.sysconf("SC_CLK_TCK")
# In /proc/PID/stat, after the name of the program: state, parent, ...
_PARENT, _USER, _CHILDREN_SYSTEM = 1, 11, 14


class _Process(NamedTuple):
    program: str
    parent: int
    own_ticks: int
    # With its children that have ended.
    ticks: int


@dataclass(frozen=True, slots=True)
class ProcessGroups:
    """Groups by name, each with the processes at the root of its trees.

    A process that is a root of another group is not counted in the group of its parent.
    """

    roots: Mapping[str, Sequence[int]]

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU time of each group so far."""
        processes = _read_processes()
        return {
            name: sum(processes[pid].ticks for pid in pids) / _TICKS
            for name, pids in self._members(processes).items()
        }

    def memory_mib(self) -> dict[str, float]:
        """Return the proportional set size of each group: pages that processes share count once."""
        members = self._members(_read_processes())
        return {name: sum(map(_pss_bytes, pids)) / 2**20 for name, pids in members.items()}

    def peak_memory_mib(self, name: str) -> float:
        """Return the largest resident size that a single process of a group ever had."""
        members = self._members(_read_processes())[name]
        return max((_peak_bytes(pid) for pid in members), default=0) / 2**20

    def _members(self, processes: Mapping[int, _Process]) -> dict[str, list[int]]:
        children: dict[int, list[int]] = {}
        for pid, process in processes.items():
            children.setdefault(process.parent, []).append(pid)
        every_root = {pid for pids in self.roots.values() for pid in pids}
        return {
            name: [pid for root in roots for pid in _tree(root, children, every_root) if pid in processes]
            for name, roots in self.roots.items()
        }


def _tree(root: int, children: Mapping[int, Sequence[int]], others: set[int]) -> Iterator[int]:
    yield root
    for child in children.get(root, ()):
        if child not in others:
            yield from _tree(child, children, others)


def _read_processes() -> dict[int, _Process]:
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    # One that ended meanwhile counts for its parent.
    return {pid: process for pid in pids if (process := _read_process(pid)) is not None}


def _read_process(pid: int) -> _Process | None:
    """Return a process; None for one that has ended."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    numbers = rest.split()
    ticks = [int(number) for number in numbers[_USER : _CHILDREN_SYSTEM + 1]]
    return _Process(name.partition("(")[2], int(numbers[_PARENT]), sum(ticks[:2]), sum(ticks))


def _pss_bytes(pid: int) -> int:
    return _kilobytes(pid, "smaps_rollup", "Pss:") or _kilobytes(pid, "status", "VmRSS:")


def _peak_bytes(pid: int) -> int:
    return _kilobytes(pid, "status", "VmHWM:")


def _kilobytes(pid: int, file: str, label: str) -> int:
    """Return a number of a file of the process, in bytes; 0 for a process that ended or is another user's."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(label))


def cpu_s_of(pid: int) -> float:
    """Return the user and system time that a process alone has used."""
    process = _read_process(pid)
    return 0.0 if process is None else process.own_ticks / _TICKS


def parent_of(pid: int) -> int:
    process = _read_process(pid)
    assert process is not None, f"there is no process {pid}"
    return process.parent


def program_of(pid: int) -> str:
    """Return the name of its program; empty for one that has ended."""
    process = _read_process(pid)
    return "" if process is None else process.program


def children_running(pid: int, word: str) -> list[int]:
    """Return the children of a process whose command line has this word."""
    return [
        child
        for child, process in _read_processes().items()
        if process.parent == pid and word.encode() in _command_line(child)
    ]


def _command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def machine_cpu_s() -> float:
    """Return the time that all cores together have worked, for whomever."""
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts = map(
        int, Path("/proc/stat").read_text().split()[1:8]
    )
    return (user + nice + system + interrupts + soft_interrupts) / _TICKS
