"""Two profiles side by side: which node of one is which of the other, and what changed.

Nodes are the same when they have the same name, or are made of the same nodes of the model; engines
fuse, so several of one side may be one of the other. What is left is matched by its kind of work
and its place in the order of execution. What still has no counterpart appeared, or vanished.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from modeldyno.core import figures
from modeldyno.core.cell_axes import COUNTS
from modeldyno.core.hosts import are_machines_different
from modeldyno.core.results import NodeResult, ProfileResult
from modeldyno.core.sessions import options_text
from modeldyno.core.work import family, plain_name

By = Literal["node", "op"]
ChangeKind = Literal["kept", "moved", "appeared", "vanished"]
MatchedBy = Literal["name", "parts", "place", "kind"]
ChangeVerdict = Literal[
    "faster", "slower", "no clear difference", "not comparable", "only in A", "only in B"
]
Span = tuple[float, float]

MOST_MATCHED = 5_000  # nodes of a side that are matched by place: it takes time with their square
# What engines add to the names of nodes that they changed.
_SUFFIXES = ("_nchwc", "_nhwc", "_fused", "_fusion", "_quant", "_QuantizeLinear")


@dataclass(frozen=True)
class ChangeSide:
    """What one side has of a change: one node, or several that do the work of the other's."""

    names: tuple[str, ...]
    op_types: tuple[str, ...]
    providers: tuple[str, ...]
    total_s: float
    ci95_s: Span | None
    nodes: int
    place: int  # of the first, in the order of execution


@dataclass(frozen=True)
class Change:
    a: ChangeSide | None
    b: ChangeSide | None
    matched_by: MatchedBy | None = None
    standing: ChangeKind = "kept"
    is_comparable: bool = True  # False: two machines measured the sides

    @property
    def name(self) -> str:
        """As the side calls it that has it; B's where both have. Operators that engines call
        differently are called by their kind."""
        side = self.b or self.a
        assert side is not None
        if self.matched_by == "kind":
            return family(side.op_types[0])
        if self.a and self.b and len(self.a.names) == 1 < len(self.b.names):
            side = self.a
        return side.names[0] if side.names else "+".join(side.op_types)

    @property
    def delta_s(self) -> float:
        return (self.b.total_s if self.b else 0.0) - (self.a.total_s if self.a else 0.0)

    @property
    def verdict(self) -> ChangeVerdict:
        if self.b is None:
            return "only in A"
        if self.a is None:
            return "only in B"
        if not self.is_comparable:
            return "not comparable"
        if not _apart(self.a.ci95_s, self.b.ci95_s):
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
        spans = (one.ci95_s_by_figure.get("latency") for one in (self.a, self.b))
        if not _apart(*spans):
            return "no clear difference"
        return "faster" if self.delta_s < 0 else "slower"


def diff(a: ProfileResult, b: ProfileResult, by: By = "node") -> ProfileDiff:
    changes = _by_node(a, b) if by == "node" else _by_op(a, b)
    if _are_machines_different(a, b):
        changes = [replace(change, is_comparable=False) for change in changes]
    ranked = sorted(changes, key=lambda change: -abs(change.delta_s))
    return ProfileDiff(a, b, by, tuple(ranked), tuple(_differences(a, b)))


def diff_sentence(diff: ProfileDiff) -> str:
    """``B takes 0.31 ms less (faster): 3 faster, 1 slower, 12 appeared``."""
    counts: dict[str, int] = {}
    for change in diff.changes:
        gone = change.standing in ("appeared", "vanished")
        word = change.standing if gone else change.verdict
        counts[word] = counts.get(word, 0) + 1
    moved = sum(change.standing == "moved" for change in diff.changes)
    parts = [f"{count} {word}" for word, count in counts.items()]
    parts += [f"{moved} moved"] if moved else []
    difference = f"{figures.duration(abs(diff.delta_s))} {'less' if diff.delta_s < 0 else 'more'}"
    return f"A call of B takes {difference} ({diff.verdict}); of its parts: {', '.join(parts)}"


# ---------------------------------------------------------------- by node


def _by_node(a: ProfileResult, b: ProfileResult) -> list[Change]:
    pairs: list[tuple[list[int], list[int], MatchedBy]] = []
    left, right = set(range(len(a.rows))), set(range(len(b.rows)))
    for groups in (_same_names, _same_parts, _same_places):
        for mine, theirs, how in groups(a.rows, b.rows, left, right):
            left.difference_update(mine)
            right.difference_update(theirs)
            pairs.append((mine, theirs, how))
    changes = [
        Change(_part(a.rows, mine), _part(b.rows, theirs), how) for mine, theirs, how in pairs
    ]
    changes = _moved(changes, is_one_engine=a.facts.engine == b.facts.engine)
    changes += [Change(_part(a.rows, [n]), None, None, "vanished") for n in sorted(left)]
    changes += [Change(None, _part(b.rows, [n]), None, "appeared") for n in sorted(right)]
    return changes


Groups = Iterator[tuple[list[int], list[int], MatchedBy]]


def _same_names(
    a: Sequence[NodeResult], b: Sequence[NodeResult], left: set[int], right: set[int]
) -> Groups:
    """Names that one side has twice tell nothing."""
    mine, theirs = _unique(a, left), _unique(b, right)
    for name in mine.keys() & theirs.keys():
        here, there = a[mine[name]], b[theirs[name]]
        if family(here.op_type) == family(there.op_type) or not (here.parts or there.parts):
            yield [mine[name]], [theirs[name]], "name"


def _unique(rows: Sequence[NodeResult], numbers: Iterable[int]) -> dict[str, int]:
    places: dict[str, list[int]] = {}
    for number in numbers:
        places.setdefault(plain_node(rows[number].node), []).append(number)
    return {name: some[0] for name, some in places.items() if len(some) == 1}


def plain_node(name: str) -> str:
    """Without what an engine added when it changed a node."""
    shorter = next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name)
    return shorter or name


def _same_parts(
    a: Sequence[NodeResult], b: Sequence[NodeResult], left: set[int], right: set[int]
) -> Groups:
    """Nodes of both sides that have a node of the model in common, and all that hangs together."""
    holders: dict[str, list[tuple[int, int]]] = {}
    for side, rows, numbers in ((0, a, left), (1, b, right)):
        for number in sorted(numbers):
            for part in {plain_node(rows[number].node), *rows[number].parts}:
                holders.setdefault(part, []).append((side, number))
    joined = _joined(some for some in holders.values() if len({side for side, _ in some}) == 2)
    for group in joined:
        mine = sorted(number for side, number in group if side == 0)
        theirs = sorted(number for side, number in group if side == 1)
        yield mine, theirs, "parts"


def _joined(groups: Iterable[list[tuple[int, int]]]) -> list[set[tuple[int, int]]]:
    of: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for group in groups:
        whole = set(group).union(*(of.get(one, set()) for one in group))
        for one in whole:
            of[one] = whole
    return list({id(whole): whole for whole in of.values()}.values())


def _same_places(
    a: Sequence[NodeResult], b: Sequence[NodeResult], left: set[int], right: set[int]
) -> Groups:
    """The same operator with the same work, then the same kind of work, one after the other."""
    for key in (_exactly, _roughly):
        mine, theirs = sorted(left), sorted(right)
        if max(len(mine), len(theirs)) > MOST_MATCHED:
            return
        matcher = SequenceMatcher(
            None, [key(a[n]) for n in mine], [key(b[n]) for n in theirs], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                yield [mine[block.a + step]], [theirs[block.b + step]], "place"


def _exactly(row: NodeResult) -> tuple[object, ...]:
    return plain_name(row.op_type), row.flop


def _roughly(row: NodeResult) -> tuple[object, ...]:
    return (family(row.op_type),)


def _moved(changes: list[Change], *, is_one_engine: bool) -> list[Change]:
    """Those that run in another order than the others, or at another provider: engines differ in
    what they call theirs."""
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
    """Numbers of the most that are in order already."""
    tails: list[int] = []  # places that a run of each length ends with, at the least
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


def _by_op(a: ProfileResult, b: ProfileResult) -> list[Change]:
    """By name; what only one side has, by its kind of work."""
    ops = ({row.op_type for row in side.rows} for side in (a, b))
    mine, theirs = ops
    shared = mine & theirs
    kinds = {family(op) for op in mine - shared} & {family(op) for op in theirs - shared}
    sides = [_ops(side, shared, kinds) for side in (a, b)]
    changes = []
    for key in dict.fromkeys((*sides[0], *sides[1])):
        here, there = sides[0].get(key), sides[1].get(key)
        standing: ChangeKind = "kept" if here and there else "vanished" if here else "appeared"
        how: MatchedBy | None = None
        if here and there:
            how = "name" if here.op_types == there.op_types else "kind"
        changes.append(Change(here, there, how, standing))
    return changes


def _ops(result: ProfileResult, shared: set[str], kinds: set[str]) -> dict[str, ChangeSide]:
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(result.rows):
        kind = family(row.op_type)
        is_alone = row.op_type in shared or kind not in kinds
        groups.setdefault(row.op_type if is_alone else f"({kind})", []).append(number)
    totals = {}
    for key, numbers in groups.items():
        part = _part(result.rows, numbers)
        known = [result.ci95_s_by_op.get(op) for op in part.op_types]
        totals[key] = replace(part, names=part.op_types, ci95_s=_added(known))
    return totals


# ---------------------------------------------------------------- both


def _part(rows: Sequence[NodeResult], numbers: Sequence[int]) -> ChangeSide:
    some = [rows[number] for number in numbers]
    return ChangeSide(
        names=tuple(row.node for row in some),
        op_types=tuple(dict.fromkeys(row.op_type for row in some)),
        providers=tuple(dict.fromkeys(row.provider for row in some)),
        total_s=sum(row.total_s for row in some),
        ci95_s=_added([row.ci95_s for row in some]),
        nodes=len(some),
        place=min(numbers),
    )


def _added(spans: Sequence[Span | None]) -> Span | None:
    """Of a sum: the ends add up at the most."""
    known = [span for span in spans if span is not None]
    if not known or len(known) < len(spans):
        return None
    return sum(low for low, _ in known), sum(high for _, high in known)


def _apart(a: Span | None, b: Span | None) -> bool:
    return a is not None and b is not None and (a[1] < b[0] or b[1] < a[0])


def _differences(a: ProfileResult, b: ProfileResult) -> Iterator[str]:
    """What was not the same, beyond the model: whoever compares must know."""
    for what, mine, theirs in (
        ("model", a.model.sha256[:12], b.model.sha256[:12]),
        ("engine", _engine(a), _engine(b)),
        ("device", a.facts.device, b.facts.device),
        ("precision", a.facts.precision, b.facts.precision),
        *_counts(a, b),
        ("contract", a.spec.cell.contract, b.spec.cell.contract),
        ("options", options_text(a.spec.cell.options), options_text(b.spec.cell.options)),
        ("machine", *_machines(a, b)),
    ):
        if mine != theirs:
            yield f"{what}: {mine} in A, {theirs} in B"


def _machines(a: ProfileResult, b: ProfileResult) -> tuple[str | None, str | None]:
    if _are_machines_different(a, b):
        return a.host.machine, b.host.machine
    return a.host.fingerprint, b.host.fingerprint


def _are_machines_different(a: ProfileResult, b: ProfileResult) -> bool:
    return are_machines_different(a.host.machine, b.host.machine)


def _counts(a: ProfileResult, b: ProfileResult) -> Iterator[tuple[str, int, int]]:
    cells = [replace(result.spec.cell, batch_size=result.batch_size) for result in (a, b)]
    for axis in COUNTS:
        mine, theirs = (getattr(cell, axis.name) for cell in cells)
        yield axis.label, mine, theirs


def _engine(result: ProfileResult) -> str:
    return f"{result.facts.engine} {result.facts.engine_version}"
