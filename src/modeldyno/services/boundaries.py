"""Where a user said that a model ends, told to the engine that can end there."""

from __future__ import annotations

from dataclasses import replace

from modeldyno.core.models import Model
from modeldyno.core.specs import CellSpec
from modeldyno.engines import catalog

_ENGINE, _OPTION = "tensorflow", "outputs"


def bounded(cell: CellSpec, model: Model) -> CellSpec:
    """A frozen graph can end at any node; other files say themselves where they do."""
    said = model.boundary.outputs if model.boundary else ()
    detected = tuple(one.name for one in model.facts.outputs) if model.facts else ()
    if model.format != "tf-graph" or not said or said == detected:
        return cell
    if _OPTION in cell.options or not _is_tensorflow(cell.engine):
        return cell
    return replace(cell, options=cell.options | {_OPTION: ",".join(said)})


def _is_tensorflow(engine: str) -> bool:
    """Empty: the first that reads such files, which it is where it is installed."""
    entry = catalog.find(_ENGINE)
    return engine in (entry.name, *entry.aliases) or (not engine and catalog.is_usable(entry))
