"""Runs from their start to their end, in the terminal and on a server.

Everything happens as it does for people: workers are started, load the scripted model and measure
it. Only the figures that they report are replaced, by the same ones each time, and so is what is
read from the machine.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.sessions import Calibration, Energy, Memory, Pair, Samples, Session, WarmUp
from modeldyno.jobs.leases import Leases
from modeldyno.jobs.server_leases import ServerAffinity
from modeldyno.measure import host
from modeldyno.worker.launch import Worker
from modeldyno.worker.messages import MeasurePair, PairMeasured, SessionMeasured
from tests.api.live import Live
from tests.processes import until
from tests.recording.surfaces import Surface, typed
from tests.recording.writes import Listeners, Texts, exchange_text, frame_text, request

FAST_NS, SLOW_NS = 1_600_000, 2_000_000  # as the models steady.json and slower.json say
SAMPLES = 20
MACHINE = HostFacts(
    fingerprint="0123456789abcdef",
    system="Linux",
    kernel="6.1.0",
    cpu_model="Example CPU",
    cpus=2,
    cpus_allowed=(0, 1),
    cpu_quota=None,
    instruction_sets=("avx2",),
    cache_bytes={"L1d": 32768},
    numa_nodes=1,
    memory_bytes=16 << 30,
    hypervisor=False,
    governor="performance",
    boost=False,
    huge_pages="madvise",
    microcode=None,
    libc="glibc 2.36",
    python="3.11.7",
    machine="lab-1",
)
QUIET = HostWeather(load_1m=0.1, pressure=0.0, steal=0.0, throttled_s=0.0, busy=0.5)


def script_figures(monkeypatch: pytest.MonkeyPatch, cores: Path) -> None:
    """From here on, whatever workers measure has the same figures. Cores are leased in the folder
    ``cores``, so that no other measurement on this machine has to end first."""
    send, receive, numbers = Worker.send, Worker.receive, itertools.count()

    def brief(self: Worker, command: Any) -> None:
        if isinstance(command, MeasurePair):
            plan = replace(command.plan, min_time_s=0.02, warmup_limit_s=0.02)
            command = replace(command, plan=plan)
        send(self, command)

    def scripted(self: Worker, *arguments: Any) -> Any:
        reply = receive(self, *arguments)
        match reply:
            case SessionMeasured(session=session):
                return replace(reply, session=_scripted(session, FAST_NS, next(numbers)))
            case PairMeasured(pair=Pair(a=a, b=b) as pair):
                number = next(numbers)
                sides = _scripted(a, FAST_NS, number), _scripted(b, SLOW_NS, number + 1)
                return replace(reply, pair=replace(pair, a=sides[0], b=sides[1]))
            case _:
                return reply

    monkeypatch.setattr(Worker, "send", brief)
    monkeypatch.setattr(Worker, "receive", scripted)
    monkeypatch.setattr(host, "facts", lambda **_: MACHINE)
    monkeypatch.setattr(host, "weather", lambda *_: QUIET)
    # How many cores there are decides whether the server can make way for a measurement.
    monkeypatch.setattr(ServerAffinity, "keep_off", lambda *_: "")
    folder = property(lambda _: cores, lambda *_: None)
    monkeypatch.setattr(Leases, "_folder", folder, raising=False)


def _scripted(session: Session, latency_ns: int, number: int) -> Session:
    """Sessions differ by up to 0.4 %, samples of a session by up to 0.2 %."""
    typical_ns = latency_ns + latency_ns // 1000 * (number * 7 % 5)
    wall_ns = tuple(typical_ns + latency_ns // 1000 * (n % 3) for n in range(SAMPLES))
    total_ns = sum(wall_ns)
    return replace(
        session,
        load_s=0.002,
        first_call_s=latency_ns / 1e9,
        calibration=Calibration(latency_ns / 1e9, 1, 1e-7, 15),
        warmup=WarmUp(10, 0.02, True),
        samples=Samples(wall_ns, wall_ns, 1, total_ns, total_ns, total_ns, 0),
        memory=Memory(10 << 20, 11 << 20, 12 << 20),
        canary_s=1e-5,
        energy=Energy(None, "no meter"),
    )


# ---------------------------------------------------------------- terminal


def terminal(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surface]:
    models = workspace.parent / "models"
    steady, slower = str(models / "steady.json"), str(models / "slower.json")
    place, texts = ("--workspace", str(workspace)), Texts(workspace)
    iterations = ("--iterations", str(SAMPLES))
    commands = {
        "bench": ("bench", steady, "--batch", "1,2", *iterations),
        "bench-json": ("bench", steady, "--json", *iterations),
        # An adaptive comparison ends after 8 pairs, long before its time is up.
        "compare": ("compare", steady, slower, "--adaptive", "--budget", "60"),
    }
    for name, command in commands.items():
        with monkeypatch.context() as patch:
            script_figures(patch, workspace.parent / "cores")
            shown = typed((*command, "--memory-limit", "1G", *place), workspace, patch)
        yield f"terminal-{name}", _comparable(shown, texts)
    newest = max(path.name for path in (workspace / "runs").iterdir())
    shown = typed(("show", newest, "--json", *place), workspace, monkeypatch)
    yield "terminal-compare-json", _comparable(shown, texts)


def _comparable(text: str, texts: Texts) -> str:
    for pattern in (
        r'("tool_version": )"[^"]+"',
        r'("sandbox": )"(?!on)[^"]+"',
        r'("duration": )\d+',
    ):
        text = re.sub(pattern, r'\1"HERE"', text)
    text = re.sub(r"(with Modeldyno [\w.]+, )20\d\d-\d\d-\d\d", r"\1TODAY", text)
    # The last digits depend on the mathematics library.
    text = re.sub(r"\d+\.\d{9,}(e-\d+)?", lambda match: f"{float(match[0]):.9g}", text)
    return texts.comparable(text)


# ---------------------------------------------------------------- server


def on_server(server: Live, workspace: Path, listeners: Listeners) -> Iterator[Surface]:
    """A benchmark, from the request to its end: what clients are sent, and what shows it then."""
    texts = Texts(workspace)
    request(server, "POST", "/api/v1/jobs/17/cancel")  # it waits in the frozen queue
    request(server, "POST", "/api/v1/queue/resume")
    listeners.until_now()
    listeners.next(1)
    body = {"project_id": 2, "model_id": 3, "name": "Live", "batch_sizes": [1, 2]}
    body |= {"iterations": SAMPLES, "memory_limit_bytes": 1 << 30}
    made = request(server, "POST", "/api/v1/benchmarks", body).json
    default = listeners.next(2)  # its start and its finish
    run_id, job_id = made["latest_run"]["id"], made["latest_run"]["job_id"]
    job = f"/api/v1/jobs/{job_id}"
    until(lambda: request(server, "GET", job).json["state"] == "done", "the end of the job")
    numbered = listeners.until_now()
    lines = [frame_text("/v1", *frame) for frame in numbered if frame[1]["number"]]
    lines += [frame_text("/", *frame) for frame in default]
    yield "server-frames", _comparable("\n".join(lines), texts)
    # How many there are depends on how fast they can be sent: a newer one replaces an older.
    progress = next(message for _, message in numbered if message["kind"] == "job.progress")
    yield "server-progress", json.dumps([[*progress], [*progress["data"]]], indent=1)
    shown = {
        "benchmark": f"/api/v1/benchmarks/{made['id']}",
        "job": job,
        "run": f"/api/v1/runs/{run_id}",
        "result": f"/api/v1/runs/{run_id}/result",
        "csv": f"/api/v1/runs/{run_id}/export?format=csv",
        "md": f"/api/v1/runs/{run_id}/export?format=md",
        "reference": f"/api/benchmark?id={made['id']}",
    }
    for name, path in shown.items():
        answer = request(server, "GET", path)
        text = exchange_text("GET", path, None, {}, answer)
        yield f"server-{name}", _comparable(text, texts)
    path = "/api/v1/models/3/try"
    text = exchange_text("POST", path, {}, {}, request(server, "POST", path, {}))
    yield "server-try", _comparable(re.sub(r'(ms": )[\d.e-]+', r"\1TIME", text), texts)
