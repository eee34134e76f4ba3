"""What it costs to watch a run, and what the page keeps of it.

Costs: CPU time of the server's process and of the browser's renderer processes, of which one shows
the page and the others nothing; a small model with short calls, so most is told. The workers are
what is measured, and not counted.

Growth: an hour of a run is too long to wait for, and a minute says nothing (what the heap holds
after a collection varies by a megabyte, an hour's worth of which would be sixty). So the page of a
run that goes on gets as many events as the limit allows in an hour, through its own socket, one
after the other and each drawn; what its heap holds more after that is what counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psutil  # type: ignore[import-untyped]  # has no types of its own
from playwright.sync_api import Browser, CDPSession, Page

from benchmarks.page.budgets import Budgets
from benchmarks.page.desk import PATIENCE_MS, Desk, Server, until
from benchmarks.page.workspace import Things

# What a page does when it is opened is over, and what the browser does once half a minute after
# that with any page, an empty one, too: it tidies up, for a tenth of a second.
SETTLING_MS = 45_000
MOST_PER_S = 4
AN_HOUR = MOST_PER_S * 3600

SOCKETS = """
window.heard = null;
window.WebSocket = class extends WebSocket {
  constructor(...about) {
    super(...about);
    this.addEventListener("message", ({ data }) => {
      if (String(data).includes("job.progress")) window.heard = { by: this, data };
    });
  }
};
"""
REPLAY = """async (count) => {
  const { by, data } = window.heard;
  const tick = new MessageChannel();
  for (let n = 1; n <= count; n += 1) {
    const done = data.replace(/"units_done":[0-9]+/, `"units_done":${n}`)
      .replace(/"units_planned":[0-9]+/, `"units_planned":${count}`);
    by.dispatchEvent(new MessageEvent("message", { data: done }));
    await new Promise((next) => {
      tick.port1.onmessage = next;
      tick.port2.postMessage(null);
    });
  }
}"""


def costs(budgets: Budgets, desk: Desk, things: Things, seconds: float) -> None:
    with desk.browser() as browser, watching(desk, browser, things) as page:
        heard: list[str] = []
        devtools = page.context.new_cdp_session(page)
        devtools.on("Network.webSocketFrameReceived", lambda frame: heard.append(str(frame)))
        devtools.send("Network.enable")
        system = browser.new_browser_cdp_session()
        page.wait_for_timeout(SETTLING_MS)
        heard.clear()
        before = _server_s(desk.server), *_browser_s(system)
        page.wait_for_timeout(seconds * 1e3)
        after = _server_s(desk.server), *_browser_s(system)
    server, tab, painting = (100 * (b - a) / seconds for a, b in zip(before, after, strict=True))
    told = sum("job.progress" in frame for frame in heard)
    budgets.tell("live run: progress events", told / seconds, MOST_PER_S, "/s")
    note = f"server {server:.1f}, tab {tab:.1f}; beside them the browser's painting {painting:.1f}"
    budgets.tell("live run: server and tab", server + tab, 3, "% core", note=note)


def growth(budgets: Budgets, desk: Desk, things: Things) -> None:
    with desk.browser() as browser, watching(desk, browser, things, SOCKETS) as page:
        page.wait_for_function("() => window.heard !== null", timeout=PATIENCE_MS)
        page.evaluate(REPLAY, 200)  # what is made once is there
        devtools = page.context.new_cdp_session(page)
        before = _heap(devtools)
        page.evaluate(REPLAY, AN_HOUR)
        grown = (_heap(devtools) - before) / 1e6
    note = f"{AN_HOUR} events, an hour's most, on a heap of {before / 1e6:.0f}"
    budgets.tell("live run: heap grown by an hour", grown, 50, "MB", note=note)


@contextlib.contextmanager
def watching(desk: Desk, browser: Browser, things: Things, watch: str = "") -> Iterator[Page]:
    """The list of benchmarks, while one of them runs."""
    server = desk.server
    asked = {"project_id": things.project, "model_id": things.small, "name": "watched"}
    # So many that it goes on for minutes: each by itself is known exactly within seconds.
    cells = {"batch_sizes": [*range(1, 33)], "budget": 600.0}
    made = server.ask("/benchmarks", asked | cells)
    job = made["latest_run"]["job_id"]
    try:
        until(lambda: _is_measuring(server, job))
        with desk.tab(
            browser.new_context(), f"/p/{things.project}/benchmarks?layout=cards", watch
        ) as page:
            page.wait_for_selector("article [role=progressbar]", state="attached")
            yield page
    finally:
        server.ask(f"/jobs/{job}/cancel", {})
        until(lambda: server.ask(f"/jobs/{job}")["state"] not in ("queued", "running"))


def _is_measuring(server: Server, job: int) -> bool:
    told = server.ask(f"/jobs/{job}")
    if told["state"] not in ("queued", "running"):
        raise RuntimeError(f"the run to watch has ended: {told['state']}, {told['reason']}")
    return bool((told["progress"] or {}).get("units_done", 0))


def _server_s(server: Server) -> float:
    """Of its own process: those that it started are the workers."""
    return float(sum(psutil.Process(server.process.pid).cpu_times()[:2]))


def _browser_s(system: CDPSession) -> tuple[float, float]:
    """Of its renderers, and of the process that paints for them."""
    told: list[dict[str, Any]] = system.send("SystemInfo.getProcessInfo")["processInfo"]
    tabs = sum(one["cpuTime"] for one in told if one["type"] == "renderer")
    return tabs, sum(one["cpuTime"] for one in told if one["type"] == "GPU")


def _heap(devtools: CDPSession) -> float:
    for _ in range(2):  # what the first one frees may free more
        devtools.send("HeapProfiler.collectGarbage")
    return float(devtools.send("Runtime.getHeapUsage")["usedSize"])
