"""``modeldyno reindex``: rows of runs from their folders, and the exit code of a check."""

import pytest
from sqlalchemy import update

import modeldyno
from modeldyno.settings import Settings
from modeldyno.store.database import open_database
from modeldyno.store.tables import RUNS
from modeldyno.workbench import open_records
from tests import schemas
from tests.scripts import script


@pytest.mark.usefixtures("starts_processes")
def test_rows_are_checked_and_rebuilt(typed, tmp_path):
    workspace = tmp_path / "workspace"
    run_id = modeldyno.bench(script(tmp_path / "m.json"), iterations=5, workspace=workspace).run_id
    place = ("--workspace", workspace)
    ended = typed("reindex", "--check", "--json", *place)
    assert (ended.code, ended.document["missing"]) == (1, [run_id])
    assert typed("reindex", *place).err == "1 run checked, 1 rebuilt\n"
    database = open_database(workspace)
    with database.writing() as connection:
        connection.execute(update(RUNS).values(document="{}"))
    database.close()
    ended = typed("reindex", "--check", "--json", *place)
    schemas.check("reindex", ended.document)
    assert (ended.code, ended.document["different"]) == (1, [run_id])
    assert typed("reindex", "--json", *place).code == 0
    ended = typed("reindex", "--check", *place)
    assert (ended.code, ended.err) == (0, "1 run checked, 0 differ\n")
    records = open_records(Settings(workspace))
    assert records.runs.get(run_id).summary.latency_ms is not None
    records.close()
