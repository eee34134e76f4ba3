"""Whether a machine is fit to measure: what was found, what it does to numbers, how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.results import Noise

FindingState = Literal["ok", "warning", "problem", "unknown"]
Fitness = Literal["fit", "fit with care", "unfit"]
NONE = "none"


@dataclass(frozen=True)
class Finding(Described):
    """One check."""

    name: str
    """What was looked at."""
    state: FindingState
    """unknown is not held against the machine."""
    value: str
    """What was found."""
    effect: str = NONE
    """What it does to numbers; "none" when nothing."""
    fix: str = NONE
    """A command where there is one, else advice, else "none"."""


@dataclass(frozen=True)
class ClockReading:
    """The stopwatch itself."""

    resolution_s: float  # smallest step seen
    cost_s: float  # of one reading
    went_back: bool
    oversleep_s: float  # how much later than asked a short sleep ends, typically


@dataclass(frozen=True)
class NoiseReading:
    """A fixed piece of work, over and over for a second: how steady is it right now?"""

    floor_s: float
    typical_s: float
    contention: float  # wall over CPU time
    samples: int


@dataclass(frozen=True)
class Peak:
    """The most that so many cores reached."""

    cores: int
    flops_per_s: float
    bytes_per_s: float
    noise: Noise  # of the worse of both measurements: unless quiet, more may be possible


@dataclass(frozen=True)
class Peaks:
    fingerprint: str  # of the machine they belong to
    created_at: str
    engine: str
    work: str  # what was computed for the first figure
    traffic: str  # what was moved for the second
    peaks: tuple[Peak, ...]


@dataclass(frozen=True)
class Checkup:
    created_at: str
    tool_version: str
    findings: tuple[Finding, ...]
    clock: ClockReading
    noise: NoiseReading | None  # None: no core was free
    peaks: Peaks | None  # None: not measured on this machine yet
    host: HostFacts
    weather: HostWeather

    @property
    def fitness(self) -> Fitness:
        return fitness(self.findings)


def fitness(findings: Sequence[Finding]) -> Fitness:
    """One problem makes unfit; what is unknown is not held against the machine."""
    states = {finding.state for finding in findings}
    if "problem" in states:
        return "unfit"
    return "fit with care" if "warning" in states else "fit"


def verdict_sentence(findings: Sequence[Finding]) -> str:
    """``unfit: load, noise (and 3 warnings)``."""
    problems = [f.name for f in findings if f.state == "problem"]
    warnings = [f.name for f in findings if f.state == "warning"]
    if not problems:
        return f"{fitness(findings)}: {', '.join(warnings)}" if warnings else fitness(findings)
    others = f" (and {len(warnings)} warning{'s' * (len(warnings) > 1)})" if warnings else ""
    return f"{fitness(findings)}: {', '.join(problems)}{others}"
