"""Results as plain text, for ``print``: the terminal's tables without its colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from modeldyno.core.figures import counted
from modeldyno.core.rankings import Ranking, ranking_remarks
from modeldyno.core.results import BenchmarkResult, ComparisonResult, Failure
from modeldyno.core.sentences import comparison_sentence, side_by_side_lines
from modeldyno.core.visible import visible
from modeldyno.present.tables import (
    RANKING_WORDS,
    WORDS,
    benchmark_rows,
    comparison_rows,
    interval_legend,
    ranking_rows,
)


def benchmark_text(benchmark: BenchmarkResult) -> str:
    head, rows = benchmark_rows(benchmark)
    lines = [table_text(head, rows, left=WORDS)]
    lines += filter(None, [interval_legend(benchmark)])
    lines += side_by_side_lines(benchmark)
    lines += [f"{cell.name}: {visible(cell.error.title)}" for cell in benchmark.cells if cell.error]
    return "\n".join(lines)


def comparison_text(comparison: ComparisonResult) -> str:
    head, rows = comparison_rows(comparison)
    table = table_text(head, rows, left=("", "model", "engine", "precision"))
    return f"{table}\n\n{comparison.verdict}: {visible(comparison_sentence(comparison))}"


def ranking_text(ranking: Ranking) -> str:
    head, rows = ranking_rows(ranking)
    lines = [table_text(head, rows, left=RANKING_WORDS)]
    for ranked in ranking.sides:
        lines += _failure_lines(ranked.label, ranked.failure) if ranked.failure else []
    return "\n".join([*lines, *map(visible, ranking_remarks(ranking))])


def _failure_lines(where: str, failure: Failure) -> list[str]:
    more = (("why", failure.why), ("help", failure.fix))
    first = f"{where}: {failure.title} [{failure.code}]"
    return [visible(first), *(visible(f"  {name}: {text}") for name, text in more if text)]


def benchmark_name(benchmark: BenchmarkResult) -> str:
    cells = counted(len(benchmark.cells), "cell")
    name = visible(Path(benchmark.model.path).name)
    return f"<BenchmarkResult {benchmark.run_id}: {name}, {cells}>"


def comparison_name(comparison: ComparisonResult) -> str:
    ratio = f"ratio {comparison.ratio.value:.3f}"
    return f"<ComparisonResult {comparison.run_id}: {comparison.verdict}, {ratio}>"


def table_text(head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[str] = ()) -> str:
    """Columns two spaces apart; those named in ``left`` are text, the others numbers."""
    lines = [tuple(map(visible, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    to_left = [name in set(left) for name in head]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(line, widths, to_left, strict=True)
        ).rstrip()
        for line in lines
    )
