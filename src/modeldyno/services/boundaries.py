"""Where a user said that a model ends, told to the engine that can end there."""

from __future__ import annotations

from dataclasses import replace

from modeldyno.core.models import Model
from modeldyno.core.specs import CellSpec

_ENGINES = (None, "tensorflow", "tf")  # None: the first that reads such files
_OPTION = "outputs"


def bounded(cell: CellSpec, model: Model) -> CellSpec:
    """A frozen graph can end at any node; other files say themselves where they do."""
    said = model.boundary.outputs if model.boundary else ()
    detected = tuple(one.name for one in model.facts.outputs) if model.facts else ()
    if model.format != "tf-graph" or not said or said == detected:
        return cell
    if cell.engine not in _ENGINES or _OPTION in cell.options:
        return cell
    return replace(cell, options=cell.options | {_OPTION: ",".join(said)})
