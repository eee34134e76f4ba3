"""A cell of a benchmark: what was requested, what really ran, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from modeldyno.core.deviations import Deviation, describe_effective_run, fallback_share
from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Schema,
    Share,
    Size,
    shared_fields,
    to_milliseconds,
)
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import (
    Figure,
    FigureColumn,
    Format,
    LatencyDocument,
    RepeatDocument,
)
from modeldyno.core.documents.models import ModelDocument
from modeldyno.core.figures import counted
from modeldyno.core.models import ModelFormat
from modeldyno.core.requests.axes import axis_fields
from modeldyno.core.results import (
    FEWEST_SESSIONS,
    CellResult,
    CellStatus,
    Measurement,
    Noise,
    SideBySide,
    StopReason,
)
from modeldyno.core.sessions import CallContract, Memory, OtherPython, Parity, SessionFacts
from modeldyno.core.specs import CellSpec

MOST_SHAPES = 2  # in words: a decoder may have fifty inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHead(Described):
    """A cell of a benchmark."""

    number: Count
    """Its place among the cells of its benchmark, from 0."""
    name: str
    """What sets it apart, in words: `onnxruntime · 2 cores · batch 8`."""
    model: str
    """Path of its model: the same as in models[].path."""
    engine: str
    """Engine that ran it; empty when none was chosen yet."""
    device: str
    """Device it really used."""
    precision: str | None
    """Of its kernels, or else the one that was requested; null: unknown, or the model's own."""
    batch_size: Size
    """Items per call, as it really ran."""
    cores: Size
    """Cores requested."""
    instances: Size
    """Processes running side by side."""
    streams: Size
    """Requests that one call makes at the same time, inside the engine."""
    dims: dict[str, Size] = field(default_factory=dict)
    """Sizes of open dimensions that were requested, by name; input_shapes has all. Of a decoder
    with a cache, `prefill` is the length of a prompt, `decode` that of the past of one token."""
    items: Size
    """Items per call in all its streams: what per-item figures are divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAxes(Described):
    """Of the cell that a list shows, or what all cells of a run share."""

    engine: str | None = None
    """Null before one was chosen, and where cells differ."""
    device: str | None = None
    """Device it really used."""
    precision: str | None = None
    """Of its kernels, or else the one that was requested."""
    batch_size: Size | None = None
    """Items per call, as it really ran."""
    cores: Size | None = None
    """Cores requested."""
    instances: Size | None = None
    """Processes running side by side."""
    streams: Size | None = None
    """Requests that one call makes at the same time, inside the engine."""
    dims: dict[str, Size] | None = None
    """Sizes of open dimensions that were requested, by name; null if none were, or cells differ."""
    items: Size = 1
    """Items per call in all its streams: what per-item figures are divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxesDocument(Described):
    """What cells differ in: each value once, as it ran where that is known."""

    engines: tuple[str, ...]
    """By name."""
    devices: tuple[str, ...]
    """By name."""
    precisions: tuple[str, ...]
    """By name."""
    batch_sizes: tuple[Size, ...]
    """Items per call."""
    cores: tuple[Size, ...]
    """CPU cores."""
    instances: tuple[Size, ...]
    """Processes side by side."""
    streams: tuple[Size, ...]
    """Requests at a time, inside the engine."""
    dims: dict[str, tuple[Size, ...]]
    """Sizes of open dimensions, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideHead(Described):
    """A side of a comparison."""

    label: str
    """As it was given, options included."""
    model: ModelDocument
    """What was measured."""
    engine: str
    """Engine that ran it."""
    device: str
    """Device it really used."""
    precision: str | None
    """Of the computing kernels; null when the engine does not tell."""
    batch_size: Size
    """Items per call, as it really ran."""
    streams: Size
    """Requests that one call makes at the same time, inside the engine."""
    cores: Size
    """Cores requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHead(Described):
    """A side of a ranking."""

    label: str
    """As it was requested."""
    place: Size | None
    """From 1; several may have the same. Null: it has none."""
    unranked: str | None
    """Why it has no place although it was measured."""
    engine: str | None
    """As it was loaded."""
    engine_version: str | None
    """As the engine reports it."""
    format: ModelFormat | None
    """Of the model file."""
    precision: str | None
    """In which it computes, read back."""
    cores: Size | None
    """CPUs it may use."""
    batch_size: Size | None
    """Items per call, as it ran."""
    streams: Size | None
    """Requests that one call makes at the same time, inside the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveDocument(Described):
    """As what something really ran: read back from the engine, never echoed. Rows that an earlier
    version wrote have null where it kept less."""

    engine_version: str | None
    """Version of the engine, read back from the library."""
    other_python: OtherPython | None
    """The other Python that the engine lives in; null: Modeldyno's own."""
    device: str | None
    """Device it really used."""
    providers: tuple[str, ...] | None
    """Back ends inside the engine, in order of preference."""
    precision: str | None
    """How the computing kernels really ran: fp32, fp16, int8; where weights are kept in another
    type, int4 weights, int8 activations; several joined by +. Null: the engine does not tell."""
    input_dtypes: dict[str, str]
    """Types of the inputs as the engine takes them, by name."""
    layout: str | None
    """How pictures are arranged inside the engine: NCHW, NHWC, or NCHWc (channels in blocks); null
    where there are none, or when unknown."""
    threads: Count | None
    """Threads that compute, counted after loading; null when unknown."""
    spinning: bool | None
    """Whether the thread pool spins while it waits; null with one thread or when unknown."""
    nodes_by_provider: dict[str, int] | None
    """How many nodes of the optimized graph each provider ran."""
    fallback_share: Share | None
    """Share of the nodes that another provider or device ran than the one that was meant; null when
    the engine does not tell."""
    text: str
    """The same in words."""

    @classmethod
    def of(cls, facts: SessionFacts) -> EffectiveDocument:
        return cls.from_fields(
            facts, fallback_share=fallback_share(facts), text=describe_effective_run(facts)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDocument(Described):
    """Resident memory of the worker at three moments of the first session in a process; of the
    process where the model took most."""

    engine: Count
    """Engine imported, no model yet."""
    loaded: Count
    """Model loaded."""
    peak: Count
    """Highest from loading to the end of measuring."""

    @classmethod
    def of(cls, memory: Memory) -> MemoryDocument:
        return cls(engine=memory.engine_bytes, loaded=memory.loaded_bytes, peak=memory.peak_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySideDocument(Described):
    """Several instances of one cell, started at the same moment; only the window in which all of
    them worked counts."""

    total_per_s: Figure
    """Items per second of all instances together; `n` is how often all of them were started."""
    scaling: Figure | None
    """Times what one instance did while the others were idle; null with --iterations."""
    fairness: Share
    """Work of the slowest instance over that of the quickest."""
    items_per_cpu_s: Amount
    """Items per second of CPU time, of all threads."""
    expected_contention: Annotated[float, Schema(minimum=1)]
    """Threads for each CPU where there are more threads than CPUs; else 1."""
    oversubscribed: bool
    """Whether there are more threads than CPUs."""

    @classmethod
    def of(cls, together: SideBySide) -> SideBySideDocument:
        scaling = together.scaling
        return cls.from_fields(
            together,
            total_per_s=Figure.of_estimate(together.total_per_s),
            scaling=Figure.of_estimate(scaling) if scaling else None,
        )


def _export_column(head: str, label: str, format: Format) -> FigureColumn:
    """Of a figure that only CSV has."""
    return FigureColumn(
        head=head, label=label, format=format, in_tables=False, in_lists="never", on_card=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDocument(CellHead):
    """One configuration: engine × model × batch × cores. What was not measured is null."""

    status: CellStatus | None
    """done; partial: stopped early with 4 sessions or more; failed: see error (a measurement may
    still be there); null: not measured yet."""
    error: FailureDocument | None = None
    """Why it failed."""
    notes: tuple[str, ...] = ()
    """What was guessed or adjusted."""
    call_contract: CallContract
    """What one call includes: hot, api or e2e."""
    input_shapes: dict[str, tuple[int, ...]]
    """Shapes of the inputs it was fed with, by name; empty when nothing ran or the data was the
    user's own."""
    guessed: bool = False
    """Whether a size in input_shapes was guessed, since the model leaves it open and nobody gave
    it."""
    shape: str = ""
    """The same in words, at most two inputs, `~` before those with a guessed size:
    `~image 1×3×224×224`."""
    sandbox: Annotated[str, Schema(pattern=r"^(full|(partial|none) \(.+\))$")] | None = None
    """How far the worker was confined: full, or partial or none with what was missing in
    brackets."""
    effective: EffectiveDocument | None = None
    """As what it really ran; null before that."""
    mismatches: tuple[str, ...] = ()
    """What keeps the cell out of the ranking, in plain words: another precision, input type, call
    contract or result than the first cell's, or more cores than allowed."""
    surprises: tuple[Deviation, ...] = ()
    """Where it is not what was requested, in plain words: silent defaults of the engine, and
    outputs that hold NaN, infinity or one value everywhere."""
    parity: Parity | None = None
    """Largest deviation from the outputs of the first cell with that batch size; of that cell
    itself, of any session from its first run. Null when not measured or when the model is random by
    itself."""
    parity_to: Literal["first cell", "its own sessions"] | None = None
    """What the outputs were compared with."""
    latency_ms: LatencyDocument | None = None
    """Null when nothing was measured."""
    throughput_per_s: Annotated[
        Figure | None,
        FigureColumn(
            head="items/s",
            label="items per second",
            format="rate",
            unit="items/s",
            has_place=True,
            in_lists="always",
            is_among_first=True,
            on_card=False,  # beside latency, in the card's own way
        ),
    ] = None
    """Items per second of one caller that never pauses: items ÷ wall time of all samples."""
    interval_note: str | None = None
    """Why there is no interval over sessions, where there is none."""
    cpu_ms: Annotated[
        Amount | None,
        FigureColumn(
            head="cpu",
            label="CPU time per call",
            format="time",
            has_place=True,
            in_lists="never",
            on_card=False,
        ),
    ] = None
    """CPU time of all threads of the worker per call."""
    device_ms: Amount | None = None
    """Median time of a call by the device's own clock, its cache flushed before; null for devices
    without one."""
    load_ms: Annotated[Amount | None, _export_column("load", "Load time", "time")] = None
    """Time to load the model with the engine already imported: median of the first session of each
    process."""
    first_inference_ms: Annotated[
        Amount | None, _export_column("first call", "First inference", "time")
    ] = None
    """Binding the inputs and the first call after loading: median of the first session of each
    process."""
    peak_memory_bytes: Annotated[
        int | None,
        FigureColumn(
            head="peak mem",
            label="Peak memory",
            format="bytes",
            has_place=True,
            is_among_first=True,
            on_card=False,
        ),
    ] = None
    """memory_bytes.peak − memory_bytes.engine: what the model costs on top of the engine."""
    peak_device_memory_bytes: Count | None = None
    """The most that the model took on its device; null where that has no memory of its own."""
    memory_bytes: MemoryDocument | None = None
    """The readings behind peak_memory_bytes; null when the system does not tell."""
    energy_j_per_item: Amount | None = None
    """Joules of the whole CPU package or GPU, loading included, divided by all items computed; null
    without a meter."""
    energy_note: str | None = None
    """What was metered, or why there is no energy figure."""
    samples: Annotated[Count, _export_column("samples", "Samples", "count")] = 0
    """Timings taken, in all sessions together."""
    sessions: Annotated[
        Count,
        FigureColumn(
            head="sessions",
            label="n (sessions)",
            format="count",
            in_tables=False,
            is_among_first=True,
            on_card=False,
        ),
    ] = 0
    """Times the model was loaded and measured: the unit of statistics."""
    processes: Count = 0
    """Worker processes these sessions ran in."""
    warmup_calls: Count | None = None
    """Calls made to warm up, all sessions together."""
    calls_per_sample: Size | None = None
    """Calls timed together as one sample."""
    overhead_share: Amount | None = None
    """What the stopwatch adds to a call, as a share of floor. It is not subtracted."""
    overhead_limited: bool | None = None
    """Whether overhead_share is more than 0.01."""
    preempted_share: Share | None = None
    """Involuntary context switches per sample, at most 1."""
    stop_reason: StopReason | None = None
    """precise: the intervals were narrow enough; budget: the time was up; flat: more sessions no
    longer narrowed them; fixed: --iterations; outraced: it had clearly lost the sweep; aborted: it
    was stopped."""
    contention: Annotated[
        Annotated[float, Schema(minimum=1)] | None,
        _export_column("contention", "Contention", "amount"),
    ] = None
    """How many times longer than its work everything took; 1 is undisturbed."""
    contention_source: Literal["cpu-time", "pressure"] | None = None
    """cpu-time: wall over CPU time of one thread; pressure: the kernel's CPU pressure and steal,
    for several threads."""
    noise: Noise | None = None
    """How far to trust the number (docs/measuring.md, noise verdict)."""
    noise_reasons: tuple[str, ...] = ()
    """Why, one sentence each."""
    steady: bool | None = None
    """Whether at least three quarters of the sessions reached their plateau before measuring."""
    trend: bool | None = None
    """Whether the level moved by more than 2 % while we measured."""
    cores_used: Amount | None = None
    """CPUs that all threads of one instance kept busy, from their CPU time."""
    page_faults: Annotated[
        Amount | None,
        FigureColumn(head="faults", label="Page faults per call", format="amount"),
    ] = None
    """Pages of memory that a call had to wait for: the kernel maps them on first use, so a model
    that allocates anew in every call has some each time. Of all threads; null where nobody counts
    them."""
    interval_budget_s: Amount | None = None
    """About the budget with which it would have had an interval; null where it has one, or where
    time did not end it."""
    side_by_side: SideBySideDocument | None = None
    """What several instances did at the same time; null of a single one."""
    machine_speed: Annotated[
        Amount | None, _export_column("speed", "Speed of the machine", "share")
    ] = None
    """How fast this machine was, as a share of its usual speed: a fixed piece of work before each
    session, against the median of the latest runs here. Null before there are three of them."""
    tokens_per_s: Annotated[
        Figure | None,
        FigureColumn(
            head="tokens/s",
            label="tokens per second",
            format="rate",
            unit="tokens/s",
            in_lists="never",
        ),
    ] = None
    """New tokens per second of a decoder with a cache, of all items of a batch together; null of
    any other model."""
    time_to_first_token_ms: Annotated[
        Figure | None,
        FigureColumn(
            head="first token", label="time to first token", format="time", in_lists="never"
        ),
    ] = None
    """Typical time of the call that takes the whole prompt, of a decoder with a cache; null of a
    call that goes on from a past."""

    @classmethod
    def of(cls, number: int, cell: CellResult) -> CellDocument:
        facts, ran = cell.facts, cell.ran
        return cls.from_fields(
            cell,
            number=number,
            name=ran.name,
            **axis_fields(ran),
            error=FailureDocument.of(cell.error) if cell.error else None,
            call_contract=cell.contract,
            guessed=bool(cell.guessed_inputs),
            shape=_shape_text(cell),
            sandbox=str(cell.sandbox) if cell.sandbox else None,
            effective=EffectiveDocument.of(facts) if facts else None,
            **(_figure_fields(cell.measurement) if cell.measurement else {})
            | _token_figures(cell)
            | _parity_fields(cell),
        )

    @classmethod
    def planned(cls, number: int, spec: CellSpec, model: str = "") -> CellDocument:
        """One that was not measured yet."""
        return cls(
            number=number,
            name=spec.name,
            model=model,
            **axis_fields(spec),
            items=spec.items,
            status=None,
            call_contract=spec.contract,
            input_shapes={},
        )


def _shape_text(cell: CellResult) -> str:
    texts = [
        f"{'~' if name in cell.guessed_inputs else ''}{name} {'×'.join(map(str, shape))}".rstrip()
        for name, shape in cell.input_shapes.items()
    ]
    # Stable: in the order of the model, but what was guessed is never the part left out.
    texts.sort(key=lambda text: not text.startswith("~"))
    more = len(texts) - MOST_SHAPES
    return ", ".join(texts[:MOST_SHAPES]) + (f" and {more} more" if more > 0 else "")


def _parity_fields(cell: CellResult) -> dict[str, Any]:
    if cell.parity is not None:
        return {"parity": cell.parity, "parity_to": "first cell"}
    own = cell.measurement.parity if cell.measurement else None
    return {"parity": own, "parity_to": "its own sessions" if own else None}


def _figure_fields(measurement: Measurement) -> dict[str, Any]:
    memory, together = measurement.memory, measurement.side_by_side
    return shared_fields(CellDocument, measurement) | {
        "latency_ms": LatencyDocument.of(measurement.latency, measurement.samples),
        "throughput_per_s": _throughput_figure(measurement),
        "interval_note": _note_on_interval(measurement),
        "cpu_ms": to_milliseconds(measurement.cpu_s),
        "device_ms": to_milliseconds(measurement.device_s),
        "load_ms": to_milliseconds(measurement.load_s),
        "first_inference_ms": to_milliseconds(measurement.first_inference_s),
        "peak_memory_bytes": memory.peak_bytes - memory.engine_bytes if memory else None,
        "peak_device_memory_bytes": memory.device_peak_bytes if memory else None,
        "memory_bytes": MemoryDocument.of(memory) if memory else None,
        "energy_note": measurement.energy_note or None,
        "overhead_limited": measurement.overhead_share > 0.01,
        "noise_reasons": measurement.reasons,
        "side_by_side": SideBySideDocument.of(together) if together else None,
        "machine_speed": measurement.machine_speed and measurement.machine_speed.share,
    }


def _token_figures(cell: CellResult) -> dict[str, Any]:
    call, measured = cell.decoder_call, cell.measurement
    if call is None or measured is None:
        return {}
    first = Figure.of_estimate(measured.latency.typical, 1e3) if call.past == 0 else None
    return {
        "tokens_per_s": _throughput_figure(measured, call.tokens),
        "time_to_first_token_ms": first,
    }


def _throughput_figure(measurement: Measurement, scale: int = 1) -> Figure:
    """Everything done over all the time is no mean of sessions, and may lie beside theirs: the
    interval is widened to hold it. ``scale`` is what one item counts."""
    total, over = measurement.throughput_per_s * scale, measurement.throughput
    if over is None or not over.is_over_units:
        return Figure(value=total, of="samples", n=measurement.samples)
    return Figure(
        value=total,
        low=min(over.low * scale, total),
        high=max(over.high * scale, total),
        level=over.level,
        of=over.units,
        n=over.n,
        repeat=RepeatDocument.of(over.repeat, scale) if over.repeat else None,
    )


def _note_on_interval(measurement: Measurement) -> str | None:
    if measurement.latency.typical.is_over_units:
        return None
    note = f"{counted(measurement.sessions, 'session')}; an interval needs {FEWEST_SESSIONS}"
    seconds = measurement.interval_budget_s
    return note if seconds is None else f"{note}: about {seconds:g} s"


_NAMES = [field.name for field in fields(CellDocument)]
FIGURES = tuple(_NAMES[_NAMES.index("latency_ms") :])  # the fields that a measurement fills
