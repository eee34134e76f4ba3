"""A kind that only a test knows lives on a real server, with everything that kinds have.

Nothing in ``src`` knows of it: each layer has a table, and the files beside this one add an entry.
"""

import json
import re
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

import modeldyno
from tests.kinds.toy_server import ROOT, ToyServer
from tests.processes import until
from tests.scripts import script

# Each starts a server, and some start it twice, beside whatever else runs on two cores.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request, tmp_path, starts_processes):
    url = request.getfixturevalue("new_postgresql")() if request.param == "postgresql" else None
    (tmp_path / "models").mkdir()
    script(tmp_path / "models" / "m.json")
    found = ToyServer(tmp_path / "workspace", url)
    found.workspace.mkdir()
    found.start()
    yield found
    if found.process.poll() is None:
        found.stop()


@pytest.fixture
def made(server):
    """A project with a model, and a toy that is not started."""
    project = server.ask("POST", "projects", {"name": "Toys"}).json["id"]
    model = server.ask("POST", f"projects/{project}/models/import", {"path": "m.json"})
    assert model.status == 201, model.body
    ids = {"project_id": project, "model_id": model.json["id"]}
    answer = server.ask("POST", "toys", ids | {"rounds": 4, "start": False})
    assert answer.status == 201, answer.body
    assert answer.headers["Location"] == f"/api/v1/toys/{answer.json['id']}"
    return SimpleNamespace(**ids, toy=answer.json["id"])


def test_nothing_of_ours_knows_the_toy():
    package = Path(modeldyno.__file__).parent
    sources = [path for path in package.rglob("*.py") if '"toy"' in path.read_text()]
    assert sources == []
    page = (path for path in (ROOT / "web" / "src").rglob("*") if path.is_file())
    assert [path for path in page if re.search(r"(?i)\btoys?\b", path.read_text())] == []


def test_a_kind_is_made_listed_changed_run_repeated_and_deleted(server, made):
    shown = server.get(f"toys/{made.toy}").json
    assert (shown["name"], shown["state"], shown["model_name"]) == ("m.json", "draft", "m.json")
    assert shown["settings"] == {"rounds": 4, "pause_s": 0.0}
    assert shown["command"] == "toy m.json --rounds 4"
    edited = server.ask("PATCH", f"toys/{made.toy}", {"rounds": 5, "name": "Mine"})
    assert (edited.status, edited.json["name"]) == (200, "Mine")
    assert edited.json["settings"] == {"rounds": 5, "pause_s": 0.0}
    assert server.ask("PATCH", f"toys/{made.toy}", {"rounds": 0}).status == 422
    begin = server.get("events").json["last"]
    job = server.ask("POST", f"toys/{made.toy}/runs")
    assert job.status == 202, job.body
    done = server.ended(job.json["id"])
    assert (done["state"], done["kind"], done["of_id"]) == ("done", "toy", made.toy)
    run = done["run_id"]
    details = server.get(f"runs/{run}").json
    assert (details["kind"], details["units_kept"], details["has_result"]) == ("toy", [5], True)
    assert server.get(f"toys/{made.toy}").json["summary"]["samples"] == 5
    heard = server.get(f"events?after={begin}").json["events"]
    about = {"kind": "toy", "id": made.toy}
    states = [one["data"]["state"] for one in heard if one["kind"] == "run.changed"]
    assert states == ["running", "done"]
    assert all(about.items() <= one["data"].items() for one in heard if "run" in one["kind"])
    listed = server.get(f"toys?project_id={made.project_id}").json["items"]
    assert [(one["id"], one["state"]) for one in listed] == [(made.toy, "done")]
    assert server.ask("PATCH", f"toys/{made.toy}", {"rounds": 7}).status == 409
    again = server.ask("POST", f"toys/{made.toy}/rerun")
    assert (again.status, again.json["rerun_of"]) == (201, made.toy)
    server.ended(again.json["latest_run"]["job_id"])
    assert [one["id"] for one in server.get(f"toys/{made.toy}/runs").json["items"]] == [run]
    counts = server.get(f"projects/{made.project_id}").json
    assert counts["counts"]["toy"] == 2
    assert server.ask("DELETE", f"models/{made.model_id}").status == 409
    assert server.ask("DELETE", f"toys/{made.toy}").status == 204
    assert server.get(f"toys/{made.toy}").status == 404
    assert server.get(f"runs/{run}").status == 404
    until(lambda: not (server.workspace / "runs" / run).exists(), "its folder to go")


def test_what_came_out_is_exported_with_the_files_that_it_left(server, made):
    job = server.ask("POST", f"toys/{made.toy}/runs").json
    run = server.ended(job["id"])["run_id"]
    (artifact,) = server.get(f"runs/{run}/artifacts").json["items"]
    assert (artifact["name"], artifact["size_bytes"]) == ("eyes.txt", 8)
    assert server.get(f"runs/{run}").json["artifacts"] == [artifact]
    file = server.get(f"runs/{run}/artifacts/eyes.txt")
    assert file.body == b"1\n2\n3\n4\n"
    assert file.headers["Content-Type"] == "application/octet-stream"
    assert file.headers["Content-Disposition"].startswith("attachment;")
    assert file.headers["ETag"] == f'"{artifact["sha256"]}"'
    assert server.get(f"runs/{run}/artifacts/other.txt").status == 404
    assert server.get(f"runs/{run}/artifacts/..%2Fspec.json").status == 400
    document = server.get(f"runs/{run}/export").json
    assert (document["schema"], document["eyes"]) == ("test.toy/1", [1, 2, 3, 4])
    assert document["model"] == "m.json"
    assert document["artifacts"] == [artifact]
    table = server.get(f"runs/{run}/export?format=csv").body.decode()
    file_text = f"eyes.txt 8 {artifact['sha256']}"
    assert table.splitlines()[:2] == ["round,eyes,artifacts", f"0,1,{file_text}"]
    text = server.get(f"runs/{run}/export?format=md").body.decode()
    assert "10 eyes in 4 rounds" in text
    assert "eyes.txt" in text
    page = server.get(f"runs/{run}/export?format=html").body.decode()
    assert "10 eyes in 4 rounds" in page
    assert artifact["sha256"] in page
    samples = server.get(f"runs/{run}/samples").body.decode().splitlines()
    assert [line.split(",")[0] for line in samples] == ["cell", "die", "die", "die", "die"]
    report = server.get(f"projects/{made.project_id}/report?format=json").json
    assert [one["schema"] for one in report["results"]] == ["test.toy/1"]
    assert report["results"][0]["artifacts"] == [artifact]


def test_people_write_about_it(server, made):
    path = f"toys/{made.toy}/note"
    assert server.get(path).json["version"] == 0
    written = server.ask("PUT", path, {"text": "a fair die"}, If_Match='"0"')
    assert (written.status, written.json["text"]) == (200, "a fair die")
    last = server.get("events").json["events"][-1]
    assert (last["kind"], last["data"]) == (
        "note.changed",
        {"kind": "toy", "id": made.toy, "version": 1},
    )


def test_one_that_is_cancelled_keeps_its_rounds_and_goes_on(server, made):
    server.ask("PATCH", f"toys/{made.toy}", {"rounds": 6, "pause_s": 0.2})
    job = server.ask("POST", f"toys/{made.toy}/runs").json
    until(lambda: len(server.units(job["run_id"])) >= 2, "two rounds")
    server.ask("POST", f"jobs/{job['id']}/cancel")
    stopped = server.ended(job["id"])
    kept = len(server.units(job["run_id"]))
    assert stopped["state"] == "cancelled"
    assert stopped["reason"] == f"cancelled; {kept} rounds kept"
    assert server.ask("POST", f"jobs/{job['id']}/resume").status == 200
    assert server.ended(job["id"])["state"] == "done"
    assert [unit["process"] for unit in server.units(job["run_id"])] == [0] * kept + [1] * (
        6 - kept
    )
    assert server.get(f"runs/{job['run_id']}/result").json["eyes"] == [1, 2, 3, 4, 5, 6]


def test_rounds_outlive_a_server_that_is_killed(server, made):
    server.ask("PATCH", f"toys/{made.toy}", {"rounds": 6, "pause_s": 0.2})
    job = server.ask("POST", f"toys/{made.toy}/runs").json
    until(lambda: len(server.units(job["run_id"])) >= 2, "two rounds")
    server.stop(signal.SIGKILL)
    kept = len(server.units(job["run_id"]))
    server.start()
    left = server.get(f"jobs/{job['id']}").json
    assert left["state"] == "interrupted"
    assert left["reason"].endswith(f"{kept} rounds kept")
    assert server.ask("POST", f"jobs/{job['id']}/resume").status == 200
    assert server.ended(job["id"])["state"] == "done"
    assert [unit["process"] for unit in server.units(job["run_id"])] == [0] * kept + [1] * (
        6 - kept
    )
    assert server.get(f"runs/{job['run_id']}/artifacts/eyes.txt").body == b"1\n2\n3\n4\n5\n6\n"


def test_the_terminal_shows_repeats_notes_and_removes_it(server, made):
    job = server.ask("POST", f"toys/{made.toy}/runs").json
    run = server.ended(job["id"])["run_id"]
    server.stop()
    assert "toy" in server.terminal("ls")
    assert (
        json.loads(server.terminal("ls", "--json"))["runs"][0]["artifacts"][0]["name"] == "eyes.txt"
    )
    assert "10 eyes in 4 rounds" in server.terminal("show", run)
    assert json.loads(server.terminal("show", run, "--json"))["eyes"] == [1, 2, 3, 4]
    assert "eyes.txt" in server.terminal("report", run)
    assert "round,eyes,artifacts" in server.terminal("report", run, "--format", "csv")
    as_json = json.loads(server.terminal("report", run, "--format", "json"))
    assert [file["name"] for file in as_json["artifacts"]] == ["eyes.txt"]
    assert "10 eyes" in server.terminal("report", run, "--format", "html")
    server.terminal("note", run, "loaded")
    assert server.terminal("note", f"toy/{made.toy}").strip() == "loaded"
    repeated = json.loads(server.terminal("rerun", run, "--json"))
    assert repeated["eyes"] == [1, 2, 3, 4]
    server.terminal("rm", run, "--yes")
    assert run not in server.terminal("ls")
    assert json.loads(server.terminal("reindex", "--check", "--json"))["different"] == []
    server.start()
    found = server.get("toys").json["items"]
    assert len(found) == 2  # the run of the terminal has a toy of its own
    assert all(one["kind"] == "toy" for one in server.get("runs").json["items"])
