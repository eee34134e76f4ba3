"""What a job of the server may use when nobody said how much."""

from __future__ import annotations

from dataclasses import replace

from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, RunSpec

MEMORY_SHARE = 0.75  # of the machine, for all workers of a job together


def limited(spec: RunSpec, memory_bytes: int) -> RunSpec:
    """With a limit for each worker, so that a model that eats memory ends itself and nothing else.

    Not on devices other than the CPU: their drivers reserve more than they ever use.
    """
    match spec:
        case BenchmarkSpec(cells=cells):
            workers = max(cell.instances for cell in cells)
        case ComparisonSpec(a=a, b=b):
            cells, workers = (a.cell, b.cell), 1 if a.cell.sandbox == b.cell.sandbox else 2
        case _:
            return spec
    if spec.memory_limit_bytes is not None or not all(map(_is_on_cpu, cells)):
        return spec
    return replace(spec, memory_limit_bytes=int(MEMORY_SHARE * memory_bytes / workers))


def _is_on_cpu(cell: CellSpec) -> bool:
    return cell.device == "cpu"
