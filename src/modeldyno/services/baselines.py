"""Hold benchmarks against the one that their project measures by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from modeldyno.core import precisions
from modeldyno.core.benchmarks import CellFigures, StoredCells, VersusBaseline
from modeldyno.core.ids import BenchmarkId, RunId
from modeldyno.core.judgements import MARGIN, machines_apart, match_cells
from modeldyno.measure.verdicts import compare_verdict, unpaired_ratio
from modeldyno.services.run_hosts import RunHosts

FEW = "too few sessions to know how far they differ"


class Baselines:
    def __init__(self, hosts: RunHosts) -> None:
        self._hosts = hosts

    def compare_to_baseline(self, stored: StoredCells) -> VersusBaseline | None:
        """At the quickest of the cells that both have; None before there is anything to hold. What
        another machine measured is not held against: what would differ is the machine."""
        baseline, cells = stored.baseline, stored.figures
        if baseline is None:
            return None
        versus = _compare_best_cells(baseline.benchmark_id, baseline.cells, cells)
        if versus is None or versus.ratio is None:
            return versus
        why = self._why_machines_differ(baseline.cells[0].run_id, cells[0].run_id)
        return replace(versus, ratio=None, verdict=None, why=why) if why else versus

    def _why_machines_differ(self, baseline_run: RunId, measured_run: RunId) -> str:
        if baseline_run == measured_run:
            return ""
        hosts = self._hosts.read_cached(baseline_run), self._hosts.read_cached(measured_run)
        return machines_apart(hosts[0], hosts[1]) if hosts[0] and hosts[1] else ""


def _compare_best_cells(
    baseline_id: BenchmarkId, baseline: Sequence[CellFigures], cells: Sequence[CellFigures]
) -> VersusBaseline | None:
    numbers = [cell for cell in cells if cell.typical_s is not None]
    known = [cell for cell in baseline if cell.typical_s is not None]
    if not numbers or not known:
        return None
    pairs = match_cells([cell.axes for cell in known], [cell.axes for cell in numbers])
    if not pairs:
        return VersusBaseline(baseline_id, why="the baseline has no cell with the same axes")
    known_index, index = min(pairs, key=lambda pair: _seconds_per_item(numbers[pair[1]]))
    return _compare_cells(baseline_id, known[known_index], numbers[index])


def _compare_cells(
    baseline_id: BenchmarkId, baseline: CellFigures, cell: CellFigures
) -> VersusBaseline:
    here = (baseline_id, baseline.number, cell.number)
    a, b = baseline.decisive, cell.decisive
    if a is None or b is None:
        return VersusBaseline(*here, why=FEW)
    ratio = unpaired_ratio(a, b, (baseline.items, cell.items))
    of = cell.axes["precision"], baseline.axes["precision"]
    note = precisions.difference(*of, names=("it", "the baseline"))
    for name, side in (("baseline's number", baseline), ("number", cell)):
        if side.noise == "unusable":
            return VersusBaseline(*here, ratio, "inconclusive", f"the {name} is unusable", note)
    return VersusBaseline(*here, ratio, compare_verdict(ratio, MARGIN), note=note)


def _seconds_per_item(cell: CellFigures) -> float:
    return (cell.typical_s or 0.0) / cell.items
