"""Results as plain text, for ``print``: the terminal's tables without its colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from modeldyno.core.figures import counted
from modeldyno.core.results import BenchmarkResult, ComparisonResult
from modeldyno.core.sentences import comparison_sentence
from modeldyno.core.tables import benchmark_rows, comparison_rows


def benchmark_text(result: BenchmarkResult) -> str:
    head, rows = benchmark_rows(result)
    faults = [
        f"cores {cell.spec.cores}, batch {cell.batch_size}: {cell.error.title}"
        for cell in result.cells
        if cell.error is not None
    ]
    return "\n".join((table_text(head, rows, left=("quality", "best")), *faults))


def comparison_text(result: ComparisonResult) -> str:
    head, rows = comparison_rows(result)
    table = table_text(head, rows, left=("", "model", "engine", "precision"))
    return f"{table}\n\n{result.verdict}: {comparison_sentence(result)}"


def benchmark_name(result: BenchmarkResult) -> str:
    cells = counted(len(result.cells), "cell")
    return f"<BenchmarkResult {result.run_id}: {Path(result.model.path).name}, {cells}>"


def comparison_name(result: ComparisonResult) -> str:
    return f"<ComparisonResult {result.run_id}: {result.verdict}, ratio {result.ratio.value:.3f}>"


def table_text(head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[str] = ()) -> str:
    """Columns two spaces apart; those named in ``left`` are text, the others numbers."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    to_left = [name in set(left) for name in head]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(line, widths, to_left, strict=True)
        ).rstrip()
        for line in lines
    )
