"""Rows for runs of the terminal, made from their folders, which are only read.

A folder is read again only if its state file has changed, or if its run seemed to be running: a
process that is killed writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, or_, select, update

from modeldyno.core.codec import encode
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.documents.runs import ReindexDocument
from modeldyno.core.errors import (
    DatabaseUnusable,
    RunFailed,
    StillUsed,
    StorageFailed,
    WorkspaceUnusable,
)
from modeldyno.core.identity import fingerprint
from modeldyno.core.ids import ModelId, ProjectId, RunId
from modeldyno.core.models import ModelFacts, NewModel
from modeldyno.core.names import name_of_file
from modeldyno.core.results import Failure
from modeldyno.core.runs import ACTIVE, RunOf, StoredRun, shortest_path
from modeldyno.core.specs import ModelSpec, RunSpec
from modeldyno.engines.run_names import run_name
from modeldyno.store.database import Database
from modeldyno.store.database_errors import translated_database_errors
from modeldyno.store.deleting import delete_with_dependents
from modeldyno.store.history import History
from modeldyno.store.kinds import KINDS, ROLES
from modeldyno.store.records.events import add_event
from modeldyno.store.records.models import facts_to_columns
from modeldyno.store.records.named import add_named
from modeldyno.store.records.profiles import add_profile_rows
from modeldyno.store.records.rows import Clock, is_of_kind_sql, utc_now
from modeldyno.store.records.runs import (
    RUN_ID,
    RunRecords,
    insert_run,
    make_documents,
    write_result,
)
from modeldyno.store.runnables import add_runnable, write_link
from modeldyno.store.runs import RunFolder
from modeldyno.store.state_changes import copy_latest_figures, enter_state, find_run
from modeldyno.store.tables import LINKS, MODELS, PROJECTS, RUNNABLES, RUNS, TOMBSTONES
from modeldyno.worker.untrusted_folders import discard_tree

logger = logging.getLogger(__name__)

_VANISHED = RunFailed(
    "It failed before anything was measured",
    why="the reason was shown in its terminal; nothing was kept",
    fix="Start it again to see why",
)
PROJECT = "Terminal"  # of runs that no server started
_AT_ONCE = 50  # in one transaction

_Row = tuple[str, int | None]  # state and stamp


@dataclass(frozen=True)
class Indexed:
    added: tuple[RunId, ...] = ()
    changed: tuple[RunId, ...] = ()
    unreadable: tuple[RunId, ...] = ()  # damaged, of another version, or refused by the database


@dataclass(frozen=True)
class _Folder:
    run: StoredRun
    stamp: int  # when its state was written, in nanoseconds
    sha256: str | None  # of its model; of several, joined by "+"


class RunIndex:
    def __init__(self, database: Database, history: History, clock: Clock = utc_now) -> None:
        self._database = database
        self._history = history
        self._clock = clock

    def index_changed_runs(self) -> Indexed:
        """Add and update the rows of runs whose folders are new or have changed."""
        rows, deleted = self._read_indexed_runs()
        ids: dict[str, list[RunId]] = {"added": [], "changed": [], "unreadable": [], "same": []}
        todo = [
            run_id
            for run_id in reversed(self._history.list_ids())  # oldest first
            if run_id not in deleted and self._may_differ(run_id, rows.get(run_id))
        ]
        for start in range(0, len(todo), _AT_ONCE):
            folders = list(self._read_folders(todo[start : start + _AT_ONCE], ids["unreadable"]))
            with self._database.writing() as connection:
                for folder in folders:
                    ids[self._try_write_row(connection, folder)].append(folder.run.run_id)
        ids["changed"] += self._end_vanished(rows)
        return Indexed(tuple(ids["added"]), tuple(ids["changed"]), tuple(ids["unreadable"]))

    def rebuild_from_folders(
        self, *, check: bool = False, on_progress: Callable[[int, int], None] = lambda *_: None
    ) -> ReindexDocument:
        """Compare every row with its folder and rewrite those that differ; with ``check``, only
        compare. ``on_progress`` gets the number of runs done, and of all."""
        rows, deleted = self._read_indexed_runs()
        ids = [run_id for run_id in reversed(self._history.list_ids()) if RUN_ID.fullmatch(run_id)]
        ids = [run_id for run_id in ids if run_id not in deleted]
        different: list[RunId] = []
        unreadable: list[RunId] = []
        for start in range(0, len(ids), _AT_ONCE):
            on_progress(start, len(ids))
            some = [run_id for run_id in ids[start : start + _AT_ONCE] if run_id in rows]
            for folder in self._read_folders(some, unreadable):
                if self._has_other_figures(folder):
                    different.append(folder.run.run_id)
                    if not check:
                        self._rewrite_figures(folder)
        if not check:
            unreadable = list({*unreadable, *self.index_changed_runs().unreadable})
        on_progress(len(ids), len(ids))
        ended = (RunId(name) for name, (state, _) in rows.items() if state not in ACTIVE)
        return ReindexDocument(
            is_check=check,
            checked=len(ids),
            missing=tuple(run_id for run_id in ids if run_id not in rows),
            different=tuple(different),
            without_folder=tuple(run_id for run_id in ended if run_id not in set(ids)),
            unreadable=tuple(sorted(unreadable)),
        )

    def _rewrite_figures(self, folder: _Folder) -> None:
        """Only the figures: for a run of the server, the row's state and times are the truth."""
        with self._database.writing() as connection:
            row = find_run(connection, folder.run.run_id)
            self._write_figures(connection, folder, row)
            copy_latest_figures(connection, row.runnable_id)

    def _has_other_figures(self, folder: _Folder) -> bool:
        result = folder.run.result
        if result is None:
            return False
        with self._database.reading() as connection:
            row = find_run(connection, folder.run.run_id)
            expected, actual = make_documents(connection, row, result)
        return expected != actual

    def _end_vanished(self, rows: dict[str, _Row]) -> Iterator[RunId]:
        """End runs without a folder. A terminal deletes the folder of a run that failed before it
        measured anything; its row may have been written while it was running."""
        for name, (state, stamp) in rows.items():
            run_id = RunId(name)
            if stamp is None or state not in ACTIVE or self._history.folder(run_id).exists():
                continue
            with self._database.writing() as connection:
                row = find_run(connection, run_id)
                enter_state(connection, row, "failed", self._clock())
                values = {"failure": encode(Failure.of(_VANISHED)), "finished_at": self._clock()}
                connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(values))
                copy_latest_figures(connection, row.runnable_id)
            yield run_id

    def _read_indexed_runs(self) -> tuple[dict[str, _Row], set[str]]:
        """The rows by run, and the ids of deleted runs."""
        with self._database.reading() as connection:
            rows = connection.execute(select(RUNS.c.id, RUNS.c.state, RUNS.c.stamp)).all()
            deleted = set(connection.scalars(select(TOMBSTONES.c.run_id)))
        return {row.id: (row.state, row.stamp) for row in rows}, deleted

    def _may_differ(self, run_id: RunId, row: _Row | None) -> bool:
        if row is None:
            return RUN_ID.fullmatch(run_id) is not None
        state, stamp = row
        if stamp is None:  # a run of the server, which writes the row itself
            return False
        return state in ACTIVE or self._modification_time(run_id) != stamp

    def _modification_time(self, run_id: RunId) -> int:
        try:
            return (self._history.folder(run_id).path / "state.json").stat().st_mtime_ns
        except OSError:
            return 0

    def _read_folders(self, ids: Iterable[RunId], unreadable: list[RunId]) -> Iterator[_Folder]:
        for run_id in ids:
            stamp = self._modification_time(
                run_id
            )  # before its content: if that is newer, it is read again
            try:
                run = self._history.read(run_id)
                sha256 = _model_sha256_of(run) or self._history.model_sha256(run_id)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                unreadable.append(run_id)
            else:
                yield _Folder(run, stamp, sha256)

    def _try_write_row(self, connection: Connection, folder: _Folder) -> str:
        """A run may hold what the database refuses; then it is left out, and no other."""
        try:
            with translated_database_errors(self._database.engine.url), connection.begin_nested():
                return self._write_row(connection, folder)
        except (DatabaseUnusable, StorageFailed, WorkspaceUnusable):  # not the run's fault
            raise
        except Exception as error:  # noqa: BLE001 - each database refuses in its own way
            message = getattr(error, "orig", error)  # without the statement and all its values
            logger.warning("run %s cannot be shown: %r", folder.run.run_id, message)
            return "unreadable"

    def _write_row(self, connection: Connection, folder: _Folder) -> str:
        query = select(RUNS.c.state, RUNS.c.stamp).where(RUNS.c.id == folder.run.run_id)
        row = connection.execute(query).one_or_none()  # another process may have been quicker
        if row is None:
            self._insert_run(connection, folder)
            return "added"
        if row.stamp is None or (row.state, row.stamp) == (folder.run.state, folder.stamp):
            return "same"
        self._update_run(connection, folder, row.state)
        return "changed"

    def _insert_run(self, connection: Connection, folder: _Folder) -> None:
        run = folder.run
        began = datetime.fromisoformat(run.created_at)
        insert_run(
            connection,
            _find_or_add_runnable(connection, folder, began, self._clock),
            encode(run.spec),
            run.run_id,
            run.state,
            self._clock(),
            SummaryDocument.of_spec(run.spec),
            created_at=began,
            started_at=began,
            stamp=folder.stamp,
        )
        self._write_outcome(connection, folder)

    def _update_run(self, connection: Connection, folder: _Folder, before: Any) -> None:
        row = find_run(connection, folder.run.run_id)
        steps = shortest_path(before, folder.run.state)  # it may have been resumed and ended since
        for state in steps:
            enter_state(connection, row, state, self._clock(), quiet=state != steps[-1])
        connection.execute(update(RUNS).where(RUNS.c.id == row.id).values(stamp=folder.stamp))
        _update_models(connection, folder, row, self._clock)
        self._write_outcome(connection, folder)

    def _write_outcome(self, connection: Connection, folder: _Folder) -> None:
        run, row = folder.run, find_run(connection, folder.run.run_id)
        ended_at = datetime.fromtimestamp(folder.stamp / 1e9, UTC)
        values = {
            "failure": encode(run.failure),
            "finished_at": None if run.state in ACTIVE else ended_at,
        }
        self._write_figures(connection, folder, row)
        connection.execute(update(RUNS).where(RUNS.c.id == row.id).values(values))
        copy_latest_figures(connection, row.runnable_id)

    def _write_figures(self, connection: Connection, folder: _Folder, row: Any) -> None:
        result = folder.run.result
        if result is None:
            return
        write_result(connection, row, result)
        if rows := result.profile_rows(row.id):
            add_profile_rows(connection, row.id, [encode(row) for row in rows])


def delete_folders_of_deleted_runs(runs: RunRecords, root: Path) -> tuple[RunId, ...]:
    """Delete the folders of deleted runs; returns which. Rows are deleted before folders, so no row
    refers to a missing folder. A run that is resumed in a terminal stays until it ends."""
    removed = []
    for run_id in runs.tombstones():
        folder = root / run_id
        if RunFolder(folder).is_being_measured():
            continue
        if RUN_ID.fullmatch(run_id):
            discard_tree(folder)
        if not folder.exists():
            runs.forget_tombstone(run_id)
            removed.append(run_id)
    return tuple(removed)


# ---------------------------------------------------------------- owners of terminal runs


def _find_or_add_runnable(
    connection: Connection, folder: _Folder, began: datetime, clock: Clock
) -> RunOf:
    """The same command on the same model is the same benchmark, run once more."""
    project = _find_or_add_terminal_project(connection, clock)
    spec = folder.run.spec
    models = _find_or_add_models(connection, project, folder, clock)
    identity = fingerprint(spec, models)
    number = None
    if identity is not None:
        query = select(RUNNABLES.c.number).where(RUNNABLES.c.project_id == project)
        is_it = (is_of_kind_sql(spec.kind), RUNNABLES.c.fingerprint == identity)
        number = connection.scalar(query.where(*is_it))
    if number is None:
        number = add_runnable(
            connection, _make_new_runnable(spec, project, models, identity), clock()
        )
        is_it = (is_of_kind_sql(spec.kind), RUNNABLES.c.number == number)
        connection.execute(update(RUNNABLES).where(*is_it).values(created_at=began))
    return RunOf(spec.kind, number)


def _make_new_runnable(
    spec: RunSpec, project: ProjectId, models: list[ModelId], identity: str | None
) -> Any:
    kind = KINDS[spec.kind]
    names = [name_of_file(model.path) for model in spec.models()]
    return kind.new(
        project_id=project,
        name=run_name(spec, names),
        **dict(zip(kind.model_links, models, strict=True)),
        **kind.of_spec(spec),
        **({} if identity is None else {"fingerprint": identity}),
    )


def _find_or_add_terminal_project(connection: Connection, clock: Clock) -> ProjectId:
    query = select(PROJECTS.c.id).where(PROJECTS.c.name == PROJECT).order_by(PROJECTS.c.id).limit(1)
    number = connection.scalar(query)
    return ProjectId(number or add_named(connection, "project", {"name": PROJECT}, clock()))


def _find_or_add_models(
    connection: Connection, project: ProjectId, folder: _Folder, clock: Clock
) -> list[ModelId]:
    specs, result = folder.run.spec.models(), folder.run.result
    facts = result.models() if result else (None,) * len(specs)
    first, *others = (folder.sha256 or "").split("+")
    contents = [first, *others, *[first] * len(specs)][: len(specs)]
    return [
        _find_or_add_model(connection, project, spec, model_facts, sha256 or None, clock)
        for spec, model_facts, sha256 in zip(specs, facts, contents, strict=True)
    ]


def _find_or_add_model(
    connection: Connection,
    project: ProjectId,
    spec: ModelSpec,
    facts: ModelFacts | None,
    sha256: str | None,
    clock: Clock,
) -> ModelId:
    """By content if it is known, else by path."""
    content = facts.sha256 if facts else sha256 or spec.sha256
    path = spec.path.encode("utf-8", "replace").decode()
    unread = MODELS.c.sha256.is_(None) & (MODELS.c.path == path)
    is_it = MODELS.c.sha256 == content if content else unread
    query = select(MODELS.c.id).where(MODELS.c.project_id == project, is_it)
    number = connection.scalar(query.order_by(MODELS.c.id).limit(1))
    if number is None:
        new = NewModel(
            project_id=project,
            name=name_of_file(spec.path),
            path=path,
            sha256=content,
            origin="terminal",
            source=path,
        )
        number = add_named(connection, "model", encode(new) | {"trust_reason": ""}, clock())
    if facts:
        _write_facts(connection, number, facts)
    return ModelId(number)


def _update_models(connection: Connection, folder: _Folder, run: Any, clock: Clock) -> None:
    """Facts of models that were added while the run was measured: they are known at its end."""
    models = folder.run.result.models() if folder.run.result else ()
    fields = KINDS[folder.run.kind].model_links
    for role, facts in zip((ROLES[field][0] for field in fields), models, strict=False):
        is_it = (LINKS.c.runnable_id == run.runnable_id, LINKS.c.role == role)
        model_id = connection.scalars(select(LINKS.c.model_id).where(*is_it)).one()
        if twin := _find_twin(connection, model_id, facts):
            write_link(connection, run.runnable_id, role, model_id=twin)
            with suppress(StillUsed):  # it may be used meanwhile
                delete_with_dependents(connection, "model", model_id, clock(), cascade=False)
        elif _write_facts(connection, model_id, facts):
            add_event(connection, "model.changed", run.project_id, {"id": model_id}, clock())


def _find_twin(connection: Connection, model_id: int, facts: ModelFacts) -> int | None:
    """Another model of the same content and name, if the content of this one is not known yet."""
    without_content = (MODELS.c.id == model_id, MODELS.c.sha256.is_(None))
    query = select(MODELS.c.project_id, MODELS.c.name).where(*without_content)
    if (row := connection.execute(query).one_or_none()) is None:
        return None
    is_it = (MODELS.c.project_id == row.project_id, MODELS.c.sha256 == facts.sha256)
    twins = select(MODELS.c.id).where(*is_it, MODELS.c.name == row.name, MODELS.c.id != model_id)
    return connection.scalar(twins.order_by(MODELS.c.id).limit(1))


def _write_facts(connection: Connection, model_id: int, facts: ModelFacts) -> bool:
    """Unless the row has facts or another content already; returns whether it was changed."""
    without_facts = (
        MODELS.c.id == model_id,
        MODELS.c.format.is_(None),
        or_(MODELS.c.sha256.is_(None), MODELS.c.sha256 == facts.sha256),
    )
    query = update(MODELS).where(*without_facts).values(facts_to_columns(facts))
    return connection.execute(query).rowcount > 0


def _model_sha256_of(run: StoredRun) -> str | None:
    return "+".join(facts.sha256 for facts in run.result.models()) if run.result else None
