"""Browsers that poll the dashboard at a fixed rate, and how long their answers take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from bench.harness import MeasurementFailed, Spread

# Polls of all browsers together. Each has a connection of its own.
RATE: Final = 200
_BROWSERS: Final = 40
GOAL_MS: Final = 50.0


@dataclass(frozen=True, slots=True)
class PollLoad:
    """Times are from when a poll was due to its whole answer, so that a late poll is not a quick one."""

    ms: Spread
    polls_per_second: float
    # Answered with 304.
    unchanged: int
    # Of the web's process.
    cores: float

    def as_json(self) -> dict[str, Any]:
        return {
            **self.ms.as_json("ms", 1),
            "polls_per_second": round(self.polls_per_second, 1),
            "unchanged": self.unchanged,
            "cores": round(self.cores, 2),
        }


def measure_polls(
    host: str, port: int, path: str, headers: Mapping[str, str], seconds: float, cpu_s: Callable[[], float]
) -> PollLoad:
    return asyncio.run(_poll_together(host, port, path, headers, seconds, cpu_s))


async def _poll_together(
    host: str, port: int, path: str, headers: Mapping[str, str], seconds: float, cpu_s: Callable[[], float]
) -> PollLoad:
    every = _BROWSERS / RATE
    browsers = [_Browser(host, port, path, headers) for _ in range(_BROWSERS)]
    for browser in browsers:
        # The first part of a process is rendered, and the first connections are made.
        await browser.poll()
    cpu, began = cpu_s(), time.perf_counter()
    await asyncio.gather(
        *(
            browser.poll_every(every, began + number / RATE, began + seconds)
            for number, browser in enumerate(browsers)
        )
    )
    lasted = time.perf_counter() - began
    times = [ms for browser in browsers for ms in browser.times_ms]
    unchanged = sum(browser.unchanged for browser in browsers)
    for browser in browsers:
        browser.close()
    return PollLoad(Spread.of(times), len(times) / lasted, unchanged, (cpu_s() - cpu) / lasted)


class _Browser:
    """A connection that polls one part, and names the tag of what it has, as the script of the pages does."""

    def __init__(self, host: str, port: int, path: str, headers: Mapping[str, str]) -> None:
        self._address = (host, port)
        given = {"Host": f"{host}:{port}", "HX-Request": "true", **headers}
        lines = (f"GET {path} HTTP/1.1", *(f"{name}: {text}" for name, text in given.items()))
        self._request = "".join(f"{line}\r\n" for line in lines)
        self._tag = ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.times_ms: list[float] = []
        self.unchanged = 0

    async def poll_every(self, every: float, first: float, until: float) -> None:
        due = first
        while due < until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            status = await self.poll()
            self.times_ms.append(1000 * (time.perf_counter() - due))
            self.unchanged += status == HTTPStatus.NOT_MODIFIED
            due += every

    async def poll(self) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        known = f"If-None-Match: {self._tag}\r\n" if self._tag else ""
        writer.write(f"{self._request}{known}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1")
        status = int(head.split(" ", 2)[1])
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        await reader.readexactly(int(fields.get("content-length", "0")))
        if status not in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
            raise MeasurementFailed(f"a poll was answered with {status}")
        self._tag = fields["etag"]
        return status

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
