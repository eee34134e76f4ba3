"""The fair contract: cells are ranked together only if they did the same work.

Same input bytes, same precision, same kind of call, no more cores than allowed, same outputs. Each
difference from the first cell becomes a note on the cell and keeps it out of the ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from modeldyno.core import precisions
from modeldyno.core.cell_axes import AXES
from modeldyno.core.requests.axes import has_same_axes
from modeldyno.core.sessions import SessionFacts
from modeldyno.inputs.plans import InputPlan
from modeldyno.jobs.cells import Cell

_SHAPING = [axis for axis in AXES if axis.changes_shapes]
TOO_MANY_CORES = 1.1  # times those allowed; the clocks of threads are not read simultaneously


def set_mismatches(cells: Sequence[Cell]) -> None:
    """Set what keeps each cell from being compared; called again whenever more is known."""
    for cell in cells:
        cell.mismatches = tuple(_find_mismatches(cell, cells))


def comparable_cell(cell: Cell, cells: Sequence[Cell]) -> Cell | None:
    """The first running cell with the same requested shapes, which this one is compared with."""
    for other in cells:
        if other is cell:
            return None
        if other.is_running and has_same_axes(other.spec, cell.spec, _SHAPING):
            return other
    return None


def _find_mismatches(cell: Cell, cells: Sequence[Cell]) -> Iterator[str]:
    if cell.prepared is None:
        return
    yield from _core_mismatches(cell)
    yield from _precision_mismatches(cell, cells)
    first = comparable_cell(cell, cells)
    if first is None or first.prepared is None:
        return
    if _input_content(cell.prepared.inputs) != _input_content(first.prepared.inputs):
        yield f"received different inputs from {first.name}"
        return
    yield from _input_type_mismatches(cell, first)
    mine, theirs = _contract_text(cell), _contract_text(first)
    if mine != theirs:
        yield f"its call is {mine}, that of {first.name} is {theirs}"
    parity = cell.prepared.parity if cell.prepared.against == first.prepared.reference else None
    if parity is not None and not parity.agrees and cell.spec.precision == first.spec.precision:
        yield (
            f"outputs differ from those of {first.name} by {parity.max_rel_error:.2g} "
            "of their range"
        )


def _core_mismatches(cell: Cell) -> Iterator[str]:
    if not cell.units:
        return
    from modeldyno.measure.benchmark import cores_used

    used = cores_used(cell.sessions)
    if used is not None and used > TOO_MANY_CORES * cell.spec.cores:
        yield f"used {used:.1f} cores, {cell.spec.cores} were allowed"


def _precision_mismatches(cell: Cell, cells: Sequence[Cell]) -> Iterator[str]:
    """Compared with the requested one, and with the first cell that requested the same."""
    actual, requested = _require_facts(cell).precision, cell.spec.precision
    if actual is None:
        return
    if requested not in (None, precisions.arithmetic(precisions.parts(actual)[0])):  # the commonest
        yield f"asked for {requested}, computes {precisions.phrase(actual)}"
        return
    for other in cells:
        if not other.is_running or other.spec.precision != requested:
            continue
        expected = _require_facts(other).precision
        if expected is not None and not precisions.are_alike(expected, actual):
            mine, theirs = map(precisions.phrase, (actual, expected))
            yield f"computes {mine}, {other.name} {theirs}"
        return


def _input_type_mismatches(cell: Cell, first: Cell) -> Iterator[str]:
    mine, theirs = _require_facts(cell).input_dtypes, _require_facts(first).input_dtypes
    for name in mine.keys() & theirs.keys():
        if mine[name] != theirs[name]:
            yield f"takes {name} as {mine[name]}, {first.name} as {theirs[name]}"


def _contract_text(cell: Cell) -> str:
    measured = cell.sessions[0].facts if cell.units else _require_facts(cell)
    return measured.contract or cell.spec.contract


def _require_facts(cell: Cell) -> SessionFacts:
    assert cell.prepared is not None
    return cell.prepared.facts


def _input_content(plan: InputPlan) -> object:
    """What determines the input bytes."""
    return plan.tensors, plan.seed, plan.data
