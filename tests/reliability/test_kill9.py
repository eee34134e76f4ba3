"""Ten kills on each database; ``kill9.py`` by itself makes as many as you like."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import kill9_uploads

ROOT = Path(__file__).parents[2]
KILLS = 10
SEED = 20_261_115


@pytest.mark.slow
@pytest.mark.timeout(300)  # twelve seconds on a machine of its own
@pytest.mark.parametrize("db", ["sqlite", "postgres"])
def test_a_server_that_is_killed_loses_nothing_and_leaves_nothing_behind(db, new_postgresql):
    command = [sys.executable, "-m", "tests.reliability.kill9", "--n", str(KILLS)]
    command += ["--db", db, "--seed", str(SEED)]
    command += ["--url", new_postgresql()] if db == "postgres" else []
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(ended.stdout)
    assert (report["wrong"], ended.returncode) == ([], 0), ended.stderr
    assert report["kills"] == KILLS
    # Else nothing was at stake.
    assert report["units_announced"] > 0
    assert sum(report["ran_when_killed"].values()) > 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_models_that_were_answered_for_outlive_a_server_that_is_killed(tmp_path):
    report = kill9_uploads.killed(tmp_path, times=2, seed=1)
    assert report["wrong"] == []
    assert report["answered"] > 0  # else nothing was at stake


@pytest.mark.usefixtures("starts_processes")
def test_a_loss_would_be_noticed(tmp_path):
    """The control: a workspace in which an announced unit is missing, and a lease is left."""
    from modeldyno.jobs.leases import Leases
    from modeldyno.settings import Settings
    from modeldyno.worker.launch import Stop
    from tests.queue_room import QueueRoom
    from tests.reliability import kill9

    room = QueueRoom(tmp_path, Settings(tmp_path / "workspace"))
    with room.opened():
        job = room.start(room.short())
        room.until_state(job.id, "done")
    found = kill9.Found()
    found.hear(
        [
            json.dumps({"run": job.run_id, "units": 1}).encode(),
            json.dumps({"unit": job.run_id}).encode(),
            json.dumps({"event": 1, "kind": "project.created"}).encode(),
            json.dumps({"job": job.id}).encode(),
        ]
    )
    kill9.look(room, found)
    assert found.wrong == []
    (room.settings.workspace / "runs" / job.run_id / "units.jsonl").write_text("")
    found.hear([b'{"event": 999999, "kind": "project.created"}', b'{"job": 999}'])
    with room.opened() as server:
        server.records.runs.move(job.run_id, "running")  # without an owner
    kill9.PATIENCE_S = 0.1
    with Leases(room.cores).take(1, Stop(), lambda _: None):
        kill9.look(room, found)
    assert found.wrong == [
        "a core is locked",
        "owner: 1 rows do not fit",
        "a job is lost",
        "an event is lost",
        *[f"1 units of {job.run_id} announced, 0 kept"] * 2,
    ]
