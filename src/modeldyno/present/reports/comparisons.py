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

_READ = "The bar is the interval; in the shaded band a difference does not matter."


def comparison_section(result: ComparisonResult) -> Section:
    a, b = (shown_name(side.model.path) for side in (result.a, result.b))
    head, rows = comparison_rows(result)
    ratios = [
        _ratio(result, f"{DECISIVE} ({result.statistic})", result.ratio),
        _ratio(result, "typical (median)", result.typical_ratio),
    ]
    return Section(
        result=result,
        title=title(result),
        verdict=(_verdict(result), *_gate(result)),
        word=result.verdict,
        engines=tuple(
            f"{side.facts.engine_title} on {side.facts.device}" for side in (result.a, result.b)
        ),
        method=_method(result),
        table=table(head, rows, ("", "model", "engine", "precision")),
        charts=(ratio_chart("B against A.", f"{comparison_sentence(result)}. {_READ}", ratios),),
        limits=tuple(comparison_limits(result)),
        command=compare_command(result.spec, a, b),
    )


def _verdict(result: ComparisonResult) -> str:
    badge = "" if result.noise == "quiet" else f"; the machine was {result.noise}"
    return f"{comparison_sentence(result)}{badge}"


def title(result: ComparisonResult) -> str:
    a, b = (shown_name(side.model.path) for side in (result.a, result.b))
    return f"{a} against {b}"


def summary_ratio(result: ComparisonResult) -> Ratio:
    """One row of a chart of many."""
    return _ratio(result, title(result), result.ratio)


def _ratio(result: ComparisonResult, name: str, ratio: Estimate) -> Ratio:
    is_noisy = result.noise != "quiet"
    return Ratio(name, ratio.value, ratio.low, ratio.high, result.spec.margin, is_noisy)


def _method(result: ComparisonResult) -> str:
    processes = figures.counted(result.processes, "process")
    return (
        f"A and B took turns, {figures.counted(result.pairs, 'pair')} of sessions in {processes}; "
        f"the ratio is time of B over time of A, pair by pair ({result.statistic}). "
        f"Its {result.ratio.level * 100:g} % interval decides, and within ±"
        f"{result.spec.margin * 100:g} % the two count as equivalent."
    )


def _gate(result: ComparisonResult) -> tuple[str, ...]:
    if result.gate is None or result.spec.fail_if_slower is None:
        return ()
    return (gate_sentence(result.gate, result.spec.fail_if_slower),)
