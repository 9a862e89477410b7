"""Debian's Chromium, driven by Playwright, which downloads nothing here."""

import contextlib
import os
from collections.abc import Iterator

from playwright.sync_api import Browser, Error, expect, sync_playwright

from tests.services import packages
from tests.services.folder import temporary_folder
from tests.services.unavailable import Unavailable

# What comes is waited for, also where other tests run beside it.
PATIENCE_MS = 30_000
# It talks to nobody but the pages that the tests open.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def run_chromium() -> Iterator[Browser]:
    """While it runs this thread has an event loop: `asyncio.run` and Django's database are refused in it."""
    program = packages.find("chromium", packages.CHROMIUM)
    expect.set_options(timeout=PATIENCE_MS)
    with temporary_folder() as folder, sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=program,
                args=ARGUMENTS,
                # Its profile, caches and sockets, instead of in the person's home.
                env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)},
            )
        except Error as error:
            first_line = error.message.partition("\n")[0]
            raise Unavailable("chromium", f"it does not start; {first_line}") from error
        try:
            yield browser
        finally:
            browser.close()
