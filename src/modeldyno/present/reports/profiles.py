"""A profile's section: the operators that take the time."""

from __future__ import annotations

from collections.abc import Sequence

from modeldyno.core import figures
from modeldyno.core.names import shown_name
from modeldyno.core.profiles import Slice, make_slices
from modeldyno.core.requests.commands import profile_command
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import PeaksOf
from modeldyno.core.sentences import profile_sentence, quality_remarks
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


def profile_section(profile: ProfileResult, peaks_of: PeaksOf) -> Section:
    name, facts = shown_name(profile.model.path), profile.facts
    parts = [part for part in make_slices(profile, "op") if not part.unknown]
    roof = known_roof(profile, peaks_of)
    head, rows = profile_rows(profile, roof=roof)
    precision = f", {facts.precision}" if facts.precision else ""
    return Section(
        result=profile,
        title=f"Profile of {name}",
        verdict=(_describe_slowest(parts), profile_sentence(profile))
        if parts
        else (profile_sentence(profile),),
        word="",
        engines=(f"{facts.engine_title} on {facts.device}{precision}",),
        method=_method_text(profile),
        table=table(head, rows, LEFT),
        charts=(_draw_chart(profile, parts),) if parts else (),
        limits=(
            *quality_remarks(profile),
            *(*profile.warnings, *profile.deviations(), *profile.notes),
            *roof_lines(profile, roof),
        ),
        command=profile_command(profile.spec, name),
    )


def _describe_slowest(parts: Sequence[Slice]) -> str:
    """Operators whose intervals overlap the first one's share its place."""
    first = parts[0]
    tied = [part for part in parts if part is first or _overlap(part, first)]
    if len(tied) > 1:
        names = ", ".join(part.op_type for part in tied)
        return f"These take the most, and cannot be told apart: {names}"
    nodes = figures.counted(first.nodes, "node")
    return f"{first.op_type} takes the most: {figures.percent(first.share)} of a call, in {nodes}"


def _overlap(part: Slice, other: Slice) -> bool:
    if part.ci95_s is None or other.ci95_s is None:
        return False
    return part.ci95_s[0] <= other.ci95_s[1] and other.ci95_s[0] <= part.ci95_s[1]


def _method_text(profile: ProfileResult) -> str:
    cores = figures.counted(profile.spec.cell.cores, "core")
    return (
        f"A batch of {profile.batch_size} on {cores} was timed without the engine's profiler and "
        f"with it, {figures.counted(profile.calls, 'call')} in "
        f"{figures.counted(profile.repeats, 'repeat')}. What the profiler adds is taken out, so "
        "that the nodes and what lies outside them make up the latency."
    )


def _draw_chart(profile: ProfileResult, parts: Sequence[Slice]) -> Markup:
    scale, unit = figures.unit_for_parts([profile.latency_s])

    def bar(name: str, seconds: float, is_rest: bool = False, span: Span = None) -> Bar:
        share = figures.percent(max(0.0, seconds) / profile.latency_s) if profile.latency_s else ""
        half = (span[1] - span[0]) / 2 if span else 0.0
        text = figures.with_interval(seconds, half, scale, most=4)
        return Bar(name, seconds, f"{text} {unit} ({share})", is_rest, span)

    bars = [bar(part.op_type, part.total_s, span=part.ci95_s) for part in parts[:TOP]]
    if left := parts[TOP:]:
        more = figures.counted(len(left), "more operator")
        bars.append(bar(f"({more})", sum(part.total_s for part in left), is_rest=True))
    if unknown := [part.total_s for part in make_slices(profile, "op") if part.unknown]:
        bars.append(bar("(not known)", sum(unknown), is_rest=True))
    bars.append(bar(OUTSIDE, profile.outside_s, is_rest=True))
    is_known = any(part.ci95_s for part in parts)
    read = " Whiskers are 95\u00a0% intervals over repeats." if is_known else ""
    return bar_chart("Top operators.", f"{_describe_slowest(parts)}.{read}", bars)
