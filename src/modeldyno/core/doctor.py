"""Whether a machine is fit to measure: findings, their effect on numbers, and how to fix them."""

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

    resolution_s: float  # smallest step
    cost_s: float  # of one reading
    went_back: bool
    oversleep_s: float  # how late a short sleep typically ends


@dataclass(frozen=True)
class NoiseReading:
    """How steadily a fixed piece of work runs when repeated for a second."""

    floor_s: float
    typical_s: float
    contention: float  # wall over CPU time
    samples: int


@dataclass(frozen=True)
class Peak:
    """The highest rates of this number of cores."""

    cores: int
    flops_per_s: float
    bytes_per_s: float
    noise: Noise  # the worse of both measurements; unless quiet, higher rates may be possible


@dataclass(frozen=True)
class Peaks:
    fingerprint: str  # of the machine
    created_at: str
    engine: str
    work: str  # what was computed for ``flops_per_s``
    traffic: str  # what was moved for ``bytes_per_s``
    peaks: tuple[Peak, ...]


@dataclass(frozen=True)
class Checkup:
    created_at: str
    tool_version: str
    findings: tuple[Finding, ...]
    clock: ClockReading
    noise: NoiseReading | None  # None if no core was free
    peaks: Peaks | None  # None if not measured on this machine yet
    host: HostFacts
    weather: HostWeather

    @property
    def fitness(self) -> Fitness:
        return fitness(self.findings)


def fitness(findings: Sequence[Finding]) -> Fitness:
    """One problem makes it unfit; unknown states do not count."""
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
