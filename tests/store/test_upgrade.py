"""A workspace of an earlier version: opened, nothing is lost, and it goes on as before."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from modeldyno.core.cell_axes import NAMES
from modeldyno.core.ids import RunId
from modeldyno.core.notes import Subject, subject_kinds
from modeldyno.core.runs import LARGEST_PAGE, ListQuery
from modeldyno.store import schema
from modeldyno.store.database import FILE, open_database
from modeldyno.store.documents import REVISION
from modeldyno.store.history import History
from modeldyno.store.indexing import RunIndex
from modeldyno.store.rebuilding import Rebuilding
from modeldyno.store.records.all import Records, open_all_records
from modeldyno.store.tables import CELLS, RUNNABLES, RUNS
from tests.fixtures.workspaces import restore_postgresql, unpack

OLD = "0009"  # what the frozen workspace was written with
EVERYTHING = ListQuery(limit=LARGEST_PAGE)


@pytest.fixture(params=["sqlite", "postgresql"])
def frozen(request, tmp_path) -> tuple[Path, str | None]:
    """The frozen workspace, and where its database is."""
    if request.param == "sqlite":
        return unpack(tmp_path), None
    url = request.getfixturevalue("new_postgresql")()
    workspace = unpack(tmp_path, is_sqlite=False)
    restore_postgresql(workspace, url)
    return workspace, url


@pytest.fixture
def records(frozen):
    records = open_all_records(open_database(*frozen))
    yield records
    records.close()


@pytest.mark.usefixtures("starts_processes")
def test_a_repeated_command_lands_where_it_did_before(records, frozen):
    """The same spec in a new folder, as a terminal of this version writes it."""
    history = History(frozen[0] / "runs")
    index = RunIndex(records.database, history)
    index.index_changed_runs()
    known = {run.id: run.of for run in records.runs.page(EVERYTHING).items}
    finished = [run_id for run_id in history.list_ids() if history.read(run_id).result is not None]
    repeated = {}
    for place, run_id in enumerate(id_ for id_ in finished if is_of_terminal(records, id_)):
        again = RunId(f"20991231-235959-{place:06x}")
        copy_run(frozen[0] / "runs", run_id, again)
        repeated[again] = known[run_id]
    assert {of.kind for of in repeated.values()} == {"benchmark", "comparison", "profile"}
    assert set(index.index_changed_runs().added) == set(repeated)
    assert {run_id: records.runs.get(run_id).of for run_id in repeated} == repeated


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from modeldyno.store.database import open_database

def on_step(step):
    if step.number == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

@contextmanager
def upgrading():
    yield on_step

open_database(Path(sys.argv[2]), sys.argv[3] or None, upgrading=upgrading)
"""


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_upgrade_that_was_killed_at_any_step_is_done_by_the_next_start(frozen, step):
    workspace, url = frozen
    argv = [sys.executable, "-c", KILLED, str(step), str(workspace), url or ""]
    assert subprocess.run(argv, check=False).returncode == -signal.SIGKILL
    records = open_all_records(open_database(*frozen))
    assert len(records.runs.page(EVERYTHING).items) > 10
    records.close()


def is_of_terminal(records: Records, run_id: RunId) -> bool:
    project = records.projects.named("Terminal")
    assert project is not None
    return records.runs.get(run_id).project_id == project.id and not records.jobs.find_of_run(
        run_id
    )


def copy_run(root: Path, run_id: RunId, again: RunId) -> None:
    shutil.copytree(root / run_id, root / again)
    result = root / again / "result.json"
    document = json.loads(result.read_text())
    result.write_text(json.dumps(document | {"run_id": again}))


def test_the_number_of_one_that_was_deleted_before_is_not_given_again(records):
    first = records.benchmarks.page(EVERYTHING).items[0]
    deleted = records.benchmarks.rerun(first.id)
    records.benchmarks.delete(deleted.id)
    schema.migrate_to(records.database.engine, OLD)
    schema.migrate_to(records.database.engine, "head")
    assert records.benchmarks.rerun(first.id).id == deleted.id + 1


def test_a_step_down_and_up_keeps_everything(records):
    before = everything(records)
    schema.migrate_to(records.database.engine, OLD)
    schema.migrate_to(records.database.engine, "head")
    assert everything(records) == before


def test_old_documents_say_the_same_before_and_after_they_are_written_anew(records, frozen):
    rebuilding = Rebuilding(records.database, History(frozen[0] / "runs"))
    before, outlines_before = documents(records), outlines(records)
    assert revisions(records) == {1}
    assert rebuilding.rewrite_old_documents() > 0
    assert revisions(records) == {REVISION}
    assert rebuilding.rewrite_old_documents() == 0
    after = documents(records)
    assert before.keys() == after.keys()
    for name, cells in before.items():
        for old, new in zip(cells, after[name], strict=True):
            assert figures(old) == figures(new), name
    # Old rows do not have sizes of open dimensions; run folders do.
    outlines_after = outlines(records)
    assert [sizes for outline in outlines_before if (sizes := outline["axes"].pop("dims"))] == []
    sizes_after = [outline["axes"].pop("dims") for outline in outlines_after]
    assert [sizes for sizes in sizes_after if sizes] == [{"batch": [4]}]
    assert outlines_after == outlines_before


def test_documents_whose_run_folder_is_gone_keep_what_their_rows_have(records, tmp_path):
    before = documents(records)
    Rebuilding(records.database, History(tmp_path / "nothing")).rewrite_old_documents()
    assert revisions(records) == {REVISION}
    assert documents(records) == before


def outlines(records: Records) -> list[Any]:
    return [json.loads(row.outline_json) for row in records.benchmarks.page(EVERYTHING).items]


def revisions(records: Records) -> set[int]:
    with records.database.reading() as connection:
        return {
            revision
            for table in (RUNNABLES, RUNS, CELLS)
            for revision in connection.scalars(select(table.c.revision))
        }


def documents(records: Records) -> dict[str, list[Any]]:
    """Of cells, by the name of their benchmark or run; and the summaries, as lists of one."""
    shown = {}
    for row in records.benchmarks.page(EVERYTHING, with_cells=True).items:
        shown[f"benchmark {row.id}"] = [json.loads(text) for text in row.cells.documents]
        shown[f"summary {row.id}"] = [json.loads(row.summary_json)]
    for run in records.runs.page(EVERYTHING).items:
        shown[f"run {run.id}"] = [json.loads(text) for text in records.runs.cells(run.id)]
        shown[f"summary of {run.id}"] = [json.loads(run.summary_json)]
    return shown


def figures(document: dict[str, Any]) -> dict[str, Any]:
    """What rows of both versions have."""
    levels = document["latency_ms"] or {}
    error = document.get("error") or {}
    return {
        **{name: levels[name]["value"] for name in ("typical", "floor") if levels.get(name)},
        **{name: document[name] for name in NAMES if name not in ("streams", "dims")},
        **{name: document[name] for name in ("items", "noise", "noise_reasons")},
        "throughput": (document["throughput_per_s"] or {}).get("value"),
        "peak_memory_bytes": document["peak_memory_bytes"],
        "code": error.get("code"),
    }


def everything(records: Records) -> dict[str, object]:
    runs = records.runs.page(EVERYTHING).items
    nouns: tuple[Any, ...] = (
        records.benchmarks,
        records.comparisons,
        records.optimizations,
        records.profiles,
    )
    lines = [line for noun in nouns for line in noun.page(EVERYTHING).items]
    details = [noun.details(line.id) for noun in nouns for line in noun.page(EVERYTHING).items]
    projects = records.projects.page(EVERYTHING).items
    assert runs
    assert lines
    return {
        "lines": lines,
        "details": details,
        "outcomes": [records.benchmarks.outcomes(project.id) for project in projects],
        "runs": runs,
        "cells": [records.runs.cells(run.id) for run in runs],
        "trials": [records.optimizations.trials(run.id) for run in runs],
        "notes": [
            records.notes.get(Subject(kind, line.id))
            for kind in subject_kinds()
            for line in getattr(records, f"{kind}s").page(EVERYTHING).items
        ],
        "jobs": records.jobs.page(EVERYTHING).items,
        "projects": projects,
    }


def test_the_old_file_lies_beside_the_new_one(tmp_path):
    workspace = unpack(tmp_path)
    open_database(workspace).close()
    with closing(sqlite3.connect(workspace / f"{FILE}.{OLD}.bak")) as copy:
        assert copy.execute("SELECT count(*) FROM benchmarks").fetchone()[0] > 0
        assert copy.execute("SELECT version_num FROM modeldyno_version").fetchone() == (OLD,)
