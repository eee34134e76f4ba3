"""Kill a server again and again, at random moments, and look at what it leaves.

    python -m tests.reliability.kill9 --n 50 --db sqlite --seed 1

After each kill: what was announced is there, no process, lock or lease is left, the database is
consistent, and what ran can be resumed. Prints one line of JSON; exits with 1 when anything is
wrong. Servers are forked from here, since most of a start is loading Python packages.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import text

from modeldyno.core.errors import ModeldynoError, WrongState
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import Job, JobMessage, Unit
from modeldyno.core.runs import MOVES, ListQuery
from modeldyno.jobs.leases import Leases
from modeldyno.server import open_server
from modeldyno.settings import Settings
from modeldyno.store.database import Database, open_database
from tests.processes import living
from tests.queue_room import QueueRoom

# When to kill: a while after it was started, after it works, or after it has measured something.
# Some die while they still settle what the one before has left.
MOMENTS = ((0.2, b"", 0.1), (0.2, b'"ready"', 0.7), (0.6, b'"unit": ', 0.7))
MOST_S = 10.0  # on a machine that others use, too
PATIENCE_S = 5.0  # until nothing of a killed server is left
ENDED = ("done", "failed", "cancelled")
STOPPED = ListQuery(state="interrupted", limit=5)
WAITING = 3  # jobs in the queue, at least
_STATES = """SELECT count(*) FROM jobs JOIN runs ON runs.id = jobs.run_id
    WHERE jobs.state <> runs.state"""
_OWNERS = """SELECT count(*) FROM jobs WHERE (owner_pid IS NULL) = (state = 'running')"""
_LATEST = """SELECT count(*) FROM runnables b JOIN runs r ON r.runnable_id = b.id
    WHERE r.state <> b.state AND r.created_at =
        (SELECT max(created_at) FROM runs WHERE runnable_id = b.id)"""


# ---------------------------------------------------------------- the server that is to die


def live(room: QueueRoom, seed: int, tell: int) -> None:
    """Put jobs in the queue, resume and cancel some, and say what others may rely on."""

    def say(**told: Any) -> None:
        os.write(tell, json.dumps(told).encode() + b"\n")

    chance = random.Random(seed)
    server = room.server = open_server(room.settings, cores=room.cores)
    server.progress.on_progress(
        lambda job, now: say(run=job.run_id, units=now.progress.units_done if now.progress else 0)
    )
    hear = server.queue._listen

    def overhear(job: Job, message: JobMessage) -> None:
        """Progress comes at most four times a second; each unit by itself is promised as well."""
        if isinstance(message, Unit):
            say(unit=job.run_id)
        hear(job, message)

    server.queue._listen = overhear
    server.feed.on_event(lambda event: say(event=event.number, kind=event.kind))
    server.lifetime.start()
    say(ready=os.getpid())
    for job in server.records.jobs.page(STOPPED).items:
        if chance.random() < 0.5:
            server.jobs.resume(job.id)
            with suppress(WrongState):  # it has begun already
                server.jobs.run_next(job.id)
    makers = (room.endless, room.endless, room.short, lambda: room.comparison(pairs=30))
    while True:
        if server.records.jobs.count_waiting() < WAITING:
            job = room.start(chance.choice(makers)())
            say(job=job.id, run=job.run_id)
        for running in server.records.jobs.running():
            if chance.random() < 0.01:
                server.jobs.cancel(running.id)
        time.sleep(0.05)


def fork(room: QueueRoom, seed: int) -> tuple[int, int]:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        return pid, reads
    try:
        os.close(reads)
        live(room, seed, writes)
    except BaseException as error:  # noqa: BLE001 - told to who waits, in the child's last words
        os.write(writes, json.dumps({"broke": repr(error)}).encode() + b"\n")
    finally:
        os._exit(70)


# ---------------------------------------------------------------- what it leaves


@dataclass
class Found:
    """Counts for the report, and everything that is wrong."""

    units: Counter[str] = field(default_factory=Counter)  # announced, by run
    progress: dict[str, int] = field(default_factory=dict)
    events: dict[int, str] = field(default_factory=dict)
    jobs: set[int] = field(default_factory=set)
    ends: Counter[str] = field(default_factory=Counter)  # of what ran when the server was killed
    early: int = 0
    recovery_s: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def hear(self, lines: list[bytes]) -> None:
        for line in lines:
            told = json.loads(line)
            if "broke" in told:
                self.wrong.append(f"the server broke: {told['broke']}")
            if "event" in told:
                self.events[told["event"]] = told["kind"]
            if "job" in told:
                self.jobs.add(told["job"])
            if "unit" in told:
                self.units[told["unit"]] += 1
            if "units" in told:
                before = self.progress.get(told["run"], 0)
                self.progress[told["run"]] = max(before, told["units"])

    def expect(self, is_so: object, what: str) -> None:
        if not is_so:
            self.wrong.append(what)


def kill(room: QueueRoom, chance: random.Random, found: Found) -> None:
    """Let a server live for a while, and read its last words."""
    pid, words = fork(room, chance.randrange(2**32))
    _, sign, life_s = chance.choices(MOMENTS, [share for share, *_ in MOMENTS])[0]
    found.early += not sign
    heard, is_counted = b"", False
    deadline = time.monotonic() + MOST_S
    while (left := deadline - time.monotonic()) > 0:
        if sign in heard and not is_counted:
            deadline, is_counted = time.monotonic() + chance.uniform(0, life_s), True
        elif select.select([words], [], [], left)[0]:
            part = os.read(words, 65536)
            if not part:
                break
            heard += part
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while part := os.read(words, 65536):
        heard += part
    os.close(words)
    found.hear([line for line in heard.splitlines(keepends=True) if line.endswith(b"\n")])


def look(room: QueueRoom, found: Found) -> None:
    """While no server runs, then at what the next one makes of it."""
    found.expect(_soon(lambda: not living(room.settings.workspace)), "an orphan is alive")
    found.expect(_soon(lambda: not Leases(room.cores).in_use()), "a core is locked")
    database = open_database(room.settings.workspace, room.settings.database_url)
    found.wrong += inconsistencies(database)
    with database.reading() as connection:
        before = {
            row.id: row.state for row in connection.execute(text("SELECT id, state FROM jobs"))
        }
        known = {
            row.number: row.kind
            for row in connection.execute(text("SELECT number, kind FROM events"))
        }
    database.close()
    found.expect(found.jobs <= set(before), "a job is lost")
    found.expect(found.events.items() <= known.items(), "an event is lost")
    began = time.monotonic()
    server = room.server = open_server(room.settings, cores=room.cores)
    found.recovery_s = max(found.recovery_s, time.monotonic() - began)
    try:
        _check_jobs(room, before, found)
        found.wrong += inconsistencies(server.records.database)
    finally:
        server.lifetime.close()


def _check_jobs(room: QueueRoom, before: dict[int, str], found: Found) -> None:
    server = room.server
    found.expect(not server.records.leases.held(), "a lease is stuck")
    for run_id, announced in (*found.units.items(), *found.progress.items()):
        kept = server.history.units_kept(RunId(run_id))
        found.expect(kept >= announced, f"{announced} units of {run_id} announced, {kept} kept")
    for number, state in before.items():
        job = room.job(number)  # type: ignore[arg-type]  # numbers as the database has them
        if state != "running":
            found.expect(job.state == state, f"job {number} was {state}, is {job.state}")
            continue
        found.ends[job.state] += 1
        found.expect(
            job.state == "done" or "queued" in MOVES[job.state],
            f"job {number} is {job.state} and cannot be resumed",
        )
        folder = room.run_folder(job)
        found.expect(not folder.scratch.exists(), f"scratch of job {number} is left")
        if folder.exists():  # each unit with all its samples
            for unit in server.folders.units(job.run_id):
                found.expect(unit.measured is not None, f"a unit of job {number} is empty")


def inconsistencies(database: Database) -> list[str]:
    wrong = []
    with database.reading() as connection:
        if database.engine.dialect.name == "sqlite":
            said = connection.execute(text("PRAGMA integrity_check")).scalars().all()
            wrong += [f"integrity: {line}" for line in said if line != "ok"]
            broken = connection.execute(text("PRAGMA foreign_key_check")).all()
            wrong += [f"foreign key: {row}" for row in broken]
        for name, query in (("state", _STATES), ("owner", _OWNERS), ("latest", _LATEST)):
            count = connection.scalar(text(query))
            wrong += [f"{name}: {count} rows do not fit"] if count else []
    return wrong


def finish(room: QueueRoom, found: Found) -> int:
    """What was interrupted goes on; how many jobs were tried."""
    with room.opened() as server:
        for job in (*server.records.jobs.waiting(), *server.records.jobs.running()):
            server.jobs.cancel(job.id)
        stopped = server.records.jobs.page(STOPPED).items
        for job in stopped:
            kept = room.units(job)
            server.jobs.resume(job.id)
            found.expect(_soon(partial(_goes_on, room, job, kept)), f"job {job.id} stands still")
            found.expect(room.job(job.id).state != "failed", f"job {job.id}: {room.job(job.id)}")
            server.jobs.cancel(job.id)
            room.until_state(job.id, *ENDED)
    return len(stopped)


def _goes_on(room: QueueRoom, job: Job, kept: int) -> bool:
    return room.units(job) > kept or room.job(job.id).state in ENDED


def _soon(is_so: Any) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


# ---------------------------------------------------------------- all of it


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--n", type=int, default=50, help="how many kills")
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--url", help="of an empty PostgreSQL database; else one is started")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    asked = parser.parse_args(arguments)
    url = (asked.url or _postgres()) if asked.db == "postgres" else None
    with tempfile.TemporaryDirectory(prefix="modeldyno-kill9-") as folder:
        room = QueueRoom(Path(folder), Settings(Path(folder) / "workspace", database_url=url))
        chance, found = random.Random(asked.seed), Found()
        began = time.monotonic()
        for _ in range(asked.n):
            kill(room, chance, found)
            if chance.random() < 0.8:  # else the next server settles it, and may die of that
                look(room, found)
        look(room, found)
        spent_s = time.monotonic() - began
        try:
            resumed = finish(room, found)
        except (AssertionError, ModeldynoError) as error:
            found.wrong.append(str(error))
            resumed = 0
    report = {
        "kills": asked.n,
        "db": asked.db,
        "seed": asked.seed,
        "killed_while_opening": found.early,
        "jobs": len(found.jobs),
        "events": len(found.events),
        "units_announced": sum(found.units.values()),
        "ran_when_killed": dict(found.ends),
        "resumed": resumed,
        "slowest_recovery_s": round(found.recovery_s, 3),
        "s_per_kill": round(spent_s / asked.n, 2),
        "wrong": found.wrong[:20],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 1 if found.wrong else 0


def _postgres() -> str:
    from tests.databases import server_address

    return server_address()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
