"""A session: how a model is loaded and called in a confined worker, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from modeldyno.core.documents.described import Amount, Described
from modeldyno.core.models import Architecture, TensorSpec

Sandboxing = Literal["on", "off", "required"]  # required: do not measure without a sandbox


@dataclass(frozen=True)
class SandboxSpec:
    """What a worker may use besides Python, its packages and the system's libraries."""

    scratch: str  # the only folder it may write to
    readable: tuple[str, ...] = ()  # files and folders
    inspectable: tuple[str, ...] = ()  # readable only until an engine is loaded
    devices: tuple[str, ...] = ()  # nodes below /dev that an engine drives
    memory_limit_bytes: int = 0  # 0: none
    allow_exec: bool = False  # may start processes: compilers need that
    enabled: bool = True  # False: limits only


@dataclass(frozen=True)
class SandboxReport:
    """How a worker is actually confined; ``missing`` says what it could do nevertheless."""

    level: Literal["full", "partial", "none"]
    missing: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    landlock_abi: int = 0

    def __str__(self) -> str:
        return f"{self.level} ({'; '.join(self.missing)})" if self.missing else self.level


CallContract = Literal["hot", "api", "e2e"]
OptionValue = str | int | float | bool


@dataclass(frozen=True)
class Target:
    """What to load and how: everything a worker needs to open a session."""

    engine: str
    model: str  # a path that the worker may read
    device: str = "cpu"
    cpus: tuple[int, ...] = ()  # affinity; empty leaves it alone
    threads: int = 1
    precision: str | None = None  # None: as the model has it
    spinning: bool | None = None  # None: the engine's default
    options: dict[str, OptionValue] = field(default_factory=dict)
    format: str = ""  # as the file's content says
    architecture: Architecture | None = None  # for weights that need one
    # Of the inputs, by name, for engines that compile for sizes; empty: unknown.
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # Names and order in the file, for engines that use other ones.
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    streams: int = 1  # requests that one call makes at the same time
    signature: str = ""  # which of several ways to call it; empty: the file has at most one
    alias: str = ""  # the user's name of an engine in another Python


@dataclass(frozen=True)
class OtherPython(Described):
    """The Python of an engine that does not share Modeldyno's own (`modeldyno engines add`)."""

    engine: str
    """Which engine it is; the cell's `engine` is the name that its user gave it."""
    python: str
    """Version of that Python."""
    numpy: str | None
    """Version of NumPy there."""

    def __str__(self) -> str:
        return f"Python {self.python}" + (f", NumPy {self.numpy}" if self.numpy else "")


@dataclass(frozen=True)
class SessionFacts:
    """Read back from the loaded session, never echoed from the request."""

    engine: str
    engine_version: str
    device: str
    providers: tuple[str, ...]
    threads: int | None  # threads that may compute, the calling one included
    spinning: bool | None
    input_dtypes: dict[str, str]
    precision: str | None = None  # known once examined
    nodes_by_provider: dict[str, int] = field(default_factory=dict)  # known once examined
    kernels: int | None = None  # that a call runs: a node in a loop counts each time
    notes: tuple[str, ...] = ()
    parameters: int | None = None  # where the engine can count them
    contract: CallContract | None = None  # if it differs from the requested one
    streams: int = 1  # requests that one call makes at the same time
    # How it arranges images internally ("NCHW", "NHWC", "NCHWc"); None: no images, or unknown.
    # Known once examined.
    layout: str | None = None
    # Providers that all belong to the engine: nodes on any of them run where intended.
    at_home: tuple[str, ...] = ()
    other_python: OtherPython | None = None  # then ``engine`` is the user's name of it

    def items(self, batch_size: int) -> int:
        """Of one call, in all its streams."""
        return batch_size * self.streams

    @property
    def is_on_cpu(self) -> bool:
        """Whether only the CPU computes: only then does CPU time measure the work."""
        return {device_kind(part) for part in self.device.split("+")} == {"cpu"}

    @property
    def engine_title(self) -> str:
        """``onnxruntime 1.31.1``, ``ort120 (onnxruntime 1.20.0)``."""
        other = self.other_python
        if other is None or other.engine == self.engine:
            return f"{self.engine} {self.engine_version}"
        return f"{self.engine} ({other.engine} {self.engine_version})"


def device_kind(device: str) -> str:
    """``cuda`` of ``cuda:1``, ``gpu`` of ``GPU.0``."""
    return device.replace(".", ":").partition(":")[0].lower()


def with_examined_facts(facts: SessionFacts, examined: SessionFacts) -> SessionFacts:
    """The facts of a session, completed by those that were examined once for all sessions."""
    return replace(
        facts,
        precision=examined.precision,
        nodes_by_provider=examined.nodes_by_provider,
        kernels=examined.kernels,
        layout=examined.layout,
    )


def call_note(requested: CallContract, facts: SessionFacts) -> str:
    """Empty if the requested call is the measured one."""
    if facts.contract in (None, requested):
        return ""
    return f"measured with the {facts.contract} call: a {requested} call is not possible"


@dataclass(frozen=True)
class DecoderCall:
    """What a call of a decoder with a cache does for each item."""

    past: int  # tokens in the cache before it
    tokens: int  # new ones


@dataclass(frozen=True)
class SessionPlan:
    """How long to measure one session. ``None`` lets the loop decide."""

    min_time_s: float = 0.25
    min_samples: int = 60
    min_samples_long: int = 10  # when a call takes 20 ms or more
    max_samples: int = 200_000
    max_time_s: float | None = None  # give up the minimum number of samples after this long
    calls_per_sample: int | None = None
    warmup_calls: int | None = None  # None: until the plateau
    warmup_limit_s: float = 2.0
    iterations: int | None = None  # exactly this many samples of one call each
    time_s: float | None = None  # of the whole session, loading included: slow models make do


@dataclass(frozen=True)
class WarmUp:
    calls: int
    seconds: float
    steady: bool


@dataclass(frozen=True)
class Samples:
    """Raw timings of one session: each sample is the wall time of ``calls_per_sample`` calls."""

    wall_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...]  # per sample, where a call is long enough to afford the clock
    calls_per_sample: int
    block_wall_ns: int  # around all blocks, loop included
    block_cpu_ns: int  # of the calling thread
    process_cpu_ns: int  # of all threads
    involuntary_switches: int
    samples_per_turn: int = 0  # taken in one go, before the other side's turn; 0: unknown
    ends_ns: tuple[int, ...] = ()  # when each sample ended, on the clock all processes share
    # The kernel's counters of all threads meanwhile, by name; empty if there are none.
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Calibration:
    call_s: float  # quickest of the first timed calls
    calls_per_sample: int
    overhead_s: float  # what the stopwatch adds to one call
    calls: int = 0  # made to calibrate


@dataclass(frozen=True)
class Memory:
    """Resident bytes of the worker at three moments."""

    engine_bytes: int  # engine imported, no model yet
    loaded_bytes: int  # model loaded
    peak_bytes: int  # highest until the end of the session
    device_peak_bytes: int | None = None  # of the model, on a device with memory of its own


@dataclass(frozen=True)
class Parity(Described):
    """How far outputs are from a reference's."""

    max_abs_error: Amount
    """Largest difference of any element."""
    max_rel_error: Amount
    """The same as a share of the largest magnitude in its output."""
    agrees: bool
    """Whether max_rel_error is at most 0.01."""
    left_out: tuple[str, ...] = ()
    """Outputs that only one of the two has, so they are compared with nothing."""


@dataclass(frozen=True)
class UnusualOutput:
    """An output whose values make one doubt the model, its weights or its inputs."""

    name: str
    values: int  # how many it has
    nan: int = 0
    infinite: int = 0
    is_constant: bool = False  # several values, and all are the same number


def worst_outputs(
    sessions: Sequence[Sequence[UnusualOutput]],
) -> list[tuple[UnusualOutput, int]]:
    """Each unusual output as it was worst, with the number of sessions in which it was unusual."""
    by_name: dict[str, list[UnusualOutput]] = {}
    for output in chain.from_iterable(sessions):
        by_name.setdefault(output.name, []).append(output)
    return [
        (max(alike, key=lambda output: output.nan + output.infinite), len(alike))
        for alike in by_name.values()
    ]


@dataclass(frozen=True)
class Energy:
    """Energy metered while calls were made one after the other, and nothing else."""

    joules: float | None
    source: str  # what was metered, or why nothing was
    calls: float = 0.0  # made meanwhile, by all instances


@dataclass(frozen=True)
class Together:
    """The work of several instances in the window in which all of them worked."""

    window_s: float
    calls: tuple[float, ...]  # in the window, by instance; those at its edges count in part
    solo_calls_per_s: float  # of one instance, the others idle, just before or after
    cpu_s_per_call: float  # of all threads
    cpus: int  # shared by all of them


@dataclass(frozen=True)
class Timings:
    """Raw samples of a unit, as they are exported."""

    label: str  # "" stands for the number of the cell
    calls_per_sample: int
    wall_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...] = ()  # none, or as many


class UnitContent:
    """What a unit holds."""

    def timings(self) -> tuple[Timings, ...]:
        return ()


@dataclass(frozen=True)
class Session(UnitContent):
    """One measured session, as the worker reports it."""

    load_s: float
    first_call_s: float
    calibration: Calibration
    warmup: WarmUp
    samples: Samples
    facts: SessionFacts
    memory: Memory | None = None
    parity: Parity | None = None
    unusual_outputs: tuple[UnusualOutput, ...] = ()
    canary_s: float | None = None  # of a fixed tiny kernel just before: how fast the machine is
    device_s: tuple[float, ...] = ()  # per call, by the device's own clock, outside the samples
    energy: Energy | None = None  # added by the parent, which reads the meter
    together: Together | None = None  # of several instances, whose samples are then all here

    def timings(self, label: str = "") -> tuple[Timings, ...]:
        samples = self.samples
        return (Timings(label, samples.calls_per_sample, samples.wall_ns, samples.cpu_ns),)


def duration_s(session: Session) -> float:
    """The part of a budget that the session used, as far as it reports."""
    instances = len(session.together.calls) if session.together else 1
    timed = session.warmup.seconds + session.samples.block_wall_ns / 1e9 / instances
    return session.load_s + session.first_call_s + timed


@dataclass(frozen=True)
class PairPlan:
    """How to measure two sessions against each other in one process."""

    min_time_s: float = 0.25
    min_samples: int = 60
    min_samples_long: int = 10
    block_s: float = 0.0005  # one letter of ABBA
    gap_s: float = 0.0  # pause at each switch, so that a spinning pool goes to sleep
    max_time_s: float | None = None
    warmup_limit_s: float = 0.25
    warmup_calls: int | None = None  # None: until the plateau
    time_s: float | None = None  # of the whole pair, loading included: slow models make do
    seed: int = 0
    calibrations: tuple[Calibration, Calibration] | None = None  # of an earlier pair


@dataclass(frozen=True)
class Pair(UnitContent):
    """Two sessions measured in alternation."""

    a: Session
    b: Session
    parity: Parity | None = None  # of b's outputs against a's

    def timings(self) -> tuple[Timings, ...]:
        return *self.a.timings("a"), *self.b.timings("b")


def options_text(options: Mapping[str, OptionValue]) -> str:
    """``xnnpack=off``, as people type them."""
    switches = {True: "on", False: "off"}
    words = (
        f"{name}={switches[option] if isinstance(option, bool) else option}"
        for name, option in sorted(options.items())
    )
    return ", ".join(words) or "no options"


@dataclass(frozen=True)
class InferenceResult:
    """One inference, made to see whether a model works: not a measurement, and no run is kept."""

    engine: str
    engine_version: str
    device: str
    precision: str | None
    batch_size: int  # as it really ran
    load_s: float
    first_call_s: float  # the very first, which may compile and allocate
    call_s: float  # the one after it
    inputs: tuple[TensorSpec, ...]  # as fed
    outputs: tuple[TensorSpec, ...]
    notes: tuple[str, ...] = ()  # guesses and the like
    sandbox: SandboxReport | None = None
