"""Optimizations: a job like any other, which this version cannot carry out."""

from __future__ import annotations

from modeldyno.core.errors import NotYet
from modeldyno.core.jobs import Result
from modeldyno.core.optimization_settings import TYPE_NAMES
from modeldyno.core.specs import OptimizationSpec
from modeldyno.jobs.protocol import Context


def run_optimization(spec: OptimizationSpec, context: Context) -> Result:
    """Raises NotYet: this version makes no models, and must not claim that it did."""
    what = TYPE_NAMES[spec.type].capitalize()
    error = NotYet(
        f"{what} cannot be carried out yet",
        why="this version stores the request, but makes no models",
        fix=f"{what} comes with a later version; run this again then",
    )
    with context.folder.log.open("a", encoding="utf-8") as log:
        log.write(f"{error}\n")
    raise error
