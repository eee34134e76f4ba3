"""Opening a database: made, migrated, backed up, or refused in words that help."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Connection, Integer, inspect, select, text
from sqlalchemy.exc import OperationalError

from modeldyno.core.benchmarks import NewComparison
from modeldyno.core.codec import encode
from modeldyno.core.errors import (
    DatabaseBusy,
    DatabaseUnusable,
    SchemaTooNew,
    StorageFailed,
    WorkspaceUnusable,
)
from modeldyno.core.models import NewModel
from modeldyno.core.notes import Subject
from modeldyno.core.runs import ListQuery, RunOf
from modeldyno.core.specs import CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.settings import Settings
from modeldyno.store import schema
from modeldyno.store.database import CONNECTIONS, FILE, Database, open_database
from modeldyno.store.records.all import open_all_records
from modeldyno.store.statements import fetch_rows
from modeldyno.store.tables import METADATA, PROJECTS, SIGN_INS
from modeldyno.workbench import open_records


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path) -> tuple[Path, str | None]:
    """Where a database may be, and none is yet."""
    if request.param == "sqlite":
        return tmp_path, None
    return tmp_path, request.getfixturevalue("new_postgresql")()


@pytest.fixture
def fresh(place):
    database = open_database(*place)
    yield database
    database.close()


# ---------------------------------------------------------------- migrations


@pytest.mark.usefixtures("starts_processes")
def test_the_newest_migration_is_the_one_we_check_for(fresh):
    with fresh.engine.connect() as connection:
        assert schema.read_revision(connection) == schema.newest_revision()


@pytest.mark.usefixtures("starts_processes")
def test_migrations_make_the_tables_as_they_are_written(fresh):
    """A new database gets them at once, one of an earlier version by migrations."""
    created = describe_tables(fresh)
    schema.migrate_to(fresh.engine, "base")
    assert tables(fresh) == set()
    schema.migrate_to(fresh.engine, "head")
    assert describe_tables(fresh) == created
    with fresh.engine.connect() as connection:
        options = {"version_table": schema.VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, METADATA) == []


def describe_tables(database: Database) -> dict[str, object]:
    """Of each table, everything that the database knows, in an order of our own."""
    inspected = inspect(database.engine)
    return {
        name: {
            "columns": sorted(map(str, inspected.get_columns(name))),
            "primary key": inspected.get_pk_constraint(name),
            "foreign keys": sorted(map(str, inspected.get_foreign_keys(name))),
            "unique": sorted(map(str, inspected.get_unique_constraints(name))),
            "checks": sorted(map(str, inspected.get_check_constraints(name))),
            "indexes": sorted(map(str, inspected.get_indexes(name))),
        }
        for name in inspected.get_table_names()
    }


def tables(database: Database) -> set[str]:
    return set(inspect(database.engine).get_table_names()) - {schema.VERSION_TABLE}


def test_migrations_go_down_and_up_again(fresh):
    open_all_records(fresh).projects.add("x")
    schema.migrate_to(fresh.engine, "base")
    assert tables(fresh) == set()
    schema.migrate_to(fresh.engine, "head")
    assert tables(fresh) == set(METADATA.tables)
    assert open_all_records(fresh).projects.page().items == ()
    assert open_all_records(fresh).projects.add("y").id == 1


def test_a_step_down_and_up_keeps_comparisons_and_their_numbers(fresh):
    """Its table is made anew on SQLite: what refers to it stays, and no number is used again."""
    records = open_all_records(fresh)
    project = records.projects.add("x").id
    model = records.models.add(NewModel(project_id=project, name="m", path="m.onnx")).id
    side = SideSpec("m", ModelSpec("m.onnx"), CellSpec())
    new = NewComparison(
        project_id=project,
        a_model_id=model,
        b_model_id=model,
        name="c",
        spec=ComparisonSpec(side, side),
    )
    first = records.comparisons.add(new)
    run = records.runs.add(RunOf("comparison", first.id), encode(new.spec))
    again = records.comparisons.rerun(first.id)
    last = records.comparisons.add(new)
    records.comparisons.delete(last.id)
    schema.migrate_to(fresh.engine, "0002")
    schema.migrate_to(fresh.engine, "head")
    assert records.comparisons.get(again.id) == replace(again, rerun_of=None)
    assert records.runs.get(run.id).of.id == first.id
    assert records.comparisons.add(new).id == last.id + 1
    records.comparisons.delete(records.comparisons.rerun(again.id).id)
    records.comparisons.delete(again.id)


def test_opening_again_keeps_what_is_there_and_loads_no_alembic(place):
    first = open_database(*place)
    project = open_all_records(first).projects.add("x")
    first.close()
    again = open_database(*place)
    assert open_all_records(again).projects.get(project.id) == project
    again.close()


def test_a_newer_schema_is_refused_and_left_alone(place):
    database = open_database(*place)
    with database.writing() as connection:
        connection.execute(text("UPDATE modeldyno_version SET version_num = '9999'"))
    with pytest.raises(SchemaTooNew, match="newer version of Modeldyno") as refusal:
        open_database(*place)
    assert "9999" in refusal.value.why
    assert "pip install -U modeldyno" in refusal.value.fix
    with database.reading() as connection:
        assert schema.read_revision(connection) == "9999"
    database.close()


def test_a_database_of_somebody_else_is_refused(place):
    database = open_database(*place)
    with database.writing() as connection:
        connection.execute(text("DROP TABLE modeldyno_version"))
    with pytest.raises(DatabaseUnusable, match="another program"):
        open_database(*place)
    database.close()


def test_a_migration_that_fails_leaves_everything_as_it_was(place, monkeypatch):
    """In both databases: changes of tables are part of the transaction."""
    database = open_database(*place)
    schema.migrate_to(database.engine, "0001")
    old = describe_tables(database)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_run_alembic", explode_after(schema._run_alembic))
        with pytest.raises(RuntimeError, match="the power went"):
            open_database(*place)
    assert describe_tables(database) == old
    database.close()
    database = open_database(*place)
    assert tables(database) == set(METADATA.tables)
    database.close()


def test_tables_that_cannot_all_be_created_leave_none(place, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(METADATA, "create_all", explode_after(METADATA.create_all))
        with pytest.raises(RuntimeError, match="the power went"):
            open_database(*place)
    database = open_database(*place)
    with database.engine.connect() as connection:
        assert schema.read_revision(connection) == schema.newest_revision()
    database.close()


def test_a_migration_that_rebuilds_a_table_keeps_what_refers_to_it(sqlite, monkeypatch):
    """SQLite would delete the parts of every row when the old table goes."""
    records = open_all_records(sqlite)
    subject = Subject("project", records.projects.add("x").id)
    note = records.notes.write(subject, "words")

    def rebuild(connection: Connection, *rest: object) -> None:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("projects", recreate="always") as batch:
            batch.add_column(Column("colour", Integer))

    monkeypatch.setattr(schema, "_run_alembic", rebuild)
    schema.migrate_to(sqlite.engine, "next")
    assert "colour" in {column["name"] for column in inspect(sqlite.engine).get_columns("projects")}
    assert records.notes.get(subject) == note
    with sqlite.writing() as connection:  # references are guarded again
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_a_migration_that_breaks_a_reference_is_undone(sqlite, monkeypatch):
    records = open_all_records(sqlite)
    project = records.projects.add("x")
    records.models.add(NewModel(project_id=project.id, name="m", path="m"))

    def lose(connection: Connection, *rest: object) -> None:
        connection.execute(text("DELETE FROM projects"))

    monkeypatch.setattr(schema, "_run_alembic", lose)
    with pytest.raises(AssertionError, match="a dangling reference"):
        schema.migrate_to(sqlite.engine, "next")
    assert records.projects.get(project.id) == project


def explode_after(do):
    def explode(*arguments):
        do(*arguments)
        raise RuntimeError("the power went")

    return explode


def test_processes_that_open_a_new_database_at_once_all_succeed(place):
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        numbers = pool.starmap(open_and_add, [place] * 4)
    assert sorted(numbers) == [1, 2, 3, 4]


def open_and_add(workspace: Path, url: str | None) -> int:
    database = open_database(workspace, url)
    try:
        return open_all_records(database).projects.add("x").id
    finally:
        database.close()


def test_a_new_file_that_somebody_else_is_making_is_waited_for(tmp_path):
    """SQLite itself does not wait here, however patient it is told to be."""
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_and_add, tmp_path, None)
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.3)
        other.execute("ROLLBACK")
        assert opening.result(timeout=30) == 1
    other.close()


def test_an_old_file_is_copied_before_it_is_changed(tmp_path):
    database = open_database(tmp_path)
    open_all_records(database).projects.add("kept")
    schema.migrate_to(database.engine, "base")
    database.close()
    with sqlite3.connect(tmp_path / f"{FILE}.{schema.newest_revision()}.bak") as copy:
        assert copy.execute("SELECT name FROM projects").fetchall() == [("kept",)]
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    assert not list(tmp_path.glob("*.new"))


def test_without_room_for_the_copy_nothing_is_changed(tmp_path):
    database = open_database(tmp_path)
    (tmp_path / f"{FILE}.{schema.newest_revision()}.bak").mkdir()
    with pytest.raises(WorkspaceUnusable, match="backup"):
        schema.migrate_to(database.engine, "base")
    assert tables(database) == set(METADATA.tables)
    database.close()


# ---------------------------------------------------------------- a file that is as we promise


def test_the_file_is_durable_and_guards_its_references(sqlite):
    with sqlite.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5000,
    }


def test_readers_do_not_wait_for_a_writer(sqlite):
    records = open_all_records(sqlite)
    records.projects.add("x")
    with sqlite.writing() as connection:
        connection.execute(text("UPDATE projects SET name = 'y'"))
        with ThreadPoolExecutor(1) as another:
            page = another.submit(records.projects.page).result()
        assert page.items[0].name == "x"
    assert records.projects.page().items[0].name == "y"


# ---------------------------------------------------------------- what cannot be used


def test_a_locked_file_is_told_as_busy(sqlite, tmp_path):
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    impatient = open_database(tmp_path, patience_s=0.05)
    with pytest.raises(DatabaseBusy, match="busy"):
        open_all_records(impatient).projects.add("x")
    other.execute("ROLLBACK")
    assert open_all_records(impatient).projects.add("x").id == 1
    other.close()
    impatient.close()


def test_a_locked_server_is_told_as_busy(fresh_postgresql):
    url, patient = fresh_postgresql
    impatient = open_database(Path(), url, patience_s=0.05)
    with patient.writing(), pytest.raises(DatabaseBusy, match="busy"):
        open_all_records(impatient).projects.add("x")
    assert open_all_records(impatient).projects.add("x").id == 1
    impatient.close()


@pytest.fixture
def fresh_postgresql(new_postgresql):
    url = new_postgresql()
    database = open_database(Path(), url)
    yield url, database
    database.close()


def test_a_server_that_went_away_is_told(fresh_postgresql):
    url, database = fresh_postgresql
    with database.reading() as connection:
        pid = connection.scalar(text("SELECT pg_backend_pid()"))
    other = open_database(Path(), url)

    def cut_off() -> None:
        with database.reading() as connection:
            mine = connection.scalar(text("SELECT pg_backend_pid()"))
            with other.reading() as second:
                second.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": mine})
            connection.scalar(text("SELECT 1"))

    with pytest.raises(DatabaseUnusable, match="Cannot use the database"):
        cut_off()
    assert pid
    assert open_all_records(database).projects.add("after").id == 1  # a new connection is made
    other.close()


def test_a_server_that_went_away_is_told_to_who_asks_the_driver_itself(fresh_postgresql):
    url, database = fresh_postgresql
    other = open_database(Path(), url)

    def cut_off() -> None:
        with database.reading() as connection:
            mine = connection.scalar(text("SELECT pg_backend_pid()"))
            with other.reading() as second:
                second.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": mine})
            fetch_rows(connection, select(PROJECTS))

    with pytest.raises(DatabaseUnusable, match="Cannot use the database"):
        cut_off()
    assert open_all_records(database).projects.page().items == ()  # a new connection is made
    other.close()


def test_a_damaged_file_is_told_to_who_asks_the_driver_itself(sqlite, tmp_path):
    with sqlite.writing() as connection:
        connection.execute(text("DROP TABLE sign_ins"))
    with pytest.raises(OperationalError, match="no such table"), sqlite.reading() as connection:
        fetch_rows(connection, select(SIGN_INS))
    sqlite.close()
    with (tmp_path / FILE).open("r+b") as file:
        file.seek(8192)
        file.write(b"?" * 200_000)
    with pytest.raises(DatabaseUnusable, match="damaged"):
        open_all_records(sqlite).projects.page()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nonsense", "cannot be read"),
        ("mysql://user:secret@host/db", "not 'mysql'"),
        ("sqlite://", "needs a file"),
        ("postgresql://u:secret@host:port/db", "cannot be read"),
    ],
)
def test_an_address_that_cannot_work_is_told_without_its_password(tmp_path, url, why):
    with pytest.raises(DatabaseUnusable, match=why) as refusal:
        open_database(tmp_path, url)
    assert "secret" not in str(refusal.value)
    assert "MODELDYNO_DATABASE_URL" in refusal.value.title


def test_a_server_that_does_not_answer_is_told_without_its_password(tmp_path):
    url = f"postgresql://user:secret@/db?host={tmp_path}"
    with pytest.raises(DatabaseUnusable, match="Cannot use the database") as refusal:
        open_database(tmp_path, url)
    assert "secret" not in str(refusal.value)
    assert "Check that the server is running" in refusal.value.fix


def test_a_database_that_is_not_on_the_server_is_told(new_postgresql, tmp_path):
    missing = new_postgresql().replace("modeldyno_test", "nowhere")
    with pytest.raises(DatabaseUnusable, match="Cannot use the database"):
        open_database(tmp_path, missing)


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path):
    (tmp_path / FILE).write_text("my diary\n" * 1000)
    with pytest.raises(DatabaseUnusable, match="not a Modeldyno database"):
        open_database(tmp_path)
    assert (tmp_path / FILE).read_text().startswith("my diary")


def test_a_workspace_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceUnusable, match="Cannot make the workspace folder"):
        open_database(tmp_path / "file" / "workspace")


READ_ONLY = """
import os, sys
from pathlib import Path
from modeldyno.core.errors import WorkspaceUnusable
from modeldyno.store.database import open_database
from modeldyno.store.records.all import open_all_records
import modeldyno.store.schema, alembic.command  # while we may still read them
if os.geteuid() == 0:
    os.setuid(65534)
try:
    open_all_records(open_database(Path(sys.argv[1]))).projects.add("x")
except WorkspaceUnusable as error:
    print(error.title)
"""


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("there", [True, False])
def test_a_workspace_that_may_not_be_written_is_told(empty_sqlite, there):
    """Not in ``tmp_path``: other users may not even look into that."""
    with TemporaryDirectory() as folder:
        workspace = Path(folder)
        if there:
            shutil.copy(empty_sqlite, workspace / FILE)
        workspace.chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        workspace.chmod(0o755)
    assert done.stdout == "Cannot write the database in the workspace\n", done.stderr


def test_a_full_disk_is_told_and_nothing_is_half_there(sqlite):
    records = open_all_records(sqlite)
    records.projects.add("x")
    with sqlite.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

    def fill() -> None:
        with sqlite.writing() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
            for n in range(1_000):
                connection.execute(
                    text(
                        "INSERT INTO projects (name, name_key, created_at) VALUES (:n, :n, '2026')"
                    ),
                    {"n": "x" * 2_000 + str(n)},
                )

    with pytest.raises(StorageFailed, match="no room"):
        fill()
    assert len(records.projects.page().items) == 1


def test_infinity_is_no_json_in_either_database(sqlite):
    with pytest.raises(ValueError, match="not JSON compliant"):
        schema.dump_json({"x": float("inf")})


WRITER = """
import sys
from pathlib import Path
from modeldyno.store.database import open_database
from modeldyno.store.records.all import open_all_records
records = open_all_records(open_database(Path(sys.argv[1]), sys.argv[2] or None))
while True:
    print(records.projects.add("x").id, flush=True)
"""


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("acknowledged", [1, 7, 23])
def test_what_was_acknowledged_survives_a_kill_at_any_moment(place, acknowledged):
    workspace, url = place
    open_database(*place).close()
    command = [sys.executable, "-c", WRITER, str(workspace), url or ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged_ids = [int(process.stdout.readline()) for _ in range(acknowledged)]
        process.kill()
        acknowledged_ids += [int(line) for line in process.stdout]
    records = open_all_records(open_database(*place))
    kept = {project.id for project in records.projects.page(ListQuery(limit=500)).items}
    assert set(acknowledged_ids) <= kept
    assert len(kept) == len(records.events.since(0).events)  # a row and its event, or neither
    if url is None:
        with records.database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    records.close()


# ---------------------------------------------------------------- put together


def test_settings_say_where_the_database_is(tmp_path):
    settings = Settings.read(tmp_path, {"MODELDYNO_DATABASE_URL": "postgresql://u:secret@h/d"})
    assert settings.database_url == "postgresql://u:secret@h/d"
    assert "secret" not in repr(settings)
    assert Settings.read(tmp_path, {}).database_url is None


def test_the_records_of_a_workspace_show_what_its_terminal_measured(terminal_runs):
    records = open_records(Settings(terminal_runs.parent))
    assert len(records.runs.page().items) == 4
    records.close()
    again = open_records(Settings(terminal_runs.parent))
    assert len(again.runs.page().items) == 4
    again.close()


# ---------------------------------------------------------------- steps of one transaction


def test_steps_of_one_thread_happen_together_or_not_at_all(sqlite):
    records = open_all_records(sqlite)

    def fail_after_two():
        with sqlite.writing():
            records.projects.add("x")
            records.projects.add("y")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_two()
    assert records.projects.page().items == ()
    assert records.events.last_number() == 0
    with sqlite.writing():
        records.projects.add("x")
        assert records.projects.page().items[0].name == "x"  # it sees its own steps
    assert len(records.projects.page().items) == 1


def test_as_many_read_at_once_as_a_server_has_threads(fresh):
    with ExitStack() as reading:
        connections = [reading.enter_context(fresh.reading()) for _ in range(CONNECTIONS)]
        assert [connection.scalar(text("SELECT 1")) for connection in connections] == [
            1
        ] * CONNECTIONS


def test_a_closed_file_is_open_nowhere(tmp_path):
    def opened():
        links = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        return [path for path in links if path.readlink().is_relative_to(tmp_path)]

    database = open_database(tmp_path)
    assert database.change_counter() is not None
    assert opened()
    closing = threading.Thread(target=database.close)  # whoever closes did not have to count
    closing.start()
    closing.join()
    assert opened() == []


def test_who_listens_for_commits_hears_of_whole_transactions(sqlite):
    records = open_all_records(sqlite)
    heard = []
    sqlite.add_write_listener(lambda: heard.append(len(records.projects.page().items)))
    with sqlite.writing():
        records.projects.add("x")
        records.projects.add("y")
        assert heard == []
    assert heard == [2]
    with pytest.raises(ZeroDivisionError), sqlite.writing():
        raise ZeroDivisionError
    assert heard == [2]
