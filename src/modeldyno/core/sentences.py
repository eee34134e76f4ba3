"""Verdicts in plain words, the same in terminals, notebooks, reports and test failures."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from modeldyno.core import figures, precisions
from modeldyno.core.cell_axes import WORKLOAD
from modeldyno.core.requests.axes import has_same_axes
from modeldyno.core.results import (
    DECISIVE,
    BenchmarkResult,
    CellResult,
    ComparisonResult,
    Gate,
    Measurement,
    Objective,
    ProfileResult,
    Standing,
    Statistic,
    Verdict,
    gate_outcome,
)

RatioSpan = tuple[float, float, float]  # value, low, high

RANKED_FROM = 4  # rounds
FEW_PAIRS = 8  # below it, a single pair weighs much
OTHER_DISTRIBUTION = (
    f"gap between typical and {DECISIVE} differs between A and B: a slow path may have appeared or "
    "gone"
)
STATISTICS: dict[Statistic, str] = {
    "wall p10": "the 10th percentile of each session's wall time",
    "cpu p25": "the lower quartile of each session's CPU time",
}
WAITING = 1.2  # times the contention that threads per CPU explain


def benchmark_sentences(result: BenchmarkResult) -> list[str]:
    """The winners, ties, or why there is neither; noisy numbers are marked."""
    measured = [cell for cell in result.cells if cell.measurement is not None]
    if not measured:
        failed = next((cell.error.title for cell in result.cells if cell.error), "")
        return [f"Nothing was measured: {failed}" if failed else "Nothing was measured"]
    if len(measured) == 1:
        return [_figure_text(measured[0], "latency"), _figure_text(measured[0], "throughput")]
    standings = result.all_standings()
    if not standings:
        return [unranked_sentence(result) or "Not ranked: stopped before its end"]
    return [_standing_sentence(result, *each) for each in standings]


PRAISE: dict[Objective, str] = {"latency": "lowest latency", "throughput": "highest throughput"}


def _standing_sentence(result: BenchmarkResult, objective: Objective, standing: Standing) -> str:
    if standing.has_winner:
        best = result.cells[standing.leader]
        return (
            f"{PRAISE[objective].capitalize()}: {best.spec.name}, {_figure_text(best, objective)}"
        )
    names = "; ".join(result.cells[number].spec.name for number in standing.tied)
    return f"{PRAISE[objective].capitalize()}: a tie, these cannot be told apart: {names}"


def _figure_text(cell: CellResult, objective: Objective) -> str:
    """``0.650 ±0.008 ms for a batch of 8 (noisy)``, or ``1 540 items/s``."""
    measured = cell.measurement
    assert measured is not None
    badge = "" if measured.noise == "quiet" else f" ({measured.noise})"
    if objective == "throughput":
        return f"{figures.plain(measured.throughput_per_s)} items/s{badge}"
    typical = measured.latency.typical
    scale, unit = figures.unit_for([typical.value])
    value = figures.estimate(typical, scale, most=4)
    return f"{value} {unit} for a batch of {cell.batch_size}{badge}"


def remarks(result: BenchmarkResult) -> list[str]:
    """What the table does not say."""
    texts = [
        f"{cell.spec.name}: {side_by_side_sentence(cell.measurement)}"
        for cell in result.cells
        if cell.measurement is not None and cell.measurement.side_by_side is not None
    ]
    texts += [f"{cell.spec.name}: {cell.error.title}" for cell in result.cells if cell.error]
    texts += dict.fromkeys(note for cell in result.cells for note in cell.notes)
    return [*texts, *filter(None, [unranked_sentence(result), precision_sentence(result)])]


def comparison_sentence(result: ComparisonResult) -> str:
    """``B is 4.6 % slower (4.1 % to 5.1 %)``."""
    ratio = result.ratio
    span = f"({change(ratio.low)} to {change(ratio.high)})"
    match result.verdict:
        case "slower" | "faster":
            return f"B is {_ratio_words(ratio.value)} {span}"
        case "equivalent":
            return f"No difference within ±{result.spec.margin:.0%} {span}"
        case "different-but-small":
            return f"B is {_ratio_words(ratio.value)}, less than ±{result.spec.margin:.0%} {span}"
        case "inconclusive":
            certain = _describe_certain_part(ratio.low, ratio.high, result.spec.margin)
            if certain:
                return certain
            times = f"{ratio.low:.3f} to {ratio.high:.3f} times"
            return f"Cannot tell: B takes {times} as long as A (95 %)"


def comparison_limits(result: ComparisonResult) -> list[str]:
    """What to keep in mind when reading a comparison; the same in every report."""
    limits = [*result.deviations(), *result.notes]
    if result.noise != "quiet":
        limits.append(f"The machine was {result.noise}: other work was in the way")
    if result.pairs < FEW_PAIRS:
        limits.append(f"The interval rests on {figures.counted(result.pairs, 'pair')}")
    if result.distribution_changed:
        limits.append(f"The {OTHER_DISTRIBUTION}")
    if result.verdict == "inconclusive" and result.pairs_needed is not None:
        limits.append(f"To decide it takes about {figures.counted(result.pairs_needed, 'pair')}")
    if result.parity is None:
        limits.append("Outputs were not compared: the two have none of the same size in common")
    elif not result.parity.agrees:
        limits.append(f"Outputs differ by up to {result.parity.max_rel_error:.1e} of their range")
    return limits


def pair_sentence(
    verdict: Verdict, ratio: RatioSpan, margin: float, names: tuple[str, str] = ("A", "B")
) -> str:
    """``B is 1.31× faster than A (1.24–1.38, 95 %).`` ``ratio`` is B's time by A's.

    Used by every page and export that compares two.
    """
    value, low, high = ratio
    a, b = names
    match verdict:
        case "faster":
            span = f"{1 / high:.2f}\u2013{1 / low:.2f}"
            return f"{_capitalise(b)} is {1 / value:.2f}× faster than {a} ({span}, 95 %)."
        case "slower":
            span = f"{low:.2f}\u2013{high:.2f}"
            return f"{_capitalise(a)} is {value:.2f}× faster than {b} ({span}, 95 %)."
        case "equivalent":
            finding = f"{_capitalise(a)} and {b} are equivalent within ±{margin:.0%}"
        case "different-but-small":
            finding = f"{_capitalise(a)} and {b} differ by less than ±{margin:.0%}"
        case "inconclusive":
            certain = _describe_certain_part(low, high, margin, names)
            if certain:
                return f"{_capitalise(certain)}."
            finding = f"No clear difference between {a} and {b}"
    return f"{finding} ({b} takes {low:.3f} to {high:.3f} times as long as {a}, 95 %)."


def _describe_certain_part(
    low: float, high: float, margin: float, names: tuple[str, str] = ("A", "B")
) -> str:
    """Of an inconclusive ratio: which one is slower, if the interval excludes 1.

    Empty if it does not, or if it would have allowed another verdict.
    """
    a, b = names
    if 1 < low <= 1 + margin:
        amount, how = (low - 1, high - 1), "slower"
    elif 1 - margin <= high < 1:
        amount, how = (1 - high, 1 - low), "faster"
    else:
        return ""
    least, most = map(figures.percent, amount)
    limit = figures.percent(margin)
    return (
        f"{b} is {how} than {a} by {least} to {most} (95 %); whether by more than {limit} is open"
    )


def _capitalise(name: str) -> str:
    """At the beginning of a sentence; a model's own name stays as it is."""
    return f"B{name[1:]}" if name.startswith("batch ") else name


def _ratio_words(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.2f}× slower"
    if ratio <= 0.5:
        return f"{1 / ratio:.2f}× faster"
    return f"{abs(ratio - 1) * 100:.1f} % {'slower' if ratio > 1 else 'faster'}"


def change(ratio: float) -> str:
    """``+4.6 %`` or ``−1.2 %``; ``2.31×`` when it is large."""
    if ratio >= 2:
        return f"{ratio:.2f}×"
    return f"{(ratio - 1) * 100:+.1f} %".replace("-", "\u2212")


def gate_sentence(outcome: Gate, allowed: float) -> str:
    limit = figures.percent(allowed)
    match outcome:
        case "pass":
            return f"Gate passed: B is at most {limit} slower than A"
        case "fail":
            return f"Gate failed: B is more than {limit} slower than A"
        case "inconclusive":
            return f"Gate undecided: whether B is more than {limit} slower than A is open"


def not_slower_complaint(result: ComparisonResult, allowed: float) -> str | None:
    """Why B is not known to be at most ``allowed`` slower; None if it is."""
    limit = f"the limit is {change(1 + allowed)}"
    match gate_outcome(result.ratio, allowed):
        case "pass":
            return None
        case "fail":
            return f"{result.b.label} is slower: {comparison_sentence(result)}; {limit}"
        case "inconclusive":
            return f"inconclusive: {comparison_sentence(result)}; {limit}: measure longer"


def side_by_side_sentence(measured: Measurement) -> str:
    """``1 930 ±21 items/s in all, 1.93 ±0.02 × one instance alone; …`` of several instances.

    If other work took CPU time away, items per CPU second come first: they hardly change.
    """
    beside = measured.side_by_side
    if beside is None:
        return ""
    total = f"{figures.estimate(beside.total_per_s)} items/s in all"
    if beside.scaling is not None:
        total += f", {figures.estimate(beside.scaling)} × one instance alone"
    per_cpu = f"{figures.plain(beside.items_per_cpu_s)} items per CPU second"
    lost = (measured.contention or 1.0) / beside.expected_contention
    parts = [total, per_cpu] if lost <= WAITING else [per_cpu, f"{total} (contended)"]
    parts.append(f"the slowest did {figures.percent(beside.fairness)} of the quickest one's work")
    if beside.oversubscribed:
        parts.append(
            f"oversubscribed: {figures.plain(beside.expected_contention, 2)} threads for each CPU"
        )
    return "; ".join(parts)


def side_by_side_lines(result: BenchmarkResult) -> list[str]:
    """One for each cell of several instances."""
    sentences = (
        (cell.name, side_by_side_sentence(cell.measurement))
        for cell in result.cells
        if cell.measurement
    )
    return [f"{name}: {sentence}" for name, sentence in sentences if sentence]


def unranked_sentence(result: BenchmarkResult) -> str:
    """Why several measured cells are not ranked; empty if they are."""
    cells = [cell for cell in result.cells if cell.measurement and not cell.mismatches]
    if result.all_standings() or len(cells) < 2 or result.interrupted:
        return ""
    if not any(has_same_axes(a.spec, b.spec, WORKLOAD) for a, b in combinations(cells, 2)):
        return "Not ranked: no two cells have inputs of the same sizes"
    fewest = min(cell.measurement.sessions for cell in cells if cell.measurement)
    if fewest < RANKED_FROM:
        rounds = figures.counted(fewest, "round")
        return f"Not ranked after {rounds}: too few to tell the cells apart; measure longer"
    return "Not ranked: the number that leads is unusable"


def precision_sentence(result: BenchmarkResult) -> str:
    """That ranked cells compute differently, as where several precisions were requested; empty if
    they do not."""
    if not result.all_standings():
        return ""
    counts: Counter[str] = Counter()
    for cell in result.cells:
        precision = cell.facts.precision if cell.facts else None
        if cell.measurement and not cell.mismatches and precision:
            alike = (each for each in counts if precisions.are_alike(each, precision))
            counts[next(alike, precision)] += 1
    if len(counts) < 2:
        return ""
    groups = (f"{figures.counted(n, 'cell')} {precisions.phrase(p)}" for p, n in counts.items())
    return f"Ranked together, but they compute differently: {', '.join(groups)}"


def profile_sentence(result: ProfileResult) -> str:
    """``latency 1.36 ms, quiet; 57 nodes add up to 1.31 ms (97%), 50.0 µs outside them``."""
    latency, inside, outside = map(
        figures.duration, (result.latency_s, result.sum_s, result.outside_s)
    )
    latency = f"{latency}, {result.noise}" if result.noise else latency
    if len(result.rows) == 1:
        takes = f"1 node takes {inside} ({result.coverage:.0%})"
        return f"latency {latency}; {takes}, {outside} outside it"
    nodes = figures.counted(len(result.rows), "node")
    return (
        f"latency {latency}; {nodes} add up to {inside} ({result.coverage:.0%}), "
        f"{outside} outside them"
    )


def quality_remarks(result: ProfileResult) -> list[str]:
    """``contended. Other work used the processor …``; nothing of a quiet one."""
    if result.noise in (None, "quiet"):
        return []
    return [f"{result.noise}. {' '.join(result.reasons)}"]
