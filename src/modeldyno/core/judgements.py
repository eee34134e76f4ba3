"""Which of two measured benchmarks is quicker, cell by cell, and what else differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeVar

from modeldyno.core import precisions
from modeldyno.core.cell_axes import AXES, COUNTS, SIZES
from modeldyno.core.codec import encode
from modeldyno.core.documents.described import Described
from modeldyno.core.hosts import are_machines_different
from modeldyno.core.ids import BenchmarkId, ComparisonId, RunId
from modeldyno.core.requests.axes import axis_fields, sizes_of
from modeldyno.core.results import BenchmarkResult, CellResult, Estimate, Noise, Verdict
from modeldyno.core.sentences import pair_sentence

Judged = Verdict | Literal["not-comparable"]
Basis = Literal["alternation", "one run", "separate runs"]
Side = Literal["a", "b"]
MARGIN = 0.02  # the default of comparisons


@dataclass(frozen=True)
class Picked:
    """A benchmark, or one cell of it."""

    benchmark_id: BenchmarkId
    cell: int | None = None


@dataclass(frozen=True, kw_only=True)
class JudgedCell(Described):
    """One side of a pair of cells."""

    number: int
    """Of the cell, from 0."""
    name: str
    """In words: onnxruntime · 2 cores · batch 8."""
    sessions: int
    """That were measured."""
    samples: int
    """That were timed."""
    noise: Noise | None
    """How far to trust it."""


@dataclass(frozen=True, kw_only=True)
class CellJudgement:
    """``ratio`` is B's time divided by A's, per item, of the decisive figure; None if not
    comparable."""

    a: JudgedCell
    b: JudgedCell
    verdict: Judged
    why: str  # it is not comparable; else what to keep in mind
    ratio: Estimate | None
    typical_ratio: Estimate | None
    basis: Basis | None
    comparison_id: ComparisonId | None  # that measured this pair in alternation
    pairs: int | None  # of sessions, in that comparison
    margin: float = MARGIN  # within which a difference does not matter

    @property
    def faster(self) -> Side | None:
        match self.verdict:
            case "faster":
                return "b"
            case "slower":
                return "a"
            case _:
                return None

    @property
    def sentence(self) -> str:
        """``B is 1.31× faster than A (1.24–1.38, 95 %).``"""
        if self.ratio is None:
            return f"Not comparable: {self.why}."
        assert self.verdict != "not-comparable"
        ratio = self.ratio.value, self.ratio.low, self.ratio.high
        sides = {"A": self.a, "B": self.b}
        unusable = [name for name, cell in sides.items() if cell.noise == "unusable"]
        if self.verdict == "inconclusive" and unusable:
            # The interval may exclude 1 nevertheless, so this must not read as "no difference".
            span = f"B takes {self.ratio.low:.3f} to {self.ratio.high:.3f} times as long as A"
            verb = "are" if len(unusable) > 1 else "is"
            return f"Not judged: {' and '.join(unusable)} {verb} unusable ({span}, 95 %)."
        return pair_sentence(self.verdict, ratio, self.margin)


@dataclass(frozen=True)
class Setting:
    """A setting of both; ``a`` and ``b`` are text, None if unknown."""

    name: str
    a: str | None
    b: str | None

    @property
    def differs(self) -> bool:
        return self.a != self.b


@dataclass(frozen=True, kw_only=True)
class JudgedSide(Described):
    """One of two benchmarks."""

    benchmark_id: BenchmarkId | None
    """Its number; null of a run that a terminal judges."""
    name: str
    """As people call it; of a run, its number: #12."""
    run_id: RunId
    """The run whose numbers count."""
    model_name: str
    """Of its model."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkJudgement:
    a: JudgedSide
    b: JudgedSide
    cells: tuple[CellJudgement, ...]
    unmatched_a: tuple[int, ...]  # cells without a counterpart in the other
    unmatched_b: tuple[int, ...]
    settings: tuple[Setting, ...]
    environment: tuple[Setting, ...]

    @property
    def sentence(self) -> str:
        """The sentence of a single pair; of several, how many of each verdict."""
        if len(self.cells) == 1:
            return self.cells[0].sentence
        if not self.cells:
            return "Not comparable: no cell of one has the same axes as a cell of the other."
        verdicts = [cell.verdict for cell in self.cells]
        b, a = verdicts.count("faster"), verdicts.count("slower")
        none, rest = verdicts.count("not-comparable"), len(verdicts)
        parts = [f"B is faster in {b}"] * bool(b) + [f"A is faster in {a}"] * bool(a)
        unclear = rest - a - b - none
        parts += [f"no clear difference in {unclear}"] * bool(unclear)
        parts += [f"not comparable in {none}"] * bool(none)
        return f"Of {rest} cells: {', '.join(parts)}."


def speedup(ratio: Estimate, faster: Side) -> tuple[float, float, float]:
    """How many times faster that side is: low, value, high."""
    if faster == "a":
        return ratio.low, ratio.value, ratio.high
    return 1 / ratio.high, 1 / ratio.value, 1 / ratio.low


T = TypeVar("T")
Axes = dict[str, Any]  # of a cell, by name


def axes_of(cell: CellResult) -> Axes:
    return axis_fields(cell.ran)


_PLACE = [
    axis.name for axis in AXES if axis.kind != "sizes" and axis.name not in ("engine", "precision")
]


def is_same_place(a: Axes, b: Axes) -> bool:
    """Engine and precision only decide between several cells in one place. A size that only one
    cell specifies may be the one that the other was given."""
    if any(a[name] != b[name] for name in _PLACE):
        return False
    sizes = ((a[axis.name] or {}, b[axis.name] or {}) for axis in SIZES)
    return all(x[name] == y[name] for x, y in sizes for name in x.keys() & y.keys())


def match_cells(a: Sequence[Axes], b: Sequence[Axes]) -> list[tuple[int, int]]:
    """Pairs of places of matching cells. If either side has several that match, engine and
    precision must be the same, too."""
    pairs = []
    for number, axes in enumerate(a):
        matches = [place for place, other in enumerate(b) if is_same_place(other, axes)]
        if len(matches) > 1 or sum(is_same_place(other, axes) for other in a) > 1:
            matches = [place for place in matches if b[place] == axes]
        if len(matches) == 1:
            pairs.append((number, matches[0]))
    return pairs


def why_incomparable(a: CellResult, b: CellResult) -> str:
    """Why a ratio of the two would mislead; empty if it would not."""
    for name, cell in (("A", a), ("B", b)):
        if cell.measurement is None:
            why = f" ({cell.error.title})" if cell.error else ""
            return f"{name} has no number{why}"
    fed = _items_fed(a), _items_fed(b)
    if fed[0] != fed[1]:
        return f"their inputs differ: {_shapes(a)} against {_shapes(b)}"
    contracts = a.contract, b.contract
    if contracts[0] != contracts[1]:
        return f"one call means {contracts[0]!r} in A and {contracts[1]!r} in B"
    return ""


def why_doubtful(a: CellResult, b: CellResult) -> str:
    """Why neither may be called faster, whatever the ratio; empty if one may."""
    for name, cell in (("A", a), ("B", b)):
        if cell.measurement and cell.measurement.noise == "unusable":
            return f"the number of {name} is unusable: {cell.measurement.reasons[0]}"
    return ""


def precision_note(a: CellResult, b: CellResult) -> str:
    """That they compute differently; empty if they do not, or it is unknown."""
    of_a, of_b = (cell.facts.precision if cell.facts else None for cell in (a, b))
    return precisions.difference(of_a, of_b, ("A", "B"))


def settings_between(
    a: BenchmarkResult, b: BenchmarkResult, cell_a: CellResult, cell_b: CellResult
) -> tuple[Setting, ...]:
    return _pair_settings(_read_settings(a, cell_a), _read_settings(b, cell_b))


def environment_between(a: BenchmarkResult, b: BenchmarkResult) -> tuple[Setting, ...]:
    return _pair_settings(_read_environment(a), _read_environment(b))


def _read_settings(result: BenchmarkResult, cell: CellResult) -> dict[str, Any]:
    """All settings; as they ran, as far as known."""
    spec, facts, model = result.spec, cell.facts, result.model
    settings: dict[str, Any] = {
        "model": model.path,
        "model sha256": model.sha256,
        "model format": model.format,
        "model size": model.size_bytes,
        "signature": model.signature or None,
        "engine": facts.engine if facts else cell.spec.engine,
        "engine version": facts.engine_version if facts else None,
        "device": facts.device if facts else cell.spec.device,
        "providers": ", ".join(facts.providers) if facts else None,
        "precision": (facts.precision if facts else None) or cell.spec.precision,
        **{axis.label: getattr(cell.spec, axis.name) for axis in COUNTS},
        "batch size": cell.batch_size,
        "threads": facts.threads if facts else None,
        "spinning": facts.spinning if facts else cell.spec.spinning,
        "call contract": cell.contract,
        "input shapes": _shapes(cell),
        "input types": ", ".join(facts.input_dtypes.values()) if facts else None,
        "sandbox": str(cell.sandbox) if cell.sandbox else None,
        "budget": spec.budget.name,
        "seconds": spec.budget.seconds,
        "processes": spec.budget.processes,
        "sessions in a process": spec.budget.sessions_per_process,
        "iterations": spec.iterations,
        "warm-up calls": spec.warmup_calls,
        "timed call by call": spec.per_call,
        "time limit": spec.timeout_s,
        "memory limit": spec.memory_limit_bytes,
        "seed": spec.seed,
    }
    settings |= {f"option {name}": value for name, value in cell.spec.options.items()}
    sizes = spec.model.dims | sizes_of(cell.spec)
    settings |= {f"dimension {name}": size for name, size in sizes.items()}
    return settings | {f"value {name}": value for name, value in spec.model.values.items()}


_ENVIRONMENT = {
    "system": "system", "kernel": "kernel", "cpu_model": "CPU", "cpus": "CPUs",
    "cpus_allowed": "CPUs allowed", "cpu_quota": "CPU quota",
    "instruction_sets": "instruction sets", "cache_bytes": "caches", "numa_nodes": "NUMA nodes",
    "memory_bytes": "memory", "hypervisor": "hypervisor", "governor": "governor",
    "boost": "boost", "huge_pages": "huge pages", "microcode": "microcode", "libc": "C library",
    "python": "Python", "smt": "SMT", "clocksource": "clock source",
    "isolated_cpus": "isolated CPUs", "nohz_full": "CPUs without a tick",
    "container": "container", "swap_bytes": "swap", "machine": "machine",
}  # fmt: skip


_MACHINE = ("cpu_model", "cpus", "memory_bytes")  # if one differs, the machines differ


def machines_apart(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """A sentence if two sets of host facts are of different machines; else empty.

    Machines with the same facts may still differ by their ids, which old runs lack.
    """
    names = [name for name in _MACHINE if a.get(name) != b.get(name)]
    if are_machines_different(a.get("machine"), b.get("machine")):
        names.append("machine")
    if not names:
        return ""
    left, right = (_setting_text(host.get(names[0])) for host in (a, b))
    return f"measured on different machines: {left} against {right}"


def _read_environment(result: BenchmarkResult) -> dict[str, Any]:
    host = encode(result.host)
    facts = {words: host[name] for name, words in _ENVIRONMENT.items()}
    return facts | {"Modeldyno": result.tool_version}


def _pair_settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Setting, ...]:
    return tuple(
        Setting(name, _setting_text(a.get(name)), _setting_text(b.get(name))) for name in {**a, **b}
    )


def _setting_text(setting: Any) -> str | None:
    match setting:
        case None:
            return None
        case bool():
            return "yes" if setting else "no"
        case list():
            return ", ".join(map(str, setting))
        case dict():
            return ", ".join(f"{name} {part}" for name, part in setting.items())
        case _:
            return str(setting)


def _items_fed(cell: CellResult) -> list[float]:
    """Elements per item of each input, without names, which differ between formats."""
    return sorted(prod(shape) / cell.batch_size for shape in cell.input_shapes.values())


def _shapes(cell: CellResult) -> str:
    return ", ".join(
        f"{name} [{','.join(str(size) for size in shape)}]"
        for name, shape in cell.input_shapes.items()
    )
