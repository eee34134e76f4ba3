"""What everything that can run has in common: execute, delete, and the files of its latest run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Response

from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.inc.operations import PROCESSING, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import BadValue, FileNotFound, NotFound, WrongState
from modeldyno.core.runs import LatestRun, RunOf
from modeldyno.services.logs import stretch
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.services.runnables import RunnableService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MOST_BYTES = 1 << 20  # of a long log, the end
SLOWEST_S = 3600


@dataclass(frozen=True, slots=True)
class Runnables:
    """``name`` is what clients call a kind: our profile is their profiling."""

    records: Records
    history: History
    jobs: JobService
    archive: Archive
    announcer: Announcer

    def operations(
        self,
        name: str,
        service: RunnableService[Any, Any],
        latest: Callable[[int], LatestRun | None],
        *,
        cascade: bool = True,
    ) -> Operations:
        """``<name>/execute``, ``delete``, ``config.yaml`` and ``output.log``."""

        def file_of(file_name: str) -> Callable[[Parameters], Path | None]:
            def find(asked: Parameters) -> Path | None:
                run = latest(asked.id())
                file = self.history.folder(run.id).path / file_name if run else None
                return file if file and file.is_file() else None

            return find

        config, log = file_of(CONFIG), file_of("log.txt")
        return {
            f"{name}/execute": lambda asked: self._execute(asked, name, service),
            f"{name}/delete": lambda asked: self._delete(asked, name, service, cascade),
            f"{name}/config.yaml": lambda asked: _config(asked, config(asked)),
            f"{name}/output.log": lambda asked: _log(asked, log(asked)),
        }

    def _execute(
        self, asked: Parameters, name: str, service: RunnableService[Any, Any]
    ) -> dict[str, Any]:
        """Answer at once; the announcer reports what becomes of it. What starting it raises is the
        answer: then nothing was started, and nothing will be reported."""
        request_id = request_of(asked)
        number = number_of(asked, f"{name}_id")
        with self.records.database.writing():
            if active := self.records.runs.active(RunOf(service.kind, number)):
                is_running = active[0].state == "running"
                raise WrongState(
                    f"This {name} is already running",
                    why="it is being measured" if is_running else "it waits in the queue",
                    fix=f"Wait for {name}_finish, or delete it",
                )
            job = service.start(number, request_id=request_id, fits=True)
            self.announcer.remember(job.run_id, request_id)
        return PROCESSING

    def _delete(
        self, asked: Parameters, name: str, service: RunnableService[Any, Any], cascade: bool
    ) -> dict[str, Any]:
        """``{"id": null}`` when number and name do not belong together: then nothing happens.

        What runs is stopped first, and its end is reported once.
        """
        if "id" not in asked or "name" not in asked:
            raise BadValue(f"Missing {name} id or {name} name.")
        number = asked.id()
        try:
            if service.get(number).name != asked.text("name"):
                return {"id": None}
            self.jobs.stop(RunOf(service.kind, number))
            with self.archive.deleting():
                service.delete(number, cascade=cascade)
        except NotFound:  # also when another client was quicker
            return {"id": None}
        return {"id": number}


def _config(asked: Parameters, file: Path | None) -> Response:
    if file is None:
        raise FileNotFound("Unable to find config file")
    return Response(file.read_bytes(), media_type="text/vnd.yaml", headers=_refresh(asked))


def _log(asked: Parameters, file: Path | None) -> Response:
    if file is None:
        raise FileNotFound("Unable to find output log")
    text = stretch(file, max(0, file.stat().st_size - MOST_BYTES), MOST_BYTES).text
    return Response(text, media_type="text/plain", headers=_refresh(asked))


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
