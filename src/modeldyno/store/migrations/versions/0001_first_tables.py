"""The first tables."""

import sqlalchemy as sa
from alembic import op

from modeldyno.store.columns import Key, Long, Moment

revision = "0001"
down_revision = None


def _one_of(*columns: str) -> str:
    return " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in columns) + " = 1"


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("number", Long, autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_events_project_id_number"), "events", ["project_id", "number"])
    op.create_table(
        "projects",
        sa.Column("modified_at", Moment(), nullable=True),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_projects_created_at_id"), "projects", ["created_at", "id"])
    op.create_table(
        "tombstones",
        sa.Column("run_id", Key, nullable=False),
        sa.Column("removed_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_tombstones")),
    )
    op.create_table(
        "datasets",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("transforms", sa.JSON(), nullable=False),
        sa.Column("filter", sa.JSON(), nullable=True),
        sa.Column("metric", sa.JSON(), nullable=True),
        sa.Column("template_path", sa.Text(), nullable=True),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_datasets_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_datasets_project_id_created_at_id"), "datasets", ["project_id", "created_at", "id"]
    )
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
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_models_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_models_project_id_created_at_id"), "models", ["project_id", "created_at", "id"]
    )
    op.create_index(op.f("ix_models_sha256"), "models", ["sha256"])
    op.create_table(
        "benchmarks",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("rerun_of", sa.Integer(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("modified_at", Moment(), nullable=True),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
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
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_benchmarks_dataset_id")
        ),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name=op.f("fk_benchmarks_model_id")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_benchmarks_project_id")
        ),
        sa.ForeignKeyConstraint(
            ["rerun_of"],
            ["benchmarks.id"],
            name=op.f("fk_benchmarks_rerun_of"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmarks")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_benchmarks_created_at_id"), "benchmarks", ["created_at", "id"])
    op.create_index(op.f("ix_benchmarks_dataset_id"), "benchmarks", ["dataset_id"])
    op.create_index(op.f("ix_benchmarks_model_id"), "benchmarks", ["model_id"])
    op.create_index(
        op.f("ix_benchmarks_project_id_created_at_id"),
        "benchmarks",
        ["project_id", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_fingerprint"),
        "benchmarks",
        ["project_id", "fingerprint"],
        unique=True,
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_name_key_id"), "benchmarks", ["project_id", "name_key", "id"]
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_state_created_at_id"),
        "benchmarks",
        ["project_id", "state", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_state_id"),
        "benchmarks",
        ["project_id", "state", "id"],
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_typical_s_id"),
        "benchmarks",
        ["project_id", "typical_s", "id"],
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_last_run_at_id"),
        "benchmarks",
        ["project_id", "last_run_at", "id"],
    )
    op.create_index(
        op.f("ix_benchmarks_project_id_throughput_per_s_id"),
        "benchmarks",
        ["project_id", "throughput_per_s", "id"],
    )
    op.create_index(op.f("ix_benchmarks_rerun_of"), "benchmarks", ["rerun_of"])
    op.create_table(
        "comparisons",
        sa.Column("a_model_id", sa.Integer(), nullable=False),
        sa.Column("b_model_id", sa.Integer(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
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
        sa.ForeignKeyConstraint(
            ["a_model_id"], ["models.id"], name=op.f("fk_comparisons_a_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["b_model_id"], ["models.id"], name=op.f("fk_comparisons_b_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_comparisons_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparisons")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_comparisons_a_model_id"), "comparisons", ["a_model_id"])
    op.create_index(op.f("ix_comparisons_b_model_id"), "comparisons", ["b_model_id"])
    op.create_index(op.f("ix_comparisons_created_at_id"), "comparisons", ["created_at", "id"])
    op.create_index(
        op.f("ix_comparisons_project_id_created_at_id"),
        "comparisons",
        ["project_id", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_comparisons_project_id_fingerprint"),
        "comparisons",
        ["project_id", "fingerprint"],
        unique=True,
    )
    op.create_index(
        op.f("ix_comparisons_project_id_name_key_id"),
        "comparisons",
        ["project_id", "name_key", "id"],
    )
    op.create_index(
        op.f("ix_comparisons_project_id_state_created_at_id"),
        "comparisons",
        ["project_id", "state", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_comparisons_project_id_state_id"),
        "comparisons",
        ["project_id", "state", "id"],
    )
    op.create_index(
        op.f("ix_comparisons_project_id_typical_s_id"),
        "comparisons",
        ["project_id", "typical_s", "id"],
    )
    op.create_index(
        op.f("ix_comparisons_project_id_last_run_at_id"),
        "comparisons",
        ["project_id", "last_run_at", "id"],
    )
    op.create_index(
        op.f("ix_comparisons_project_id_throughput_per_s_id"),
        "comparisons",
        ["project_id", "throughput_per_s", "id"],
    )
    op.create_table(
        "optimizations",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("target_precision", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("modified_at", Moment(), nullable=True),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
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
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_optimizations_dataset_id")
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_optimizations_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_optimizations_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_optimizations")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_optimizations_created_at_id"), "optimizations", ["created_at", "id"])
    op.create_index(op.f("ix_optimizations_dataset_id"), "optimizations", ["dataset_id"])
    op.create_index(op.f("ix_optimizations_model_id"), "optimizations", ["model_id"])
    op.create_index(
        op.f("ix_optimizations_project_id_created_at_id"),
        "optimizations",
        ["project_id", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_optimizations_project_id_name_key_id"),
        "optimizations",
        ["project_id", "name_key", "id"],
    )
    op.create_index(
        op.f("ix_optimizations_project_id_state_created_at_id"),
        "optimizations",
        ["project_id", "state", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_optimizations_project_id_state_id"),
        "optimizations",
        ["project_id", "state", "id"],
    )
    op.create_index(
        op.f("ix_optimizations_project_id_typical_s_id"),
        "optimizations",
        ["project_id", "typical_s", "id"],
    )
    op.create_index(
        op.f("ix_optimizations_project_id_last_run_at_id"),
        "optimizations",
        ["project_id", "last_run_at", "id"],
    )
    op.create_index(
        op.f("ix_optimizations_project_id_throughput_per_s_id"),
        "optimizations",
        ["project_id", "throughput_per_s", "id"],
    )
    op.create_table(
        "profiles",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("modified_at", Moment(), nullable=True),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", Key, nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("state", Key, nullable=False),
        sa.Column("last_run_at", Moment(), nullable=True),
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
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_profiles_dataset_id")
        ),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name=op.f("fk_profiles_model_id")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_profiles_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profiles")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_profiles_created_at_id"), "profiles", ["created_at", "id"])
    op.create_index(op.f("ix_profiles_dataset_id"), "profiles", ["dataset_id"])
    op.create_index(op.f("ix_profiles_model_id"), "profiles", ["model_id"])
    op.create_index(
        op.f("ix_profiles_project_id_created_at_id"), "profiles", ["project_id", "created_at", "id"]
    )
    op.create_index(
        op.f("ix_profiles_project_id_name_key_id"), "profiles", ["project_id", "name_key", "id"]
    )
    op.create_index(
        op.f("ix_profiles_project_id_state_created_at_id"),
        "profiles",
        ["project_id", "state", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_profiles_project_id_state_id"), "profiles", ["project_id", "state", "id"]
    )
    op.create_index(
        op.f("ix_profiles_project_id_typical_s_id"), "profiles", ["project_id", "typical_s", "id"]
    )
    op.create_index(
        op.f("ix_profiles_project_id_last_run_at_id"),
        "profiles",
        ["project_id", "last_run_at", "id"],
    )
    op.create_index(
        op.f("ix_profiles_project_id_throughput_per_s_id"),
        "profiles",
        ["project_id", "throughput_per_s", "id"],
    )
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
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_cells_benchmark_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("benchmark_id", "number", name=op.f("pk_cells")),
    )
    op.create_index(op.f("ix_cells_engine_benchmark_id"), "cells", ["engine", "benchmark_id"])
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
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_notes_benchmark_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["comparison_id"],
            ["comparisons.id"],
            name=op.f("fk_notes_comparison_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_notes_dataset_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_notes_model_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_notes_optimization_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["profiles.id"], name=op.f("fk_notes_profile_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_notes_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notes")),
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
        sa.ForeignKeyConstraint(
            ["benchmark_id"], ["benchmarks.id"], name=op.f("fk_pins_benchmark_id")
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_pins_optimization_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("optimization_id", "kind", name=op.f("pk_pins")),
    )
    op.create_index(op.f("ix_pins_benchmark_id"), "pins", ["benchmark_id"])
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
        sa.CheckConstraint(
            _one_of("benchmark_id", "comparison_id", "optimization_id", "profile_id"),
            name=op.f("ck_runs_of_one"),
        ),
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_runs_benchmark_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["comparison_id"],
            ["comparisons.id"],
            name=op.f("fk_runs_comparison_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["optimization_id"],
            ["optimizations.id"],
            name=op.f("fk_runs_optimization_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["profiles.id"], name=op.f("fk_runs_profile_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_runs_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(
        op.f("ix_runs_benchmark_id_created_at_id"), "runs", ["benchmark_id", "created_at", "id"]
    )
    op.create_index(
        op.f("ix_runs_comparison_id_created_at_id"), "runs", ["comparison_id", "created_at", "id"]
    )
    op.create_index(op.f("ix_runs_created_at_id"), "runs", ["created_at", "id"])
    op.create_index(
        op.f("ix_runs_optimization_id_created_at_id"),
        "runs",
        ["optimization_id", "created_at", "id"],
    )
    op.create_index(
        op.f("ix_runs_profile_id_created_at_id"), "runs", ["profile_id", "created_at", "id"]
    )
    op.create_index(
        op.f("ix_runs_project_id_created_at_id"), "runs", ["project_id", "created_at", "id"]
    )
    op.create_index(op.f("ix_runs_state"), "runs", ["state"])
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
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_cell_outcomes_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_cell_outcomes")),
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
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_jobs_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("run_id", name=op.f("uq_jobs_run_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_jobs_queued_at_id"), "jobs", ["queued_at", "id"])
    op.create_index(
        op.f("ix_jobs_state_priority_position"), "jobs", ["state", "priority", "position"]
    )
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
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_profile_rows_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_profile_rows")),
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
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_trials_model_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_trials_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_trials")),
    )
    op.create_index(op.f("ix_trials_model_id"), "trials", ["model_id"])
    op.create_table(
        "core_leases",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("core", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", Long, nullable=False),
        sa.Column("taken_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_core_leases_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("host", "core", name=op.f("pk_core_leases")),
    )
    op.create_index(op.f("ix_core_leases_job_id"), "core_leases", ["job_id"])


def downgrade() -> None:
    op.drop_table("core_leases")
    op.drop_table("trials")
    op.drop_table("profile_rows")
    op.drop_table("jobs")
    op.drop_table("cell_outcomes")
    op.drop_table("runs")
    op.drop_table("pins")
    op.drop_table("notes")
    op.drop_table("cells")
    op.drop_table("profiles")
    op.drop_table("optimizations")
    op.drop_table("comparisons")
    op.drop_table("benchmarks")
    op.drop_table("models")
    op.drop_table("datasets")
    op.drop_table("tombstones")
    op.drop_table("projects")
    op.drop_table("events")
