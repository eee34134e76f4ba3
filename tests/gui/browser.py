"""A real Chromium, and what it complained about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, Response, sync_playwright

CHROMIUM = "/usr/bin/chromium"
SHOTS = Path(__file__).parents[2] / ".cache" / "screenshots"
PATIENCE_MS = 90_000.0  # other tests may hold the cores
# Nothing is looked up elsewhere.
QUIETLY = (
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)


class Tab:
    """A page, its complaints, and pictures of its steps in ``.cache/screenshots/<name>/``."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.complaints: list[str] = []  # errors of its scripts, and what its policy forbids
        self.refusals: list[str] = []  # answers of the API that are no success
        self._folder = SHOTS / name
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.glob("*.png"):
            old.unlink()
        self._count = 0
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("response", self._look_at)

    def picture(self, name: str) -> None:
        self._count += 1
        self.page.screenshot(path=self._folder / f"{self._count:02}-{name}.png")

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.complaints.append(said.text)

    def _look_at(self, response: Response) -> None:
        if response.status >= 400:
            self.refusals.append(f"{response.status} {response.url}")


@contextmanager
def opened(name: str) -> Iterator[Tab]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        tab = Tab(browser.new_page(viewport={"width": 1400, "height": 900}), name)
        try:
            yield tab
        finally:
            tab.picture("end")
            browser.close()
