"""Which of two measured benchmarks is quicker, cell by cell, and what else differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described
from modeldyno.core.ids import BenchmarkId, ComparisonId, RunId
from modeldyno.core.results import Estimate, Noise, Verdict
from modeldyno.core.sentences import pair_sentence

Judged = Verdict | Literal["not-comparable"]
Basis = Literal["alternation", "one run", "separate runs"]
Side = Literal["a", "b"]
MARGIN = 0.02  # as a comparison has it unless told otherwise


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
    """``ratio`` is B's time by A's, per item, of what verdicts go by; None when not
    comparable."""

    a: JudgedCell
    b: JudgedCell
    verdict: Judged
    why: str  # it is not comparable, or what to keep in mind
    ratio: Estimate | None
    typical_ratio: Estimate | None
    basis: Basis | None
    comparison_id: ComparisonId | None  # that measured the very pair in alternation
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
            # The interval may lie clear of 1 all the same, and must not read as "no difference".
            span = f"B takes {self.ratio.low:.3f} to {self.ratio.high:.3f} times as long as A"
            verb = "are" if len(unusable) > 1 else "is"
            return f"Not judged: {' and '.join(unusable)} {verb} unusable ({span}, 95 %)."
        return pair_sentence(self.verdict, ratio, self.margin)


@dataclass(frozen=True)
class Setting:
    """Something that both have; ``a`` and ``b`` as text, None where a side does not say."""

    name: str
    a: str | None
    b: str | None

    @property
    def differs(self) -> bool:
        return self.a != self.b


@dataclass(frozen=True, kw_only=True)
class JudgedSide(Described):
    """One of two benchmarks."""

    benchmark_id: BenchmarkId
    """Its number."""
    name: str
    """As people call it."""
    run_id: RunId
    """The run whose numbers count."""
    model_name: str
    """Of its model."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkJudgement:
    a: JudgedSide
    b: JudgedSide
    cells: tuple[CellJudgement, ...]
    unmatched_a: tuple[int, ...]  # cells that the other one has no counterpart of
    unmatched_b: tuple[int, ...]
    settings: tuple[Setting, ...]
    environment: tuple[Setting, ...]

    @property
    def sentence(self) -> str:
        """Of one pair its own; of several, how many went which way."""
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
    """How many times quicker that side is: low, value, high."""
    if faster == "a":
        return ratio.low, ratio.value, ratio.high
    return 1 / ratio.high, 1 / ratio.value, 1 / ratio.low
