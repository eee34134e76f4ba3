"""One table for whatever can be run, with links to what it uses; one row for each measured cell.

Numbers stay what they were. Figures that no list sorts or filters by move into a document, so that
a new figure needs no column. Fingerprints are made anew from the fields that matter.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from modeldyno.core.identity import fingerprint
from modeldyno.core.kinds import spec_from
from modeldyno.store.columns import MIGRATION_TYPES, Key

revision = "0010"
down_revision = "0009"

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}
_SURENESS = (
    "floor_low_s:real floor_high_s:real typical_low_s:real typical_high_s:real "
    "throughput_low_per_s:real throughput_high_per_s:real interval_level:real sessions:int "
    "samples:int noise:text noise_reasons:text peak_memory_bytes:long "
)
_SUMMARY = _SURENESS + (
    "engine:text device:text precision:text batch_size:int cores:int instances:int streams:int "
    "floor_s:real typical_s:real throughput_per_s:real accuracy:real verdict:text ratio:real "
    "ratio_low:real ratio_high:real "
)
_NAMED = "id:int! name:text! name_key:key! created_at:moment! project_id:int! "
_AXES = "device:text! precision:text batch_size:int! cores:int! instances:int! streams:int! "
_OUTCOME = (
    "run_id:key! number:int! status:text! engine:text! " + _AXES + _SURENESS + ""
    "floor_s:real typical_s:real throughput_per_s:real error_code:text error:json effective:json"
)
_KEPT = ("engine", "typical_s", "throughput_per_s")  # columns of runs that stay
_KINDS = ("benchmark", "comparison", "optimization", "profile")
_SORTED_BY = (
    "created_at", "state", "typical_s", "throughput_per_s", "last_run_at", "name_key"
)  # fmt: skip
# Fields that only one kind has, by the column that each was in.
_OWN = {
    "benchmark": {"spec": "spec", "mode": "mode"},
    "comparison": {"spec": "spec"},
    "optimization": {"type": "type", "precision": "target_precision", "settings": "settings"},
    "profile": {"settings": "settings"},
}
_ROLES = {"model_id": "model", "a_model_id": "a", "b_model_id": "b", "dataset_id": "dataset"}


def upgrade() -> None:
    """In statements about whole tables: the server listens only after this, and ten thousand rows
    that pass through Python take seconds."""
    bind = op.get_bind()
    new = _new_tables()
    write = _Json(bind.dialect.name)
    for name in ("runnables", "numbers", "links"):
        _create_bare(bind, new[name])
    for kind in _KINDS:
        _move_rows_of_kind(bind, write, kind)
    _create_indexes(bind, new["runnables"])
    _renew_fingerprints(bind)
    _move_pins(bind)
    _create_indexes(bind, new["links"])
    _advance_sequence(bind, "runnables", bind.scalar(sa.text("SELECT max(id) FROM runnables")) or 0)
    _move_runs(bind, write)
    _move_notes(bind)
    op.drop_table("pins")
    op.drop_table("cells")
    _create_bare(bind, new["cells"])
    _move_cells(bind, write, new["cells"])
    _create_indexes(bind, new["cells"])
    op.drop_table("cell_outcomes")
    for kind in reversed(_KINDS):
        op.drop_table(f"{kind}s")
    _name_latest_runs(bind)
    if bind.dialect.name == "postgresql":
        # Else it knows nothing of the new tables for a minute, and reads all rows for each list.
        bind.execute(sa.text("ANALYZE runnables, links, runs, cells"))


def downgrade() -> None:
    bind = op.get_bind()
    old, new = _old_tables(), _new_tables()
    for kind in _KINDS:
        old[f"{kind}s"].create(bind)
    numbers = _move_runnables_back(bind, old, new)
    for name in ("pins", "cell_outcomes"):
        old[name].create(bind)
    _insert_rows(bind, old["pins"], _old_pin_rows(bind, new, numbers))
    _insert_rows(
        bind, old["cell_outcomes"], _old_cell_rows(bind, old["cell_outcomes"], new["cells"])
    )
    op.drop_table("cells")
    old["cells"].create(bind)
    _insert_rows(bind, old["cells"], _old_request_rows(bind, new, numbers))
    _move_runs_back(bind, numbers)
    _move_notes_back(bind, numbers)
    for name in ("links", "numbers", "runnables"):
        op.drop_table(name)


# ---------------------------------------------------------------- tables


def _make_columns(words: str) -> Iterator[sa.Column[Any]]:
    """From ``name:type``, with ``!`` where there must be a value."""
    for word in words.split():
        name, _, kind = word.partition(":")
        yield sa.Column(name, MIGRATION_TYPES[kind.rstrip("!")], nullable=not kind.endswith("!"))


def _make_index(*columns: str, unique: bool = False) -> sa.Index:
    return sa.Index(None, *columns, unique=unique)


def _make_foreign_key(column: str, to: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], ondelete=ondelete)


def _exactly_one_sql(*columns: str) -> str:
    return " + ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END" for name in columns) + " = 1"


class _Tables(dict[str, sa.Table]):
    def __init__(self) -> None:
        super().__init__()
        self._metadata = sa.MetaData(naming_convention=_NAMES)
        for name in ("projects", "models", "datasets"):
            sa.Table(name, self._metadata, sa.Column("id", sa.Integer(), primary_key=True))
        sa.Table("runs", self._metadata, sa.Column("id", Key, primary_key=True))

    def add(self, name: str, words: str, key: tuple[str, ...], *parts: Any) -> None:
        columns = [*_make_columns(words)]
        for column in columns:
            column.primary_key = column.name in key
            column.autoincrement = key == ("id",) and column.name == "id"
        counts = key == ("id",)
        self[name] = sa.Table(name, self._metadata, *columns, *parts, sqlite_autoincrement=counts)


def _new_tables() -> _Tables:
    tables = _Tables()
    tables.add(
        "runnables",
        _NAMED + "kind:key! number:int! modified_at:moment spec:json! outline:text! "
        "fingerprint:hash rerun_of:int state:key! last_run_at:moment engine:text typical_s:real "
        "throughput_per_s:real document:text! latest_run_id:key shown_run_id:key "
        "measured_run_id:key",
        ("id",),
        _make_foreign_key("project_id", "projects"),
        _make_index("kind", "number", unique=True),
        _make_index("project_id", "kind", "fingerprint", unique=True),
        _make_index("kind", "rerun_of"),
        _make_index("kind", "created_at", "number"),
        _make_index("project_id", "kind", "state", "created_at", "number"),
        *(_make_index("project_id", "kind", column, "number") for column in _SORTED_BY),
    )
    tables.add("numbers", "kind:key! last:int!", ("kind",))
    tables.add(
        "links",
        "runnable_id:int! role:key! model_id:int dataset_id:int used_id:int",
        ("runnable_id", "role"),
        _make_foreign_key("runnable_id", "runnables", "CASCADE"),
        _make_foreign_key("model_id", "models"),
        _make_foreign_key("dataset_id", "datasets"),
        _make_foreign_key("used_id", "runnables"),
        *(_make_index(column) for column in ("model_id", "dataset_id", "used_id")),
        sa.CheckConstraint(_exactly_one_sql("model_id", "dataset_id", "used_id"), name="of_one"),
    )
    tables.add(
        "cells",
        "run_id:key! number:int! machine:key status:text! engine:key! shape:text " + _AXES + ""
        "floor_s:real typical_s:real throughput_per_s:real "
        "peak_memory_bytes:long noise:text document:text!",
        ("run_id", "number"),
        _make_foreign_key("run_id", "runs", "CASCADE"),
        _make_index("engine", "device", "run_id"),
        _make_index("machine", "run_id"),
    )
    return tables


def _old_tables() -> _Tables:
    tables = _Tables()
    model = "model_id:int! dataset_id:int modified_at:moment "
    for kind, words in {
        "benchmark": model + "mode:text! spec:json! rerun_of:int fingerprint:hash",
        "comparison": "a_model_id:int! b_model_id:int! spec:json! rerun_of:int fingerprint:hash",
        "optimization": model + "type:text! target_precision:text! settings:json!",
        "profile": model + "settings:json!",
    }.items():
        names = [word.partition(":")[0] for word in words.split()]
        uses = [name for name in names if name.endswith("_id")]
        repeats = "rerun_of" in names
        tables.add(
            f"{kind}s",
            _NAMED + _SUMMARY + "state:key! last_run_at:moment " + words,
            ("id",),
            _make_foreign_key("project_id", "projects"),
            *(
                _make_foreign_key(use, "datasets" if use == "dataset_id" else "models")
                for use in uses
            ),
            *(_make_index(use) for use in uses),
            *([_make_foreign_key("rerun_of", f"{kind}s", "SET NULL")] if repeats else []),
            *([_make_index("rerun_of")] if repeats else []),
            *([_make_index("project_id", "fingerprint", unique=True)] if repeats else []),
            _make_index("created_at", "id"),
            _make_index("project_id", "state", "created_at", "id"),
            *(_make_index("project_id", column, "id") for column in _SORTED_BY),
        )
    tables.add(
        "cells",
        "benchmark_id:int! number:int! engine:key! " + _AXES,
        ("benchmark_id", "number"),
        _make_foreign_key("benchmark_id", "benchmarks", "CASCADE"),
        _make_index("engine", "benchmark_id"),
    )
    tables.add(
        "cell_outcomes",
        _OUTCOME,
        ("run_id", "number"),
        _make_foreign_key("run_id", "runs", "CASCADE"),
    )
    tables.add(
        "pins",
        "optimization_id:int! kind:text! benchmark_id:int!",
        ("optimization_id", "kind"),
        _make_foreign_key("optimization_id", "optimizations", "CASCADE"),
        _make_foreign_key("benchmark_id", "benchmarks"),
        _make_index("benchmark_id"),
    )
    for name in ("cells", "cell_outcomes"):
        tables[name].c.streams.server_default = sa.DefaultClause("1")
    return tables


# ---------------------------------------------------------------- up


class _Json:
    """JSON as text, made by the database from its columns. Absent and null mean the same."""

    def __init__(self, dialect: str) -> None:
        self._is_sqlite = dialect == "sqlite"

    def document(self, words: Iterable[str]) -> str:
        """Of the columns ``name:type`` that have a value."""
        typed = [word.rstrip("!").split(":") for word in words]
        parts = (
            f"coalesce(', \"{name}\": ' || {self._text(name, kind)}, '')" for name, kind in typed
        )
        return f"'{{' || substr({' || '.join(parts)}, 3) || '}}'"

    def object(self, **columns: str) -> str:
        """Of all of them, with null where there is no value; each is a column or an expression."""
        pairs = ", ".join(f"'{name}', {value}" for name, value in columns.items())
        return f"json_object({pairs})" if self._is_sqlite else f"json_build_object({pairs})"

    def own(self, fields: dict[str, str]) -> str:
        """Fields of one kind, by their columns; columns of JSON as they are."""
        if not self._is_sqlite:
            return self.object(**fields)
        parts = (
            f"'\"{field}\": ' || {column if column in _NESTED else f'json_quote({column})'}"
            for field, column in fields.items()
        )
        return f"""'{{' || {" || ', ' || ".join(parts)} || '}}'"""

    def outline(self) -> str:
        """Of a benchmark: its mode, and the cells that it asks for."""
        cell = self.object(**{name: name for name in ("engine", *_split_names(_AXES))})
        if self._is_sqlite:
            mine = "SELECT * FROM cells WHERE benchmark_id = benchmarks.id ORDER BY number"
            cells = f"(SELECT json_group_array({cell}) FROM ({mine}))"  # noqa: S608 - our names
        else:
            cells = (
                f"(SELECT coalesce(json_agg({cell} ORDER BY number), '[]') FROM cells "  # noqa: S608
                "WHERE benchmark_id = benchmarks.id)"
            )
        return f"CAST({self.object(mode='mode', cells=cells)} AS TEXT)"

    def _text(self, name: str, kind: str) -> str:
        """A column as JSON; NULL without a value, and for numbers that JSON does not have."""
        if kind == "json":
            return f"nullif(CAST({name} AS TEXT), 'null')"
        if kind in ("int", "long"):
            return f"CAST({name} AS TEXT)"
        if not self._is_sqlite:
            given = f"abs({name}) < 'Infinity'" if kind == "real" else f"{name} IS NOT NULL"
            return f"CASE WHEN {given} THEN CAST(to_json({name}) AS TEXT) END"
        if kind != "real":
            return f"CASE WHEN {name} IS NOT NULL THEN json_quote({name}) END"
        short = f"CAST({name} AS TEXT)"  # 15 digits, unless it takes 17 to read the same again
        return (
            f"CASE WHEN CAST({short} AS REAL) = {name} THEN {short} "
            f"WHEN abs({name}) < 9e999 THEN printf('%!.17g', {name}) END"
        )


_NESTED = ("spec", "settings")


def _create_bare(bind: sa.Connection, table: sa.Table) -> None:
    """Without its indexes, which are made sooner when all rows are there."""
    bind.execute(sa.schema.CreateTable(table))


def _create_indexes(bind: sa.Connection, table: sa.Table) -> None:
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        index.create(bind)


def _move_rows_of_kind(bind: sa.Connection, write: _Json, kind: str) -> None:
    """Ids follow each other, in the order of kinds and of their numbers."""
    table = f"{kind}s"
    columns = {
        "kind": f"'{kind}'",
        "number": "id",
        "spec": write.own(_OWN[kind]),
        "outline": write.outline() if kind == "benchmark" else "'{}'",
        "document": write.document(_SUMMARY.split()),
    }
    same = ["name", "name_key", "created_at", "project_id", "state", "last_run_at", *_KEPT]
    same += ["modified_at"] if kind != "comparison" else []
    same += ["rerun_of", "fingerprint"] if "spec" in _OWN[kind] else []
    columns |= {name: name for name in same}
    bind.execute(
        sa.text(
            f"INSERT INTO runnables ({', '.join(columns)}) "  # noqa: S608 - our own names
            f"SELECT {', '.join(columns.values())} FROM {table} ORDER BY id"
        )
    )
    used = ("a_model_id", "b_model_id") if kind == "comparison" else ("model_id", "dataset_id")
    for column, role in _ROLES.items():
        if column in used:
            target = "dataset_id" if role == "dataset" else "model_id"
            bind.execute(
                sa.text(
                    f"INSERT INTO links (runnable_id, role, {target}) "  # noqa: S608
                    f"SELECT runnables.id, '{role}', {table}.{column} "
                    f"FROM {table} JOIN runnables ON runnables.number = {table}.id "
                    f"AND runnables.kind = '{kind}' WHERE {table}.{column} IS NOT NULL"
                )
            )
    last = _last_number(bind, table)
    if last:
        bind.execute(
            sa.text("INSERT INTO numbers (kind, last) VALUES (:kind, :last)"),
            {"kind": kind, "last": last},
        )


def _renew_fingerprints(bind: sa.Connection) -> None:
    """Only what a terminal asked for has one, so this may pass through Python."""
    terminal = bind.scalar(
        sa.text("SELECT id FROM projects WHERE name = 'Terminal' ORDER BY id LIMIT 1")
    )
    runnables = _new_tables()["runnables"]
    model = "(SELECT model_id FROM links WHERE runnable_id = runnables.id AND role = '{}')"
    models: list[sa.ColumnElement[int | None]] = [
        sa.literal_column(model.format(role)).label(role) for role in ("model", "a", "b")
    ]
    kind, project_id, old = (runnables.c[name] for name in ("kind", "project_id", "fingerprint"))
    query = (
        sa.select(runnables.c.id, kind, project_id, runnables.c.spec, *models)
        .where(old.is_not(None) | ((kind == "profile") & (project_id == terminal)))
        .order_by(runnables.c.id)
    )
    taken: set[tuple[int, str, str]] = set()
    rows: list[dict[str, Any]] = []
    for row in bind.execute(query):
        uses = [row.model] if row.model is not None else [row.a, row.b]
        identity = _fingerprint_of(row.kind, uses, row.spec)
        place = (row.project_id, row.kind, identity or "")
        rows.append({"runnable": row.id, "hash": None if place in taken else identity})
        taken.add(place)
    if rows:
        # All of them first: a new one may be equal to an old one of another row.
        bind.execute(sa.text("UPDATE runnables SET fingerprint = NULL"))
        bind.execute(sa.text("UPDATE runnables SET fingerprint = :hash WHERE id = :runnable"), rows)


def _fingerprint_of(kind: str, models: list[int], own: dict[str, Any]) -> str | None:
    try:
        spec = own["settings" if kind == "profile" else "spec"]
        return fingerprint(spec_from(spec | {"kind": kind}), models)
    except (ValueError, KeyError, TypeError, AttributeError):  # settings of another version
        return None


def _number_column(table: str) -> str:
    """The column that says which one of its kind a row belongs to."""
    return f"coalesce({', '.join(f'{table}.{kind}_id' for kind in _KINDS)})"


def _kind_name(table: str) -> str:
    cases = " ".join(f"WHEN {table}.{kind}_id IS NOT NULL THEN '{kind}'" for kind in _KINDS)
    return f"CASE {cases} END"


def _runnable_id_sql(table: str) -> str:
    return (
        f"(SELECT runnables.id FROM runnables WHERE runnables.kind = {_kind_name(table)} "  # noqa: S608
        f"AND runnables.number = {_number_column(table)})"
    )


def _move_pins(bind: sa.Connection) -> None:
    by_number = "SELECT id FROM runnables WHERE kind = '{0}' AND number = pins.{0}_id"
    bind.execute(
        sa.text(
            "INSERT INTO links (runnable_id, role, used_id) "  # noqa: S608
            f"SELECT ({by_number.format('optimization')}), kind, ({by_number.format('benchmark')}) "
            "FROM pins"
        )
    )


def _move_runs(bind: sa.Connection, write: _Json) -> None:
    for column in ("runnable_id:int", "machine:key", "document:text"):
        op.add_column("runs", *_make_columns(column))
    bind.execute(
        sa.text(
            f"UPDATE runs SET runnable_id = {_runnable_id_sql('runs')}, "  # noqa: S608
            f"document = {write.document(_SUMMARY.split())}"
        )
    )
    with op.batch_alter_table("runs") as table:
        table.drop_constraint(op.f("ck_runs_of_one"), type_="check")
        for kind in _KINDS:
            table.drop_index(f"ix_runs_{kind}_id_created_at_id")
            table.drop_constraint(op.f(f"fk_runs_{kind}_id"), type_="foreignkey")
            table.drop_column(f"{kind}_id")
        for name in _split_names(_SUMMARY):
            if name not in _KEPT:
                table.drop_column(name)
        table.alter_column("runnable_id", existing_type=sa.Integer(), nullable=False)
        table.alter_column("document", existing_type=sa.Text(), nullable=False)
        table.create_foreign_key(
            op.f("fk_runs_runnable_id"), "runnables", ["runnable_id"], ["id"], ondelete="CASCADE"
        )
        table.create_index(
            op.f("ix_runs_runnable_id_created_at_id"), ["runnable_id", "created_at", "id"]
        )


def _run_column_words() -> str:
    owners = " ".join(f"{kind}_id:int" for kind in _KINDS)
    return f"id:key! kind:text! {owners} runnable_id:int document:text {_SUMMARY}"


def _move_notes(bind: sa.Connection) -> None:
    op.add_column("notes", *_make_columns("runnable_id:int"))
    bind.execute(sa.text(f"UPDATE notes SET runnable_id = {_runnable_id_sql('notes')}"))  # noqa: S608
    _rebuild_notes(bind, _KINDS, ("runnable",))


def _move_cells(bind: sa.Connection, write: _Json, table: sa.Table) -> None:
    words = [word for word in _OUTCOME.split() if word.partition(":")[0] not in table.c]
    same = [column.name for column in table.c if column.name in _split_names(_OUTCOME)]
    bind.execute(
        sa.text(
            f"INSERT INTO cells ({', '.join(same)}, document) "  # noqa: S608
            f"SELECT {', '.join(same)}, {write.document(words)} FROM cell_outcomes"
        )
    )


def _rebuild_notes(bind: sa.Connection, without: Iterable[str], with_: Iterable[str]) -> None:
    last = _last_number(bind, "notes")
    with op.batch_alter_table("notes", table_kwargs={"sqlite_autoincrement": True}) as table:
        table.drop_constraint(op.f("ck_notes_of_one"), type_="check")
        for thing in without:
            table.drop_constraint(op.f(f"uq_notes_{thing}_id"), type_="unique")
            table.drop_constraint(op.f(f"fk_notes_{thing}_id"), type_="foreignkey")
            table.drop_column(f"{thing}_id")
        for thing in with_:
            table.create_unique_constraint(op.f(f"uq_notes_{thing}_id"), [f"{thing}_id"])
            name = op.f(f"fk_notes_{thing}_id")
            column = f"{thing}_id"
            table.create_foreign_key(name, f"{thing}s", [column], ["id"], ondelete="CASCADE")
        things = ("project_id", "model_id", "dataset_id", *(f"{thing}_id" for thing in with_))
        table.create_check_constraint(op.f("ck_notes_of_one"), sa.text(_exactly_one_sql(*things)))
    _advance_sequence(bind, "notes", last)


def _name_latest_runs(bind: sa.Connection) -> None:
    newest = (
        "(SELECT runs.id FROM runs WHERE runs.runnable_id = runnables.id {} "
        "ORDER BY runs.created_at DESC, runs.id DESC LIMIT 1)"
    )
    cells = "AND EXISTS (SELECT 1 FROM cells WHERE cells.run_id = runs.id{})"
    measured = cells.format(" AND cells.typical_s IS NOT NULL")
    columns = {
        "latest_run_id": newest.format(""),
        "shown_run_id": newest.format(cells.format("")),
        "measured_run_id": newest.format(measured),
    }
    runnables = sa.table("runnables", *map(sa.column, columns))
    values = {name: sa.text(query) for name, query in columns.items()}
    bind.execute(sa.update(runnables).values(values))


# ---------------------------------------------------------------- down


def _move_runnables_back(
    bind: sa.Connection, old: _Tables, new: _Tables
) -> dict[int, tuple[str, int]]:
    """Kind and number of each, by its id."""
    numbers: dict[int, tuple[str, int]] = {}
    links: dict[int, dict[str, int]] = {}
    for link in bind.execute(sa.select(new["links"])):
        if link.used_id is None:
            links.setdefault(link.runnable_id, {})[link.role] = link.model_id or link.dataset_id
    rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
    for row in bind.execute(sa.select(new["runnables"])).mappings():
        kind = row["kind"]
        numbers[row["id"]] = kind, row["number"]
        used = links.get(row["id"], {})
        values = dict(row) | json.loads(row["document"]) | {"id": row["number"]}
        values |= {column: row["spec"][field] for field, column in _OWN[kind].items()}
        values |= {column: used[role] for column, role in _ROLES.items() if role in used}
        rows[kind].append({column.name: values.get(column.name) for column in old[f"{kind}s"].c})
    last = {row.kind: row.last for row in bind.execute(sa.select(new["numbers"]))}
    for kind in _KINDS:
        _insert_rows(bind, old[f"{kind}s"], sorted(rows[kind], key=lambda values: values["id"]))
        _advance_sequence(bind, f"{kind}s", last.get(kind, 0))
    return numbers


def _old_pin_rows(bind: sa.Connection, new: _Tables, numbers: Any) -> Iterator[dict[str, Any]]:
    for row in bind.execute(sa.select(new["links"]).where(new["links"].c.used_id.is_not(None))):
        (_, optimization), (_, benchmark) = numbers[row.runnable_id], numbers[row.used_id]
        yield {"optimization_id": optimization, "kind": row.role, "benchmark_id": benchmark}


def _old_cell_rows(bind: sa.Connection, old: sa.Table, new: sa.Table) -> Iterator[dict[str, Any]]:
    for row in bind.execute(sa.select(new)).mappings():
        values = dict(row) | json.loads(row["document"])
        yield {column.name: values.get(column.name) for column in old.c}


def _old_request_rows(bind: sa.Connection, new: _Tables, numbers: Any) -> Iterator[dict[str, Any]]:
    table = new["runnables"]
    query = sa.select(table.c.number, table.c.outline).where(table.c.kind == "benchmark")
    for row in bind.execute(query):
        for place, cell in enumerate(json.loads(row.outline)["cells"]):
            yield {"benchmark_id": row.number, "number": place, **cell}


def _move_runs_back(bind: sa.Connection, numbers: Any) -> None:
    owners = [f"{kind}_id" for kind in _KINDS]
    dropped = [name for name in _split_names(_SUMMARY) if name not in _KEPT]
    words = {word.partition(":")[0]: word for word in _SUMMARY.split()}
    for word in (*(f"{owner}:int" for owner in owners), *(words[name] for name in dropped)):
        op.add_column("runs", *_make_columns(word))
    runs = sa.table("runs", *_make_columns(_run_column_words()))
    rows = []
    for row in bind.execute(sa.select(runs.c.id, runs.c.runnable_id, runs.c.document)):
        kind, number = numbers[row.runnable_id]
        document = json.loads(row.document)
        values = dict.fromkeys(owners) | {name: document.get(name) for name in dropped}
        rows.append(values | {f"{kind}_id": number, "run": row.id})
    if rows:
        bind.execute(sa.update(runs).where(runs.c.id == sa.bindparam("run")), rows)
    with op.batch_alter_table("runs") as table:
        table.drop_index("ix_runs_runnable_id_created_at_id")
        table.drop_constraint(op.f("fk_runs_runnable_id"), type_="foreignkey")
        for name in ("runnable_id", "machine", "document"):
            table.drop_column(name)
        for kind, owner in zip(_KINDS, owners, strict=True):
            name = op.f(f"fk_runs_{owner}")
            table.create_foreign_key(name, f"{kind}s", [owner], ["id"], ondelete="CASCADE")
            table.create_index(op.f(f"ix_runs_{owner}_created_at_id"), [owner, "created_at", "id"])
        table.create_check_constraint(op.f("ck_runs_of_one"), sa.text(_exactly_one_sql(*owners)))


def _move_notes_back(bind: sa.Connection, numbers: Any) -> None:
    for kind in _KINDS:
        op.add_column("notes", *_make_columns(f"{kind}_id:int"))
    owners = " ".join(f"{kind}_id:int" for kind in _KINDS)
    notes = sa.table("notes", *_make_columns(f"id:int! runnable_id:int {owners}"))
    query = sa.select(notes.c.id, notes.c.runnable_id).where(notes.c.runnable_id.is_not(None))
    for row in bind.execute(query).all():
        kind, number = numbers[row.runnable_id]
        bind.execute(sa.update(notes).where(notes.c.id == row.id).values({f"{kind}_id": number}))
    _rebuild_notes(bind, ("runnable",), _KINDS)


# ---------------------------------------------------------------- rows


def _split_names(words: str) -> list[str]:
    return [word.partition(":")[0] for word in words.split()]


def _insert_rows(bind: sa.Connection, table: sa.Table, rows: Iterable[dict[str, Any]]) -> None:
    all_rows = list(rows)
    if all_rows:
        bind.execute(sa.insert(table), all_rows)


def _last_number(bind: sa.Connection, table: str) -> int:
    """The last that was given, whether or not its row is still there."""
    if bind.dialect.name == "sqlite":
        query = "SELECT seq FROM sqlite_sequence WHERE name = :table"
        return bind.scalar(sa.text(query), {"table": table}) or 0
    query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {table}_id_seq"  # noqa: S608
    return bind.scalar(sa.text(query)) or 0


def _advance_sequence(bind: sa.Connection, table: str, last: int) -> None:
    """The next number is the one after ``last``."""
    if bind.dialect.name == "sqlite":
        forget = sa.text("DELETE FROM sqlite_sequence WHERE name = :table")
        bind.execute(forget, {"table": table})
        tell = sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)")
        bind.execute(tell, {"table": table, "last": last})
    elif last:
        bind.execute(sa.text(f"SELECT setval('{table}_id_seq', :last)"), {"last": last})
