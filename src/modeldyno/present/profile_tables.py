"""Where the time goes, as tables: by node or by operator, the slowest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from modeldyno.core import exports, figures
from modeldyno.core.profile_diffs import ChangeSide, ProfileDiff
from modeldyno.core.profiles import (
    Agreement,
    By,
    OpTypeRow,
    ProfileRow,
    Slice,
    UnknownTimes,
    make_slices,
    share_of_latency,
)
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Held, PeaksOf, Roof, find_roof
from modeldyno.core.sentences import profile_sentence
from modeldyno.present.plain import table_text

OUTSIDE = "(outside nodes)"
TOP = 20
LEFT = ("node", "operator", "where", "limit")
CSV_COLUMNS = (
    *("node", "op_type", "provider", "calls", "nodes", "total_ms", "share", "cumulative_share"),
    *("cpu_ms", "accelerator_ms", "recorded_ms", "flop", "bytes", "unknown"),
)


def profile_rows(
    profile: ProfileResult, by: By = "op", top: int | None = TOP, roof: Roof | None = None
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells; the last row is what is outside nodes. With a ``roof``, what limits each
    of them."""
    parts = make_slices(profile, by)
    listed = parts if top is None else parts[:top]
    scale, unit = figures.unit_for_parts([profile.latency_s])
    has_device = any(part.accelerator_s is not None for part in parts)
    names = ("node", "operator") if by == "node" else ("operator", "nodes")
    head: tuple[str, ...] = (
        *names,
        unit,
        "share",
        "in all",
        "calls",
        *(("on device",) if has_device else ()),
    )
    rows = [_row_cells(part, by, scale, has_device) for part in listed]
    is_held = roof is not None and any(part.flop is not None for part in parts)
    if roof is not None and is_held:
        head = (*head, "GFLOP/s", "GB/s", "limit")
        rows = [
            (*row, *_limit_cells(part.held(roof))) for row, part in zip(rows, listed, strict=True)
        ]
    if left := parts[len(listed) :]:
        rows.append((*_row_of_rest(left, by, scale, profile, has_device), *("",) * (3 * is_held)))
    outside = (
        figures.plain(profile.outside_s / scale),
        _percent_text(share_of_latency(profile.outside_s, profile)),
    )
    rows.append((OUTSIDE, "", *outside, "", "", *("",) * (has_device + 3 * is_held)))
    return head, rows


MOST_REASONS = 3


def known_roof(profile: ProfileResult, peaks_of: PeaksOf) -> Roof | None:
    """Of the machine that it was measured on; None where its peaks are not known."""
    roof = find_roof(
        peaks_of(profile.host.fingerprint), profile.spec.cell.cores, profile.facts.device
    )
    return None if roof.ridge is None else roof


def roof_lines(profile: ProfileResult, roof: Roof | None) -> tuple[str, ...]:
    """Why there are dashes, why the slowest operators are called what they are, and what they are
    held against."""
    limits = () if roof is None else (*limit_lines(profile, "op", roof), roof.text)
    return (*unknown_lines(profile, "op"), *limits)


def unknown_lines(profile: ProfileResult, by: By) -> list[str]:
    """Why there are dashes, for the first of them."""
    unknown = [part for part in make_slices(profile, by) if part.unknown]
    lines = [f"{part.node or part.op_type}: no time, {part.unknown}" for part in unknown]
    if more := lines[MOST_REASONS:]:
        what = "node" if by == "node" else "operator"
        lines[MOST_REASONS:] = [f"no time of {figures.counted(len(more), 'more ' + what)} either"]
    return lines


def limit_lines(profile: ProfileResult, by: By, roof: Roof) -> list[str]:
    """Why the slowest are called what they are; none without peaks."""
    if roof.ridge is None:
        return []
    return [
        f"{part.node or part.op_type}: {held.bound or figures.NOTHING}, {held.reason}"
        for part in make_slices(profile, by)[:MOST_REASONS]
        if (held := part.held(roof)).reason
    ]


def _limit_cells(held: Held) -> tuple[str, str, str]:
    rates = [
        figures.NOTHING if rate is None else figures.plain(rate / 1e9)
        for rate in (held.flops_per_s, held.bytes_per_s)
    ]
    return rates[0], rates[1], held.bound or figures.NOTHING


def _row_cells(part: Slice, by: By, scale: float, has_device: bool) -> tuple[str, ...]:
    names = (part.node or "", part.op_type) if by == "node" else (part.op_type, str(part.nodes))
    time = figures.plain(part.total_s / scale), _percent_text(part.share)
    figures_ = (
        *((figures.NOTHING,) * 2 if part.unknown else time),
        _percent_text(part.cumulative),
    )
    device = (figures.plain((part.accelerator_s or 0.0) / scale),) if has_device else ()
    return (*names, *figures_, str(part.calls), *device)


def _row_of_rest(
    left: Sequence[Slice], by: By, scale: float, profile: ProfileResult, has_device: bool
) -> tuple[str, ...]:
    total = sum(part.total_s for part in left)
    what = "node" if by == "node" else "operator"
    calls = sum(part.calls for part in left)
    nodes = "" if by == "node" else str(sum(part.nodes for part in left))
    numbers = (figures.plain(total / scale), _percent_text(share_of_latency(total, profile)))
    last = _percent_text(left[-1].cumulative)
    device = (figures.plain(sum(o.accelerator_s or 0.0 for o in left) / scale),) * has_device
    return (
        f"({figures.counted(len(left), 'more ' + what)})",
        nodes,
        *numbers,
        last,
        str(calls),
        *device,
    )


def _percent_text(share: float) -> str:
    return f"{share * 100:.1f} %"


def profile_text(profile: ProfileResult, by: By = "op", top: int | None = TOP) -> str:
    head, rows = profile_rows(profile, by, top)
    return f"{table_text(head, rows, left=LEFT)}\n{profile_sentence(profile)}"


def profile_html(profile: ProfileResult) -> str:
    head, rows = profile_rows(profile)
    return exports.html_table(head, rows, caption=profile_sentence(profile))


def node_csv(profile: ProfileResult, path: str | Path | None = None) -> str:
    return profile_csv(profile, "node", path)


def profile_csv(profile: ProfileResult, by: By, path: str | Path | None = None) -> str:
    """One line for each, the slowest first, and one for what is outside nodes."""
    text = exports.csv_text(CSV_COLUMNS, _csv_rows(profile, by))
    return exports.write_if_given_path(text, path)


def _csv_rows(profile: ProfileResult, by: By) -> Iterable[dict[str, Any]]:
    for part in make_slices(profile, by):
        yield {
            "node": part.node or "",
            "op_type": part.op_type,
            "provider": part.provider,
            "calls": part.calls,
            "nodes": part.nodes,
            "total_ms": None if part.unknown else part.total_s * 1e3,
            "share": None if part.unknown else part.share,
            "cumulative_share": part.cumulative,
            "cpu_ms": None if part.unknown else part.cpu_s * 1e3,
            "accelerator_ms": None if part.accelerator_s is None else part.accelerator_s * 1e3,
            "recorded_ms": part.recorded_s * 1e3,
            "flop": part.flop,
            "bytes": part.moved_bytes,
            "unknown": part.unknown,
        }
    outside = {"node": OUTSIDE, "total_ms": profile.outside_s * 1e3}
    yield (
        dict.fromkeys(CSV_COLUMNS, "")
        | outside
        | {"share": share_of_latency(profile.outside_s, profile)}
    )


ROW_COLUMNS = (
    "node", "op_type", "nodes", "calls", "total_ms", "share", "cpu_ms", "accelerator_ms", "unknown"
)  # fmt: skip


def rows_csv(
    rows: Sequence[ProfileRow | OpTypeRow],
    agreement: Agreement,
    unknown: UnknownTimes,
) -> str:
    """What the database keeps of a run, and what is outside all nodes."""
    latency_s, outside_s = agreement.latency_s, agreement.outside_s
    lines: list[dict[str, Any]] = []
    for row in rows:
        times = {
            "total_ms": row.total_s * 1e3,
            "share": row.total_s / latency_s if latency_s else None,
            "cpu_ms": None if row.cpu_s is None else row.cpu_s * 1e3,
        }
        lines.append(
            {
                "node": row.node if isinstance(row, ProfileRow) else "",
                "op_type": row.op_type,
                "nodes": row.nodes if isinstance(row, OpTypeRow) else row.defined,
                "calls": row.calls,
                **(dict.fromkeys(times) if row.key in unknown else times),
                "accelerator_ms": None if row.accelerator_s is None else row.accelerator_s * 1e3,
                "unknown": unknown.get(row.key, ""),
            }
        )
    if latency_s and outside_s is not None:
        outside = {"node": OUTSIDE, "total_ms": outside_s * 1e3, "share": outside_s / latency_s}
        lines.append(dict.fromkeys(ROW_COLUMNS, "") | outside)
    return exports.csv_text(ROW_COLUMNS, lines)


def diff_rows(
    diff: ProfileDiff, top: int | None = TOP
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells, the largest change first."""
    scale, unit = figures.unit_for_parts([diff.a.latency_s, diff.b.latency_s])
    what = "node" if diff.by == "node" else "operator"
    head = (what, "in A", "in B", f"A {unit}", f"B {unit}", "B - A", "what", "change")
    listed = diff.changes if top is None else diff.changes[:top]
    return head, [
        (
            change.name,
            _part_name(change.a),
            _part_name(change.b),
            *(_part_time_text(part, scale) for part in (change.a, change.b)),
            figures.NOTHING
            if change.delta_s is None
            else f"{change.delta_s / scale:+.3g}".replace("-", "\u2212"),
            change.standing,
            "" if change.standing in ("appeared", "vanished") else change.verdict,
        )
        for change in listed
    ]


DIFF_LEFT = ("node", "operator", "in A", "in B", "what", "change")


def _part_name(part: ChangeSide | None) -> str:
    """Its operators, and how many nodes they are where that is not one."""
    if part is None:
        return figures.NOTHING
    ops = "+".join(part.op_types)
    return ops if part.nodes == 1 else f"{ops} ({part.nodes})"


def _part_time_text(part: ChangeSide | None, scale: float) -> str:
    if part is None or part.unknown:
        return figures.NOTHING
    if part.ci95_s is None:
        return figures.plain(part.total_s / scale)
    low, high = part.ci95_s
    return figures.with_interval(part.total_s, (high - low) / 2, scale)
