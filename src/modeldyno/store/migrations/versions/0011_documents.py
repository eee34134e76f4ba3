"""Rows hold documents as the world sees them, and say which version wrote them.

Documents of before stay as they are until the server has started: ``store/rebuilding.py``.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_TABLES = ("runnables", "runs", "cells")
_REALS = (
    "floor_low_s", "floor_high_s", "throughput_low_per_s", "throughput_high_per_s",
    "interval_level",
)  # fmt: skip
_AXES = ("engine", "device", "precision", "batch_size", "cores", "instances", "streams")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(
            table, sa.Column("revision", sa.Integer(), nullable=False, server_default="1")
        )
    for name in _REALS:
        op.add_column("cells", sa.Column(name, sa.Float(53)))
    op.add_column("cells", sa.Column("sessions", sa.Integer()))
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    values = ", ".join(
        f"{name} = json_extract(document, '$.{name}')"
        if is_sqlite
        else f"{name} = CAST(CAST(document AS json) ->> '{name}' AS {kind})"
        for name, kind in (*((name, "double precision") for name in _REALS), ("sessions", "int"))
    )
    op.execute(f"UPDATE cells SET {values}")  # noqa: S608 - names of ours


def downgrade() -> None:
    bind = op.get_bind()
    for table in _TABLES:
        _write_back(bind, table)
    for name in (*_REALS, "sessions"):
        op.drop_column("cells", name)
    for table in reversed(_TABLES):
        op.drop_column(table, "revision")


def _write_back(bind: sa.Connection, name: str) -> None:
    columns = ("run_id", "number") if name == "cells" else ("id",)
    table = sa.table(name, *map(sa.column, (*columns, "document", "revision")))
    query = sa.select(*(table.c[key] for key in columns), table.c.document)
    for *key, text in bind.execute(query.where(table.c.revision > 1)).all():
        document = json.loads(text)
        values = (
            _columns_from_document(document)
            if name == "cells"
            else _columns_from_document(document) | _axes_from_document(document)
        )
        is_it = [table.c[column] == value for column, value in zip(columns, key, strict=True)]
        bind.execute(sa.update(table).where(*is_it).values(document=json.dumps(values)))
    if name == "runnables":
        _write_outlines_back(bind)


def _write_outlines_back(bind: sa.Connection) -> None:
    json_type = sa.JSON(none_as_null=True)
    table = sa.table(
        "runnables", sa.column("id"), sa.column("outline"), sa.column("spec", json_type),
        sa.column("kind"), sa.column("revision"),
    )  # fmt: skip
    is_it = (table.c.kind == "benchmark", table.c.revision > 1)
    for number, spec in bind.execute(sa.select(table.c.id, table.c.spec).where(*is_it)).all():
        cells = [{axis: cell[axis] for axis in _AXES} for cell in spec["spec"]["cells"]]
        outline = json.dumps({"mode": spec["mode"], "cells": cells})
        bind.execute(sa.update(table).where(table.c.id == number).values(outline=outline))


def _axes_from_document(document: dict[str, Any]) -> dict[str, Any]:
    ratio = document.get("ratio") or {}
    values = {axis: document.get(axis) for axis in (*_AXES, "accuracy", "verdict")}
    values |= {"ratio": ratio.get("value"), "ratio_low": ratio.get("low")}
    return _drop_unknown_columns(values | {"ratio_high": ratio.get("high")})


def _columns_from_document(document: dict[str, Any]) -> dict[str, Any]:
    """Seconds, and intervals end by end."""
    latency = document.get("latency_ms") or {}
    values: dict[str, Any] = {}
    for name, unit, scale, figure in (
        ("floor", "s", 1e-3, latency.get("floor")),
        ("typical", "s", 1e-3, latency.get("typical")),
        ("throughput", "per_s", 1.0, document.get("throughput_per_s")),
    ):
        figure = figure or {}
        value = figure.get("value")
        values[f"{name}_{unit}"] = None if value is None else value * scale
        for end in ("low", "high"):
            limit = figure.get(end) if figure.get("of") != "samples" else None
            values[f"{name}_{end}_{unit}"] = None if limit is None else limit * scale
        values["interval_level"] = figure.get("level") or values.get("interval_level")
    for name in ("sessions", "samples", "noise", "peak_memory_bytes"):
        values[name] = document.get(name)
    values["noise_reasons"] = "\n".join(document.get("noise_reasons") or ()) or None
    if (error := document.get("error")) is not None:
        values["error_code"] = error["code"]
        values["error"] = {**error, "why": error["detail"]}
        del values["error"]["detail"]
    if (effective := document.get("effective")) is not None:
        values["effective"] = effective | {"surprises": document.get("surprises", [])}
    return _drop_unknown_columns(values)


def _drop_unknown_columns(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
