"""The server runs nothing without a sandbox; in the terminal one may, for oneself."""

from __future__ import annotations

from dataclasses import replace

from modeldyno.core.errors import WrongState
from modeldyno.core.specs import CellSpec


def require_sandboxed(*cells: CellSpec) -> None:
    if any(cell.sandbox == "off" for cell in cells):
        raise WrongState(
            "This was measured without a sandbox, and the server never does that",
            why="whoever reaches the server could let a model read your files",
            fix="Measure it again as a new one, which is confined, or in the terminal",
        )


def confined_cell(cell: CellSpec) -> CellSpec:
    return replace(cell, sandbox="on") if cell.sandbox == "off" else cell
