"""A server, and browsers that look at it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, ViewportSize

CHROMIUM = os.environ.get("MODELDYNO_CHROMIUM", "/usr/bin/chromium")
QUIETLY = (
    *("--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
PATIENCE_MS = 120_000
READY_MS = 700  # a new tab's process is started by then: that is the browser's time, not ours
SIZE: ViewportSize = {"width": 1366, "height": 768}

# When something is painted that tells something, how long the page stood still, and how long
# interactions took. (The browser does not tell of those below 16 ms.)
WATCH = """
window.shown = {};
const WANTED = {
  heading: "h1",
  card: "article",
  row: "[role=region] tbody tr td",
  box: ".react-flow__node",
};
new MutationObserver(() => {
  for (const [name, where] of Object.entries(WANTED)) {
    if (window.shown[name] === undefined && document.querySelector(where)) {
      window.shown[name] = -1;
      requestAnimationFrame(() => setTimeout(() => (window.shown[name] = performance.now())));
    }
  }
}).observe(document, { childList: true, subtree: true });
window.slow = [];
const keep = (list) => list.getEntries().forEach((one) => window.slow.push(one.duration));
new PerformanceObserver(keep).observe({ type: "longtask", buffered: true });
window.answers = {};
new PerformanceObserver((list) => list.getEntries().forEach(({ interactionId: id, duration }) => {
  if (id) window.answers[id] = Math.max(window.answers[id] ?? 0, duration);
})).observe({ type: "event", durationThreshold: 16, buffered: true });
"""


class Server:
    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def ask(self, path: str, body: Any = None, raw: bytes | None = None) -> Any:
        sent = raw if raw is not None else None if body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if raw is not None else "application/json"
        host = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=120)
        with contextlib.closing(host):
            how = "GET" if sent is None else "POST"
            host.request(how, f"/api/v1{path}", sent, {"Content-Type": kind})
            answer = host.getresponse()
            told = json.loads(answer.read() or b"null")
        if answer.status >= 400:
            raise RuntimeError(f"{how} {path}: {told}")
        return told


@contextlib.contextmanager
def serving(workspace: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "modeldyno", "serve", "--json", "--no-token", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--workspace", str(workspace)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        yield Server(process, json.loads(process.stdout.readline())["url"].rstrip("/"))
    finally:
        process.terminate()
        process.wait(60)


class Desk:
    def __init__(self, playwright: Playwright, server: Server) -> None:
        self._chromium = playwright.chromium
        self.server = server

    @contextlib.contextmanager
    def browser(self) -> Iterator[Browser]:
        """One that has seen nothing yet, and keeps nothing."""
        browser = self._chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        with contextlib.closing(browser):
            yield browser

    @contextlib.contextmanager
    def profile(self) -> Iterator[BrowserContext]:
        """A browser as people have one: what it has seen it keeps on disk, compiled code too."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            context = self._chromium.launch_persistent_context(
                folder, executable_path=CHROMIUM, args=QUIETLY, viewport=SIZE
            )
            with contextlib.closing(context):
                yield context

    @contextlib.contextmanager
    def tab(self, context: BrowserContext, path: str, watch: str = WATCH) -> Iterator[Page]:
        page = context.new_page()
        with contextlib.closing(page):
            page.set_default_timeout(PATIENCE_MS)
            page.set_viewport_size(SIZE)
            page.add_init_script(watch)
            page.wait_for_timeout(READY_MS)
            page.goto(self.server.url + path)
            page.wait_for_selector("h1")
            yield page


def shown(page: Page, name: str) -> float:
    """Milliseconds from the start of the navigation to its paint."""
    page.wait_for_function("name => window.shown[name] > 0", arg=name)
    return float(page.evaluate("name => window.shown[name]", name))


def settled(page: Page) -> None:
    """Nothing is asked for any more."""
    page.wait_for_load_state("networkidle")


def until(is_so: Any, patience_s: float = 120.0) -> None:
    end = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("it did not come")
        time.sleep(0.1)
