"""Keep what a job says: in the run's folder, before anybody hears of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from modeldyno.core.artifacts import Artifact
from modeldyno.core.errors import Cancelled, ModeldynoError, StorageFailed, error_classes
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import (
    Failed,
    Finished,
    JobMessage,
    Progress,
    Result,
    Started,
    Unit,
)
from modeldyno.core.results import Failure, RunResult
from modeldyno.core.runs import RunState
from modeldyno.store.runs import Runs


@dataclass(frozen=True)
class Stopped:
    """What it is called when somebody stops a run: who cancels it means something else than a
    server that ends, or a time limit."""

    state: RunState
    failure: Failure | None = None


class Ending:
    """How a run ended, also when the ending itself could not be written."""

    def __init__(self) -> None:
        self.stopped: Stopped | None = None  # why it is to end early, once somebody wants that
        self.result: Result | None = None
        self.failure: Failure | None = None
        self.unwritten: Failure | None = None  # why the ending is not in the folder
        self.state: RunState = "interrupted"  # until somebody says how it ended
        self.is_kept = False  # in the folder: from here on nothing changes it

    def result_or_raise(self) -> Result:
        if self.failure is not None:
            raise error_of(self.failure)
        if self.result is None:
            raise AssertionError("a job ended without a word")
        return self.result


def remember(message: JobMessage, ending: Ending) -> None:
    """How it ended, of a run that is not kept."""
    match message:
        case Finished(result=result):
            ending.result, ending.state = result, "done"
        case Failed(failure=failure):
            ending.failure = failure


def keep(store: Runs, run_id: RunId, message: JobMessage, ending: Ending) -> None:
    match message:
        case Unit():
            store.append(run_id, message)
        case Finished(result=result):
            result = replace(result, artifacts=store.folder(run_id).artifacts_kept())
            ending.result, ending.state = result, _state_of(result)
            _call_by_its_name(ending)
            told = (result, ending.state, ending.failure)
            _write(store, run_id, ending, lambda: store.finish(run_id, *told))
        case Failed(failure=failure):
            ending.failure = failure
            is_cancelled = error_classes().get(failure.code) is Cancelled
            ending.state = "cancelled" if is_cancelled else "failed"
            _call_by_its_name(ending)
            why = (ending.failure, ending.state)
            _write(store, run_id, ending, lambda: store.fail(run_id, *why))
        case Started(model_sha256=sha256, machine=machine):
            store.remember_origin(run_id, sha256, machine)
        case Artifact():
            store.list_artifact(run_id, message)
        case Progress():
            pass
        case _:
            assert_never(message)


def _call_by_its_name(ending: Ending) -> None:
    """A run that was stopped was stopped by somebody, and that is how it ended."""
    if ending.state == "cancelled" and ending.stopped is not None:
        ending.state = ending.stopped.state
        ending.failure = ending.stopped.failure or (
            ending.failure if ending.state == "cancelled" else None
        )


def error_of(failure: Failure) -> ModeldynoError:
    """The error that it was before it went through a pipe, or into a file."""
    kind = error_classes().get(failure.code, ModeldynoError)
    return kind(failure.title, why=failure.why, fix=failure.fix)


def _write(store: Runs, run_id: RunId, ending: Ending, write: Callable[[], None]) -> None:
    """Write how a run ended. On a full disk its scratch files give way, and the state must do."""
    try:
        write()
    except StorageFailed as error:
        ending.unwritten, ending.state = Failure.of(error), "failed"
        store.clear_scratch(run_id)
        with suppress(StorageFailed):
            store.fail(run_id, Failure.of(error), "failed")
    ending.is_kept = True


def _state_of(result: RunResult) -> RunState:
    if result.interrupted:
        return "cancelled"
    return "failed" if result.has_failed else "done"
