"""Show runs of the terminal in the database: it reads their folders, and never writes to them.

Looking again changes nothing that has not changed: a folder whose state file is as old as it was is
not even read. A run whose process is gone is looked at again, because nobody writes that down.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, or_, select, update

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
from modeldyno.core.models import ModelFacts
from modeldyno.core.names import name_of_file, search_key
from modeldyno.core.results import Failure
from modeldyno.core.runs import ACTIVE, RunOf, StoredRun, shortest_path
from modeldyno.core.specs import ModelSpec
from modeldyno.engines.run_names import run_name
from modeldyno.store.database import Database
from modeldyno.store.database_errors import translated
from modeldyno.store.deleting import delete_thing
from modeldyno.store.history import History
from modeldyno.store.kinds import KINDS, ROLES
from modeldyno.store.moves import enter_state, find_run, show_latest
from modeldyno.store.records.events import add_event
from modeldyno.store.records.profiles import add_profile_rows
from modeldyno.store.records.rows import Clock, is_of_kind, utc_now
from modeldyno.store.records.runs import RUN_ID, RunRecords, add_run, documents_of, write_result
from modeldyno.store.runnables import add_runnable, write_link
from modeldyno.store.runs import RunFolder
from modeldyno.store.tables import LINKS, MODELS, PROJECTS, RUNNABLES, RUNS, TOMBSTONES
from modeldyno.worker.untrusted_folders import discard_tree

logger = logging.getLogger(__name__)

_VANISHED = RunFailed(
    "It failed before anything was measured",
    why="its terminal said why, and kept nothing of it",
    fix="Start it again to see why",
)
PROJECT = "Terminal"  # where runs go that belong to no project yet
_AT_ONCE = 50


@dataclass(frozen=True)
class Indexed:
    added: tuple[RunId, ...] = ()
    changed: tuple[RunId, ...] = ()
    unreadable: tuple[RunId, ...] = ()  # damaged, of another version, or too odd for a row


@dataclass(frozen=True)
class _Found:
    run: StoredRun
    stamp: int  # when its state was written, in nanoseconds
    sha256: str | None


class RunIndex:
    def __init__(self, database: Database, history: History, clock: Clock = utc_now) -> None:
        self._database = database
        self._history = history
        self._clock = clock

    def refresh(self) -> Indexed:
        """Bring the rows in line with the folders of the workspace."""
        known, buried = self._known()
        added: list[RunId] = []
        changed: list[RunId] = []
        unreadable: list[RunId] = []
        todo = [
            run_id
            for run_id in reversed(self._history.ids())  # the oldest first, as they were made
            if run_id not in buried and self._is_news(run_id, known.get(run_id))
        ]
        for start in range(0, len(todo), _AT_ONCE):
            found = list(self._read(todo[start : start + _AT_ONCE], unreadable))
            with self._database.writing() as connection:
                for one in found:
                    if not self._keeps(connection, one, added, changed):
                        unreadable.append(one.run.run_id)
        changed += self._end_vanished(known)
        return Indexed(tuple(added), tuple(changed), tuple(unreadable))

    def rebuild(
        self, *, check: bool = False, on_progress: Callable[[int, int], None] = lambda *_: None
    ) -> ReindexDocument:
        """Compare every row with its folder and write anew those that differ; with ``check``, only
        compare. ``on_progress`` hears how many of how many are done."""
        known, buried = self._known()
        ids = [run_id for run_id in reversed(self._history.ids()) if RUN_ID.fullmatch(run_id)]
        ids = [run_id for run_id in ids if run_id not in buried]
        different: list[RunId] = []
        unreadable: list[RunId] = []
        for start in range(0, len(ids), _AT_ONCE):
            on_progress(start, len(ids))
            some = [run_id for run_id in ids[start : start + _AT_ONCE] if run_id in known]
            for found in self._read(some, unreadable):
                if self._differs(found):
                    different.append(found.run.run_id)
                    if not check:
                        self._rewrite(found)
        if not check:
            unreadable = list({*unreadable, *self.refresh().unreadable})
        on_progress(len(ids), len(ids))
        folders = set(ids)
        ended = (RunId(name) for name, (state, _) in known.items() if state not in ACTIVE)
        return ReindexDocument(
            is_check=check,
            checked=len(ids),
            missing=tuple(run_id for run_id in ids if run_id not in known),
            different=tuple(different),
            without_folder=tuple(run_id for run_id in ended if run_id not in folders),
            unreadable=tuple(sorted(unreadable)),
        )

    def _rewrite(self, found: _Found) -> None:
        """The figures alone: of a server's run, its row knows the state and the times better."""
        with self._database.writing() as connection:
            row = find_run(connection, found.run.run_id)
            self._figures(connection, found, row)
            show_latest(connection, row.runnable_id)

    def _differs(self, found: _Found) -> bool:
        result = found.run.result
        if result is None:
            return False
        with self._database.reading() as connection:
            row = find_run(connection, found.run.run_id)
            expected, kept = documents_of(connection, row, result)
        return expected != kept

    def _end_vanished(self, known: dict[str, tuple[str, int | None]]) -> Iterator[RunId]:
        """A terminal forgets a run that failed before it had anything to keep; its row may have
        been written while it still seemed to run."""
        for name, (state, stamp) in known.items():
            run_id = RunId(name)
            if stamp is None or state not in ACTIVE or self._history.folder(run_id).exists():
                continue
            with self._database.writing() as connection:
                row = find_run(connection, run_id)
                enter_state(connection, row, "failed", self._clock())
                values = {"failure": encode(Failure.of(_VANISHED)), "finished_at": self._clock()}
                connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(values))
                show_latest(connection, row.runnable_id)
            yield run_id

    def _known(self) -> tuple[dict[str, tuple[str, int | None]], set[str]]:
        with self._database.reading() as connection:
            rows = connection.execute(select(RUNS.c.id, RUNS.c.state, RUNS.c.stamp)).all()
            buried = set(connection.scalars(select(TOMBSTONES.c.run_id)))
        return {row.id: (row.state, row.stamp) for row in rows}, buried

    def _is_news(self, run_id: RunId, known: tuple[str, int | None] | None) -> bool:
        if known is None:
            return RUN_ID.fullmatch(run_id) is not None
        state, stamp = known
        if stamp is None:  # a run of the server, which keeps its row itself
            return False
        return state in ACTIVE or self._stamp(run_id) != stamp

    def _stamp(self, run_id: RunId) -> int:
        try:
            return (self._history.folder(run_id).path / "state.json").stat().st_mtime_ns
        except OSError:
            return 0

    def _read(self, ids: Iterable[RunId], unreadable: list[RunId]) -> Iterator[_Found]:
        for run_id in ids:
            stamp = self._stamp(run_id)  # before its content: what is newer is looked at again
            try:
                run = self._history.read(run_id)
                sha256 = _content_of(run) or self._history.model_sha256(run_id)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                unreadable.append(run_id)
            else:
                yield _Found(run, stamp, sha256)

    def _keeps(
        self, connection: Connection, found: _Found, added: list[RunId], changed: list[RunId]
    ) -> bool:
        """A run may hold what no database takes; then nothing of it is there, and all others."""
        try:
            with translated(self._database.engine.url), connection.begin_nested():
                self._keep(connection, found, added, changed)
        except (DatabaseUnusable, StorageFailed, WorkspaceUnusable):  # not the run's fault
            raise
        except Exception as error:  # noqa: BLE001 - each database refuses in its own way
            said = getattr(error, "orig", error)  # without the statement and all its values
            logger.warning("run %s cannot be shown: %r", found.run.run_id, said)
            return False
        return True

    def _keep(
        self, connection: Connection, found: _Found, added: list[RunId], changed: list[RunId]
    ) -> None:
        run_id = found.run.run_id
        query = select(RUNS.c.state, RUNS.c.stamp).where(RUNS.c.id == run_id)
        before = connection.execute(query).one_or_none()  # another process may have been quicker
        if before is None:
            self._add(connection, found)
            added.append(run_id)
        elif before.stamp is not None and (before.state, before.stamp) != (
            found.run.state,
            found.stamp,
        ):
            self._change(connection, found, before.state)
            changed.append(run_id)

    def _add(self, connection: Connection, found: _Found) -> None:
        now = self._clock()
        run = found.run
        began = datetime.fromisoformat(run.created_at)
        of = _owner(connection, found, began, self._clock)
        add_run(
            connection,
            of,
            encode(run.spec),
            run.run_id,
            run.state,
            now,
            SummaryDocument.of_spec(run.spec),
            created_at=began,
            started_at=began,
            stamp=found.stamp,
        )
        self._outcome(connection, found)

    def _change(self, connection: Connection, found: _Found, before: Any) -> None:
        row = find_run(connection, found.run.run_id)
        steps = shortest_path(
            before, found.run.state
        )  # it may have gone on and ended since we looked
        for state in steps:
            enter_state(connection, row, state, self._clock(), quiet=state != steps[-1])
        connection.execute(update(RUNS).where(RUNS.c.id == row.id).values(stamp=found.stamp))
        _learn(connection, found, row, self._clock)
        self._outcome(connection, found)

    def _outcome(self, connection: Connection, found: _Found) -> None:
        run, row = found.run, find_run(connection, found.run.run_id)
        ended = run.state not in ACTIVE
        values: dict[str, Any] = {"failure": encode(run.failure), "finished_at": None}
        if ended:
            values["finished_at"] = datetime.fromtimestamp(found.stamp / 1e9, UTC)
        self._figures(connection, found, row)
        connection.execute(update(RUNS).where(RUNS.c.id == row.id).values(values))
        show_latest(connection, row.runnable_id)

    def _figures(self, connection: Connection, found: _Found, row: Any) -> None:
        result = found.run.result
        if result is None:
            return
        write_result(connection, row, result)
        if rows := result.profile_rows(row.id):
            add_profile_rows(connection, row.id, [encode(one) for one in rows])


def sweep(runs: RunRecords, root: Path) -> tuple[RunId, ...]:
    """Remove the folders of deleted runs. Rows go first, so no row ever names a missing folder.
    One that somebody goes on with in a terminal waits until that is over."""
    gone = []
    for run_id in runs.tombstones():
        folder = root / run_id
        if RunFolder(folder).is_at_work():
            continue
        if RUN_ID.fullmatch(run_id):
            discard_tree(folder)
        if not folder.exists():
            runs.forget_tombstone(run_id)
            gone.append(run_id)
    return tuple(gone)


# ---------------------------------------------------------------- where a run of the terminal goes


def _owner(connection: Connection, found: _Found, began: datetime, clock: Clock) -> RunOf:
    """The same command on the same model is the same benchmark, run once more."""
    project = _project(connection, clock)
    spec = found.run.spec
    models = _models(connection, project, found, clock)
    identity = fingerprint(spec, models)
    known = None
    if identity is not None:
        is_it = (is_of_kind(spec.kind), RUNNABLES.c.fingerprint == identity)
        mine = RUNNABLES.c.project_id == project
        known = connection.scalar(select(RUNNABLES.c.number).where(mine, *is_it))
    if known is None:
        new = _new_owner(found, project, models, identity)
        known = add_runnable(connection, new, clock())
        is_new = (is_of_kind(spec.kind), RUNNABLES.c.number == known)
        connection.execute(update(RUNNABLES).where(*is_new).values(created_at=began))
    return RunOf(spec.kind, known)


def _new_owner(
    found: _Found, project: ProjectId, models: list[ModelId], identity: str | None
) -> Any:
    spec = found.run.spec
    kind = KINDS[spec.kind]
    names = [name_of_file(model.path) for model in spec.models()]
    known = {} if identity is None else {"fingerprint": identity}
    return kind.new(
        project_id=project,
        name=run_name(spec, names),
        **dict(zip(kind.model_links, models, strict=True)),
        **kind.of_spec(spec),
        **known,
    )


def _project(connection: Connection, clock: Clock) -> ProjectId:
    query = select(PROJECTS.c.id).where(PROJECTS.c.name == PROJECT).order_by(PROJECTS.c.id).limit(1)
    known = connection.scalar(query)
    if known is None:
        row = {"name": PROJECT, "name_key": search_key(PROJECT), "created_at": clock()}
        known = connection.scalar(insert(PROJECTS).values(row).returning(PROJECTS.c.id)) or 0
        add_event(connection, "project.created", known, {"id": known}, clock())
    return ProjectId(known)


def _models(
    connection: Connection, project: ProjectId, found: _Found, clock: Clock
) -> list[ModelId]:
    specs, result = found.run.spec.models(), found.run.result
    facts = result.models() if result else (None,) * len(specs)
    first, *others = (found.sha256 or "").split("+")  # as a run that has begun says it
    contents = [first, *others, *[first] * len(specs)][: len(specs)]
    return [
        _model(connection, project, spec, known, sha256 or None, clock)
        for spec, known, sha256 in zip(specs, facts, contents, strict=True)
    ]


def _model(
    connection: Connection,
    project: ProjectId,
    spec: ModelSpec,
    facts: ModelFacts | None,
    sha256: str | None,
    clock: Clock,
) -> ModelId:
    """By content where that is known, else by path."""
    content = facts.sha256 if facts else sha256 or spec.sha256
    path = spec.path.encode("utf-8", "replace").decode()
    unread = MODELS.c.sha256.is_(None) & (MODELS.c.path == path)
    is_it = MODELS.c.sha256 == content if content else unread
    query = select(MODELS.c.id).where(MODELS.c.project_id == project, is_it)
    known = connection.scalar(query.order_by(MODELS.c.id).limit(1))
    if known is None:
        name = name_of_file(spec.path)
        row = {
            "project_id": project,
            "name": name,
            "name_key": search_key(name),
            "created_at": clock(),
            "path": path,
            "sha256": content,
            "framework": "",
            "precision": "",
            "domain": "",
            "origin": "terminal",
            "source": path,
            "trust_reason": "",
        }
        known = connection.scalar(insert(MODELS).values(row).returning(MODELS.c.id)) or 0
        add_event(connection, "model.created", project, {"id": known}, clock())
    if facts:
        _write_facts(connection, known, facts)
    return ModelId(known)


def _learn(connection: Connection, found: _Found, run: Any, clock: Clock) -> None:
    """A model that was met while it was measured: only the end tells what is in it."""
    learned = found.run.result.models() if found.run.result else ()
    fields = KINDS[found.run.kind].model_links
    for role, facts in zip((ROLES[field][0] for field in fields), learned, strict=False):
        is_it = (LINKS.c.runnable_id == run.runnable_id, LINKS.c.role == role)
        model_id = connection.scalars(select(LINKS.c.model_id).where(*is_it)).one()
        if twin := _twin(connection, model_id, facts):
            write_link(connection, run.runnable_id, role, model_id=twin)
            with suppress(StillUsed):  # somebody may have found a use for it meanwhile
                delete_thing(connection, "model", model_id, clock(), cascade=False)
        elif _write_facts(connection, model_id, facts):
            add_event(connection, "model.changed", run.project_id, {"id": model_id}, clock())


def _twin(connection: Connection, model_id: int, facts: ModelFacts) -> int | None:
    """Another row of the same content and name, where this one has no content yet."""
    bare = select(MODELS.c.project_id, MODELS.c.name).where(
        MODELS.c.id == model_id, MODELS.c.sha256.is_(None)
    )
    if (row := connection.execute(bare).one_or_none()) is None:
        return None
    is_it = (MODELS.c.project_id == row.project_id, MODELS.c.sha256 == facts.sha256)
    query = select(MODELS.c.id).where(*is_it, MODELS.c.name == row.name, MODELS.c.id != model_id)
    return connection.scalar(query.order_by(MODELS.c.id).limit(1))


def _write_facts(connection: Connection, model_id: int, facts: ModelFacts) -> bool:
    """Unless somebody did, or the row is of another content by now; whether it was."""
    values = {
        "facts": encode(facts),
        "format": facts.format,
        "sha256": facts.sha256,
        "size_bytes": facts.size_bytes,
        "framework": facts.framework,
    }
    is_bare = (
        MODELS.c.id == model_id,
        MODELS.c.format.is_(None),
        or_(MODELS.c.sha256.is_(None), MODELS.c.sha256 == facts.sha256),
    )
    return connection.execute(update(MODELS).where(*is_bare).values(values)).rowcount > 0


def _content_of(run: StoredRun) -> str | None:
    return "+".join(facts.sha256 for facts in run.result.models()) if run.result else None
