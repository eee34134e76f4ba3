"""The budgets of the web workbench, measured in Chromium against a real server.

    python3 scripts/build_web.py && .venv/bin/python benchmarks/ui.py [--rounds 5] [--live 60]

What the first page, the charts and the graph weigh; how soon something useful is to be seen; how
quick the page answers with 1 000 benchmarks in a project; a table of 10 000 rows; a graph of 5 000
nodes; and what it costs to watch a run. Times depend on the machine, so measure on a quiet one.
Prints each with its limit, and exits 1 when one is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # has no types of its own
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.server import fill

CHROMIUM = os.environ.get("MODELDYNO_CHROMIUM", "/usr/bin/chromium")
PATIENCE_MS = 120_000
SETTLING_S = 2.0

# When the heading of a page is painted: the moment from which it tells something.
WATCH = """
window.shown = {};
const seen = (name, found) => {
  if (found && window.shown[name] === undefined) {
    window.shown[name] = -1;
    requestAnimationFrame(() => setTimeout(() => (window.shown[name] = performance.now())));
  }
};
new MutationObserver(() => {
  seen("h1", document.querySelector("h1"));
  seen("row", document.querySelector("[role=region] tbody tr td"));
  seen("box", document.querySelector(".react-flow__node"));
}).observe(document, { childList: true, subtree: true });
window.slow = [];
const keep = (list) => list.getEntries().forEach((one) => window.slow.push(one.duration));
new PerformanceObserver(keep).observe({ type: "longtask", buffered: true });
window.answers = {};
new PerformanceObserver((list) => list.getEntries().forEach(({ interactionId: id, duration }) => {
  if (id) window.answers[id] = Math.max(window.answers[id] ?? 0, duration);
})).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
FRAMES = """(seconds) => new Promise((resolve) => {
  const box = document.querySelector("[role=region][tabindex]");
  const began = performance.now();
  let frames = 0;
  const step = () => {
    frames += 1;
    box.scrollTop += 60;
    const spent = (performance.now() - began) / 1000;
    if (spent < seconds) requestAnimationFrame(step);
    else resolve(frames / spent);
  };
  requestAnimationFrame(step);
})"""
SCRIPTS = """() => performance.getEntriesByType("resource")
  .filter((one) => one.name.endsWith(".js"))
  .map((one) => [one.name, one.encodedBodySize])"""


class Budgets:
    def __init__(self) -> None:
        self.missed = 0

    def tell(
        self, what: str, value: float, limit: float, unit: str, at_least: bool = False
    ) -> None:
        met = value >= limit if at_least else value <= limit
        self.missed += not met
        sign = "≥" if at_least else "≤"
        word = "met" if met else "MISSED"
        print(f"{what:<52} {value:>9.1f} {unit:<8} {sign} {limit:<6g} {word}", flush=True)


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
            return json.loads(host.getresponse().read())


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


def opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_selector("h1")
    return page


def shown(page: Page, name: str) -> float:
    """Milliseconds from the start of the navigation to its paint."""
    page.wait_for_function("name => window.shown[name] > 0", arg=name)
    return float(page.evaluate("name => window.shown[name]", name))


def scripts(context: BrowserContext, address: str, wait_for: str) -> dict[str, int]:
    page = opened(context, address)
    page.wait_for_selector(wait_for)
    page.wait_for_load_state("networkidle")
    found = dict(page.evaluate(SCRIPTS))
    page.close()
    return found


def weights(budgets: Budgets, browser: Browser, server: Server, project: int, graph: str) -> None:
    def fresh(path: str, wait_for: str) -> dict[str, int]:
        with contextlib.closing(browser.new_context()) as context:
            return scripts(context, server.url + path, wait_for)

    first = fresh("/", "h1")
    budgets.tell("JS of the first page, packed", sum(first.values()) / 1e3, 250, "kB")
    for name, path, wait_for, limit in (
        ("charts", f"/p/{project}/compare", "figure svg", 350),
        ("graph", graph, ".react-flow__node", 250),
    ):
        more = {key: size for key, size in fresh(path, wait_for).items() if key not in first}
        budgets.tell(f"JS that {name} add, packed", sum(more.values()) / 1e3, limit, "kB")


def paints(budgets: Budgets, browser: Browser, server: Server, rounds: int) -> None:
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(rounds):
        with contextlib.closing(browser.new_context()) as context:
            for times in (cold, warm):
                page = opened(context, server.url)
                times.append(shown(page, "h1"))
                page.close()
    budgets.tell("first useful paint, cold", statistics.median(cold), 1000, "ms")
    budgets.tell("first useful paint, warm", statistics.median(warm), 400, "ms")


def interactions(budgets: Budgets, browser: Browser, server: Server, project: int) -> None:
    """Typing into the filter, opening menus and dialogs, turning the theme."""
    with contextlib.closing(browser.new_context()) as context:
        page = opened(context, f"{server.url}/p/{project}/benchmarks")
        page.wait_for_load_state("networkidle")
        for word in ("run 1", "run 77", "run 9"):
            page.get_by_placeholder("Filter").first.click()
            page.keyboard.type(word, delay=40)
            page.wait_for_load_state("networkidle")
            page.keyboard.press("Control+a")
            page.keyboard.press("Delete")
        for _ in range(4):
            page.get_by_role("button", name="Search").click()
            page.keyboard.type("queue", delay=40)
            page.keyboard.press("Escape")
        for name in ("Dark theme", "Light theme") * 3:
            page.get_by_role("button", name=name).click()
        page.wait_for_timeout(500)
        answers = sorted(page.evaluate("() => Object.values(window.answers)"))
        # Those below 16 ms are not told by the browser, so the rest is a bound from above.
        budgets.tell(
            f"interaction to next paint, p75 of {len(answers)}",
            statistics.quantiles(answers or [0.0, 0.0], n=4)[2],
            200,
            "ms",
        )


def tables(budgets: Budgets, browser: Browser, server: Server, address: str) -> None:
    with contextlib.closing(browser.new_context()) as context:
        opened(context, server.url + address).close()  # the server has read the model by then
        page = opened(context, server.url + address)
        budgets.tell("table of 10 000 rows opens", shown(page, "row"), 1000, "ms")
        frames = page.evaluate(FRAMES, 3)
        budgets.tell("… and scrolls", frames, 50, "frames/s", at_least=True)


def graphs(budgets: Budgets, browser: Browser, server: Server, address: str) -> None:
    with contextlib.closing(browser.new_context()) as context:
        first = opened(context, server.url + address)
        first.wait_for_selector(".react-flow__node")
        first.close()
        page = opened(context, server.url + address)
        budgets.tell("graph of 5 000 nodes, collapsed", shown(page, "box"), 2000, "ms")
        page.wait_for_load_state("networkidle")
        boxes = page.locator(".react-flow__node").count()
        page.evaluate("() => { window.slow.length = 0; }")
        group = page.get_by_role("button", name=re.compile("^Open .*block")).first
        began = time.perf_counter()
        group.click()
        page.wait_for_function(
            "before => document.querySelectorAll('.react-flow__node').length > before", arg=boxes
        )
        budgets.tell("… a group of 200 expands", (time.perf_counter() - began) * 1e3, 500, "ms")
        page.wait_for_timeout(500)
        slow = page.evaluate("() => Math.max(0, ...window.slow)")
        budgets.tell("… longest that the page stood still", slow, 100, "ms")


def live(
    budgets: Budgets, browser: Browser, server: Server, project: int, model: int, seconds: float
) -> None:
    """A run that is watched: events, CPU time of server and tab, and what the page keeps."""
    with contextlib.closing(browser.new_context()) as context:
        page = context.new_page()
        heard: list[str] = []
        page.on(
            "websocket", lambda socket: socket.on("framereceived", lambda f: heard.append(str(f)))
        )
        page.goto(f"{server.url}/p/{project}/benchmarks")
        page.wait_for_selector("h1")
        asked = {"project_id": project, "model_id": model, "budget": max(60.0, 3 * seconds)}
        job = server.ask("/benchmarks", asked | {"name": "watched"})["latest_run"]["job_id"]
        while not server.ask(f"/jobs/{job}")["progress"]:
            time.sleep(0.2)
        page.wait_for_timeout(SETTLING_S * 1e3)
        devtools = context.new_cdp_session(page)
        tab = _renderer()
        before, kept, heard[:] = _spent(server, tab), _heap(devtools), []
        page.wait_for_timeout(seconds * 1e3)
        told = sum("job.progress" in frame for frame in heard)
        spent, grown = _spent(server, tab) - before, _heap(devtools) - kept
        server.ask(f"/jobs/{job}/cancel", {})
        budgets.tell("live run: progress events", told / seconds, 4, "/s")
        budgets.tell("live run: server and tab", 100 * spent / seconds, 3, "% core")
        budgets.tell(f"live run: heap grown in {seconds:.0f} s", grown / 1e6, 50, "MB")


def _renderer() -> psutil.Process:
    """The busiest of the browser's tabs: the others have nothing open."""
    children = psutil.Process().children(recursive=True)
    tabs = [one for one in children if "--type=renderer" in one.cmdline()]
    return max(tabs, key=lambda one: sum(one.cpu_times()[:2]))


def _spent(server: Server, tab: psutil.Process) -> float:
    """CPU seconds; of the server alone, as its workers are what is measured."""
    processes = psutil.Process(server.process.pid), tab
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def _heap(devtools: Any) -> float:
    devtools.send("HeapProfiler.collectGarbage")
    return float(devtools.send("Runtime.getHeapUsage")["usedSize"])


def blocks(nodes: int, of: int, file: Path) -> Path:
    """A chain of nodes, so many in each group."""
    import onnx
    from onnx import TensorProto, helper

    ops = [
        helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], f"block{i // of}/relu{i}")
        for i in range(nodes)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
        for name in ("t0", f"t{nodes}")
    ]
    graph = helper.make_graph(ops, "blocks", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(file))
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--live", type=float, default=60.0, help="seconds of a run to watch")
    asked = parser.parse_args()
    budgets = Budgets()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
        fill(workspace, 1000)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        with serving(workspace) as server:
            many = server.ask("/projects?text=many")["items"][0]["id"]
            project = server.ask("/projects", {"name": "big"})["id"]
            models = [
                _sent(server, project, blocks(nodes, 200, Path(folder) / f"{nodes}.onnx"))
                for nodes in (5000, 10_000)
            ]
            script = {"modeldyno": "scripted/1", "latency_us": 2000}
            models.append(_sent_bytes(server, project, "s.json", json.dumps(script).encode()))
            graph = f"/p/{project}/models/{models[0]}/graph"
            exactly = {"project_id": project, "model_id": models[2], "iterations": 5}
            for batch in (1, 2):
                made = server.ask("/benchmarks", exactly | {"batch_sizes": [batch]})
                while server.ask(f"/benchmarks/{made['id']}")["state"] in ("queued", "running"):
                    time.sleep(0.2)
            weights(budgets, browser, server, project, graph)
            paints(budgets, browser, server, asked.rounds)
            interactions(budgets, browser, server, many)
            tables(budgets, browser, server, f"/p/{project}/models/{models[1]}/graph?view=table")
            graphs(budgets, browser, server, graph)
            live(budgets, browser, server, project, models[2], asked.live)
        browser.close()
    sys.exit(budgets.missed > 0)


def _sent(server: Server, project: int, file: Path) -> int:
    return _sent_bytes(server, project, file.name, file.read_bytes())


def _sent_bytes(server: Server, project: int, name: str, content: bytes) -> int:
    return int(server.ask(f"/projects/{project}/models?name={name}", raw=content)["id"])


if __name__ == "__main__":
    main()
