"""A comparison's section: the ratio first; levels are for orientation."""

from __future__ import annotations

from modeldyno.core import figures
from modeldyno.core.names import shown_name
from modeldyno.core.requests.commands import compare_command
from modeldyno.core.results import DECISIVE, ComparisonResult, Estimate
from modeldyno.core.sentences import comparison_limits, comparison_sentence, gate_sentence
from modeldyno.present.charts.ratios import Ratio, ratio_chart
from modeldyno.present.reports.blocks import Section, table
from modeldyno.present.tables import comparison_rows

_READ = "The bar is the interval over pairs; in the shaded band a difference does not matter."


def comparison_section(comparison: ComparisonResult) -> Section:
    a, b = (shown_name(side.model.path) for side in (comparison.a, comparison.b))
    head, rows = comparison_rows(comparison)
    ratios = [
        _make_ratio(comparison, f"{DECISIVE} ({comparison.statistic})", comparison.ratio),
        _make_ratio(comparison, "typical (median)", comparison.typical_ratio),
    ]
    return Section(
        result=comparison,
        title=title(comparison),
        verdict=(_verdict_text(comparison), *_gate_lines(comparison)),
        word=comparison.verdict,
        engines=tuple(
            f"{side.facts.engine_title} on {side.facts.device}"
            for side in (comparison.a, comparison.b)
        ),
        method=_method_text(comparison),
        table=table(head, rows, ("", "model", "engine", "precision")),
        charts=(
            ratio_chart("B against A.", f"{comparison_sentence(comparison)}. {_READ}", ratios),
        ),
        limits=tuple(comparison_limits(comparison)),
        command=compare_command(comparison.spec, a, b),
    )


def _verdict_text(comparison: ComparisonResult) -> str:
    badge = "" if comparison.noise == "quiet" else f"; the machine was {comparison.noise}"
    return f"{comparison_sentence(comparison)}{badge}"


def title(comparison: ComparisonResult) -> str:
    a, b = (shown_name(side.model.path) for side in (comparison.a, comparison.b))
    return f"{a} against {b}"


def summary_ratio(comparison: ComparisonResult) -> Ratio:
    """One row of a chart of many."""
    return _make_ratio(comparison, title(comparison), comparison.ratio)


def _make_ratio(comparison: ComparisonResult, name: str, ratio: Estimate) -> Ratio:
    is_noisy = comparison.noise != "quiet"
    return Ratio(name, ratio.value, ratio.low, ratio.high, comparison.spec.margin, is_noisy)


def _method_text(comparison: ComparisonResult) -> str:
    pairs = figures.counted(comparison.pairs, "pair")
    processes = figures.counted(comparison.processes, "process")
    return (
        f"A and B took turns, {pairs} of sessions in {processes}; "
        f"the ratio is time of B over time of A, pair by pair ({comparison.statistic}). "
        f"Its {comparison.ratio.level * 100:g} % interval over the pairs decides, and within ±"
        f"{comparison.spec.margin * 100:g} % the two count as equivalent."
    )


def _gate_lines(comparison: ComparisonResult) -> tuple[str, ...]:
    if comparison.gate is None or comparison.spec.fail_if_slower is None:
        return ()
    return (gate_sentence(comparison.gate, comparison.spec.fail_if_slower),)
