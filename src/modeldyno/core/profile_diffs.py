"""The difference of two profiles: which nodes correspond, and what changed.

Nodes correspond if they have the same name, or are made of the same nodes of the model; engines
fuse, so several nodes of one side may be one of the other. The rest is matched by the kind of work
and the place in the order of execution. Nodes without a counterpart appeared or vanished.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from modeldyno.core import figures
from modeldyno.core.cell_axes import COUNTS
from modeldyno.core.hosts import are_machines_different
from modeldyno.core.names import shown_name
from modeldyno.core.node_work import family, plain_name
from modeldyno.core.results import NodeResult, ProfileResult
from modeldyno.core.sessions import options_text

By = Literal["node", "op"]
ChangeKind = Literal["kept", "moved", "appeared", "vanished"]
MatchedBy = Literal["name", "parts", "place", "kind"]
ChangeVerdict = Literal[
    "faster", "slower", "no clear difference", "not comparable", "only in A", "only in B"
]
Span = tuple[float, float]

UNLIKE_LOAD = 1.0  # of the machine, averaged over a minute
MOST_MATCHED = 5_000  # nodes per side that are matched by place, which takes quadratic time
# Suffixes that engines add to the names of nodes that they change.
_SUFFIXES = ("_nchwc", "_nhwc", "_fused", "_fusion", "_quant", "_QuantizeLinear")


@dataclass(frozen=True)
class ChangeSide:
    """One side of a change: a node, or several that do the work of the other side's."""

    names: tuple[str, ...]
    op_types: tuple[str, ...]
    providers: tuple[str, ...]
    total_s: float
    ci95_s: Span | None
    nodes: int
    place: int  # of the first, in the order of execution
    unknown: str = ""  # why its time is not to be shown


@dataclass(frozen=True)
class Change:
    a: ChangeSide | None
    b: ChangeSide | None
    matched_by: MatchedBy | None = None
    standing: ChangeKind = "kept"
    is_comparable: bool = True  # False: measured on different machines, or not known

    @property
    def name(self) -> str:
        """B's name, or A's if only A has it. Operators with different names go by their kind."""
        side = self.b or self.a
        assert side is not None
        if self.matched_by == "kind":
            return family(side.op_types[0])
        if self.a and self.b and len(self.a.names) == 1 < len(self.b.names):
            side = self.a
        return side.names[0] if side.names else "+".join(side.op_types)

    @property
    def delta_s(self) -> float | None:
        """None where the time of either is not known."""
        if any(side is not None and side.unknown for side in (self.a, self.b)):
            return None
        return (self.b.total_s if self.b else 0.0) - (self.a.total_s if self.a else 0.0)

    @property
    def verdict(self) -> ChangeVerdict:
        if self.b is None:
            return "only in A"
        if self.a is None:
            return "only in B"
        if not self.is_comparable or self.delta_s is None:
            return "not comparable"
        if not _are_spans_apart(self.a.ci95_s, self.b.ci95_s):
            return "no clear difference"
        return "faster" if self.delta_s < 0 else "slower"


@dataclass(frozen=True)
class ProfileDiff:
    a: ProfileResult
    b: ProfileResult
    by: By
    changes: tuple[Change, ...]  # the largest first
    differences: tuple[str, ...]  # in how they were measured

    @property
    def delta_s(self) -> float:
        return self.b.latency_s - self.a.latency_s

    @property
    def verdict(self) -> ChangeVerdict:
        """Of the whole call."""
        if _are_machines_different(self.a, self.b):
            return "not comparable"
        spans = (side.ci95_s_by_figure.get("latency") for side in (self.a, self.b))
        if not _are_spans_apart(*spans):
            return "no clear difference"
        return "faster" if self.delta_s < 0 else "slower"


def compare_profiles(a: ProfileResult, b: ProfileResult, by: By = "node") -> ProfileDiff:
    changes = _diff_by_node(a, b) if by == "node" else _diff_by_op(a, b)
    if _are_machines_different(a, b):
        changes = [replace(change, is_comparable=False) for change in changes]
    ranked = sorted(changes, key=lambda change: -abs(change.delta_s or 0.0))
    return ProfileDiff(a, b, by, tuple(ranked), tuple(_find_differences(a, b)))


def diff_sentence(diff: ProfileDiff) -> str:
    """``A call takes 2.57 ms in A and 2.26 ms in B, 0.31 ms less (faster); of its parts: …``."""
    counts: dict[str, int] = {}
    for change in diff.changes:
        gone = change.standing in ("appeared", "vanished")
        word = change.standing if gone else change.verdict
        counts[word] = counts.get(word, 0) + 1
    moved = sum(change.standing == "moved" for change in diff.changes)
    parts = [f"{count} {word}" for word, count in counts.items()]
    parts += [f"{moved} moved"] if moved else []
    totals = [figures.duration(side.latency_s) for side in (diff.a, diff.b)]
    difference = f"{figures.duration(abs(diff.delta_s))} {'less' if diff.delta_s < 0 else 'more'}"
    return (
        f"A call takes {totals[0]} in A and {totals[1]} in B, {difference} ({diff.verdict}); "
        f"of its parts: {', '.join(parts)}"
    )


def side_name(result: ProfileResult) -> str:
    """``onnxruntime 1.31.0, digits.onnx, run 20261119-203001-3fa9c1``: no two runs share it."""
    return f"{result.facts.engine_title}, {shown_name(result.model.path)}, run {result.run_id}"


def conditions_warning(diff: ProfileDiff) -> str | None:
    """What was unlike, in a sentence; None if nothing was."""
    if not diff.differences:
        return None
    return (
        f"A and B were measured under unlike conditions ({'; '.join(diff.differences)}): what "
        "changes between them may be due to any of these"
    )


# ---------------------------------------------------------------- by node


def _diff_by_node(a: ProfileResult, b: ProfileResult) -> list[Change]:
    changes = []
    left, right = set(range(len(a.rows))), set(range(len(b.rows)))  # without a counterpart
    for match in (_match_by_name, _match_by_parts, _match_by_place):
        for in_a, in_b, matched_by in match(a.rows, b.rows, left, right):
            left.difference_update(in_a)
            right.difference_update(in_b)
            changes.append(Change(_make_side(a.rows, in_a), _make_side(b.rows, in_b), matched_by))
    changes = _mark_moved(changes, is_one_engine=a.facts.engine == b.facts.engine)
    changes += [Change(_make_side(a.rows, [n]), None, None, "vanished") for n in sorted(left)]
    changes += [Change(None, _make_side(b.rows, [n]), None, "appeared") for n in sorted(right)]
    return changes


Groups = Iterator[tuple[list[int], list[int], MatchedBy]]


def _match_by_name(
    a: Sequence[NodeResult], b: Sequence[NodeResult], left: set[int], right: set[int]
) -> Groups:
    """Names that are not unique on a side do not count."""
    in_a, in_b = _unique_names(a, left), _unique_names(b, right)
    for name in in_a.keys() & in_b.keys():
        node_a, node_b = a[in_a[name]], b[in_b[name]]
        is_alike = family(node_a.op_type) == family(node_b.op_type)
        if is_alike or not (node_a.parts or node_b.parts):
            yield [in_a[name]], [in_b[name]], "name"


def _unique_names(rows: Sequence[NodeResult], numbers: Iterable[int]) -> dict[str, int]:
    places: dict[str, list[int]] = {}
    for number in numbers:
        places.setdefault(plain_node(rows[number].node), []).append(number)
    return {name: own[0] for name, own in places.items() if len(own) == 1}


def plain_node(name: str) -> str:
    """Without the suffix of a node that an engine changed."""
    shorter = next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name)
    return shorter or name


def _match_by_parts(
    a: Sequence[NodeResult], b: Sequence[NodeResult], left: set[int], right: set[int]
) -> Groups:
    """Nodes of both sides that share nodes of the model, directly or through others."""
    holders: dict[str, list[tuple[int, int]]] = {}
    for side, rows, numbers in ((0, a, left), (1, b, right)):
        for number in sorted(numbers):
            for part in {plain_node(rows[number].node), *rows[number].parts}:
                holders.setdefault(part, []).append((side, number))
    for group in _join_groups(
        own for own in holders.values() if len({side for side, _ in own}) == 2
    ):
        in_a, in_b = (sorted(number for at, number in group if at == side) for side in (0, 1))
        yield in_a, in_b, "parts"


def _join_groups(groups: Iterable[list[tuple[int, int]]]) -> list[set[tuple[int, int]]]:
    of: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for group in groups:
        whole = set(group).union(*(of.get(node, set()) for node in group))
        of |= dict.fromkeys(whole, whole)
    return list({id(whole): whole for whole in of.values()}.values())


def _match_by_place(
    a: Sequence[NodeResult], b: Sequence[NodeResult], left: set[int], right: set[int]
) -> Groups:
    """The same operator with the same work, in order; then the same kind of work."""
    keys: tuple[Callable[[NodeResult], object], ...] = (
        lambda row: (plain_name(row.op_type), row.flop),
        lambda row: family(row.op_type),
    )
    for key in keys:
        in_a, in_b = sorted(left), sorted(right)
        if max(len(in_a), len(in_b)) > MOST_MATCHED:
            return
        matcher = SequenceMatcher(
            None, [key(a[n]) for n in in_a], [key(b[n]) for n in in_b], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                yield [in_a[block.a + step]], [in_b[block.b + step]], "place"


def _mark_moved(changes: list[Change], *, is_one_engine: bool) -> list[Change]:
    """Marks those that run in another order than the others, or, on one engine, on another
    provider: engines name theirs differently."""
    both = [(c, c.a, c.b) for c in changes if c.a is not None and c.b is not None]
    both.sort(key=lambda pair: pair[1].place)
    stays = _longest_rising([b.place for _, _, b in both])
    return [
        replace(change, standing="moved")
        if number not in stays or (is_one_engine and a.providers != b.providers)
        else change
        for number, (change, a, b) in enumerate(both)
    ]


def _longest_rising(places: Sequence[int]) -> set[int]:
    """Numbers of a longest rising subsequence."""
    tails: list[int] = []  # the lowest place that a subsequence of each length can end with
    ends: list[int] = []
    before: list[int] = []
    for number, place in enumerate(places):
        at = bisect_left(tails, place)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(place)
            ends.append(number)
        else:
            tails[at], ends[at] = place, number
    rising: set[int] = set()
    number = ends[-1] if ends else -1
    while number >= 0:
        rising.add(number)
        number = before[number]
    return rising


# ---------------------------------------------------------------- by operator


def _diff_by_op(a: ProfileResult, b: ProfileResult) -> list[Change]:
    """By name; operators of one side only, by their kind of work."""
    ops_a, ops_b = ({row.op_type for row in side.rows} for side in (a, b))
    shared = ops_a & ops_b
    kinds = {family(op) for op in ops_a - shared} & {family(op) for op in ops_b - shared}
    totals_a, totals_b = (_sum_by_op(side, shared, kinds) for side in (a, b))
    changes = []
    for key in dict.fromkeys((*totals_a, *totals_b)):
        side_a, side_b = totals_a.get(key), totals_b.get(key)
        if side_a and side_b:
            has_one_name = side_a.op_types == side_b.op_types
            changes.append(Change(side_a, side_b, "name" if has_one_name else "kind"))
        else:
            standing: ChangeKind = "vanished" if side_a else "appeared"
            changes.append(Change(side_a, side_b, None, standing))
    return changes


def _sum_by_op(result: ProfileResult, shared: set[str], kinds: set[str]) -> dict[str, ChangeSide]:
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(result.rows):
        kind = family(row.op_type)
        is_alone = row.op_type in shared or kind not in kinds
        groups.setdefault(row.op_type if is_alone else f"({kind})", []).append(number)
    totals = {}
    for key, numbers in groups.items():
        part = _make_side(result.rows, numbers)
        spans = [result.ci95_s_by_op.get(op) for op in part.op_types]
        unknown = _first(result.unknown_by_op.get(op, "") for op in part.op_types)
        totals[key] = replace(part, names=part.op_types, ci95_s=_add_spans(spans), unknown=unknown)
    return totals


# ---------------------------------------------------------------- both


def _make_side(rows: Sequence[NodeResult], numbers: Sequence[int]) -> ChangeSide:
    own = [rows[number] for number in numbers]
    return ChangeSide(
        names=tuple(row.node for row in own),
        op_types=tuple(dict.fromkeys(row.op_type for row in own)),
        providers=tuple(dict.fromkeys(row.provider for row in own)),
        total_s=sum(row.total_s for row in own),
        ci95_s=_add_spans([row.ci95_s for row in own]),
        nodes=len(own),
        place=min(numbers),
        unknown=_first(row.unknown for row in own),
    )


def _first(reasons: Iterable[str]) -> str:
    return next(filter(None, reasons), "")


def _add_spans(spans: Sequence[Span | None]) -> Span | None:
    """The interval of a sum, at its widest; None unless all are known."""
    if not spans or None in spans:
        return None
    known = [span for span in spans if span is not None]
    return sum(low for low, _ in known), sum(high for _, high in known)


def _are_spans_apart(a: Span | None, b: Span | None) -> bool:
    return a is not None and b is not None and (a[1] < b[0] or b[1] < a[0])


def _find_differences(a: ProfileResult, b: ProfileResult) -> Iterator[str]:
    """What differs in how they were measured."""
    engines = [f"{side.facts.engine} {side.facts.engine_version}" for side in (a, b)]
    cells = [replace(side.spec.cell, batch_size=side.batch_size) for side in (a, b)]
    machines = [side.host.fingerprint for side in (a, b)]
    if _are_machines_different(a, b):
        machines = [side.host.machine or "" for side in (a, b)]
    for name, of_a, of_b in (
        ("model", a.model.sha256[:12], b.model.sha256[:12]),
        ("engine", *engines),
        ("device", a.facts.device, b.facts.device),
        ("precision", a.facts.precision, b.facts.precision),
        *((axis.label, *(getattr(cell, axis.name) for cell in cells)) for axis in COUNTS),
        ("contract", *(s.facts.contract or s.spec.cell.contract for s in (a, b))),
        ("options", options_text(a.spec.cell.options), options_text(b.spec.cell.options)),
        ("machine", *machines),
        ("quality", *(side.noise or "not judged" for side in (a, b))),
        ("load", *_loads(a, b)),
    ):
        if of_a != of_b:
            yield f"{name}: {of_a} in A, {of_b} in B"


def _loads(a: ProfileResult, b: ProfileResult) -> tuple[str, str]:
    """Alike unless other programs kept about a CPU more busy beside one of them."""
    loads = a.weather.load_1m, b.weather.load_1m
    if loads[0] is None or loads[1] is None or abs(loads[0] - loads[1]) < UNLIKE_LOAD:
        return "", ""
    return f"{loads[0]:.1f}", f"{loads[1]:.1f}"


def _are_machines_different(a: ProfileResult, b: ProfileResult) -> bool:
    return are_machines_different(a.host.machine, b.host.machine)
