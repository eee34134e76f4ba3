"""The tables. Repositories (``records/``) are the only readers and writers.

A reference with ``ondelete="CASCADE"`` is to the whole that a row is a part of; one without is use,
and what is used cannot be deleted unless the user asks for that, too (``deleting.py``).

``projects`` ← ``models``, ``datasets`` ← ``benchmarks`` (cells), ``comparisons``, ``optimizations``
(pins), ``profiles`` ← ``runs`` (cell outcomes, trials, profile rows) ← ``jobs`` ← ``core_leases``.
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
    text,
)

from modeldyno.store.columns import Key, Long, Moment

RUNNABLE = ("benchmark", "comparison", "optimization", "profile")
SUBJECTS = ("project", "model", "dataset", *RUNNABLE)

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


def _required(name: str, type_: Any, *parts: Any, **options: Any) -> Column[Any]:
    return Column(name, type_, *parts, nullable=False, **options)


def _number() -> Column[Any]:
    return Column("id", Integer, primary_key=True, autoincrement=True)


def _numbered_table(name: str, *parts: Any) -> Table:
    """The number of a deleted row is not given to another one."""
    return Table(name, METADATA, *parts, sqlite_autoincrement=True)


def _named() -> tuple[Column[Any], ...]:
    """``name_key`` is the name as it is sought and sorted."""
    return (
        _number(),
        _required("name", Text),
        _required("name_key", Key),
        _required("created_at", Moment()),
    )


def _of_project() -> Column[Any]:
    return _required("project_id", Integer, ForeignKey("projects.id"))


def _part_of(column: str, type_: Any, whole: str, **options: Any) -> Column[Any]:
    return Column(column, type_, ForeignKey(whole, ondelete="CASCADE"), **options)


def _part_of_run() -> tuple[Column[Any], ...]:
    return (
        _part_of("run_id", Key, "runs.id", primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
    )


def _sureness() -> tuple[Column[Any], ...]:
    """The columns of ``core.runs.Sureness``."""
    return (
        Column("floor_low_s", _Real),
        Column("floor_high_s", _Real),
        Column("typical_low_s", _Real),
        Column("typical_high_s", _Real),
        Column("throughput_low_per_s", _Real),
        Column("throughput_high_per_s", _Real),
        Column("interval_level", _Real),
        Column("sessions", Integer),
        Column("samples", Integer),
        Column("noise", Text),
        Column("noise_reasons", Text),
        Column("peak_memory_bytes", Long),
    )


def _summary() -> tuple[Column[Any], ...]:
    """The columns of ``core.runs.RunSummary``."""
    return (
        *_sureness(),
        Column("engine", Text),
        Column("device", Text),
        Column("precision", Text),
        Column("batch_size", Integer),
        Column("cores", Integer),
        Column("instances", Integer),
        Column("streams", Integer),
        Column("floor_s", _Real),
        Column("typical_s", _Real),
        Column("throughput_per_s", _Real),
        Column("accuracy", _Real),
        Column("verdict", Text),
        Column("ratio", _Real),
        Column("ratio_low", _Real),
        Column("ratio_high", _Real),
    )


PROJECTS = _numbered_table(
    "projects",
    *_named(),
    Column("modified_at", Moment()),
    _required("is_draft", Boolean, server_default=false()),
    # No reference: benchmarks refer to projects already, and ``deleting.py`` clears it.
    Column("baseline_benchmark_id", Integer),
    Index(None, "created_at", "id"),
)

MODELS = _numbered_table(
    "models",
    *_named(),
    _of_project(),
    _required("path", Text),
    Column("format", Text),
    Column("sha256", _Sha256),
    Column("size_bytes", Long),
    _required("framework", Text),
    _required("precision", Text),
    _required("domain", Text),
    _required("origin", Text),
    _required("source", Text),
    Column("facts", _Json),
    Column("boundary", _Json),
    Column("trusted_at", Moment()),
    _required("trust_reason", Text),
    Index(None, "project_id", "created_at", "id"),
    Index(None, "sha256"),
)

DATASETS = _numbered_table(
    "datasets",
    *_named(),
    _of_project(),
    _required("kind", Text),
    _required("parameters", _Json),
    _required("transforms", _Json),
    Column("filter", _Json),
    Column("metric", _Json),
    Column("template_path", Text),
    Index(None, "project_id", "created_at", "id"),
)


def _runnable_table(name: str, *parts: Any) -> Table:
    """With the figures of the latest run, so that a list is sorted and filtered within one table,
    and with indexes for the ways in which it is."""
    return _numbered_table(
        name,
        *_named(),
        _of_project(),
        *_summary(),
        _required("state", Key),
        Column("last_run_at", Moment()),
        *parts,
        Index(None, "project_id", "created_at", "id"),
        Index(None, "project_id", "state", "created_at", "id"),
        Index(None, "project_id", "state", "id"),
        Index(None, "project_id", "typical_s", "id"),
        Index(None, "project_id", "throughput_per_s", "id"),
        Index(None, "project_id", "last_run_at", "id"),
        Index(None, "project_id", "name_key", "id"),
        Index(None, "created_at", "id"),
    )


def _uses(column: str, used: str, **options: Any) -> Column[Any]:
    return Column(column, Integer, ForeignKey(used), index=True, **options)


def _repeats(table: str) -> Column[Any]:
    earlier = ForeignKey(f"{table}.id", ondelete="SET NULL")
    return Column("rerun_of", Integer, earlier, index=True)


BENCHMARKS = _runnable_table(
    "benchmarks",
    _uses("model_id", "models.id", nullable=False),
    _uses("dataset_id", "datasets.id"),
    _required("mode", Text),
    _required("spec", _Json),
    _repeats("benchmarks"),
    Column("fingerprint", _Sha256),
    Column("modified_at", Moment()),
    Index(None, "project_id", "fingerprint", unique=True),
)

# What each cell of a benchmark was asked to be.
CELLS = Table(
    "cells",
    METADATA,
    _part_of("benchmark_id", Integer, "benchmarks.id", primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _required("engine", Key),
    _required("device", Text),
    Column("precision", Text),
    _required("batch_size", Integer),
    _required("cores", Integer),
    _required("instances", Integer),
    _required("streams", Integer, server_default=text("1")),
    Index(None, "engine", "benchmark_id"),
)

COMPARISONS = _runnable_table(
    "comparisons",
    _uses("a_model_id", "models.id", nullable=False),
    _uses("b_model_id", "models.id", nullable=False),
    _required("spec", _Json),
    _repeats("comparisons"),
    Column("fingerprint", _Sha256),
    Index(None, "project_id", "fingerprint", unique=True),
)

OPTIMIZATIONS = _runnable_table(
    "optimizations",
    _uses("model_id", "models.id", nullable=False),
    _uses("dataset_id", "datasets.id"),
    _required("type", Text),
    _required("target_precision", Text),
    _required("settings", _Json),
    Column("modified_at", Moment()),
)

PROFILES = _runnable_table(
    "profiles",
    _uses("model_id", "models.id", nullable=False),
    _uses("dataset_id", "datasets.id"),
    _required("settings", _Json),
    Column("modified_at", Moment()),
)


def _exactly_one(*columns: str) -> CheckConstraint:
    """That exactly one of them has a value."""
    count = " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in columns)
    return CheckConstraint(f"{count} = 1", name="of_one")


# One execution. Its id is the name of its folder, and sorts by time.
RUNS = Table(
    "runs",
    METADATA,
    *_summary(),
    Column("id", Key, primary_key=True),
    _of_project(),
    *(_part_of(f"{kind}_id", Integer, f"{kind}s.id") for kind in RUNNABLE),
    _required("kind", Text),
    _required("state", Key),
    _required("spec", _Json),
    _required("created_at", Moment()),
    Column("started_at", Moment()),
    Column("finished_at", Moment()),
    Column("tool_version", Text),
    Column("failure", _Json),
    Column("stamp", Long),  # of the folder's state when it was indexed
    *(Index(None, f"{kind}_id", "created_at", "id") for kind in RUNNABLE),
    Index(None, "project_id", "created_at", "id"),
    Index(None, "created_at", "id"),
    Index(None, "state"),
    _exactly_one(*(f"{kind}_id" for kind in RUNNABLE)),
)

# How each cell of a run came out.
CELL_OUTCOMES = Table(
    "cell_outcomes",
    METADATA,
    *_sureness(),
    *_part_of_run(),
    _required("status", Text),
    _required("engine", Text),
    _required("device", Text),
    Column("precision", Text),
    _required("batch_size", Integer),
    _required("cores", Integer),
    _required("instances", Integer),
    _required("streams", Integer, server_default=text("1")),
    Column("floor_s", _Real),
    Column("typical_s", _Real),
    Column("throughput_per_s", _Real),
    Column("error_code", Text),
    Column("error", _Json),
    Column("effective", _Json),
)

TRIALS = Table(
    "trials",
    METADATA,
    *_part_of_run(),
    _required("status", Text),
    _required("created_at", Moment()),
    _required("settings", _Json),
    Column("model_id", Integer, ForeignKey("models.id", ondelete="SET NULL"), index=True),
    Column("accuracy", _Real),
    Column("typical_s", _Real),
    Column("size_bytes", Long),
    _required("is_best", Boolean),
    Column("failure", _Json),
)

PROFILE_ROWS = Table(
    "profile_rows",
    METADATA,
    *_part_of_run(),
    _required("node", Text),
    _required("op_type", Key),
    _required("total_s", _Real),
    Column("cpu_s", _Real),
    Column("accelerator_s", _Real),
    _required("calls", Integer),
    _required("defined", Integer),
    Column("flop", _Real),
    Column("moved_bytes", _Real),
)

PINS = Table(
    "pins",
    METADATA,
    _part_of("optimization_id", Integer, "optimizations.id", primary_key=True),
    Column("kind", Text, primary_key=True),
    _uses("benchmark_id", "benchmarks.id", nullable=False),
)

# A run that waits or executes; afterwards, what became of it.
JOBS = _numbered_table(
    "jobs",
    _number(),
    _part_of("run_id", Key, "runs.id", nullable=False, unique=True),
    _required("state", Key),
    _required("priority", Integer),
    _required("position", Integer),
    _required("reason", Text),
    _required("attempts", Integer),
    Column("owner_host", Text),
    Column("owner_boot_id", Text),
    Column("owner_pid", Integer),
    Column("owner_started", Long),
    _required("queued_at", Moment()),
    Column("started_at", Moment()),
    Column("finished_at", Moment()),
    Column("request_id", Text),  # of who asked for it, to be told when it ends
    Index(None, "state", "priority", "position"),
    Index(None, "queued_at", "id"),
)

# A core of a machine belongs to one job at a time: the key says so.
CORE_LEASES = Table(
    "core_leases",
    METADATA,
    Column("host", Text, primary_key=True),
    Column("core", Integer, primary_key=True, autoincrement=False),
    _part_of("job_id", Integer, "jobs.id", nullable=False, index=True),
    _required("boot_id", Text),
    _required("pid", Integer),
    _required("started", Long),
    _required("taken_at", Moment()),
)

# One note for each thing; a column for each kind, so that the database knows whose it is.
NOTES = _numbered_table(
    "notes",
    _number(),
    *(_part_of(f"{kind}_id", Integer, f"{kind}s.id", unique=True) for kind in SUBJECTS),
    _required("text", Text),
    _required("version", Integer),
    _required("modified_at", Moment()),
    _exactly_one(*(f"{kind}_id" for kind in SUBJECTS)),
)

# No reference to the project: that one was deleted is an event as well.
EVENTS = _numbered_table(
    "events",
    Column("number", Long, primary_key=True, autoincrement=True),
    _required("kind", Text),
    Column("project_id", Integer),
    _required("payload", _Json),
    _required("created_at", Moment()),
    Index(None, "project_id", "number"),
)

# Runs whose rows are gone and whose folders must follow; not to be indexed again.
TOMBSTONES = Table(
    "tombstones",
    METADATA,
    Column("run_id", Key, primary_key=True),
    _required("removed_at", Moment()),
)

# What was answered to a request with an ``Idempotency-Key``, each key once for each route.
ANSWERS = Table(
    "answers",
    METADATA,
    Column("route", Key, primary_key=True),
    Column("key", Key, primary_key=True),
    _required("request", _Sha256),
    _required("status", Integer),
    _required("body", Text),
    Column("location", Text),
    _required("created_at", Moment(), index=True),
)

# Browsers that may come in; neither cookies nor tokens, only hashes of both.
SIGN_INS = Table(
    "sign_ins",
    METADATA,
    Column("id", _Sha256, primary_key=True),
    _required("under", _Sha256),
    _required("csrf", Text),
    _required("until_s", _Real),
)

# What runs belong to, by kind.
OWNERS = {
    "benchmark": BENCHMARKS,
    "comparison": COMPARISONS,
    "optimization": OPTIMIZATIONS,
    "profile": PROFILES,
}
# What people name and delete, by the word for one of it.
THINGS = {"project": PROJECTS, "model": MODELS, "dataset": DATASETS, **OWNERS}
