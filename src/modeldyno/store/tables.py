"""The tables. Repositories (``records/``) are the only readers and writers.

A reference with ``ondelete="CASCADE"`` is to the whole that a row is a part of; one without is use,
and what is used cannot be deleted unless the user asks for that, too (``deleting.py``).

``projects`` ← ``models``, ``datasets`` ← ``runnables`` (links) ← ``runs`` (cells, trials, profile
rows) ← ``jobs`` ← ``core_leases``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
)

from modeldyno.core.cell_axes import AXES, CellAxis
from modeldyno.store.columns import Key, Long, Moment, Sizes

NOTED = ("project", "model", "dataset", "runnable")

# Names that migrations can rely on: neither database would choose the same.
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_Json = JSON(none_as_null=True)
_Real = Float(53)
_Sha256 = String(64)


def _required_column(name: str, type_: Any, *parts: Any, **options: Any) -> Column[Any]:
    return Column(name, type_, *parts, nullable=False, **options)


def _id_column() -> Column[Any]:
    return Column("id", Integer, primary_key=True, autoincrement=True)


def _numbered_table(name: str, *parts: Any) -> Table:
    """The number of a deleted row is not given to another one."""
    return Table(name, METADATA, *parts, sqlite_autoincrement=True)


def _named_columns() -> tuple[Column[Any], ...]:
    """``name_key`` is the name as it is sought and sorted."""
    return (
        _id_column(),
        _required_column("name", Text),
        _required_column("name_key", Key),
        _required_column("created_at", Moment()),
    )


def _project_id_column() -> Column[Any]:
    return _required_column("project_id", Integer, ForeignKey("projects.id"))


def _cascading_column(column: str, type_: Any, whole: str, **options: Any) -> Column[Any]:
    return Column(column, type_, ForeignKey(whole, ondelete="CASCADE"), **options)


def _run_part_columns() -> tuple[Column[Any], ...]:
    return (
        _cascading_column("run_id", Key, "runs.id", primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
    )


def _figure_columns() -> tuple[Column[Any], ...]:
    """Of a run: what lists sort and filter by; ``document`` is a ``SummaryDocument`` as JSON."""
    return (
        Column("engine", Text),
        Column("typical_s", _Real),
        Column("throughput_per_s", _Real),
        *_document_columns(),
    )


def _document_columns() -> tuple[Column[Any], ...]:
    """TEXT, since a driver would build values of a JSON type; a new figure needs no new column.
    ``revision`` says who wrote it (``store/documents.py``)."""
    return _required_column("document", Text), _required_column(
        "revision", Integer, server_default="1"
    )


def _axis_column(axis: CellAxis) -> Column[Any]:
    """Rows of before an axis of sizes have none."""
    types = {"word": Key if axis.name == "engine" else Text, "count": Integer, "sizes": Sizes}
    return Column(axis.name, types[axis.kind], nullable=axis.usual is None or axis.kind == "sizes")


PROJECTS = _numbered_table(
    "projects",
    *_named_columns(),
    Column("modified_at", Moment()),
    _required_column("is_draft", Boolean, server_default=false()),
    # No reference: benchmarks refer to projects already, and ``deleting.py`` clears it.
    Column("baseline_benchmark_id", Integer),
    Index(None, "created_at", "id"),
)

MODELS = _numbered_table(
    "models",
    *_named_columns(),
    _project_id_column(),
    _required_column("path", Text),
    Column("format", Text),
    Column("sha256", _Sha256),
    Column("size_bytes", Long),
    _required_column("framework", Text),
    _required_column("precision", Text),
    _required_column("domain", Text),
    _required_column("origin", Text),
    _required_column("source", Text),
    Column("facts", _Json),
    Column("boundary", _Json),
    Column("trusted_at", Moment()),
    _required_column("trust_reason", Text),
    Index(None, "project_id", "created_at", "id"),
    Index(None, "sha256"),
)

DATASETS = _numbered_table(
    "datasets",
    *_named_columns(),
    _project_id_column(),
    _required_column("kind", Text),
    _required_column("parameters", _Json),
    _required_column("transforms", _Json),
    Column("filter", _Json),
    Column("metric", _Json),
    Column("template_path", Text),
    Index(None, "project_id", "created_at", "id"),
)


def _exactly_one_constraint(*columns: str) -> CheckConstraint:
    """That exactly one of them has a value."""
    count = " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in columns)
    return CheckConstraint(f"{count} = 1", name="of_one")


# Whatever can be run: benchmarks, comparisons, optimizations, profiles. People know one by its
# kind and number; rows refer to its id. The figures are those of its latest run, so that a list is
# sorted and filtered within one table.
RUNNABLES = _numbered_table(
    "runnables",
    *_named_columns(),
    _required_column("kind", Key),
    _required_column("number", Integer),
    _project_id_column(),
    Column("modified_at", Moment()),
    _required_column("spec", _Json),  # the fields that only this kind has
    _required_column("outline", Text),  # what lists show of the spec and of all cells, as JSON
    Column("fingerprint", _Sha256),
    # The number of the one it repeats, of the same kind. No reference: ``deleting.py`` clears it.
    Column("rerun_of", Integer),
    _required_column("state", Key),
    Column("last_run_at", Moment()),
    *_figure_columns(),
    # Runs refer to this table already; ``state_changes.py`` keeps these up to date.
    Column("latest_run_id", Key),
    Column("shown_run_id", Key),  # the latest that has cells
    Column("measured_run_id", Key),  # the latest with a cell that came to a number
    Index(None, "kind", "number", unique=True),
    Index(None, "project_id", "kind", "fingerprint", unique=True),
    Index(None, "kind", "rerun_of"),
    # One for each way to sort a project's list, and for the list of all projects.
    Index(None, "kind", "created_at", "number"),
    Index(None, "project_id", "kind", "state", "created_at", "number"),
    *(
        Index(None, "project_id", "kind", column, "number")
        for column in (
            "created_at",
            "state",
            "typical_s",
            "throughput_per_s",
            "last_run_at",
            "name_key",
        )
    ),
)

# The last number that was given in each kind: that of a deleted row is not given to another one.
NUMBERS = Table(
    "numbers",
    METADATA,
    Column("kind", Key, primary_key=True),
    _required_column("last", Integer),
)

# What a runnable uses, and as what: models, datasets, other runnables.
LINKS = Table(
    "links",
    METADATA,
    _cascading_column("runnable_id", Integer, "runnables.id", primary_key=True),
    Column("role", Key, primary_key=True),
    Column("model_id", Integer, ForeignKey("models.id"), index=True),
    Column("dataset_id", Integer, ForeignKey("datasets.id"), index=True),
    Column("used_id", Integer, ForeignKey("runnables.id"), index=True),
    _exactly_one_constraint("model_id", "dataset_id", "used_id"),
)

# One execution. Its id is the name of its folder, and sorts by time.
RUNS = Table(
    "runs",
    METADATA,
    Column("id", Key, primary_key=True),
    _project_id_column(),
    _cascading_column("runnable_id", Integer, "runnables.id", nullable=False),
    _required_column("kind", Text),
    _required_column("state", Key),
    _required_column("spec", _Json),
    _required_column("created_at", Moment()),
    Column("started_at", Moment()),
    Column("finished_at", Moment()),
    Column("tool_version", Text),
    Column("failure", _Json),
    Column("stamp", Long),  # of the folder's state when it was indexed
    Column("machine", Key),  # None: unknown
    *_figure_columns(),
    Index(None, "runnable_id", "created_at", "id"),
    Index(None, "project_id", "created_at", "id"),
    Index(None, "created_at", "id"),
    Index(None, "state"),
)

# How each cell of a run came out: what lists rank by, and the ``CellDocument``.
CELLS = Table(
    "cells",
    METADATA,
    *_run_part_columns(),
    Column("machine", Key),
    _required_column("status", Text),
    *map(_axis_column, AXES),
    Column("shape", Text),  # of the inputs, as they were fed
    *(
        Column(name, _Real)
        for name in (
            *("typical_s", "floor_s", "floor_low_s", "floor_high_s"),
            *("throughput_per_s", "throughput_low_per_s", "throughput_high_per_s"),
            "interval_level",
        )
    ),
    Column("sessions", Integer),
    Column("peak_memory_bytes", Long),
    Column("noise", Text),
    *_document_columns(),
    Index(None, "engine", "device", "run_id"),
    Index(None, "machine", "run_id"),
)

TRIALS = Table(
    "trials",
    METADATA,
    *_run_part_columns(),
    _required_column("status", Text),
    _required_column("created_at", Moment()),
    _required_column("settings", _Json),
    Column("model_id", Integer, ForeignKey("models.id", ondelete="SET NULL"), index=True),
    Column("accuracy", _Real),
    Column("typical_s", _Real),
    Column("size_bytes", Long),
    _required_column("is_best", Boolean),
    Column("failure", _Json),
)

PROFILE_ROWS = Table(
    "profile_rows",
    METADATA,
    *_run_part_columns(),
    _required_column("node", Text),
    _required_column("op_type", Key),
    _required_column("total_s", _Real),
    Column("cpu_s", _Real),
    Column("accelerator_s", _Real),
    _required_column("calls", Integer),
    _required_column("defined", Integer),
    Column("flop", _Real),
    Column("moved_bytes", _Real),
)

# A run that waits or executes; afterwards, what became of it.
JOBS = _numbered_table(
    "jobs",
    _id_column(),
    _cascading_column("run_id", Key, "runs.id", nullable=False, unique=True),
    _required_column("state", Key),
    _required_column("priority", Integer),
    _required_column("position", Integer),
    _required_column("reason", Text),
    _required_column("attempts", Integer),
    Column("owner_host", Text),
    Column("owner_boot_id", Text),
    Column("owner_pid", Integer),
    Column("owner_started", Long),
    _required_column("queued_at", Moment()),
    Column("started_at", Moment()),
    Column("finished_at", Moment()),
    Column("request_id", Text),  # of the client that requested it, for when it ends
    Index(None, "state", "priority", "position"),
    Index(None, "queued_at", "id"),
)

# A core of a machine belongs to one job at a time: the key says so.
CORE_LEASES = Table(
    "core_leases",
    METADATA,
    Column("host", Text, primary_key=True),
    Column("core", Integer, primary_key=True, autoincrement=False),
    _cascading_column("job_id", Integer, "jobs.id", nullable=False, index=True),
    _required_column("boot_id", Text),
    _required_column("pid", Integer),
    _required_column("started", Long),
    _required_column("taken_at", Moment()),
)

# One note for each thing; a column for each table, so that the database knows whose it is.
NOTES = _numbered_table(
    "notes",
    _id_column(),
    *(_cascading_column(f"{thing}_id", Integer, f"{thing}s.id", unique=True) for thing in NOTED),
    _required_column("text", Text),
    _required_column("version", Integer),
    _required_column("modified_at", Moment()),
    _exactly_one_constraint(*(f"{thing}_id" for thing in NOTED)),
)

# No reference to the project: that one was deleted is an event as well.
EVENTS = _numbered_table(
    "events",
    Column("number", Long, primary_key=True, autoincrement=True),
    _required_column("kind", Text),
    Column("project_id", Integer),
    _required_column("payload", _Json),
    _required_column("created_at", Moment()),
    Index(None, "project_id", "number"),
)

# Runs whose rows are gone and whose folders must follow; not to be indexed again.
TOMBSTONES = Table(
    "tombstones",
    METADATA,
    Column("run_id", Key, primary_key=True),
    _required_column("removed_at", Moment()),
)

# What was answered to a request with an ``Idempotency-Key``, each key once for each route.
ANSWERS = Table(
    "answers",
    METADATA,
    Column("route", Key, primary_key=True),
    Column("key", Key, primary_key=True),
    _required_column("request", _Sha256),
    _required_column("status", Integer),
    _required_column("body", Text),
    Column("location", Text),
    _required_column("created_at", Moment(), index=True),
)

# Browsers that may come in; neither cookies nor tokens, only hashes of both.
SIGN_INS = Table(
    "sign_ins",
    METADATA,
    Column("id", _Sha256, primary_key=True),
    _required_column("under", _Sha256),
    _required_column("csrf", Text),
    _required_column("until_s", _Real),
)

# What people name and delete beside runnables, by the word for one of it.
THINGS = {"project": PROJECTS, "model": MODELS, "dataset": DATASETS}
