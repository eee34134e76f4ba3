"""A profile's section: the operators that take the time."""

from __future__ import annotations

from collections.abc import Sequence

from modeldyno.core import figures
from modeldyno.core.names import shown_name
from modeldyno.core.profiles import Slice, slices
from modeldyno.core.requests.commands import profile_command
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import PeaksOf
from modeldyno.core.sentences import profile_sentence
from modeldyno.present.charts.bars import Bar, bar_chart
from modeldyno.present.markup import Markup
from modeldyno.present.profile_tables import (
    LEFT,
    OUTSIDE,
    known_roof,
    profile_rows,
    roof_lines,
)
from modeldyno.present.reports.blocks import Section, table

TOP = 10
Span = tuple[float, float] | None


def profile_section(result: ProfileResult, peaks_of: PeaksOf) -> Section:
    name, facts = shown_name(result.model.path), result.facts
    parts, roof = slices(result, "op"), known_roof(result, peaks_of)
    head, rows = profile_rows(result, roof=roof)
    precision = f", {facts.precision}" if facts.precision else ""
    return Section(
        result=result,
        title=f"Profile of {name}",
        verdict=(_most(parts), profile_sentence(result)) if parts else (profile_sentence(result),),
        word="",
        engines=(f"{facts.engine_title} on {facts.device}{precision}",),
        method=_method(result),
        table=table(head, rows, LEFT),
        charts=(_chart(result, parts),) if parts else (),
        limits=(
            *(*result.warnings, *result.deviations(), *result.notes),
            *roof_lines(result, roof),
        ),
        command=profile_command(result.spec, name),
    )


def _most(parts: Sequence[Slice]) -> str:
    """Operators whose intervals overlap the first one's share its place."""
    first = parts[0]
    tied = [one for one in parts if one is first or _overlap(one, first)]
    if len(tied) > 1:
        names = ", ".join(one.op_type for one in tied)
        return f"These take the most, and cannot be told apart: {names}"
    nodes = figures.counted(first.nodes, "node")
    return f"{first.op_type} takes the most: {figures.percent(first.share)} of a call, in {nodes}"


def _overlap(one: Slice, other: Slice) -> bool:
    if one.ci95_s is None or other.ci95_s is None:
        return False
    return one.ci95_s[0] <= other.ci95_s[1] and other.ci95_s[0] <= one.ci95_s[1]


def _method(result: ProfileResult) -> str:
    cores = figures.counted(result.spec.cell.cores, "core")
    return (
        f"A batch of {result.batch_size} on {cores} was timed without the engine's profiler and "
        f"with it, {figures.counted(result.calls, 'call')} in "
        f"{figures.counted(result.repeats, 'repeat')}. What the profiler adds is taken out, so "
        "that the nodes and what lies outside them make up the latency."
    )


def _chart(result: ProfileResult, parts: Sequence[Slice]) -> Markup:
    scale, unit = figures.unit_for_parts([result.latency_s])

    def bar(name: str, seconds: float, is_rest: bool = False, span: Span = None) -> Bar:
        share = figures.percent(max(0.0, seconds) / result.latency_s) if result.latency_s else ""
        half = (span[1] - span[0]) / 2 if span else 0.0
        text = figures.with_interval(seconds, half, scale, most=4)
        return Bar(name, seconds, f"{text} {unit} ({share})", is_rest, span)

    bars = [bar(one.op_type, one.total_s, span=one.ci95_s) for one in parts[:TOP]]
    if left := parts[TOP:]:
        more = figures.counted(len(left), "more operator")
        bars.append(bar(f"({more})", sum(one.total_s for one in left), is_rest=True))
    bars.append(bar(OUTSIDE, result.outside_s, is_rest=True))
    is_known = any(one.ci95_s for one in parts)
    read = " Whiskers are 95\u00a0% intervals over repeats." if is_known else ""
    return bar_chart("Top operators.", f"{_most(parts)}.{read}", bars)
