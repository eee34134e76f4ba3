"""The workbench as somebody uses it: a real server, a real Chromium, and their complaints."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Response, ViewportSize

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / ".cache" / "screenshots" / "web"
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE_MS = 60_000.0  # other tests may hold the cores
LAPTOP, PHONE = ViewportSize(width=1366, height=768), ViewportSize(width=390, height=844)


class Server:
    """`modeldyno serve`, in a process of its own; may be stopped, killed and started again."""

    def __init__(self, workspace: Path, *options: str) -> None:
        self.workspace = workspace
        self._options = options
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "modeldyno", "serve", "--json", *self._options]
        where = ["--workspace", str(self.workspace), "--port", str(self._port)]
        cores = {"MODELDYNO_CORES_FOLDER": str(self.workspace / "cores")}
        with (self.workspace.parent / f"{self.workspace.name}.log").open("a") as log:
            self._process = subprocess.Popen(
                [*command, *where],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | cores,
            )
        assert self._process.stdout
        self.url = json.loads(self._process.stdout.readline())["url"].rstrip("/")
        self._port = int(self.url.rpartition(":")[2])  # the same one again after a stop
        self.token = (self.workspace / "token").read_text().strip()

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """As a program does, with the token."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}/api/v1{path}", sent, headers, method=method)
        with urllib.request.urlopen(asked, timeout=60) as reply:
            told = reply.read()
        return json.loads(told) if told else None

    def send_model(self, project: int, file: Path) -> Any:
        """A model's file, into a project."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/octet-stream",
        }
        where = f"{self.url}/api/v1/projects/{project}/models?name={file.name}"
        asked = urllib.request.Request(where, file.read_bytes(), headers, method="POST")
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return json.loads(reply.read())

    def settled(self, path: str, seconds: float = 240.0) -> Any:
        """What is there once its latest run ended."""
        return until(
            lambda: (
                found
                if (found := self.ask(path))["state"] not in ("queued", "running", "draft")
                else None
            ),
            seconds,
        )


class Desk:
    """A tab of the workbench; complaints of its console fail the test that made them."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.complaints: list[str] = []
        self.foreign: list[str] = []  # requests to anybody else
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("response", self._look_at)

    def open(self, address: str = "/") -> Page:
        self.page.goto(self.server.url + address)
        self.page.locator("h1").first.wait_for()
        return self.page

    def sign_in(self) -> None:
        code = self.server.ask("/session/codes", {}, "POST")["path"]
        self.page.goto(self.server.url + code)
        self.page.locator("h1").first.wait_for()

    def turn(self, theme: str) -> None:
        """Dark or light, and still: colours are looked at when nothing fades any more."""
        self.page.evaluate(
            "theme => localStorage.setItem('mantine-color-scheme-value', theme)", theme
        )
        self.page.reload()
        self.page.locator("h1").first.wait_for()
        self.still()

    def still(self) -> None:
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_function(
            "() => document.getAnimations().every(one => one.playState !== 'running' ||"
            " one.effect.getComputedTiming().iterations === Infinity)"
        )

    def picture(self, name: str) -> Path:
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / f"{name}.png"
        self.page.screenshot(path=path, full_page=True)
        return path

    def barriers(self) -> list[str]:
        """Serious and critical findings of axe."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate(
            "() => axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)"
        )
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def is_too_wide(self) -> bool:
        return bool(
            self.page.evaluate(
                "() => { const page = document.documentElement;"
                " return page.scrollWidth > page.clientWidth + 1 }"
            )
        )

    def _hear(self, said: ConsoleMessage) -> None:
        # The browser itself tells of every request that failed; tests look at what the page says.
        if said.type == "error" and not re.search("Failed to load resource|WebSocket", said.text):
            self.complaints.append(said.text)

    def _look_at(self, response: Response) -> None:
        if not response.url.startswith((self.server.url, "data:", "blob:")):
            self.foreign.append(response.url)


@contextmanager
def at_desk(browser: Browser, server: Server, size: ViewportSize = LAPTOP) -> Iterator[Desk]:
    """A fresh profile each time; signed in."""
    context = browser.new_context(viewport=size, accept_downloads=True)
    try:
        desk = Desk(context.new_page(), server)
        desk.sign_in()
        yield desk
        assert desk.complaints == []
        assert desk.foreign == []
    finally:
        context.close()


def until(look: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What ``look`` finds at last; for things that no page shows."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds:.0f} s")
