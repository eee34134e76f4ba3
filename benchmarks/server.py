"""The server against a bare FastAPI hello, in one run.

Both are real processes under uvicorn with the same options, pinned to one core; the client is on
another. Each round asks every address for a while, in a new order, over connections that stay
open; what is compared is the throughput of one round with hello's of the same round, and of those
ratios the median:

    .venv/bin/python benchmarks/server.py [--rounds 9] [--seconds 1.0] [--benchmarks 10000]
        [--cells 2] [--postgresql]

It also tells what an idle server holds in memory; how long it takes from its start to a first reply
(against hello's), also with a database of an earlier version that has to be upgraded first; and how
long a project's overview, INC's list of all its benchmarks and a graph of 4 000 nodes take.
Throughput counts when every answer is made anew, on SQLite and, with ``--postgresql``, on a
PostgreSQL server that is started for it. Beside each share of throughput stands the same by CPU
time of the server's process, which other work on the machine changes less; it does not count what a
PostgreSQL server does. (``--cells 0`` makes benchmarks without measured cells, as this did until
November 2026: its answers are shorter.) Exits 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from modeldyno.core.documents.cells import CellDocument
    from modeldyno.core.specs import CellSpec
    from modeldyno.store.database import Database

CONNECTIONS = 8
STARTS = 5
LEAST = {"projects": 1 / 3, "benchmark": 1 / 3, "benchmarks": 1 / 4}  # of hello's throughput
MOST_RSS = 150e6
MOST_START = 3.0  # of hello's time to a first reply
MOST_GRAPH_S = 0.1
MOST_OVERVIEW_S = 0.1
MOST_INC_ROW_S = 1e-4
OLD = "0009"  # the schema before one table held all that can be run

HELLO = """
import sys, uvicorn
from fastapi import FastAPI
from modeldyno.api.server_address import UVICORN
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
from modeldyno.api import cached_answers
from modeldyno.cli.main import run
cached_answers.FROM_DATABASE = ()
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

    def cpu_s(self) -> float:
        """CPU time of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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
def started(
    argv: list[str],
    port: int,
    token: Path | None,
    cpus: set[int],
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Served]:
    process = subprocess.Popen(
        argv,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        env={**ENVIRONMENT, **environment},
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
    workspace: Path,
    cpus: set[int],
    start: tuple[str, ...] = ("-m", "modeldyno"),
    database_url: str | None = None,
) -> contextlib.AbstractContextManager[Served]:
    port = free_port()
    argv = [sys.executable, *start, "serve", "--port", str(port)]
    argv += ["--workspace", str(workspace)]
    environment = {"MODELDYNO_DATABASE_URL": database_url} if database_url else {}
    return started(argv, port, workspace / "token", cpus, environment)


# ---------------------------------------------------------------- asking


@dataclass(frozen=True)
class Speed:
    per_second: float
    per_cpu_second: float


def speed_of(served: Served, path: str, seconds: float) -> Speed:
    """Answers over several connections, each asking again as soon as it has one."""
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
    began, worked = time.perf_counter(), served.cpu_s()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, worked = time.perf_counter() - began, served.cpu_s() - worked
    return Speed(sum(counts) / took, sum(counts) / max(worked, 0.01))


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


def fill(
    workspace: Path, count: int, measured_cells: int = 2, database_url: str | None = None
) -> int:
    """A project with a model of 4 000 nodes and so many benchmarks, all measured; its number."""
    from modeldyno.core.benchmarks import NewBenchmark
    from modeldyno.core.documents.runnables import SummaryDocument
    from modeldyno.core.models import NewModel
    from modeldyno.core.runs import RunOf
    from modeldyno.core.specs import QUICK, BenchmarkSpec, CellSpec, ModelSpec
    from modeldyno.services.requests import make_inspection_spec
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_records, open_workbench

    settings = replace(Settings.read(workspace), database_url=database_url)
    model_file = workspace / "chain.onnx"
    chain(4000, model_file)
    facts = open_workbench(settings).service.run(make_inspection_spec(model_file))
    records = open_records(settings)
    for number in range(50):
        records.projects.add(f"project {number}")
    project = records.projects.add("many")
    new = NewModel(project_id=project.id, name="chain", path=str(model_file))
    model = records.models.set_facts(records.models.add(new).id, facts)
    batch_sizes = [2**place for place in range(max(measured_cells, 2))]
    cells = tuple(CellSpec("onnxruntime", batch_size) for batch_size in batch_sizes)
    spec = BenchmarkSpec(ModelSpec(str(model_file)), cells, QUICK)
    documents = [measured(number, cell) for number, cell in enumerate(cells)]
    made = records.benchmarks.add(
        NewBenchmark(project_id=project.id, model_id=model.id, name="run", spec=spec)
    )
    run = records.runs.add(RunOf("benchmark", made.id), {}, state="running")
    shown = documents[:measured_cells]
    records.runs.finish(run.id, SummaryDocument.of_cell(documents[0]), shown)
    copy_of(records.database, made.id, run.id, count - 1)
    if records.database.engine.dialect.name == "postgresql":
        with records.database.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")  # as it does by itself within a minute
            connection.commit()
    records.close()
    return project.id


@contextlib.contextmanager
def of_old_version(workspace: Path) -> Iterator[Path]:
    """A copy of a workspace, with its database as an earlier version wrote it."""
    from modeldyno.settings import Settings
    from modeldyno.store import schema
    from modeldyno.store.database import FILE
    from modeldyno.workbench import open_records

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(workspace / FILE, folder)
        records = open_records(Settings.read(Path(folder)))
        schema.migrate_to(records.database.engine, OLD)
        records.close()
        yield Path(folder)


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """The address of an empty database, on a server of its own."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from sqlalchemy import create_engine, make_url, text

    from tests.databases import server_address

    place = make_url(server_address()).set(drivername="postgresql+psycopg")
    engine = create_engine(place, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE benchmarked"))
    engine.dispose()
    yield place.set(database="benchmarked").render_as_string(hide_password=False)


def measured(number: int, spec: CellSpec) -> CellDocument:
    from dataclasses import replace

    from modeldyno.core.documents.cells import CellDocument
    from modeldyno.core.documents.figures import Figure, LatencyDocument

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
) -> dict[str, list[Speed]]:
    """For each address, its shares of hello's in every round."""
    shares: dict[str, list[Speed]] = {name: [] for name in paths}
    speed_of(hello, "/hello", seconds)  # warm, and not counted
    for path in paths.values():
        speed_of(ours, path, seconds / 2)
    for _ in range(rounds):
        # Hello before and after: the machine may change its speed within a round.
        before = speed_of(hello, "/hello", seconds)
        order = random.sample(list(paths), len(paths))
        speeds = {name: speed_of(ours, paths[name], seconds) for name in order}
        after = speed_of(hello, "/hello", seconds)
        base = (before.per_second + after.per_second) / 2
        cpu_base = (before.per_cpu_second + after.per_cpu_second) / 2
        line = ", ".join(f"{name} {speeds[name].per_second:.0f}" for name in paths)
        print(f"  hello {base:.0f} a second, {line}", flush=True)
        for name, speed in speeds.items():
            share = Speed(speed.per_second / base, speed.per_cpu_second / cpu_base)
            shares[name].append(share)
    return shares


def share_of(shares: list[Speed]) -> float:
    return statistics.median(share.per_second for share in shares)


def spread(shares: list[Speed]) -> str:
    times = [share.per_second for share in shares]
    by_cpu = statistics.median(share.per_cpu_second for share in shares)
    return f"({min(times):.2f} to {max(times):.2f}; by CPU time {by_cpu:.2f})"


@dataclass(frozen=True)
class Start:
    """What a server has taken for: a first reply, by the clock and in CPU time; a list."""

    reply_s: float
    reply_cpu_s: float
    list_s: float


def start_of(server: contextlib.AbstractContextManager[Served], path: str) -> Start:
    began = time.perf_counter()
    with server as served:
        reply_s, cpu_s = time.perf_counter() - began, served.cpu_s()
        while served.get(path)[0] == 503:  # it upgrades its database, and says so
            time.sleep(0.02)
        return Start(reply_s, cpu_s, time.perf_counter() - began)


def report_start(
    what: str, workspaces: Callable[[], contextlib.AbstractContextManager[Path]], cpus: set[int]
) -> bool:
    """Whether the limit is missed."""
    pairs: list[tuple[Start, Start]] = []
    for _ in range(STARTS):
        bare = start_of(hello_server(cpus), "/hello")
        with workspaces() as workspace:
            pairs.append((start_of(our_server(workspace, cpus), "/api/v1/projects"), bare))
    by_clock, by_cpu, to_list = (
        statistics.median(getattr(ours, field) / getattr(bare, field) for ours, bare in pairs)
        for field in ("reply_s", "reply_cpu_s", "list_s")
    )
    print(
        f"start to first reply{what}: {by_clock:.2f} × hello's (limit {MOST_START:g}; by CPU time "
        f"{by_cpu:.2f}), {min(ours.reply_s for ours, _ in pairs):.2f} s; to a list of projects "
        f"{to_list:.2f} ×",
        flush=True,
    )
    return bool(by_clock > MOST_START)


def report_long_answers(ours: Served, project: int, count: int) -> bool:
    """Whether a limit is missed."""

    def median_s(path: str) -> float:
        times = []
        for _ in range(5):
            began = time.perf_counter()
            status, body = ours.get(path)
            times.append(time.perf_counter() - began)
            if status != 200:
                raise SystemExit(f"{path}: {status} {body[:200]!r}")
        return statistics.median(times)

    overview_s = median_s(f"/api/v1/projects/{project}/standing")
    row_s = median_s(f"/api/benchmark/list?project_id={project}") / count
    print(f"overview of {count} benchmarks: {overview_s * 1e3:.0f} ms (limit 100)")
    print(f"INC's list of them: {row_s * 1e3:.3f} ms a row (limit 0.1)", flush=True)
    return overview_s > MOST_OVERVIEW_S or row_s > MOST_INC_ROW_S


def report_anew(
    workspace: Path,
    cpus: set[int],
    paths: dict[str, str],
    asked: argparse.Namespace,
    database_url: str | None = None,
    project: int = 0,
) -> bool:
    """Throughput with every answer made anew; whether a limit is missed."""
    forgetful = our_server(workspace, cpus, ("-c", FORGETFUL), database_url)
    missed = False
    with hello_server(cpus) as hello, forgetful as ours:
        shares_of = throughputs(hello, ours, paths, asked.rounds, asked.seconds)
        for name, shares in shares_of.items():
            share = share_of(shares)
            missed |= share < LEAST[name]
            limit = f"limit {LEAST[name]:.2f}"
            print(f"{name}: {share:.2f} of hello's throughput, {limit} {spread(shares)}")
        return report_long_answers(ours, project, asked.benchmarks) or missed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--benchmarks", type=int, default=10_000)
    parser.add_argument("--cells", type=int, default=2)
    parser.add_argument("--postgresql", action="store_true")
    asked = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    server_cpus, client_cpus = {cpus[0]}, set(cpus[1:] or cpus)
    os.sched_setaffinity(0, client_cpus)
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        print(f"making {asked.benchmarks} benchmarks …", flush=True)
        project = fill(workspace, asked.benchmarks, asked.cells)
        missed |= report_start("", lambda: contextlib.nullcontext(workspace), server_cpus)
        missed |= report_start(" after an upgrade", lambda: of_old_version(workspace), server_cpus)
        with hello_server(server_cpus) as hello, our_server(workspace, server_cpus) as ours:
            time.sleep(1.0)
            rss = ours.rss()
            missed |= rss > MOST_RSS
            print(f"idle: {rss / 1e6:.0f} MB (limit {MOST_RSS / 1e6:.0f})")
            listed = json.loads(ours.get("/api/v1/benchmarks?limit=20")[1])
            paths = {
                "projects": "/api/v1/projects?limit=20",
                "benchmark": f"/api/v1/benchmarks/{listed['items'][0]['id']}",
                "benchmarks": "/api/v1/benchmarks?limit=20",
            }
            for name, shares in throughputs(hello, ours, paths, 3, asked.seconds).items():
                print(
                    f"{name}, kept: {share_of(shares):.2f} of hello's throughput {spread(shares)}"
                )
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
        print("with every answer made anew:")
        missed |= report_anew(workspace, server_cpus, paths, asked, project=project)
    if asked.postgresql:
        with tempfile.TemporaryDirectory() as folder, postgresql() as url:
            print("on PostgreSQL:", flush=True)
            project = fill(Path(folder), asked.benchmarks, asked.cells, url)
            missed |= report_anew(Path(folder), server_cpus, paths, asked, url, project)
    sys.exit(missed)


if __name__ == "__main__":
    main()
