"""What everything that can run has in common: execute, delete, and the files of its latest run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Response

from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.inc.operations import PROCESSING
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import BadValue, FileNotFound, NotFound, WrongState
from modeldyno.core.ids import RunId
from modeldyno.core.queue import Job
from modeldyno.core.runs import RunKind, RunOf
from modeldyno.services.logs import stretch
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MOST_BYTES = 1 << 20  # of a long log, the end
SLOWEST_S = 3600

Start = Callable[[int, str], Job]


@dataclass(frozen=True, slots=True)
class Runnables:
    """``name`` is what clients call a kind: our profile is their profiling."""

    records: Records
    history: History
    jobs: JobService
    archive: Archive
    announcer: Announcer

    def execute(self, asked: Parameters, kind: RunKind, name: str, start: Start) -> dict[str, Any]:
        """Answer at once; the announcer reports what becomes of it.

        ``start`` takes the number of the runnable and the id of the request, and queues a run. What
        it raises is the answer: then nothing was started, and nothing will be reported.
        """
        request_id = request_of(asked)
        number = number_of(asked, f"{name}_id")
        with self.records.database.writing():
            if active := self.records.runs.active(RunOf(kind, number)):
                is_running = active[0].state == "running"
                raise WrongState(
                    f"This {name} is already running",
                    why="it is being measured" if is_running else "it waits in the queue",
                    fix=f"Wait for {name}_finish, or delete it",
                )
            job = start(number, request_id)
            self.announcer.remember(job.run_id, request_id)
        return PROCESSING

    def delete(
        self,
        asked: Parameters,
        kind: RunKind,
        name: str,
        name_of: Callable[[int], str],
        remove: Callable[[int], None],
    ) -> dict[str, Any]:
        """``{"id": null}`` when number and name do not belong together: then nothing happens.

        What runs is stopped first, and its end is reported once.
        """
        if "id" not in asked or "name" not in asked:
            raise BadValue(f"Missing {name} id or {name} name.")
        number = asked.id()
        try:
            if name_of(number) != asked.text("name"):
                return {"id": None}
            self.jobs.stop(RunOf(kind, number))
            with self.archive.deleting():
                remove(number)
        except NotFound:  # also when another client was quicker
            return {"id": None}
        return {"id": number}

    def config(self, asked: Parameters, run_id: RunId | None) -> Response:
        file = self._file(run_id, CONFIG)
        if file is None:
            raise FileNotFound("Unable to find config file")
        return Response(file.read_bytes(), media_type="text/vnd.yaml", headers=_refresh(asked))

    def log(self, asked: Parameters, run_id: RunId | None) -> Response:
        file = self._file(run_id, "log.txt")
        if file is None:
            raise FileNotFound("Unable to find output log")
        text = stretch(file, max(0, file.stat().st_size - MOST_BYTES), MOST_BYTES).text
        return Response(text, media_type="text/plain", headers=_refresh(asked))

    def _file(self, run_id: RunId | None, name: str) -> Path | None:
        if run_id is None:
            return None
        file = self.history.folder(run_id).path / name
        return file if file.is_file() else None


def request_of(asked: Parameters) -> str:
    """Only echoed, never a key: clients use the same one twice."""
    found = asked.value("request_id")
    if isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    if found is None or found == "":
        raise BadValue("Missing request id.")
    return asked.text("request_id")


def number_of(asked: Parameters, name: str) -> int:
    """``name``; or, as the original took it, the one other key with "id" in it."""
    if name in asked:
        return asked.id(name)
    others = [key for key in asked.said if "id" in key and key != "request_id" and key in asked]
    return asked.id(others[0] if len(others) == 1 else name)


def _refresh(asked: Parameters) -> dict[str, str]:
    """Browsers ask again by themselves after so many seconds."""
    seconds = asked.whole("autorefresh", 0, most=SLOWEST_S)
    return {"refresh": str(seconds)} if seconds else {}
