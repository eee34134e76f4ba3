"""What every ``…/execute`` shares: a request's id, a thing's id, and a job in the queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.operations import PROCESSING
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import BadValue, WrongState
from modeldyno.core.queue import Job
from modeldyno.core.runs import RunKind, RunOf

if TYPE_CHECKING:
    from modeldyno.api.inc.surface import Inc

Start = Callable[[int, str], Job]


def execute(inc: Inc, asked: Parameters, kind: RunKind, name: str, start: Start) -> dict[str, Any]:
    """Answer at once; what becomes of it is told by the announcer.

    ``name`` is what clients call the kind. ``start`` gets the thing's number and the request's id,
    and puts a run of it in the queue; what it raises is the answer, and then nothing was started
    and nothing will be told.
    """
    request_id = request_of(asked)
    number = number_of(asked, f"{name}_id")
    records = inc.server.records
    with records.database.writing():
        if active := records.runs.active(RunOf(kind, number)):
            is_running = active[0].state == "running"
            raise WrongState(
                f"This {name} is already running",
                why="it is being measured" if is_running else "it waits in the queue",
                fix=f"Wait for {name}_finish, or delete it",
            )
        job = start(number, request_id)
        inc.announcer.remember(job.run_id, request_id)
    return PROCESSING


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
