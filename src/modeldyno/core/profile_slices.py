"""A profile added up: a node, or all nodes of one operator, the slowest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Held, Roof, held

By = Literal["node", "op"]


@dataclass(frozen=True)
class Slice:
    """A node, or all nodes of one operator; seconds of one call of the model."""

    node: str | None  # None: of an operator
    op_type: str
    provider: str
    nodes: int
    calls: int
    total_s: float
    told_s: float
    cpu_s: float
    accelerator_s: float | None
    share: float  # of the latency
    cumulative: float  # with all that are slower
    ci95_s: tuple[float, float] | None = None  # of the total, over repeats
    flop: float | None = None
    moved_bytes: float | None = None
    parts: tuple[str, ...] = ()

    def held(self, roof: Roof) -> Held:
        return held(self.flop, self.moved_bytes, self.total_s, roof)


def slices(result: ProfileResult, by: By) -> list[Slice]:
    """The slowest first."""
    parts: dict[tuple[Any, ...], list[Any]] = {}
    for number, row in enumerate(result.rows):
        key = (row.op_type,) if by == "op" else (number,)
        parts.setdefault(key, []).append(row)
    merged = sorted(parts.values(), key=lambda rows: -sum(row.total_s for row in rows))
    listed: list[Slice] = []
    cumulative = 0.0
    for rows in merged:
        total = sum(row.total_s for row in rows)
        cumulative += total
        on_device = [row.accelerator_s for row in rows if row.accelerator_s is not None]
        listed.append(
            Slice(
                node=rows[0].node if by == "node" else None,
                op_type=rows[0].op_type,
                provider="+".join(dict.fromkeys(row.provider for row in rows if row.provider)),
                nodes=len(rows),
                calls=sum(row.calls for row in rows),
                total_s=total,
                told_s=sum(row.told_s for row in rows),
                cpu_s=sum(row.cpu_s for row in rows),
                accelerator_s=sum(on_device) if on_device else None,
                share=share(total, result),
                cumulative=share(cumulative, result),
                ci95_s=rows[0].ci95_s if by == "node" else result.ci95_s_by_op.get(rows[0].op_type),
                flop=_all([row.flop for row in rows]),
                moved_bytes=_all([row.moved_bytes for row in rows]),
                parts=rows[0].parts if by == "node" else (),
            )
        )
    return listed


def _all(parts: Sequence[float | None]) -> float | None:
    """Their sum, where all are known."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def share(seconds: float, result: ProfileResult) -> float:
    return seconds / result.latency_s if result.latency_s else 0.0
