"""The reference API (``/api``): how long its lists and graphs take, and how that grows.

A real server and a bare FastAPI hello are pinned to one core, the client to another. Each round
asks every address some times, in a new order, over one connection that stays open; growth is a
ratio of medians within one round, and of those ratios the median:

    .venv/bin/python benchmarks/inc.py [--rounds 7] [--times 20] [--benchmarks 1000]

Lists must not start a process: the server counts those that it starts. Reading a graph for the
first time does start one, which shows that the count works. Exits 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

if not __package__:  # started as a file: what lies beside it is still in our package
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.server import ENVIRONMENT, Served, copy_of, free_port, hello_server, started
from modeldyno.core.runs import RunOf

MOST_GROWTH = 12.0  # for ten times as much: linear, and some room for the machine
FEW = 10  # a tenth of the large one
OPS = {"graph-400": 400, "graph-4000": 4000}
ANEW = " anew"  # with groups that nobody asked for before: an answer that is not kept
GROWTHS = (
    ("graph-4000", "graph-400"),
    ("graph-4000" + ANEW, "graph-400" + ANEW),
    ("benchmark/list", "benchmark/list-tenth"),
)

COUNTING = """
import os, sys
STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system")
def note(event, said):
    if event in STARTS:
        with open(os.environ["STARTED"], "a") as out:
            out.write(event + "\\n")
sys.addaudithook(note)
from modeldyno.cli.main import run
run()
"""


@dataclass
class Client:
    """One connection that stays open."""

    served: Served
    link: http.client.HTTPConnection
    asked: int = 0

    def ask(self, path: str, body: Any = None) -> tuple[float, bytes]:
        """Seconds until the whole answer was there, and the answer."""
        said = dict(line.split(": ", 1) for line in self.served.headers.split("\r\n") if line)
        sent = None if body is None else json.dumps(body)
        if sent is not None:
            said["Content-Type"] = "application/json"
        self.asked += 1
        path = path.replace("{number}", str(self.asked))
        began = time.perf_counter()
        self.link.request("GET" if sent is None else "POST", path, sent, said)
        reply = self.link.getresponse()
        told = reply.read()
        took = time.perf_counter() - began
        if reply.status != 200:
            raise SystemExit(f"{path}: {reply.status} {told[:300]!r}")
        return took, told


@contextlib.contextmanager
def client_of(served: Served) -> Iterator[Client]:
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
    try:
        yield Client(served, link)
    finally:
        link.close()


@contextlib.contextmanager
def our_server(workspace: Path, root: Path, cpus: set[int]) -> Iterator[Client]:
    port = free_port()
    argv = [sys.executable, "-c", COUNTING, "serve", "--port", str(port)]
    argv += ["--workspace", str(workspace), "--models-root", str(root)]
    with started(argv, port, workspace / "token", cpus) as served, client_of(served) as client:
        yield client


def chain(ops: int, file: Path) -> Path:
    """So many nodes, none of them in a group: the answer tells of every one."""
    import onnx
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], f"relu{i}") for i in range(ops)]
    ends = [helper.make_tensor_value_info(f"t{i}", TensorProto.FLOAT, [1, 4]) for i in (0, ops)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(file))
    return file


def fill(workspace: Path, root: Path, count: int, cpus: set[int]) -> dict[str, int]:
    """A project with many benchmarks, one with a tenth of them, and 50 more; by name, their ids."""
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_records

    small = chain(5, root / "small.onnx")
    numbers: dict[str, int] = {}
    for name, wanted in (("tenth", count // FEW), ("many", count)):
        with our_server(workspace, root, cpus) as client:
            numbers[name], first = measured(client, small, name)
        records = open_records(Settings.read(workspace))
        run = records.runs.page(of=RunOf("benchmark", first)).items[0]
        copy_of(records.database, first, run.id, wanted - 1)
        for number in range(25):
            records.projects.add(f"{name} {number}")
        records.close()
    return numbers


def measured(client: Client, model: Path, name: str) -> tuple[int, int]:
    """A project and a benchmark in it that has run: their ids."""
    said: dict[str, Any] = {"path": str(model), "input_nodes": "t0", "output_nodes": "t5"}
    said |= {"domain": "Image Recognition", "shape": "4"}
    made = json.loads(client.ask("/api/project/create", {"name": name, "model": said})[1])
    said = made | {"name": "b", "iterations": 5, "batch_size": 1}
    said |= {"cores_per_instance": 1, "number_of_instance": 1}
    number = json.loads(client.ask("/api/benchmark/add", said)[1])["benchmark_id"]
    client.ask("/api/benchmark/execute", {"request_id": "r", "benchmark_id": number})
    wait_for(client, number)
    return made["project_id"], number


def wait_for(client: Client, number: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        told = json.loads(client.ask("/api/benchmark", {"id": number})[1])
        if told["status"] not in (None, "wip"):
            return
        time.sleep(0.1)
    raise SystemExit("a benchmark did not end")


def processes() -> int:
    """How many the server has started so far."""
    file = Path(ENVIRONMENT["STARTED"])
    return len(file.read_text().splitlines()) if file.exists() else 0


def quantile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--benchmarks", type=int, default=1000)
    asked = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    server_cpus, client_cpus = {cpus[0]}, set(cpus[1:] or cpus)
    os.sched_setaffinity(0, client_cpus)
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(compare(Path(folder), asked, server_cpus))


def compare(folder: Path, asked: argparse.Namespace, cpus: set[int]) -> bool:
    """Whether a limit is missed."""
    workspace, root = folder / "workspace", folder / "root"
    workspace.mkdir()
    root.mkdir()
    ENVIRONMENT["STARTED"] = str(folder / "started")
    print(f"making {asked.benchmarks} benchmarks …", flush=True)
    numbers = fill(workspace, root, asked.benchmarks, cpus)
    with (
        hello_server(cpus) as hello,
        client_of(hello) as bare,
        our_server(workspace, root, cpus) as ours,
    ):
        graphs = {name: chain(ops, root / f"{name}.onnx") for name, ops in OPS.items()}
        addresses = lists(numbers)
        for name, file in graphs.items():
            addresses[name] = f"/api/model/graph?{urlencode({'path': str(file)})}"
            addresses[name + ANEW] = addresses[name] + "&group=g{number}"
        before = processes()
        for name in graphs:
            took, told = ours.ask(addresses[name])
            nodes = len(json.loads(told)["nodes"])
            print(f"{name}: {took:.3f} s at first, {nodes} nodes, {len(told) / 1e6:.2f} MB")
        if processes() == before:
            raise SystemExit("no process was counted when a graph was read: the count is broken")
        before = processes()
        times = rounds(bare, ours, addresses, asked.rounds, asked.times)
        missed = processes() != before
        print(f"processes started for {sum(map(len, times['project/list']))} answers of each: "
              f"{processes() - before} (limit 0)")  # fmt: skip
        return told_of(times) or missed


def lists(numbers: dict[str, int]) -> dict[str, str]:
    many, tenth = (f"project_id={numbers[name]}" for name in ("many", "tenth"))
    return {
        "project/list": "/api/project/list",
        "benchmark/list": f"/api/benchmark/list?{many}",
        "benchmark/list-tenth": f"/api/benchmark/list?{tenth}",
        "model/list": f"/api/model/list?{many}",
        "dataset/list": f"/api/dataset/list?{many}",
        "optimization/list": f"/api/optimization/list?{many}",
        "profiling/list": f"/api/profiling/list?{many}",
        "examples/list": "/api/examples/list",
        "system_info": "/api/system_info",
    }


def rounds(
    bare: Client, ours: Client, addresses: dict[str, str], count: int, times: int
) -> dict[str, list[list[float]]]:
    """By name, the times of every round."""
    asked = {name: (ours, path) for name, path in addresses.items()} | {"hello": (bare, "/hello")}
    for client, path in asked.values():  # warm, and not counted
        client.ask(path)
        client.ask(path)
    found: dict[str, list[list[float]]] = {name: [] for name in asked}
    for _ in range(count):
        for name in random.sample(list(asked), len(asked)):
            client, path = asked[name]
            found[name].append([client.ask(path)[0] for _ in range(times)])
    return found


def told_of(times: dict[str, list[list[float]]]) -> bool:
    """Print it; whether something grows faster than what it tells of."""
    medians = {name: [statistics.median(one) for one in found] for name, found in times.items()}
    for name, found in times.items():
        every = [one for times in found for one in times]
        of_hello = statistics.median(
            mine / base for mine, base in zip(medians[name], medians["hello"], strict=True)
        )
        p50, p95 = (quantile(every, share) * 1e3 for share in (0.5, 0.95))
        print(f"{name}: p50 {p50:.2f} ms, p95 {p95:.2f} ms, {of_hello:.1f} × hello")
    missed = False
    for large, small in GROWTHS:
        ratios = [a / b for a, b in zip(medians[large], medians[small], strict=True)]
        growth = statistics.median(ratios)
        missed |= growth > MOST_GROWTH
        print(
            f"{large} / {small}: {growth:.1f} × for {FEW} × as much "
            f"(limit {MOST_GROWTH:g}; {min(ratios):.1f} to {max(ratios):.1f})"
        )
    return missed


if __name__ == "__main__":
    main()
