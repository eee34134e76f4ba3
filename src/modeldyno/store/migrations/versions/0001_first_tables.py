"""The first tables."""

import re
from typing import Any

import sqlalchemy as sa
from alembic import op

from modeldyno.store.columns import MIGRATION_TYPES

revision = "0001"
down_revision = None

_NAMED = "id:int! name:text! name_key:key! created_at:moment! "
_FIGURES = (  # of the latest run
    "engine:text device:text precision:text batch_size:int cores:int instances:int floor_s:real "
    "typical_s:real throughput_per_s:real noise:text accuracy:real verdict:text ratio:real "
    "ratio_low:real ratio_high:real"
)
_NOTED = (
    "project_id", "model_id", "dataset_id", "benchmark_id", "comparison_id", "optimization_id",
    "profile_id",
)  # fmt: skip
_SORTED_BY = (
    "created_at", "name_key", "state", "typical_s", "last_run_at", "throughput_per_s"
)  # fmt: skip
_COLUMN = re.compile(r"(\w+):(\w+)(!?)(?:(>|>>|[?]>)(\w+))?")
_ON_DELETE = {">": None, ">>": "CASCADE", "?>": "SET NULL"}


def _create_table(
    table: str, key: str, words: str, one_of: tuple[str, ...] = (), unique: tuple[str, ...] = ()
) -> None:
    """A column is ``name:type``, with ``!`` where there must be a value, and ``>table`` for a
    reference: with ``>>table`` it is deleted with its target, with ``?>table`` cleared then."""
    columns, targets = [], []
    for name, kind, required, arrow, target in _COLUMN.findall(words):
        counts = key == name and kind in ("int", "long")
        is_number = kind == "int" and name in key.split() and not target
        auto: Any = {"autoincrement": counts} if counts or is_number else {}
        columns.append(sa.Column(name, MIGRATION_TYPES[kind], nullable=not required, **auto))
        if arrow:
            targets.append((name, f"{target}.id", _ON_DELETE[arrow]))
    # Constraints are written in the order in which they are made here.
    parts: list[Any] = []
    if one_of:
        count = " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in one_of)
        parts.append(sa.CheckConstraint(f"{count} = 1", name=op.f(f"ck_{table}_of_one")))
    for name, target, ondelete in sorted(targets):
        reference = op.f(f"fk_{table}_{name}")
        parts.append(sa.ForeignKeyConstraint([name], [target], reference, ondelete=ondelete))
    parts.append(sa.PrimaryKeyConstraint(*key.split(), name=op.f(f"pk_{table}")))
    parts += [sa.UniqueConstraint(name, name=op.f(f"uq_{table}_{name}")) for name in unique]
    counts = any(column.autoincrement is True for column in columns)
    op.create_table(table, *columns, *parts, sqlite_autoincrement=counts)


def _create_indexes(table: str, *keys: str, unique: bool = False) -> None:
    for key in keys:
        columns = key.split()
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns, unique=unique)


def _create_list_indexes(table: str) -> None:
    """One for each way to sort a project's list, and for the list of all projects."""
    _create_indexes(table, "created_at id", "project_id state created_at id")
    _create_indexes(table, *(f"project_id {column} id" for column in _SORTED_BY))


def upgrade() -> None:
    _create_table(
        "events",
        "number",
        "number:long! kind:text! project_id:int payload:json! created_at:moment!",
    )
    _create_indexes("events", "project_id number")
    _create_table("projects", "id", f"modified_at:moment {_NAMED}")
    _create_indexes("projects", "created_at id")
    _create_table("tombstones", "run_id", "run_id:key! removed_at:moment!")
    _create_table(
        "datasets",
        "id",
        "kind:text! parameters:json! transforms:json! filter:json metric:json template_path:text "
        f"{_NAMED} project_id:int!>projects",
    )
    _create_indexes("datasets", "project_id created_at id")
    _create_table(
        "models",
        "id",
        "path:text! format:text sha256:hash size_bytes:long framework:text! precision:text! "
        "domain:text! origin:text! source:text! facts:json trusted_at:moment trust_reason:text! "
        f"{_NAMED} project_id:int!>projects",
    )
    _create_indexes("models", "project_id created_at id", "sha256")
    _create_table(
        "benchmarks",
        "id",
        "model_id:int!>models dataset_id:int>datasets mode:text! spec:json! "
        "rerun_of:int?>benchmarks fingerprint:hash modified_at:moment "
        f"{_NAMED} project_id:int!>projects state:key! last_run_at:moment {_FIGURES}",
    )
    _create_list_indexes("benchmarks")
    _create_indexes("benchmarks", "dataset_id", "model_id")
    _create_indexes("benchmarks", "project_id fingerprint", unique=True)
    _create_indexes("benchmarks", "rerun_of")
    _create_table(
        "comparisons",
        "id",
        "a_model_id:int!>models b_model_id:int!>models spec:json! fingerprint:hash "
        f"{_NAMED} project_id:int!>projects state:key! last_run_at:moment {_FIGURES}",
    )
    _create_indexes("comparisons", "a_model_id", "b_model_id")
    _create_list_indexes("comparisons")
    _create_indexes("comparisons", "project_id fingerprint", unique=True)
    _create_table(
        "optimizations",
        "id",
        "model_id:int!>models dataset_id:int>datasets type:text! target_precision:text! "
        "settings:json! modified_at:moment "
        f"{_NAMED} project_id:int!>projects state:key! last_run_at:moment {_FIGURES}",
    )
    _create_list_indexes("optimizations")
    _create_indexes("optimizations", "dataset_id", "model_id")
    _create_table(
        "profiles",
        "id",
        "model_id:int!>models dataset_id:int>datasets settings:json! modified_at:moment "
        f"{_NAMED} project_id:int!>projects state:key! last_run_at:moment {_FIGURES}",
    )
    _create_list_indexes("profiles")
    _create_indexes("profiles", "dataset_id", "model_id")
    _create_table(
        "cells",
        "benchmark_id number",
        "benchmark_id:int!>>benchmarks number:int! engine:key! device:text! precision:text "
        "batch_size:int! cores:int! instances:int!",
    )
    _create_indexes("cells", "engine benchmark_id")
    _create_table(
        "notes",
        "id",
        "id:int! project_id:int>>projects model_id:int>>models dataset_id:int>>datasets "
        "benchmark_id:int>>benchmarks comparison_id:int>>comparisons "
        "optimization_id:int>>optimizations profile_id:int>>profiles text:text! version:int! "
        "modified_at:moment!",
        one_of=_NOTED,
        unique=tuple(sorted(_NOTED)),
    )
    _create_table(
        "pins",
        "optimization_id kind",
        "optimization_id:int!>>optimizations kind:text! benchmark_id:int!>benchmarks",
    )
    _create_indexes("pins", "benchmark_id")
    _create_table(
        "runs",
        "id",
        "id:key! project_id:int!>projects benchmark_id:int>>benchmarks "
        "comparison_id:int>>comparisons optimization_id:int>>optimizations "
        "profile_id:int>>profiles kind:text! state:key! spec:json! created_at:moment! "
        "started_at:moment finished_at:moment tool_version:text failure:json stamp:long "
        f"{_FIGURES}",
        one_of=("benchmark_id", "comparison_id", "optimization_id", "profile_id"),
    )
    _create_indexes(
        "runs",
        "benchmark_id created_at id",
        "comparison_id created_at id",
        "created_at id",
        "optimization_id created_at id",
        "profile_id created_at id",
        "project_id created_at id",
        "state",
    )
    _create_table(
        "cell_outcomes",
        "run_id number",
        "run_id:key!>>runs number:int! status:text! engine:text! device:text! precision:text "
        "batch_size:int! cores:int! instances:int! floor_s:real typical_s:real "
        "throughput_per_s:real noise:text error_code:text",
    )
    _create_table(
        "jobs",
        "id",
        "id:int! run_id:key!>>runs state:key! priority:int! position:int! reason:text! "
        "attempts:int! owner_host:text owner_boot_id:text owner_pid:int owner_started:long "
        "queued_at:moment! started_at:moment finished_at:moment",
        unique=("run_id",),
    )
    _create_indexes("jobs", "queued_at id", "state priority position")
    _create_table(
        "profile_rows",
        "run_id number",
        "run_id:key!>>runs number:int! node:text! op_type:key! total_s:real! cpu_s:real "
        "accelerator_s:real calls:int! defined:int!",
    )
    _create_table(
        "trials",
        "run_id number",
        "run_id:key!>>runs number:int! status:text! created_at:moment! settings:json! "
        "model_id:int?>models accuracy:real typical_s:real size_bytes:long is_best:bool! "
        "failure:json",
    )
    _create_indexes("trials", "model_id")
    _create_table(
        "core_leases",
        "host core",
        "host:text! core:int! job_id:int!>>jobs boot_id:text! pid:int! started:long! "
        "taken_at:moment!",
    )
    _create_indexes("core_leases", "job_id")


def downgrade() -> None:
    for table in (
        "core_leases", "trials", "profile_rows", "jobs", "cell_outcomes", "runs", "pins",
        "notes", "cells", "profiles", "optimizations", "comparisons", "benchmarks",
        "models", "datasets", "tombstones", "projects", "events",
    ):  # fmt: skip
        op.drop_table(table)
