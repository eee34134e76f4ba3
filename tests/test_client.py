"""``modeldyno.Client`` and ``AsyncClient`` against a real server."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
import re
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import modeldyno
from modeldyno.cli import jobs, remote
from modeldyno.cli.main import exit_code
from modeldyno.client import reading, resources, transport
from modeldyno.client.io import BlockingIo
from modeldyno.client.measuring import MeasuringCalls, follow_to_end
from modeldyno.client.operations import Resource, operation, stream
from modeldyno.client.server_address import find_server
from modeldyno.client.transport import Disconnected
from modeldyno.core import errors
from modeldyno.core.jobs import Progress, Started
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.results import BenchmarkResult, ComparisonResult, ProfileResult
from modeldyno.demo import model_path
from modeldyno.services.requests import make_cell_specs
from tests.api.live import live
from tests.scripts import fault, script

SOON_S = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live(tmp_path_factory.mktemp("client") / "workspace") as found:
        yield found


@pytest.fixture(scope="module")
def client(server):
    with modeldyno.Client(workspace=server.server.settings.workspace) as found:
        yield found


@pytest.fixture(scope="module")
def model(server, tmp_path_factory):
    return server.model(tmp_path_factory.mktemp("model"), latency_us=300)


# ---------------------------------------------------------------- which server, which token


@pytest.mark.usefixtures("starts_processes")
def test_the_server_of_the_workspace_is_found_with_its_token(server):
    workspace = server.server.settings.workspace
    found = find_server(workspace=workspace, environment={})
    assert (found.url, found.token) == (server.url, server.token)
    assert server.token not in repr(found)
    near = find_server(server.url.replace("127.0.0.1", "localhost"), workspace=workspace)
    assert (near.url, near.token) == (server.url, server.token)


def test_the_token_of_the_workspace_is_sent_to_no_other_address(server):
    workspace = server.server.settings.workspace
    port = server.url.rpartition(":")[2]
    for other in (
        f"http://10.0.0.1:{port}",
        f"http://[::1]:{port}",  # one's neighbour may listen there
        "http://127.0.0.1:1",
        "http://localhost:1",
        f"https://127.0.0.1:{port}",
    ):
        assert find_server(other, workspace=workspace, environment={}).token is None
    assert find_server(other, "given", workspace=workspace, environment={}).token == "given"


def test_the_environment_names_server_and_token(tmp_path):
    said = {"MODELDYNO_SERVER": "http://box:5000/", "MODELDYNO_TOKEN": "t"}
    found = find_server(workspace=tmp_path, environment=said)
    assert (found.url, found.token) == ("http://box:5000", "t")
    assert find_server("other:80", workspace=tmp_path, environment=said).url == "http://other:80"


def test_without_a_server_the_error_says_how_to_start_one(tmp_path):
    with pytest.raises(errors.ServerUnreachable, match="modeldyno serve"):
        find_server(workspace=tmp_path, environment={})


@pytest.mark.parametrize("url", ["ftp://x", "http://", "file:///etc", "http://user:word@x"])
def test_an_invalid_address_is_refused(url, tmp_path):
    with pytest.raises(errors.BadValue):
        find_server(url, workspace=tmp_path, environment={})


# ---------------------------------------------------------------- errors


def test_no_answer_and_a_wrong_token_end_a_command_with_3(server):
    codes = []
    for url, token, error in (
        ("http://127.0.0.1:9", None, errors.ServerUnreachable),
        (server.url, "w" * 43, errors.NotSignedIn),
    ):
        with modeldyno.Client(url, token) as client, pytest.raises(error) as raised:
            client.projects.create("x")
        codes.append(exit_code(raised.value))
    assert codes == [3, 3]


@pytest.mark.usefixtures("starts_processes")
def test_errors_of_the_server_are_raised_as_the_same_classes(client, model):
    with pytest.raises(errors.NotFound, match="no project 999999"):
        client.projects.get(999999)
    with pytest.raises(errors.BadValue):
        client.projects.create("")
    with pytest.raises(errors.EngineUnknown):
        client.bench(model.id, project=model.project_id, engine="nonsense")
    with pytest.raises(errors.StillUsed):
        client.projects.delete(model.project_id)


@pytest.mark.parametrize("package", ["httpx2"])
def test_a_missing_package_is_named_with_the_extra_that_has_it(server, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.PackageMissing, match=r"modeldyno\[client\]"):
        modeldyno.Client(server.url, server.token)


def test_an_answer_of_another_server_is_an_error():
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self):
            status = 302 if self.path.endswith("/1") else 200
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(b"<h1>Welcome</h1>")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Stranger) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with modeldyno.Client(f"http://127.0.0.1:{other.server_port}", "t") as client:
            for number in (1, 2):
                with pytest.raises(errors.ServerFailed, match="Modeldyno server"):
                    client.projects.get(number)
        other.shutdown()


# ---------------------------------------------------------------- nouns


def test_a_project_is_created_found_renamed_and_deleted(client):
    made = client.projects.create("Edge")
    assert client.projects.find("Edge") == made
    assert client.projects.rename(made.id, "Edge box").name == "Edge box"
    assert made.id in [project.id for project in client.projects.list(text="edge")]
    assert client.projects.get(made.id).counts["model"] == 0
    client.projects.delete(made.id)
    assert client.projects.find("Edge box") is None


def test_a_list_continues_over_its_pages(client, server):
    made = [server.project("Paged").id for _ in range(205)]
    assert [project.id for project in client.projects.list(text="Paged")] == made[::-1]


def test_a_project_is_found_by_its_exact_name_among_many(client, server):
    made = server.project("Far")
    for _ in range(201):
        server.project("Far away")
    assert client.projects.find("Far", create=True).id == made.id


def test_asking_again_after_a_broken_connection_creates_nothing_twice(client, server):
    """Some answers get lost; the key of the request tells the server that it is the same one."""
    is_over = threading.Event()

    def cut_now_and_then():
        while not is_over.wait(0.03):
            server.cut()

    cutting = threading.Thread(target=cut_now_and_then)
    cutting.start()
    made = []
    try:
        for _ in range(40):
            try:
                made.append(client.projects.create("Once").id)
            except errors.ServerUnreachable:  # cut each time it tried
                made.append(None)
    finally:
        is_over.set()
        cutting.join()
    found = [project.id for project in client.projects.list(text="Once")]
    assert len(found) <= len(made)
    assert {number for number in made if number} <= set(found)


@pytest.mark.usefixtures("starts_processes")
def test_a_model_is_uploaded_inspected_and_downloaded(client, tmp_path):
    project = client.projects.create("Models")
    told: list[tuple[int, int]] = []
    made = client.models.upload(
        project.id, model_path(), on_progress=lambda *said: told.append(said)
    )
    size = model_path().stat().st_size
    assert told[-1] == (size, size)
    assert (made.state, made.size_bytes, made.name) == ("ready", size, model_path().name)
    assert client.models.get(made.id) == made
    assert [one.id for one in client.models.list(project_id=project.id)] == [made.id]
    copy = client.models.download(made.id, tmp_path / "copy.onnx")
    assert copy.read_bytes() == model_path().read_bytes()
    assert client.models.graph(made.id)["nodes"]
    assert client.models.inspect(made.id).sha256 == made.sha256
    assert client.models.rename(made.id, "digits").name == "digits"
    client.models.delete(made.id)
    with pytest.raises(errors.NotFound):
        client.models.get(made.id)


@pytest.mark.usefixtures("starts_processes")
def test_weights_beside_a_model_are_uploaded_with_it(client, tmp_path):
    path = with_weights_beside(tmp_path)
    made = client.models.upload(client.projects.create("Weights").id, path)
    assert (made.state, made.missing) == ("ready", ())


@pytest.mark.usefixtures("starts_processes")
def test_weights_with_an_unusual_name_are_uploaded_with_the_model(client, tmp_path):
    path = with_weights_beside(tmp_path, "w #1?.bin")
    made = client.models.upload(client.projects.create("Odd").id, path)
    assert (made.state, made.missing) == ("ready", ())


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    "name", ["../secret", "SECRET", "/etc/hostname", "link/secret", "link.bin", "folder", ".ssh/id"]
)
def test_nothing_is_sent_because_a_server_names_it(client, tmp_path, monkeypatch, name):
    folder, secret = tmp_path / "models", tmp_path / "secret"
    (folder / "folder").mkdir(parents=True)
    (folder / ".ssh").mkdir()
    secret.write_text("s")
    (folder / ".ssh" / "id").write_text("s")
    (folder / "link").symlink_to(tmp_path)
    (folder / "link.bin").symlink_to(secret)
    path = with_weights_beside(folder)
    name = name.replace("SECRET", str(secret))

    def read(kind, told):
        return replace(reading.read_value(kind, told), missing=(name,))

    monkeypatch.setattr(transport, "read_value", read)
    sent: list[int] = []
    with pytest.raises(errors.ServerFailed, match=r"asks for .*, which is not sent"):
        client.models.upload(1, path, on_progress=lambda _, size: sent.append(size))
    assert sent == [path.stat().st_size]


@pytest.mark.usefixtures("starts_processes")
def test_missing_weights_are_named(client, tmp_path):
    path = with_weights_beside(tmp_path)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(errors.FileNotFound, match=r"w\.bin"):
        client.models.upload(client.projects.create("Without").id, path)


def with_weights_beside(folder, location="w.bin"):
    weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in ("x", "y")
    ]
    graph = helper.make_graph([node], "g", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(
        model,
        folder / "m.onnx",
        save_as_external_data=True,
        location=location,
        size_threshold=0,
    )
    return folder / "m.onnx"


def test_a_note_is_written_once_by_two(client):
    project = client.projects.create("Notes")
    first = client.notes.write("project", project.id, "mine", version=0)
    assert client.notes.get("project", project.id) == first
    with pytest.raises(errors.EditedMeanwhile):
        client.notes.write("project", project.id, "theirs", version=0)
    assert client.notes.write("project", project.id, "ours").version == 2


@pytest.mark.usefixtures("starts_processes")
def test_the_machine_and_its_engines_are_described(client):
    assert {"onnxruntime", "scripted"} <= {engine.name for engine in client.engines.list().engines}
    assert client.system.get()
    assert client.examples.list()


# ---------------------------------------------------------------- measuring


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return script(tmp_path_factory.mktemp("net") / "net.json", latency_us=200)


@pytest.mark.usefixtures("starts_processes")
def test_bench_returns_what_modeldyno_bench_returns(client, net):
    heard: list[Any] = []
    sent: list[int] = []
    result = client.bench(
        net, project="Measured", batch=[1, 2], iterations=5, listen=heard.append,
        upload=lambda done, _: sent.append(done),
    )  # fmt: skip
    assert isinstance(result, BenchmarkResult)
    cells = make_cell_specs(BenchmarkRequest(batch_sizes=(1, 2)))
    assert tuple(cell.spec for cell in result.cells) == cells
    assert [cell.status for cell in result.cells] == ["done", "done"]
    assert str(net.parent) not in result.to_json()
    assert isinstance(heard[0], Started)
    assert all(isinstance(message, Progress) for message in heard[1:])
    assert sent == [net.stat().st_size]


@pytest.mark.usefixtures("starts_processes")
def test_compare_takes_sides_with_options_and_sends_nothing_twice(client, net):
    project = client.projects.find("Measured", create=True).id
    if not [*client.models.list(project_id=project)]:  # when this test runs alone
        client.models.upload(project, net)
    sent: list[int] = []
    result = client.compare(
        net, f"{net}@batch=2", project="Measured", pairs=2, upload=lambda *said: sent.append(1)
    )
    assert isinstance(result, ComparisonResult)
    assert [side.cell.batch_size for side in (result.spec.a, result.spec.b)] == [1, 2]
    assert sent == []


@pytest.mark.usefixtures("starts_processes")
def test_a_profile_of_the_server_is_the_same_object_and_a_noun_with_rows(client, net, tmp_path):
    result = client.profile(net, project="Measured", repeats=1)
    assert isinstance(result, ProfileResult)
    assert result.sum_s + result.outside_s == pytest.approx(result.latency_s)
    project = client.projects.find("Measured").id
    profile = client.profiles.get(next(client.profiles.list(project_id=project)).id)
    assert (profile.state, profile.agreement.nodes) == ("done", len(result.rows))
    nodes = [row.node for row in client.profiles.rows(profile.id, by="node")]
    assert sorted(nodes) == sorted(row.node for row in result.rows)
    assert "(outside nodes)" in client.profiles.csv(profile.id, path=tmp_path / "rows.csv")
    assert [run.id for run in client.profiles.runs(profile.id)] == [result.run_id]
    assert client.profiles.edit(profile.id, name="Mine").name == "Mine"
    client.profiles.delete(profile.id)
    with pytest.raises(errors.NotFound):
        client.profiles.get(profile.id)


@pytest.mark.parametrize(
    ("model", "said", "error"),
    [
        ("nothing.onnx", {}, errors.ModelNotFound),
        (1, {"sandbox": "off"}, errors.BadValue),
        (1, {"quick": True, "budget": 2.0}, errors.BadValue),
    ],
)
def test_an_impossible_measurement_is_refused_at_once(client, model, said, error):
    with pytest.raises(error):
        client.bench(model, project="Bench", **said)


@pytest.mark.usefixtures("starts_processes")
def test_the_cells_of_a_failed_run_are_failed(client, tmp_path):
    broken = script(tmp_path / "broken.json", faults=[fault("raise", -1)])
    result = client.bench(broken, project="Failing", iterations=5)
    assert [cell.status for cell in result.cells] == ["failed"]
    (run,) = client.runs.list(project_id=client.projects.find("Failing").id)
    assert run.state == "failed"


@pytest.mark.usefixtures("starts_processes")
def test_results_are_read_again_and_exported(client, server, model, tmp_path, capsys, monkeypatch):
    job = [*client.jobs.follow(server.start(model, iterations=5).id)][-1]
    run = client.runs.get(job.run_id)
    assert (run.state, run.has_result) == ("done", True)
    result = client.runs.result(run.id)
    assert [cell.status for cell in result.cells] == ["done"]
    assert client.runs.document(run.id)["cells"]
    text = client.runs.export(run.id, "csv", tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == text
    assert client.runs.samples(run.id, tmp_path / "s.csv").stat().st_size > 50
    assert isinstance(client.runs.log(run.id), str)
    assert client.jobs.log(job.id) == client.runs.log(run.id)
    log = server.server.exports.log_path(run.id)
    log.write_bytes(b"\x07" * (2 << 20) + b"after that\n")  # more than a stretch of no text
    assert client.jobs.log(job.id) == "after that\n"
    capsys.readouterr()
    monkeypatch.setattr(remote, "connect_client", lambda *_: client)
    jobs.logs(job.id)
    assert capsys.readouterr().out == "after that\n"
    benchmark = client.benchmarks.get(run.of_id)
    assert [one.id for one in client.benchmarks.runs(benchmark.id)] == [run.id]
    repeated = client.benchmarks.rerun(benchmark.id)
    assert repeated.rerun_of == benchmark.id
    client.jobs.cancel(repeated.latest_run.job_id)
    assert [*client.jobs.follow(repeated.latest_run.job_id)][-1].is_over
    client.benchmarks.delete(repeated.id)
    client.runs.delete(run.id)
    with pytest.raises(errors.NotFound):
        client.runs.get(run.id)


@pytest.mark.usefixtures("starts_processes")
def test_ctrl_c_cancels_the_job_and_returns_what_was_measured(client, server, tmp_path):
    """Four sessions make a number: by then there are some."""
    model = server.model(tmp_path, latency_us=100)

    def interrupt(message):
        if isinstance(message, Progress) and message.units_done >= 4 and not interrupted:
            interrupted.append(message)
            os.kill(os.getpid(), signal.SIGINT)

    interrupted: list[Any] = []
    result = client.bench(model.id, project=model.project_id, budget=60.0, listen=interrupt)
    assert result.interrupted
    assert [cell.status for cell in result.cells] == ["partial"]
    (job,) = client.jobs.list(project_id=model.project_id)
    assert job.state == "cancelled"


# ---------------------------------------------------------------- jobs


class ScriptedServer:
    """A server's connection that answers as the story says, and checks what is done when."""

    def __init__(self, story):
        self.io = self
        self.story = list(story)

    async def fetch(self, kind, _call):
        state = self._next("fetch")
        return reading.read_value(kind, job_json(state))

    async def subscribe(self, _project_id, _after):
        return self._next("subscribe")

    async def receive(self, _within_s):
        return self._next("receive")

    async def sleep(self, _seconds):
        return self._next("sleep")

    def _next(self, step):
        expected, answer = self.story.pop(0)
        assert step == expected
        if isinstance(answer, Exception):
            raise answer
        return answer


def job_json(state):
    job: dict[str, Any] = {"id": 1, "run_id": "r", "kind": "benchmark", "project_id": 1}
    job |= {"state": state, "place": None, "reason": "", "priority": 0, "attempts": 1}
    return job | dict.fromkeys(("queued_at", "started_at", "finished_at", "progress"))


def test_a_measurement_waits_for_a_server_that_is_started_again():
    """The connection breaks, none can be made, the server does not answer; then it is done."""
    server: Any = ScriptedServer([
        ("fetch", "running"), ("subscribe", {"last": 5, "is_complete": True}),
        ("fetch", "running"), ("receive", Disconnected("broken")),
        ("subscribe", Disconnected("away")), ("sleep", None),
        ("fetch", errors.ServerUnreachable("x")), ("sleep", None), ("fetch", "running"),
        ("subscribe", Disconnected("away")), ("sleep", None), ("fetch", "done"),
    ])  # fmt: skip
    assert BlockingIo.run(follow_to_end(server, server, 1, None)) is None
    assert server.story == []


def expect_a_story(seen):
    assert seen[-1].state == "done"
    assert {job.state for job in seen} <= {"queued", "running", "done"}
    done = [job.progress.units_done for job in seen if job.progress]
    estimates = [job.estimate_ms for job in seen]
    assert estimates == [job.progress.estimate_ms if job.progress else None for job in seen]
    assert done == sorted(done)
    assert len(done) >= 1


@pytest.mark.usefixtures("starts_processes")
def test_a_job_is_followed_to_its_end_through_cuts(client, server, model):
    seen = []
    for job in client.jobs.follow(server.start(model, seconds=1.0).id):
        seen.append(job)
        if len(seen) in (2, 3):
            server.cut()
    expect_a_story(seen)


@pytest.mark.usefixtures("starts_processes")
def test_without_events_a_job_is_polled(client, server, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "socketio", None)
    expect_a_story([*client.jobs.follow(server.start(model, seconds=1.0).id)])


@pytest.mark.usefixtures("starts_processes")
def test_a_job_is_cancelled_and_resumed(client, server, model):
    first = server.start(model, seconds=60.0)
    eventually(lambda: client.jobs.get(first.id).progress)
    second = client.benchmarks.create(model.project_id, model.id, iterations=5).latest_run
    waiting = client.jobs.get(second.job_id)
    assert (waiting.state, waiting.place) == ("queued", 1)
    assert client.jobs.next(second.job_id).place == 1
    client.jobs.cancel(first.id)
    assert [*client.jobs.follow(first.id)][-1].state == "cancelled"
    assert [*client.jobs.follow(second.job_id)][-1].state == "done"
    assert client.jobs.resume(first.id).state == "queued"
    client.jobs.cancel(first.id)
    assert [*client.jobs.follow(first.id)][-1].state == "cancelled"


def eventually(is_so):
    end = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_events_are_received_from_any_number_on(client, server):
    before = client.events.since(10**9).last
    project = client.projects.create("Events")
    heard = client.events.follow(after=before)
    first = next(heard)
    assert (first.number, first.kind, first.data) == (
        before + 1,
        "project.created",
        {"id": project.id},
    )
    server.cut()
    client.projects.rename(project.id, "Events!")
    assert next(heard).number == before + 2
    heard.close()
    found = client.events.since(before, project_id=project.id)
    assert [event.kind for event in found.events] == ["project.created", "project.changed"]
    assert found.is_complete


# ---------------------------------------------------------------- awaited


@pytest.mark.usefixtures("starts_processes")
def test_the_async_client_does_the_same(server, model, tmp_path):
    async def go():
        async with modeldyno.AsyncClient(server.url, server.token) as client:
            project = await client.projects.create("Awaited")
            assert project.id in [one.id async for one in client.projects.list()]
            path = script(tmp_path / "net.json", latency_us=300)
            sent: list[int] = []
            made = await client.models.upload(
                project.id, path, on_progress=lambda n, _: sent.append(n)
            )
            assert sent == [path.stat().st_size]
            copy = await client.models.download(made.id, tmp_path / "copy.json")
            assert copy.read_bytes() == path.read_bytes()
            with pytest.raises(errors.NotFound):
                await client.jobs.get(10**6)
            seen = []
            async for job in client.jobs.follow(server.start(model, seconds=1.0).id):
                seen.append(job)
                if len(seen) == 2:
                    await asyncio.to_thread(server.cut)
            expect_a_story(seen)
            assert isinstance(await client.runs.result(seen[-1].run_id), BenchmarkResult)

    asyncio.run(go())


@pytest.mark.usefixtures("starts_processes")
def test_no_event_loop_waits_until_a_model_is_hashed(server, net, monkeypatch):
    threads, hashed = [], hashlib.file_digest

    def watched(*said):
        threads.append(threading.current_thread())
        return hashed(*said)

    monkeypatch.setattr(hashlib, "file_digest", watched)

    async def go():
        async with modeldyno.AsyncClient(server.url, server.token) as client:
            with pytest.raises(errors.EngineUnknown):
                await client.bench(net, engine="nonsense")

    asyncio.run(go())
    assert threading.main_thread() not in threads
    assert threads


@pytest.mark.usefixtures("starts_processes")
def test_a_cancelled_task_cancels_its_job(server, tmp_path):
    model = server.model(tmp_path, latency_us=100)

    async def go():
        async with modeldyno.AsyncClient(server.url, server.token) as client:
            begun = asyncio.Event()
            task = asyncio.create_task(
                client.bench(
                    model.id,
                    project=model.project_id,
                    budget=60.0,
                    listen=lambda _: begun.set(),
                )
            )
            await asyncio.wait_for(begun.wait(), SOON_S)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (job,) = [one async for one in client.jobs.list(project_id=model.project_id)]
            *_, last = [one async for one in client.jobs.follow(job.id)]
            assert last.state == "cancelled"

    asyncio.run(go())


def test_both_clients_offer_the_same(server):
    with modeldyno.Client(server.url) as plain:
        awaited = modeldyno.AsyncClient(server.url)
        assert offered(plain) == offered(awaited)
        asyncio.run(awaited.close())
    assert "jobs.follow" in offered(plain)


def offered(client):
    nouns = {name: value for name, value in vars(client).items() if not name.startswith("_")}
    found = {name for name, call in vars(MeasuringCalls).items() if isinstance(call, operation)}
    for noun, value in nouns.items():
        if isinstance(value, Resource):
            calls = inspect.getmembers_static(
                type(value), lambda one: isinstance(one, (operation, stream))
            )
            found |= {f"{noun}.{name}" for name, _ in calls}
    return found


def test_every_resource_has_both_kinds(server):
    known = [kind for kind in vars(resources).values() if inspect.isclass(kind)]
    nouns = {kind for kind in known if issubclass(kind, Resource)}
    nouns -= {Resource, resources.NounCalls, resources.KindCalls, resources.RepeatableCalls}
    with modeldyno.Client(server.url) as plain:
        assert {type(value) for value in vars(plain).values()} >= nouns
    awaited = modeldyno.AsyncClient(server.url)
    assert {type(value) for value in vars(awaited).values()} >= nouns
    asyncio.run(awaited.close())


@pytest.mark.slow
def test_the_examples_of_the_python_page_run(server, tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text()
    shown = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    shutil.copy(model_path(), tmp_path / "digits.onnx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODELDYNO_SERVER", server.url)
    monkeypatch.setenv("MODELDYNO_TOKEN", server.token)
    for code in shown:
        exec(compile(code, "docs/python.md", "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert len(shown) == 3
    assert "Edge box" in said
