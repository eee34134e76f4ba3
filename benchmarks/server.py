"""The server against a bare FastAPI hello, in one run.

Both are real processes under uvicorn with the same options, pinned to one core; the client is on
another. Each round asks every address for a while, in a new order, over connections that stay
open; what is compared is the throughput of one round with hello's of the same round, and of those
ratios the median:

    .venv/bin/python benchmarks/server.py [--rounds 9] [--seconds 1.0] [--benchmarks 10000]

It also tells what an idle server holds in memory, how long it takes from its start to a first reply
(against hello's), and how long a graph of 4 000 nodes takes when it is known. Exits 1 when a limit
is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from modeldyno.core.documents.cell import CellDocument
    from modeldyno.core.specs import CellSpec
    from modeldyno.store.database import Database

CONNECTIONS = 8
STARTS = 5
LEAST = {"projects": 1 / 3, "benchmark": 1 / 3, "benchmarks": 1 / 4}  # of hello's throughput
MOST_RSS = 150e6
MOST_START = 3.0  # of hello's time to a first reply
MOST_GRAPH_S = 0.1

HELLO = """
import sys, uvicorn
from fastapi import FastAPI
from modeldyno.api.listening import UVICORN
app = FastAPI()
@app.get("/hello")
async def hello():
    return {"hello": "world"}
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, **UVICORN)
"""

# As installed: a checkout that may not keep what Python compiled would compile it at each start.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
# Every answer is made from the database, as if it had changed since the last one.
FORGETFUL = """
from modeldyno.api import answers
from modeldyno.cli.main import run
answers.FROM_DATABASE = ()
run()
"""


@dataclass
class Served:
    process: subprocess.Popen[bytes]
    port: int
    headers: str = ""

    def rss(self) -> int:
        """Resident memory in bytes; of the process alone, for there is no other at rest."""
        line = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(line[1]) * os.sysconf("SC_PAGE_SIZE")

    def get(self, path: str) -> tuple[int, bytes]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        link.putrequest("GET", path)
        for line in filter(None, self.headers.split("\r\n")):
            name, _, value = line.partition(": ")
            link.putheader(name, value)
        link.endheaders()
        reply = link.getresponse()
        body = reply.read()
        link.close()
        return reply.status, body


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def started(argv: list[str], port: int, token: Path | None, cpus: set[int]) -> Iterator[Served]:
    process = subprocess.Popen(
        argv,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        env=ENVIRONMENT,
    )
    try:
        wait_for(process, port)
        said = f"Authorization: Bearer {token.read_text().strip()}\r\n" if token else ""
        yield Served(process, port, said)
    finally:
        process.terminate()
        process.wait(30)


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Until it answers anything at all."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as link:
            link.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            if link.recv(1):
                return
        time.sleep(0.005)
    raise SystemExit("a server did not come up")


def hello_server(cpus: set[int]) -> contextlib.AbstractContextManager[Served]:
    port = free_port()
    return started([sys.executable, "-c", HELLO, str(port)], port, None, cpus)


def our_server(
    workspace: Path, cpus: set[int], start: tuple[str, ...] = ("-m", "modeldyno")
) -> contextlib.AbstractContextManager[Served]:
    port = free_port()
    argv = [sys.executable, *start, "serve", "--port", str(port)]
    argv += ["--workspace", str(workspace)]
    return started(argv, port, workspace / "token", cpus)


# ---------------------------------------------------------------- asking


def per_second(served: Served, path: str, seconds: float) -> float:
    """Answers a second over several connections, each asking again as soon as it has one."""
    asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n{served.headers}\r\n".encode()
    until = time.perf_counter() + seconds
    counts = [0] * CONNECTIONS

    def ask(number: int) -> None:
        with socket.create_connection(("127.0.0.1", served.port)) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while time.perf_counter() < until:
                link.sendall(asked)
                read_answer(link)
                counts[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CONNECTIONS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


def read_answer(link: socket.socket) -> None:
    data = link.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"not what we came for: {data[:200]!r}")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    left = length - len(body)
    while left > 0:
        left -= len(link.recv(1 << 16))


# ---------------------------------------------------------------- what there is to ask for


def fill(workspace: Path, count: int) -> None:
    """A project with a model of 4 000 nodes and so many benchmarks, all measured."""
    from modeldyno.core.benchmarks import NewBenchmark
    from modeldyno.core.documents.summary import SummaryDocument
    from modeldyno.core.models import NewModel
    from modeldyno.core.runs import RunOf
    from modeldyno.core.specs import QUICK, BenchmarkSpec, CellSpec, ModelSpec
    from modeldyno.services.requests import inspection_spec
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_records, open_workbench

    settings = Settings.read(workspace)
    model_file = workspace / "chain.onnx"
    chain(4000, model_file)
    facts = open_workbench(settings).service.run(inspection_spec(model_file))
    records = open_records(settings)
    for number in range(50):
        records.projects.add(f"project {number}")
    project = records.projects.add("many")
    new = NewModel(project_id=project.id, name="chain", path=str(model_file))
    model = records.models.set_facts(records.models.add(new).id, facts)
    cells = (CellSpec("onnxruntime", 1), CellSpec("onnxruntime", 8))
    spec = BenchmarkSpec(ModelSpec(str(model_file)), cells, QUICK)
    documents = [measured(number, cell) for number, cell in enumerate(cells)]
    made = records.benchmarks.add(
        NewBenchmark(project_id=project.id, model_id=model.id, name="run", spec=spec)
    )
    run = records.runs.add(RunOf("benchmark", made.id), {}, state="running")
    records.runs.finish(run.id, SummaryDocument.of_cell(documents[0]), documents)
    copy_of(records.database, made.id, run.id, count - 1)
    records.close()


def measured(number: int, spec: CellSpec) -> CellDocument:
    from dataclasses import replace

    from modeldyno.core.documents.cell import CellDocument
    from modeldyno.core.documents.figure import Figure
    from modeldyno.core.documents.latency import LatencyDocument

    def figure(value: float) -> Figure:
        low, high = value * 0.99, value * 1.01
        return Figure(value=value, low=low, high=high, level=0.95, of="sessions", n=8)

    values: dict[str, Any] = {name: figure(2.5) for name in ("typical", "p90", "p95", "p99")}
    values |= {"mean": 2.6, "stdev": 0.1, "min": 2.0, "max": 9.0, "outlier_share": 0.01}
    latency, rate = LatencyDocument(floor=figure(2.0), **values), figure(400.0)
    planned = CellDocument.planned(number, spec, "chain.onnx")
    return replace(
        planned, status="done", latency_ms=latency, throughput_per_s=rate, sessions=8, noise="quiet"
    )


def copy_of(database: Database, number: int, run_id: str, count: int) -> None:
    """More rows like these: one by one, ten thousand would take minutes to make."""
    from sqlalchemy import insert, select, update

    from modeldyno.store.tables import CELLS, LINKS, NUMBERS, RUNNABLES, RUNS

    def like(connection: Connection, column: Any, key: object) -> list[dict[str, Any]]:
        rows = connection.execute(select(column.table).where(column == key))
        return [row._asdict() for row in rows]

    with database.writing() as connection:
        (benchmark,) = like(connection, RUNNABLES.c.number, number)
        runnable_id = benchmark["id"]
        (run,) = like(connection, RUNS.c.id, run_id)
        links = like(connection, LINKS.c.runnable_id, runnable_id)
        cells = like(connection, CELLS.c.run_id, run_id)
        others = {n: f"{run_id[:-6]}{n:06x}" for n in range(1, count + 1)}
        benchmarks = [
            benchmark
            | {"id": runnable_id + n, "number": number + n, "name": f"run {number + n}"}
            | {"latest_run_id": name}
            | {word: benchmark[word] and name for word in ("shown_run_id", "measured_run_id")}
            for n, name in others.items()
        ]
        copies: dict[Any, list[dict[str, Any]]] = {
            RUNNABLES: benchmarks,
            LINKS: [one | {"runnable_id": runnable_id + n} for n in others for one in links],
            RUNS: [
                run | {"id": name, "runnable_id": runnable_id + n} for n, name in others.items()
            ],
            CELLS: [one | {"run_id": name} for name in others.values() for one in cells],
        }
        for table, rows in copies.items():
            if rows:
                connection.execute(insert(table), rows)
        connection.execute(update(NUMBERS).values(last=number + count))


def chain(nodes: int, file: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    ops = [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], f"layer{i // 20}/relu{i}")
           for i in range(nodes)]  # fmt: skip
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
        for name in ("t0", f"t{nodes}")
    ]
    graph = helper.make_graph(ops, "chain", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(file))


# ---------------------------------------------------------------- the run


def throughputs(
    hello: Served, ours: Served, paths: dict[str, str], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """For each address, its share of hello's throughput in every round."""
    shares: dict[str, list[float]] = {name: [] for name in paths}
    per_second(hello, "/hello", seconds)  # warm, and not counted
    for path in paths.values():
        per_second(ours, path, seconds / 2)
    for _ in range(rounds):
        # Hello before and after: the machine may change its speed within a round.
        before = per_second(hello, "/hello", seconds)
        order = random.sample(list(paths), len(paths))
        found = {name: per_second(ours, paths[name], seconds) for name in order}
        after = per_second(hello, "/hello", seconds)
        base = (before + after) / 2
        told = ", ".join(f"{name} {found[name]:.0f}" for name in paths)
        print(f"  hello {base:.0f} a second, {told}", flush=True)
        for name in paths:
            shares[name].append(found[name] / base)
    return shares


def spread(shares: list[float]) -> str:
    return f"({min(shares):.2f} to {max(shares):.2f})"


def start_ratio(workspace: Path, cpus: set[int]) -> tuple[float, float]:
    """From start to a first reply: our time against hello's, and ours in seconds."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with hello_server(cpus):
            bare.append(time.perf_counter() - began)
        began = time.perf_counter()
        with our_server(workspace, cpus):
            ours.append(time.perf_counter() - began)
    return statistics.median(a / b for a, b in zip(ours, bare, strict=True)), min(ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--benchmarks", type=int, default=10_000)
    asked = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    server_cpus, client_cpus = {cpus[0]}, set(cpus[1:] or cpus)
    os.sched_setaffinity(0, client_cpus)
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        print(f"making {asked.benchmarks} benchmarks …", flush=True)
        fill(workspace, asked.benchmarks)
        ratio, seconds = start_ratio(workspace, server_cpus)
        missed |= ratio > MOST_START
        print(
            f"start to first reply: {ratio:.2f} × hello's (limit {MOST_START:g}), {seconds:.2f} s"
        )
        with hello_server(server_cpus) as hello, our_server(workspace, server_cpus) as ours:
            time.sleep(1.0)
            rss = ours.rss()
            missed |= rss > MOST_RSS
            print(f"idle: {rss / 1e6:.0f} MB (limit {MOST_RSS / 1e6:.0f})")
            listed = json.loads(ours.get("/api/v1/benchmarks?limit=20")[1])
            number = listed["items"][0]["id"]
            paths = {
                "projects": "/api/v1/projects?limit=20",
                "benchmark": f"/api/v1/benchmarks/{number}",
                "benchmarks": "/api/v1/benchmarks?limit=20",
            }
            for name, shares in throughputs(
                hello, ours, paths, asked.rounds, asked.seconds
            ).items():
                share = statistics.median(shares)
                missed |= share < LEAST[name]
                limit = f"limit {LEAST[name]:.2f}"
                print(f"{name}: {share:.2f} of hello's throughput, {limit} {spread(shares)}")
            times = []
            for _ in range(12):
                began = time.perf_counter()
                status, body = ours.get("/api/v1/models/1/graph")
                times.append(time.perf_counter() - began)
                if status != 200:
                    raise SystemExit(f"no graph: {status} {body[:200]!r}")
            warm = statistics.median(times[2:])
            missed |= warm > MOST_GRAPH_S
            print(f"graph of 4 000 nodes: {times[0]:.3f} s at first, {warm:.3f} s warm")
            print(f"after all that: {ours.rss() / 1e6:.0f} MB")
        forgetful = our_server(workspace, server_cpus, ("-c", FORGETFUL))
        with hello_server(server_cpus) as hello, forgetful as ours:
            print("with every answer made anew:")
            for name, shares in throughputs(hello, ours, paths, 3, asked.seconds).items():
                print(f"{name}: {statistics.median(shares):.2f} of hello's {spread(shares)}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
