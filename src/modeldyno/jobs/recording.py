"""Store a job's messages in the run's folder, before they are announced."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from modeldyno.core.errors import Cancelled, ModeldynoError, StorageFailed, error_classes
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import (
    Cells,
    Failed,
    Finished,
    JobMessage,
    Progress,
    Result,
    Started,
    Unit,
)
from modeldyno.core.results import Failure, RunResult
from modeldyno.core.runs import Artifact, RunState
from modeldyno.store.runs import RunFolders


@dataclass(frozen=True)
class Stopped:
    """How a stopped run ends: it depends on whether a user, a closing server or a time limit
    stopped it."""

    state: RunState
    failure: Failure | None = None


@dataclass
class Ending:
    """How a run ended, even if that could not be written."""

    state: RunState = "interrupted"  # until we know how it ended
    result: Result | None = None
    failure: Failure | None = None
    stopped: Stopped | None = None  # why it was stopped early, if it was
    unwritten: Failure | None = None  # why the ending is not in the folder
    is_kept: bool = False  # in the folder: nothing changes it any more

    def result_or_raise(self) -> Result:
        if self.failure is not None:
            raise error_of(self.failure)
        if self.result is None:
            raise AssertionError("a job ended without a message")
        return self.result


def note_ending(message: JobMessage, ending: Ending) -> None:
    """Note how a run ended that is not stored."""
    match message:
        case Finished(result=result):
            ending.result, ending.state = result, "done"
        case Failed(failure=failure):
            ending.failure = failure


def store_message(store: RunFolders, run_id: RunId, message: JobMessage, ending: Ending) -> None:
    match message:
        case Unit():
            store.append(run_id, message)
        case Finished(result=result):
            result = replace(result, artifacts=store.folder(run_id).read_artifacts())
            ending.result, ending.state = result, _end_state(result)
            _apply_stop_reason(ending)
            _write_and_note(
                store,
                run_id,
                ending,
                lambda: store.finish(run_id, result, ending.state, ending.failure),
            )
        case Failed(failure=failure):
            ending.failure = failure
            is_cancelled = error_classes().get(failure.code) is Cancelled
            ending.state = "cancelled" if is_cancelled else "failed"
            _apply_stop_reason(ending)
            _write_and_note(
                store, run_id, ending, lambda: store.fail(run_id, ending.failure, ending.state)
            )
        case Started(model_sha256=sha256, machine=machine):
            store.record_origin(run_id, sha256, machine)
        case Cells(cells=cells):
            store.record_cells(run_id, cells)
        case Artifact():
            store.list_artifact(run_id, message)
        case Progress():
            pass
        case _:
            assert_never(message)


def _apply_stop_reason(ending: Ending) -> None:
    if ending.state == "cancelled" and ending.stopped is not None:
        ending.state = ending.stopped.state
        ending.failure = ending.stopped.failure or (
            ending.failure if ending.state == "cancelled" else None
        )


def error_of(failure: Failure) -> ModeldynoError:
    """Turns a stored or sent failure back into its error."""
    kind = error_classes().get(failure.code, ModeldynoError)
    return kind(failure.title, why=failure.why, fix=failure.fix)


def _write_and_note(
    store: RunFolders, run_id: RunId, ending: Ending, write: Callable[[], None]
) -> None:
    """Write how a run ended. On a full disk, remove its scratch files and write the state only."""
    try:
        write()
    except StorageFailed as error:
        ending.unwritten, ending.state = Failure.of(error), "failed"
        store.clear_scratch(run_id)
        with suppress(StorageFailed):
            store.fail(run_id, Failure.of(error), "failed")
    ending.is_kept = True


def _end_state(result: RunResult) -> RunState:
    if result.interrupted:
        return "cancelled"
    return "failed" if result.has_failed else "done"
