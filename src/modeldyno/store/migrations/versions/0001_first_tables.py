"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from modeldyno.store.columns import Key, Long, Moment

revision = "0001"
down_revision = None

_SORTED_BY = (
    "created_at", "name_key", "state", "typical_s", "last_run_at", "throughput_per_s"
)  # fmt: skip


def _one_of(*columns: str) -> str:
    return " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in columns) + " = 1"


def _named() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
    )


def _figures() -> tuple[sa.Column[Any], ...]:
    """Of the latest run."""
    return (
        sa.Column("engine", sa.Text(), nullable=True),
        sa.Column("device", sa.Text(), nullable=True),
        sa.Column("precision", sa.Text(), nullable=True),
        sa.Column("batch_size", sa.Integer(), nullable=True),
        sa.Column("cores", sa.Integer(), nullable=True),
        sa.Column("instances", sa.Integer(), nullable=True),
        sa.Column("floor_s", sa.Float(precision=53), nullable=True),
        sa.Column("typical_s", sa.Float(precision=53), nullable=True),
        sa.Column("throughput_per_s", sa.Float(precision=53), nullable=True),
        sa.Column("noise", sa.Text(), nullable=True),
        sa.Column("accuracy", sa.Float(precision=53), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("ratio", sa.Float(precision=53), nullable=True),
        sa.Column("ratio_low", sa.Float(precision=53), nullable=True),
        sa.Column("ratio_high", sa.Float(precision=53), nullable=True),
    )


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}"))


def _refers(table: str, column: str, to: str, ondelete: str | None = None) -> Any:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=name, ondelete=ondelete)


def _index(table: str, *columns: str, unique: bool = False) -> None:
    name = op.f(f"ix_{table}_{'_'.join(columns)}")
    op.create_index(name, table, list(columns), unique=unique)


def _list_indexes(table: str) -> None:
    """One for each way to sort a project's list, and for the list of all projects."""
    _index(table, "created_at", "id")
    _index(table, "project_id", "state", "created_at", "id")
    for column in _SORTED_BY:
        _index(table, "project_id", column, "id")


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("number", Long, autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        _key("events", "number"),
        sqlite_autoincrement=True,
    )
    _index("events", "project_id", "number")
    op.create_table(
        "projects",
        sa.Column("modified_at", Moment(), nullable=True),
        *_named(),
        _key("projects", "id"),
        sqlite_autoincrement=True,
    )
    _index("projects", "created_at", "id")
    op.create_table(
        "tombstones",
        sa.Column("run_id", Key, nullable=False),
        sa.Column("removed_at", Moment(), nullable=False),
        _key("tombstones", "run_id"),
    )
    op.create_table(
        "datasets",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("transforms", sa.JSON(), nullable=False),
        sa.Column("filter", sa.JSON(), nullable=True),
        sa.Column("metric", sa.JSON(), nullable=True),
        sa.Column("template_path", sa.Text(), nullable=True),
        *_named(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        _refers("datasets", "project_id", "projects"),
        _key("datasets", "id"),
        sqlite_autoincrement=True,
    )
    _index("datasets", "project_id", "created_at", "id")
    op.create_table(
        "models",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("size_bytes", Long, nullable=True),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("precision", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=True),
        sa.Column("trusted_at", Moment(), nullable=True),
        sa.Column("trust_reason", sa.Text(), nullable=False),
        *_named(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        _refers("models", "project_id", "projects"),
        _key("models", "id"),
        sqlite_autoincrement=True,
    )
    _index("models", "project_id", "created_at", "id")
    _index("models", "sha256")
    op.create_table(
        "benchmarks",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("rerun_of", sa.Integer(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("modified_at", Moment(), nullable=True),
        *_named(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
        *_figures(),
        _refers("benchmarks", "dataset_id", "datasets"),
        _refers("benchmarks", "model_id", "models"),
        _refers("benchmarks", "project_id", "projects"),
        _refers("benchmarks", "rerun_of", "benchmarks", ondelete="SET NULL"),
        _key("benchmarks", "id"),
        sqlite_autoincrement=True,
    )
    _list_indexes("benchmarks")
    _index("benchmarks", "dataset_id")
    _index("benchmarks", "model_id")
    _index("benchmarks", "project_id", "fingerprint", unique=True)
    _index("benchmarks", "rerun_of")
    op.create_table(
        "comparisons",
        sa.Column("a_model_id", sa.Integer(), nullable=False),
        sa.Column("b_model_id", sa.Integer(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        *_named(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
        *_figures(),
        _refers("comparisons", "a_model_id", "models"),
        _refers("comparisons", "b_model_id", "models"),
        _refers("comparisons", "project_id", "projects"),
        _key("comparisons", "id"),
        sqlite_autoincrement=True,
    )
    _index("comparisons", "a_model_id")
    _index("comparisons", "b_model_id")
    _list_indexes("comparisons")
    _index("comparisons", "project_id", "fingerprint", unique=True)
    op.create_table(
        "optimizations",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("target_precision", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("modified_at", Moment(), nullable=True),
        *_named(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
        *_figures(),
        _refers("optimizations", "dataset_id", "datasets"),
        _refers("optimizations", "model_id", "models"),
        _refers("optimizations", "project_id", "projects"),
        _key("optimizations", "id"),
        sqlite_autoincrement=True,
    )
    _list_indexes("optimizations")
    _index("optimizations", "dataset_id")
    _index("optimizations", "model_id")
    op.create_table(
        "profiles",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("modified_at", Moment(), nullable=True),
        *_named(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
        *_figures(),
        _refers("profiles", "dataset_id", "datasets"),
        _refers("profiles", "model_id", "models"),
        _refers("profiles", "project_id", "projects"),
        _key("profiles", "id"),
        sqlite_autoincrement=True,
    )
    _list_indexes("profiles")
    _index("profiles", "dataset_id")
    _index("profiles", "model_id")
    op.create_table(
        "cells",
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("engine", Key, nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("precision", sa.Text(), nullable=True),
        sa.Column("batch_size", sa.Integer(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("instances", sa.Integer(), nullable=False),
        _refers("cells", "benchmark_id", "benchmarks", ondelete="CASCADE"),
        _key("cells", "benchmark_id", "number"),
    )
    _index("cells", "engine", "benchmark_id")
    op.create_table(
        "notes",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("model_id", sa.Integer(), nullable=True),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("benchmark_id", sa.Integer(), nullable=True),
        sa.Column("comparison_id", sa.Integer(), nullable=True),
        sa.Column("optimization_id", sa.Integer(), nullable=True),
        sa.Column("profile_id", sa.Integer(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("modified_at", Moment(), nullable=False),
        sa.CheckConstraint(
            _one_of(
                "project_id",
                "model_id",
                "dataset_id",
                "benchmark_id",
                "comparison_id",
                "optimization_id",
                "profile_id",
            ),
            name=op.f("ck_notes_of_one"),
        ),
        _refers("notes", "benchmark_id", "benchmarks", ondelete="CASCADE"),
        _refers("notes", "comparison_id", "comparisons", ondelete="CASCADE"),
        _refers("notes", "dataset_id", "datasets", ondelete="CASCADE"),
        _refers("notes", "model_id", "models", ondelete="CASCADE"),
        _refers("notes", "optimization_id", "optimizations", ondelete="CASCADE"),
        _refers("notes", "profile_id", "profiles", ondelete="CASCADE"),
        _refers("notes", "project_id", "projects", ondelete="CASCADE"),
        _key("notes", "id"),
        sa.UniqueConstraint("benchmark_id", name=op.f("uq_notes_benchmark_id")),
        sa.UniqueConstraint("comparison_id", name=op.f("uq_notes_comparison_id")),
        sa.UniqueConstraint("dataset_id", name=op.f("uq_notes_dataset_id")),
        sa.UniqueConstraint("model_id", name=op.f("uq_notes_model_id")),
        sa.UniqueConstraint("optimization_id", name=op.f("uq_notes_optimization_id")),
        sa.UniqueConstraint("profile_id", name=op.f("uq_notes_profile_id")),
        sa.UniqueConstraint("project_id", name=op.f("uq_notes_project_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "pins",
        sa.Column("optimization_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        _refers("pins", "benchmark_id", "benchmarks"),
        _refers("pins", "optimization_id", "optimizations", ondelete="CASCADE"),
        _key("pins", "optimization_id", "kind"),
    )
    _index("pins", "benchmark_id")
    op.create_table(
        "runs",
        sa.Column("id", Key, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=True),
        sa.Column("comparison_id", sa.Integer(), nullable=True),
        sa.Column("optimization_id", sa.Integer(), nullable=True),
        sa.Column("profile_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("started_at", Moment(), nullable=True),
        sa.Column("finished_at", Moment(), nullable=True),
        sa.Column("tool_version", sa.Text(), nullable=True),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("stamp", Long, nullable=True),
        *_figures(),
        sa.CheckConstraint(
            _one_of("benchmark_id", "comparison_id", "optimization_id", "profile_id"),
            name=op.f("ck_runs_of_one"),
        ),
        _refers("runs", "benchmark_id", "benchmarks", ondelete="CASCADE"),
        _refers("runs", "comparison_id", "comparisons", ondelete="CASCADE"),
        _refers("runs", "optimization_id", "optimizations", ondelete="CASCADE"),
        _refers("runs", "profile_id", "profiles", ondelete="CASCADE"),
        _refers("runs", "project_id", "projects"),
        _key("runs", "id"),
    )
    _index("runs", "benchmark_id", "created_at", "id")
    _index("runs", "comparison_id", "created_at", "id")
    _index("runs", "created_at", "id")
    _index("runs", "optimization_id", "created_at", "id")
    _index("runs", "profile_id", "created_at", "id")
    _index("runs", "project_id", "created_at", "id")
    _index("runs", "state")
    op.create_table(
        "cell_outcomes",
        sa.Column("run_id", Key, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("precision", sa.Text(), nullable=True),
        sa.Column("batch_size", sa.Integer(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("instances", sa.Integer(), nullable=False),
        sa.Column("floor_s", sa.Float(precision=53), nullable=True),
        sa.Column("typical_s", sa.Float(precision=53), nullable=True),
        sa.Column("throughput_per_s", sa.Float(precision=53), nullable=True),
        sa.Column("noise", sa.Text(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        _refers("cell_outcomes", "run_id", "runs", ondelete="CASCADE"),
        _key("cell_outcomes", "run_id", "number"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("run_id", Key, nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("owner_host", sa.Text(), nullable=True),
        sa.Column("owner_boot_id", sa.Text(), nullable=True),
        sa.Column("owner_pid", sa.Integer(), nullable=True),
        sa.Column("owner_started", Long, nullable=True),
        sa.Column("queued_at", Moment(), nullable=False),
        sa.Column("started_at", Moment(), nullable=True),
        sa.Column("finished_at", Moment(), nullable=True),
        _refers("jobs", "run_id", "runs", ondelete="CASCADE"),
        _key("jobs", "id"),
        sa.UniqueConstraint("run_id", name=op.f("uq_jobs_run_id")),
        sqlite_autoincrement=True,
    )
    _index("jobs", "queued_at", "id")
    _index("jobs", "state", "priority", "position")
    op.create_table(
        "profile_rows",
        sa.Column("run_id", Key, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("op_type", Key, nullable=False),
        sa.Column("total_s", sa.Float(precision=53), nullable=False),
        sa.Column("cpu_s", sa.Float(precision=53), nullable=True),
        sa.Column("accelerator_s", sa.Float(precision=53), nullable=True),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("defined", sa.Integer(), nullable=False),
        _refers("profile_rows", "run_id", "runs", ondelete="CASCADE"),
        _key("profile_rows", "run_id", "number"),
    )
    op.create_table(
        "trials",
        sa.Column("run_id", Key, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=True),
        sa.Column("accuracy", sa.Float(precision=53), nullable=True),
        sa.Column("typical_s", sa.Float(precision=53), nullable=True),
        sa.Column("size_bytes", Long, nullable=True),
        sa.Column("is_best", sa.Boolean(), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        _refers("trials", "model_id", "models", ondelete="SET NULL"),
        _refers("trials", "run_id", "runs", ondelete="CASCADE"),
        _key("trials", "run_id", "number"),
    )
    _index("trials", "model_id")
    op.create_table(
        "core_leases",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("core", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", Long, nullable=False),
        sa.Column("taken_at", Moment(), nullable=False),
        _refers("core_leases", "job_id", "jobs", ondelete="CASCADE"),
        _key("core_leases", "host", "core"),
    )
    _index("core_leases", "job_id")


def downgrade() -> None:
    for table in (
        "core_leases",
        "trials",
        "profile_rows",
        "jobs",
        "cell_outcomes",
        "runs",
        "pins",
        "notes",
        "cells",
        "profiles",
        "optimizations",
        "comparisons",
        "benchmarks",
        "models",
        "datasets",
        "tombstones",
        "projects",
        "events",
    ):
        op.drop_table(table)
