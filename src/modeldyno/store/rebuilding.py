"""Rewrite documents of older versions, after the server has started.

Until then they are upgraded whenever they are read (``store/documents.py``), so nothing waits for
this, and it can be stopped at any time: the next server continues.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select, update

from modeldyno.core.ids import RunId
from modeldyno.core.results import RunResult
from modeldyno.store.database import Database
from modeldyno.store.documents import REVISION, read_cell_json, read_summary_json
from modeldyno.store.history import History
from modeldyno.store.records.runs import write_result
from modeldyno.store.state_changes import copy_latest_figures, find_run
from modeldyno.store.tables import CELLS, RUNNABLES, RUNS

logger = logging.getLogger(__name__)

_AT_ONCE = 50  # in one transaction, so other writers do not wait long
_OLD_RUNS = select(RUNS.c.id).where(RUNS.c.revision < REVISION).order_by(RUNS.c.id.desc())
_OLD_RUNNABLES = select(RUNNABLES.c.id).where(RUNNABLES.c.revision < REVISION)


class Rebuilding:
    """A thread that ends once every document is of this version."""

    def __init__(self, database: Database, history: History) -> None:
        self._database = database
        self._history = history
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name="rebuilding", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Waits for the current transaction; returns False if the thread is still running."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(10)
        return not self._thread.is_alive()

    def _run_thread(self) -> None:
        try:
            count = self.rewrite_old_documents()
        except Exception:
            logger.exception("documents of an older version could not be rewritten")
        else:
            if count:
                logger.info("documents of an older version: %d rewritten", count)

    def rewrite_old_documents(self, on_progress: Callable[[int], None] = lambda _: None) -> int:
        """Rewrite all; returns how many. ``on_progress`` gets the number of runs done so far."""
        done = 0
        while ids := self._select_next_ids(_OLD_RUNS):
            results = {run_id: self._read_result(RunId(run_id)) for run_id in ids}
            with self._database.writing() as connection:
                for run_id, result in results.items():
                    _rewrite_documents_of_run(connection, RunId(run_id), result)
            done += len(ids)
            on_progress(done)
            logger.debug("documents of %d runs rewritten", done)
        while ids := self._select_next_ids(_OLD_RUNNABLES):  # drafts, and those without a run
            with self._database.writing() as connection:
                for runnable_id in ids:
                    copy_latest_figures(connection, runnable_id)
            done += len(ids)
        return done

    def _select_next_ids(self, query: Any) -> list[Any]:
        if self._stop.is_set():
            return []
        with self._database.reading() as connection:
            return [*connection.scalars(query.limit(_AT_ONCE))]

    def _read_result(self, run_id: RunId) -> RunResult | None:
        """The result in its folder; None if it is missing, damaged or of another version."""
        try:
            return self._history.read(run_id).result
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def _rewrite_documents_of_run(
    connection: Connection, run_id: RunId, result: RunResult | None
) -> None:
    run = find_run(connection, run_id)
    if result is not None:
        write_result(connection, run, result)
    else:
        _upgrade_document_rows(connection, run)
    copy_latest_figures(connection, run.runnable_id)


def _upgrade_document_rows(connection: Connection, run: Any) -> None:
    """From the content of the rows."""
    values = {"document": read_summary_json(run), "revision": REVISION}
    connection.execute(update(RUNS).where(RUNS.c.id == run.id).values(values))
    for cell in connection.execute(select(CELLS).where(CELLS.c.run_id == run.id)).all():
        is_it = (CELLS.c.run_id == run.id, CELLS.c.number == cell.number)
        values = {"document": read_cell_json(cell), "revision": REVISION}
        connection.execute(update(CELLS).where(*is_it).values(values))
