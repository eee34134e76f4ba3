"""Where the time goes, as tables: by node or by operator, the slowest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from modeldyno.core import exports, figures
from modeldyno.core.profile_diffs import ChangeSide, ProfileDiff
from modeldyno.core.profiles import Agreement, By, OpTypeRow, ProfileRow, Slice, share, slices
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Held, PeaksOf, Roof, roof_of
from modeldyno.core.sentences import profile_sentence
from modeldyno.present.plain import table_text

OUTSIDE = "(outside nodes)"
TOP = 20
LEFT = ("node", "operator", "where", "limit")
CSV_COLUMNS = (
    *("node", "op_type", "provider", "calls", "nodes", "total_ms", "share", "cumulative_share"),
    *("cpu_ms", "accelerator_ms", "recorded_ms", "flop", "bytes"),
)


def profile_rows(
    result: ProfileResult, by: By = "op", top: int | None = TOP, roof: Roof | None = None
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells; the last row is what is outside nodes. With a ``roof``, what limits each
    of them."""
    parts = slices(result, by)
    listed = parts if top is None else parts[:top]
    scale, unit = figures.unit_for_parts([result.latency_s])
    has_device = any(one.accelerator_s is not None for one in parts)
    names = ("node", "operator") if by == "node" else ("operator", "nodes")
    head: tuple[str, ...] = (
        *names,
        unit,
        "share",
        "in all",
        "calls",
        *(("on device",) if has_device else ()),
    )
    rows = [_cells(one, by, scale, has_device) for one in listed]
    is_held = roof is not None and any(one.flop is not None for one in parts)
    if roof is not None and is_held:
        head = (*head, "GFLOP/s", "GB/s", "limit")
        rows = [(*row, *_limits(one.held(roof))) for row, one in zip(rows, listed, strict=True)]
    if left := parts[len(listed) :]:
        rows.append((*_rest(left, by, scale, result, has_device), *("",) * (3 * is_held)))
    outside = (figures.plain(result.outside_s / scale), _percent(share(result.outside_s, result)))
    rows.append((OUTSIDE, "", *outside, "", "", *("",) * (has_device + 3 * is_held)))
    return head, rows


MOST_REASONS = 3


def known_roof(result: ProfileResult, peaks_of: PeaksOf) -> Roof | None:
    """Of the machine that it was measured on; None where its peaks are not known."""
    roof = roof_of(peaks_of(result.host.fingerprint), result.spec.cell.cores, result.facts.device)
    return None if roof.ridge is None else roof


def roof_lines(result: ProfileResult, roof: Roof | None) -> tuple[str, ...]:
    """Why the slowest operators are called what they are, and what they are held against."""
    return () if roof is None else (*limit_lines(result, "op", roof), roof.text)


def limit_lines(result: ProfileResult, by: By, roof: Roof) -> list[str]:
    """Why the slowest are called what they are; none without peaks."""
    if roof.ridge is None:
        return []
    return [
        f"{one.node or one.op_type}: {held.bound or figures.NOTHING}, {held.reason}"
        for one in slices(result, by)[:MOST_REASONS]
        if (held := one.held(roof)).reason
    ]


def _limits(held: Held) -> tuple[str, str, str]:
    rates = [
        figures.NOTHING if rate is None else figures.plain(rate / 1e9)
        for rate in (held.flops_per_s, held.bytes_per_s)
    ]
    return rates[0], rates[1], held.bound or figures.NOTHING


def _cells(one: Slice, by: By, scale: float, has_device: bool) -> tuple[str, ...]:
    names = (one.node or "", one.op_type) if by == "node" else (one.op_type, str(one.nodes))
    figures_ = (figures.plain(one.total_s / scale), _percent(one.share), _percent(one.cumulative))
    device = (figures.plain((one.accelerator_s or 0.0) / scale),) if has_device else ()
    return (*names, *figures_, str(one.calls), *device)


def _rest(
    left: Sequence[Slice], by: By, scale: float, result: ProfileResult, has_device: bool
) -> tuple[str, ...]:
    total = sum(one.total_s for one in left)
    what = "node" if by == "node" else "operator"
    calls = sum(one.calls for one in left)
    nodes = "" if by == "node" else str(sum(one.nodes for one in left))
    numbers = (figures.plain(total / scale), _percent(share(total, result)))
    last = _percent(left[-1].cumulative)
    device = (figures.plain(sum(o.accelerator_s or 0.0 for o in left) / scale),) * has_device
    return (
        f"({figures.counted(len(left), 'more ' + what)})",
        nodes,
        *numbers,
        last,
        str(calls),
        *device,
    )


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def profile_text(result: ProfileResult, by: By = "op", top: int | None = TOP) -> str:
    head, rows = profile_rows(result, by, top)
    return f"{table_text(head, rows, left=LEFT)}\n{profile_sentence(result)}"


def profile_html(result: ProfileResult) -> str:
    head, rows = profile_rows(result)
    return exports.html_table(head, rows, caption=profile_sentence(result))


def node_csv(result: ProfileResult, path: str | Path | None = None) -> str:
    return profile_csv(result, "node", path)


def profile_csv(result: ProfileResult, by: By, path: str | Path | None = None) -> str:
    """One line for each, the slowest first, and one for what is outside nodes."""
    text = exports.csv_text(CSV_COLUMNS, _csv_rows(result, by))
    return exports.deliver(text, path)


def _csv_rows(result: ProfileResult, by: By) -> Iterable[dict[str, Any]]:
    for one in slices(result, by):
        yield {
            "node": one.node or "",
            "op_type": one.op_type,
            "provider": one.provider,
            "calls": one.calls,
            "nodes": one.nodes,
            "total_ms": one.total_s * 1e3,
            "share": one.share,
            "cumulative_share": one.cumulative,
            "cpu_ms": one.cpu_s * 1e3,
            "accelerator_ms": None if one.accelerator_s is None else one.accelerator_s * 1e3,
            "recorded_ms": one.recorded_s * 1e3,
            "flop": one.flop,
            "bytes": one.moved_bytes,
        }
    outside = {"node": OUTSIDE, "total_ms": result.outside_s * 1e3}
    yield dict.fromkeys(CSV_COLUMNS, "") | outside | {"share": share(result.outside_s, result)}


ROW_COLUMNS = (
    "node", "op_type", "nodes", "calls", "total_ms", "share", "cpu_ms", "accelerator_ms"
)  # fmt: skip


def rows_csv(rows: Sequence[ProfileRow | OpTypeRow], agreement: Agreement) -> str:
    """What the database keeps of a run, and what is outside all nodes."""
    latency_s, outside_s = agreement.latency_s, agreement.outside_s
    lines: list[dict[str, Any]] = [
        {
            "node": row.node if isinstance(row, ProfileRow) else "",
            "op_type": row.op_type,
            "nodes": row.nodes if isinstance(row, OpTypeRow) else row.defined,
            "calls": row.calls,
            "total_ms": row.total_s * 1e3,
            "share": row.total_s / latency_s if latency_s else None,
            "cpu_ms": None if row.cpu_s is None else row.cpu_s * 1e3,
            "accelerator_ms": None if row.accelerator_s is None else row.accelerator_s * 1e3,
        }
        for row in rows
    ]
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
            _named(change.a),
            _named(change.b),
            *(_took(part, scale) for part in (change.a, change.b)),
            f"{change.delta_s / scale:+.3g}".replace("-", "\u2212"),
            change.standing,
            "" if change.standing in ("appeared", "vanished") else change.verdict,
        )
        for change in listed
    ]


DIFF_LEFT = ("node", "operator", "in A", "in B", "what", "change")


def _named(part: ChangeSide | None) -> str:
    """Its operators, and how many nodes they are where that is not one."""
    if part is None:
        return figures.NOTHING
    ops = "+".join(part.op_types)
    return ops if part.nodes == 1 else f"{ops} ({part.nodes})"


def _took(part: ChangeSide | None, scale: float) -> str:
    if part is None:
        return figures.NOTHING
    if part.ci95_s is None:
        return figures.plain(part.total_s / scale)
    low, high = part.ci95_s
    return figures.with_interval(part.total_s, (high - low) / 2, scale)
