"""The tables. Repositories (``records/``) are the only readers and writers.

A reference with ``ondelete="CASCADE"`` is to the whole that a row is a part of; one without is use,
and what is used cannot be deleted unless the user asks for that, too (``deleting.py``).

``projects`` ← ``models``, ``datasets`` ← ``benchmarks`` (cells), ``comparisons``, ``optimizations``
(pins), ``profiles`` ← ``runs`` (cell outcomes, trials, profile rows) ← ``jobs`` ← ``core_leases``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, MetaData, String, false, text

from modeldyno.store.columns import Key, Long
from modeldyno.store.declared import Declared, Mapped, mapped_column

Json = dict[str, Any]

RUNNABLE = ("benchmark", "comparison", "optimization", "profile")


class Table(Declared):
    # Names that migrations can rely on: neither database would choose the same.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


# The number of a deleted row is not given to another one.
_NUMBERED = {"sqlite_autoincrement": True}


class Named:
    """``name_key`` is the name as it is sought and sorted."""

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str]
    name_key: Mapped[str] = mapped_column(Key)
    created_at: Mapped[datetime]


class OfProject:
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))


class Sureness:
    """The columns of ``core.runs.Sureness``."""

    floor_low_s: Mapped[float | None]
    floor_high_s: Mapped[float | None]
    typical_low_s: Mapped[float | None]
    typical_high_s: Mapped[float | None]
    throughput_low_per_s: Mapped[float | None]
    throughput_high_per_s: Mapped[float | None]
    interval_level: Mapped[float | None]
    sessions: Mapped[int | None]
    samples: Mapped[int | None]
    noise: Mapped[str | None]
    noise_reasons: Mapped[str | None]
    peak_memory_bytes: Mapped[int | None] = mapped_column(Long)


class Summary(Sureness):
    """The columns of ``core.runs.RunSummary``."""

    engine: Mapped[str | None]
    device: Mapped[str | None]
    precision: Mapped[str | None]
    batch_size: Mapped[int | None]
    cores: Mapped[int | None]
    instances: Mapped[int | None]
    streams: Mapped[int | None]
    floor_s: Mapped[float | None]
    typical_s: Mapped[float | None]
    throughput_per_s: Mapped[float | None]
    accuracy: Mapped[float | None]
    verdict: Mapped[str | None]
    ratio: Mapped[float | None]
    ratio_low: Mapped[float | None]
    ratio_high: Mapped[float | None]


class LatestRun(Summary):
    """Copied from the latest run, so that a list is sorted and filtered within one table."""

    state: Mapped[str] = mapped_column(Key)
    last_run_at: Mapped[datetime | None]


class Projects(Named, Table):
    __tablename__ = "projects"
    modified_at: Mapped[datetime | None]
    is_draft: Mapped[bool] = mapped_column(server_default=false())
    # No reference: benchmarks refer to projects already, and ``deleting.py`` clears it.
    baseline_benchmark_id: Mapped[int | None]
    __table_args__ = (Index(None, "created_at", "id"), _NUMBERED)


class Models(Named, OfProject, Table):
    __tablename__ = "models"
    path: Mapped[str]
    format: Mapped[str | None]
    sha256: Mapped[str | None] = mapped_column(String(64))
    size_bytes: Mapped[int | None] = mapped_column(Long)
    framework: Mapped[str]
    precision: Mapped[str]
    domain: Mapped[str]
    origin: Mapped[str]
    source: Mapped[str]
    facts: Mapped[Json | None]
    boundary: Mapped[Json | None]
    trusted_at: Mapped[datetime | None]
    trust_reason: Mapped[str]
    __table_args__ = (
        Index(None, "project_id", "created_at", "id"),
        Index(None, "sha256"),
        _NUMBERED,
    )


class Datasets(Named, OfProject, Table):
    __tablename__ = "datasets"
    kind: Mapped[str]
    parameters: Mapped[Json]
    transforms: Mapped[list[Json]]
    filter: Mapped[Json | None]
    metric: Mapped[Json | None]
    template_path: Mapped[str | None]
    __table_args__ = (Index(None, "project_id", "created_at", "id"), _NUMBERED)


def _lists(*more: Index) -> tuple[Any, ...]:
    """Indexes for the ways in which lists of what can be run are sorted and filtered."""
    return (
        Index(None, "project_id", "created_at", "id"),
        Index(None, "project_id", "state", "created_at", "id"),
        Index(None, "project_id", "state", "id"),
        Index(None, "project_id", "typical_s", "id"),
        Index(None, "project_id", "throughput_per_s", "id"),
        Index(None, "project_id", "last_run_at", "id"),
        Index(None, "project_id", "name_key", "id"),
        Index(None, "created_at", "id"),
        *more,
        _NUMBERED,
    )


class Benchmarks(Named, OfProject, LatestRun, Table):
    __tablename__ = "benchmarks"
    model_id: Mapped[int] = mapped_column(ForeignKey("models.id"), index=True)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    mode: Mapped[str]
    spec: Mapped[Json]
    rerun_of: Mapped[int | None] = mapped_column(
        ForeignKey("benchmarks.id", ondelete="SET NULL"), index=True
    )
    fingerprint: Mapped[str | None] = mapped_column(String(64))
    modified_at: Mapped[datetime | None]
    __table_args__ = _lists(Index(None, "project_id", "fingerprint", unique=True))


class Cells(Table):
    """What each cell of a benchmark was asked to be."""

    __tablename__ = "cells"
    benchmark_id: Mapped[int] = mapped_column(
        ForeignKey("benchmarks.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    engine: Mapped[str] = mapped_column(Key)
    device: Mapped[str]
    precision: Mapped[str | None]
    batch_size: Mapped[int]
    cores: Mapped[int]
    instances: Mapped[int]
    streams: Mapped[int] = mapped_column(server_default=text("1"))
    __table_args__ = (Index(None, "engine", "benchmark_id"),)


class Comparisons(Named, OfProject, LatestRun, Table):
    __tablename__ = "comparisons"
    a_model_id: Mapped[int] = mapped_column(ForeignKey("models.id"), index=True)
    b_model_id: Mapped[int] = mapped_column(ForeignKey("models.id"), index=True)
    spec: Mapped[Json]
    rerun_of: Mapped[int | None] = mapped_column(
        ForeignKey("comparisons.id", ondelete="SET NULL"), index=True
    )
    fingerprint: Mapped[str | None] = mapped_column(String(64))
    __table_args__ = _lists(Index(None, "project_id", "fingerprint", unique=True))


class Optimizations(Named, OfProject, LatestRun, Table):
    __tablename__ = "optimizations"
    model_id: Mapped[int] = mapped_column(ForeignKey("models.id"), index=True)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    type: Mapped[str]
    target_precision: Mapped[str]
    settings: Mapped[Json]
    modified_at: Mapped[datetime | None]
    __table_args__ = _lists()


class Profiles(Named, OfProject, LatestRun, Table):
    __tablename__ = "profiles"
    model_id: Mapped[int] = mapped_column(ForeignKey("models.id"), index=True)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    settings: Mapped[Json]
    modified_at: Mapped[datetime | None]
    __table_args__ = _lists()


def _one_of(*columns: str) -> str:
    """SQL that is true when exactly one of them has a value."""
    return " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in columns) + " = 1"


class Runs(Summary, Table):
    """One execution. Its id is the name of its folder, and sorts by time."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(Key, primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    benchmark_id: Mapped[int | None] = mapped_column(
        ForeignKey("benchmarks.id", ondelete="CASCADE")
    )
    comparison_id: Mapped[int | None] = mapped_column(
        ForeignKey("comparisons.id", ondelete="CASCADE")
    )
    optimization_id: Mapped[int | None] = mapped_column(
        ForeignKey("optimizations.id", ondelete="CASCADE")
    )
    profile_id: Mapped[int | None] = mapped_column(ForeignKey("profiles.id", ondelete="CASCADE"))
    kind: Mapped[str]
    state: Mapped[str] = mapped_column(Key)
    spec: Mapped[Json]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    tool_version: Mapped[str | None]
    failure: Mapped[Json | None]
    stamp: Mapped[int | None] = mapped_column(Long)  # of the folder's state when it was indexed
    __table_args__ = (
        Index(None, "benchmark_id", "created_at", "id"),
        Index(None, "comparison_id", "created_at", "id"),
        Index(None, "optimization_id", "created_at", "id"),
        Index(None, "profile_id", "created_at", "id"),
        Index(None, "project_id", "created_at", "id"),
        Index(None, "created_at", "id"),
        Index(None, "state"),
        CheckConstraint(_one_of(*(f"{kind}_id" for kind in RUNNABLE)), name="of_one"),
    )


class CellOutcomes(Sureness, Table):
    """How each cell of a run came out."""

    __tablename__ = "cell_outcomes"
    run_id: Mapped[str] = mapped_column(
        Key, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    status: Mapped[str]
    engine: Mapped[str]
    device: Mapped[str]
    precision: Mapped[str | None]
    batch_size: Mapped[int]
    cores: Mapped[int]
    instances: Mapped[int]
    streams: Mapped[int] = mapped_column(server_default=text("1"))
    floor_s: Mapped[float | None]
    typical_s: Mapped[float | None]
    throughput_per_s: Mapped[float | None]
    error_code: Mapped[str | None]
    error: Mapped[Json | None]
    effective: Mapped[Json | None]


class Trials(Table):
    __tablename__ = "trials"
    run_id: Mapped[str] = mapped_column(
        Key, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    status: Mapped[str]
    created_at: Mapped[datetime]
    settings: Mapped[Json]
    model_id: Mapped[int | None] = mapped_column(
        ForeignKey("models.id", ondelete="SET NULL"), index=True
    )
    accuracy: Mapped[float | None]
    typical_s: Mapped[float | None]
    size_bytes: Mapped[int | None] = mapped_column(Long)
    is_best: Mapped[bool]
    failure: Mapped[Json | None]


class ProfileRows(Table):
    __tablename__ = "profile_rows"
    run_id: Mapped[str] = mapped_column(
        Key, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    node: Mapped[str]
    op_type: Mapped[str] = mapped_column(Key)
    total_s: Mapped[float]
    cpu_s: Mapped[float | None]
    accelerator_s: Mapped[float | None]
    calls: Mapped[int]
    defined: Mapped[int]
    flop: Mapped[float | None]
    moved_bytes: Mapped[float | None]


class Pins(Table):
    __tablename__ = "pins"
    optimization_id: Mapped[int] = mapped_column(
        ForeignKey("optimizations.id", ondelete="CASCADE"), primary_key=True
    )
    kind: Mapped[str] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"), index=True)


class Jobs(Table):
    """A run that waits or executes; afterwards, what became of it."""

    __tablename__ = "jobs"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(Key, ForeignKey("runs.id", ondelete="CASCADE"), unique=True)
    state: Mapped[str] = mapped_column(Key)
    priority: Mapped[int]
    position: Mapped[int]
    reason: Mapped[str]
    attempts: Mapped[int]
    owner_host: Mapped[str | None]
    owner_boot_id: Mapped[str | None]
    owner_pid: Mapped[int | None]
    owner_started: Mapped[int | None] = mapped_column(Long)
    queued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    request_id: Mapped[str | None]  # of who asked for it, to be told when it ends
    __table_args__ = (
        Index(None, "state", "priority", "position"),
        Index(None, "queued_at", "id"),
        _NUMBERED,
    )


class CoreLeases(Table):
    """A core of a machine belongs to one job at a time: the key says so."""

    __tablename__ = "core_leases"
    host: Mapped[str] = mapped_column(primary_key=True)
    core: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    boot_id: Mapped[str]
    pid: Mapped[int]
    started: Mapped[int] = mapped_column(Long)
    taken_at: Mapped[datetime]


SUBJECTS = ("project", "model", "dataset", *RUNNABLE)


class Notes(Table):
    """One note for each thing; a column for each kind, so that the database knows whose it is."""

    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    project_id: Mapped[int | None] = mapped_column(
        ForeignKey("projects.id", ondelete="CASCADE"), unique=True
    )
    model_id: Mapped[int | None] = mapped_column(
        ForeignKey("models.id", ondelete="CASCADE"), unique=True
    )
    dataset_id: Mapped[int | None] = mapped_column(
        ForeignKey("datasets.id", ondelete="CASCADE"), unique=True
    )
    benchmark_id: Mapped[int | None] = mapped_column(
        ForeignKey("benchmarks.id", ondelete="CASCADE"), unique=True
    )
    comparison_id: Mapped[int | None] = mapped_column(
        ForeignKey("comparisons.id", ondelete="CASCADE"), unique=True
    )
    optimization_id: Mapped[int | None] = mapped_column(
        ForeignKey("optimizations.id", ondelete="CASCADE"), unique=True
    )
    profile_id: Mapped[int | None] = mapped_column(
        ForeignKey("profiles.id", ondelete="CASCADE"), unique=True
    )
    text: Mapped[str]
    version: Mapped[int]
    modified_at: Mapped[datetime]
    __table_args__ = (
        CheckConstraint(_one_of(*(f"{kind}_id" for kind in SUBJECTS)), name="of_one"),
        _NUMBERED,
    )


class Events(Table):
    """No reference to the project: that one was deleted is an event as well."""

    __tablename__ = "events"
    number: Mapped[int] = mapped_column(Long, primary_key=True, autoincrement=True)
    kind: Mapped[str]
    project_id: Mapped[int | None]
    payload: Mapped[Json]
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "project_id", "number"), _NUMBERED)


class Tombstones(Table):
    """Runs whose rows are gone and whose folders must follow; not to be indexed again."""

    __tablename__ = "tombstones"
    run_id: Mapped[str] = mapped_column(Key, primary_key=True)
    removed_at: Mapped[datetime]


class Answers(Table):
    """What was answered to a request with an ``Idempotency-Key``, each key once for each route."""

    __tablename__ = "answers"
    route: Mapped[str] = mapped_column(Key, primary_key=True)
    key: Mapped[str] = mapped_column(Key, primary_key=True)
    request: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    body: Mapped[str]
    location: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(index=True)


class SignIns(Table):
    """Browsers that may come in; neither cookies nor tokens, only hashes of both."""

    __tablename__ = "sign_ins"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    under: Mapped[str] = mapped_column(String(64))
    csrf: Mapped[str]
    until_s: Mapped[float]


# What runs belong to, by kind.
OWNERS: dict[str, type[Benchmarks | Comparisons | Optimizations | Profiles]] = {
    "benchmark": Benchmarks,
    "comparison": Comparisons,
    "optimization": Optimizations,
    "profile": Profiles,
}
# What people name and delete, by the word for one of it.
THINGS: dict[str, type[Named]] = {
    "project": Projects,
    "model": Models,
    "dataset": Datasets,
    **OWNERS,
}
