"""Profiles: the result of one, the difference of two, and what a server keeps of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from modeldyno.core.deviations import Deviation
from modeldyno.core.documents.cells import EffectiveDocument
from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Positive,
    RunName,
    Schema,
    Size,
    to_milliseconds,
)
from modeldyno.core.documents.figures import Figure, LevelDocument
from modeldyno.core.documents.hosts import Peaks, WeatherDocument
from modeldyno.core.documents.models import ModelDocument
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead, SummaryDocument
from modeldyno.core.documents.runs import ArtifactDocument, ResultHead
from modeldyno.core.hosts import HostFacts
from modeldyno.core.names import shown_name
from modeldyno.core.profile_diffs import (
    By,
    Change,
    ChangeKind,
    ChangeSide,
    ChangeVerdict,
    MatchedBy,
    ProfileDiff,
    conditions_warning,
    diff_sentence,
    side_name,
)
from modeldyno.core.profiles import Agreement, OpTypeRow, ProfileRow, Slice, make_slices
from modeldyno.core.requests.measuring import ProfileRequest
from modeldyno.core.results import Noise, ProfileResult
from modeldyno.core.roofline import Bound, Held, Roof, compare_to_roof, find_roof
from modeldyno.core.sessions import CallContract


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofDocument(Described):
    """What so many cores of this machine reach at the most, as `modeldyno doctor --peaks` measured
    it."""

    gflop_per_s: Amount | None
    """Peak of arithmetic; null where none was measured, or none holds."""
    gbyte_per_s: Amount | None
    """Peak of moving data."""
    ridge_flop_per_byte: Amount | None
    """Work with more arithmetic per byte than this is limited by arithmetic, with less by moving
    data."""
    text: str
    """Where they come from, or how to get them."""

    @classmethod
    def of(cls, roof: Roof) -> RoofDocument:
        return cls(
            gflop_per_s=_to_giga(roof.flops_per_s),
            gbyte_per_s=_to_giga(roof.bytes_per_s),
            ridge_flop_per_byte=roof.ridge,
            text=roof.text,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDocument(Described):
    """Arithmetic and data of one call of the model, and what limits it."""

    flop: Amount | None
    """Arithmetic, from the shapes: additions and multiplications; null where not known."""
    bytes: Amount | None
    """Read and written, from the shapes: each operand once; null where not known."""
    gflop_per_s: Amount | None
    """What it reached; null where not known, or above the machine's peak: see `bound_reason`."""
    gbyte_per_s: Amount | None
    """What it reached; null as above."""
    flop_per_byte: Amount | None
    """Its arithmetic for each byte that it moves."""
    bound: Bound | None
    """What limits it; null without peaks, or where its work is not known."""
    bound_reason: str
    """The same in numbers, or why there is no answer."""

    @classmethod
    def of(cls, flop: float | None, moved_bytes: float | None, reached: Held) -> WorkDocument:
        return cls(
            flop=flop,
            bytes=moved_bytes,
            gflop_per_s=_to_giga(reached.flops_per_s),
            gbyte_per_s=_to_giga(reached.bytes_per_s),
            flop_per_byte=reached.flop_per_byte,
            bound=reached.bound,
            bound_reason=reached.reason,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeDocument(Described):
    """A node, or all nodes of one operator; times are of one call of the model."""

    node: str | None
    """Its name in the model, or operator and place where it has none; null of an operator."""
    op_type: str
    """The operator."""
    nodes: Size
    """How many nodes there are."""
    parts: tuple[str, ...]
    """Names of nodes of the model that the engine made this one of; empty where it does not say."""
    provider: str | None
    """What ran it; several joined by +. Null where it is not kept."""
    calls: Size
    """In one call of the model."""
    total_ms: Figure
    """What the profiler added is taken out. Its `value` is null where that leaves nothing to rely
    on: see `unknown`."""
    unknown: str | None
    """Why its time, and all that follows from it, is null; null where it is known."""
    share: Amount | None
    """Of the latency."""
    cumulative_share: Amount | None
    """With all that are slower, those of unknown time included as far as they could be told."""
    cpu_ms: Amount | None
    """Of that, not on an accelerator."""
    accelerator_ms: Amount | None
    """On an accelerator, by its own clock; null where there is none."""
    recorded_ms: Amount | None
    """As the profiler recorded it."""
    work: WorkDocument
    """What it has to do in that time."""

    @classmethod
    def of(cls, time: Slice, repeats: int, roof: Roof) -> TimeDocument:
        is_known = not time.unknown
        return cls.from_fields(
            time,
            total_ms=_known_figure(time.total_s, time.ci95_s, repeats, time.unknown),
            unknown=time.unknown or None,
            share=time.share if is_known else None,
            cumulative_share=time.cumulative,
            cpu_ms=time.cpu_s * 1e3 if is_known else None,
            accelerator_ms=to_milliseconds(time.accelerator_s),
            recorded_ms=time.recorded_s * 1e3,
            work=WorkDocument.of(time.flop, time.moved_bytes, time.held(roof)),
        )

    @classmethod
    def of_row(
        cls,
        row: ProfileRow | OpTypeRow,
        latency_s: float | None,
        roof: Roof,
        unknown: str = "",
    ) -> TimeDocument:
        """Of a row of the database, which keeps less."""
        reached = compare_to_roof(row.flop, row.moved_bytes, row.total_s, roof, unknown)
        return cls(
            node=row.node if isinstance(row, ProfileRow) else None,
            op_type=row.op_type,
            nodes=row.nodes if isinstance(row, OpTypeRow) else row.defined,
            parts=(),
            provider=None,
            calls=row.calls,
            total_ms=Figure(value=None if unknown else row.total_s * 1e3),
            unknown=unknown or None,
            share=row.total_s / latency_s if latency_s and not unknown else None,
            cumulative_share=None,
            cpu_ms=None if unknown else to_milliseconds(row.cpu_s),
            accelerator_ms=to_milliseconds(row.accelerator_s),
            recorded_ms=None,
            work=WorkDocument.of(row.flop, row.moved_bytes, reached),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementDocument(Described):
    """How far the rows agree with the latency: `sum_ms` and `outside_ms` make it up."""

    run_id: RunName
    """Whose rows are shown."""
    nodes: Count
    """How many there are."""
    latency_ms: Figure | None
    """Typical, of a call without the profiler."""
    sum_ms: Figure
    """Of all nodes."""
    outside_ms: Figure | None
    """In no node."""
    coverage: Amount | None
    """The sum by the latency."""
    agrees: bool | None
    """Within a tenth; if not, see the result's warnings."""

    @classmethod
    def of(cls, agreement: Agreement) -> AgreementDocument:
        return cls.from_fields(
            agreement,
            latency_ms=_seconds_figure(agreement.latency_s),
            sum_ms=Figure(value=agreement.sum_s * 1e3),
            outside_ms=_seconds_figure(agreement.outside_s),
        )


def _known_figure(
    seconds: float, span_s: tuple[float, float] | None, repeats: int, unknown: str
) -> Figure:
    if unknown:
        return Figure(value=None, of="repeats", n=repeats)
    return Figure.of_span(seconds, span_s, repeats)


def _seconds_figure(seconds: float | None) -> Figure | None:
    return None if seconds is None else Figure(value=seconds * 1e3)


def _to_giga(number: float | None) -> float | None:
    return None if number is None else number / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDocument(ResultHead):
    """What `modeldyno profile --json` and `ProfileResult.to_json()` give."""

    schema: Literal["modeldyno.profile/2"] = "modeldyno.profile/2"
    """Name and version of this format."""
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
    cores: Size
    """Cores requested."""
    call_contract: CallContract
    """What one call includes: hot, api or e2e."""
    sandbox: Annotated[str, Schema(pattern=r"^(full|(partial|none) \(.+\))$")] | None
    """How far the worker was confined: full, or partial or none with what was missing in
    brackets."""
    effective: EffectiveDocument
    """As what it really ran."""
    surprises: tuple[Deviation, ...]
    """Where it is not what was requested: silent defaults of the engine, in plain words."""
    latency_ms: LevelDocument
    """Of calls without the profiler."""
    profiled_latency_ms: Positive
    """Typical time of a call with the profiler."""
    sum_ms: Figure
    """Of all nodes."""
    outside_ms: Figure
    """Of the latency, what is in no node: with `sum_ms` it makes up the latency."""
    recorded_sum_ms: Amount
    """Of all nodes, as the profiler recorded it, its own cost included."""
    coverage: Amount
    """The sum of all nodes by the latency."""
    profiler_overhead: float
    """By which share the profiler made calls longer."""
    event_cost_us: Amount
    """Taken out of a node for each event that was recorded in it."""
    scale: Positive
    """All nodes were multiplied by it afterwards: the machine was not always as quick."""
    repeats: Size
    """Fresh sessions that were measured with the profiler and without. Intervals are over them;
    fewer than four give none."""
    calls: Size
    """Calls of the model that the rows are made of."""
    operators: tuple[TimeDocument, ...]
    """The slowest first."""
    nodes: tuple[TimeDocument, ...]
    """The slowest first."""
    roof: RoofDocument
    """The machine's peaks that operators and nodes are held against."""
    notes: tuple[str, ...]
    """What was guessed, adjusted or taken out."""
    warnings: tuple[str, ...]
    """Why not to rely on it, in plain words."""
    host: HostFacts
    """The machine."""
    weather: WeatherDocument
    """What the machine did meanwhile."""
    artifacts: tuple[ArtifactDocument, ...]
    """Files that the run left."""
    noise: Noise | None
    """How far to trust it, as of a cell; null of a profile by an earlier version."""
    noise_reasons: tuple[str, ...]
    """Why it is called so, and what to do about it."""

    @classmethod
    def of(cls, result: ProfileResult, peaks: Peaks | None = None) -> ProfileDocument:
        """``peaks`` are those of the machine it was measured on, if they are known."""
        facts, cell, repeats = result.facts, result.spec.cell, result.repeats
        spans = result.ci95_s_by_figure
        roof = find_roof(peaks, cell.cores, facts.device)
        return cls.from_fields(
            result,
            model=ModelDocument.of(result.model),
            engine=facts.engine,
            device=facts.device,
            precision=facts.precision,
            cores=cell.cores,
            call_contract=result.contract,
            sandbox=str(result.sandbox) if result.sandbox else None,
            effective=EffectiveDocument.of(facts),
            latency_ms=LevelDocument.of(
                Figure.of_span(result.latency_s, spans.get("latency"), repeats),
                Figure.of_span(result.floor_s, None, repeats),
            ),
            profiled_latency_ms=result.profiled_s * 1e3,
            sum_ms=Figure.of_span(result.sum_s, spans.get("sum"), repeats),
            outside_ms=Figure.of_span(result.outside_s, spans.get("outside"), repeats),
            recorded_sum_ms=result.told_s * 1e3,
            profiler_overhead=result.profiled_s / result.latency_s - 1,
            event_cost_us=result.event_cost_s * 1e6,
            repeats=repeats,
            operators=tuple(TimeDocument.of(t, repeats, roof) for t in make_slices(result, "op")),
            nodes=tuple(TimeDocument.of(t, repeats, roof) for t in make_slices(result, "node")),
            roof=RoofDocument.of(roof),
            weather=WeatherDocument.of(result.weather),
            artifacts=tuple(map(ArtifactDocument.from_fields, result.artifacts)),
            noise_reasons=result.reasons,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPartDocument(Described):
    """One node, or several that do the work of the other side's."""

    names: tuple[str, ...]
    """Names of nodes, or of operators."""
    op_types: tuple[str, ...]
    """Kinds of operators."""
    providers: tuple[str, ...]
    """What ran them."""
    nodes: Size
    """How many nodes."""
    total_ms: Figure
    """In one call of the model; its `value` is null where not known: see `unknown`."""
    unknown: str | None
    """Why its time is not known; null where it is."""

    @classmethod
    def of(cls, part: ChangeSide, repeats: int) -> DiffPartDocument:
        return cls.from_fields(
            part,
            total_ms=_known_figure(part.total_s, part.ci95_s, repeats, part.unknown),
            unknown=part.unknown or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDocument(Described):
    """A node or an operator, and its counterpart."""

    name: str
    """What it is called."""
    standing: ChangeKind
    """`moved`: in both, at another place in the order of execution, or run by another provider."""
    matched_by: MatchedBy | None
    """How the counterpart was found: by its name, by the model's nodes it is made of, by operator
    and place, or by its kind of work; null where there is none."""
    verdict: ChangeVerdict
    """Faster or slower where the intervals do not overlap; not comparable: measured on two
    machines, or a time is not known."""
    delta_ms: float | None
    """B less A; null where either is not known."""
    a: DiffPartDocument | None
    """What A has of it; null: nothing."""
    b: DiffPartDocument | None
    """What B has of it; null: nothing."""

    @classmethod
    def of(cls, change: Change, diff: ProfileDiff) -> ChangeDocument:
        return cls.from_fields(
            change,
            delta_ms=to_milliseconds(change.delta_s),
            a=DiffPartDocument.of(change.a, diff.a.repeats) if change.a else None,
            b=DiffPartDocument.of(change.b, diff.b.repeats) if change.b else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSideDocument(Described):
    """One of the two profiles."""

    name: str
    """Engine, model and run: no two profiles share it."""
    run_id: RunName
    """Name of the run's folder in the workspace."""
    model: str
    """Name of the model's file."""
    engine: str
    """Engine that ran it."""
    engine_version: str
    """Its version."""
    latency_ms: Figure
    """Typical time of a call without the profiler."""
    repeats: Size
    """Fresh sessions that were measured."""
    noise: Noise | None
    """How far to trust it; null of a profile by an earlier version."""
    noise_reasons: tuple[str, ...]
    """Why it is called so."""

    @classmethod
    def of(cls, result: ProfileResult) -> DiffSideDocument:
        return cls(
            name=side_name(result),
            run_id=result.run_id,
            model=shown_name(result.model.path),
            engine=result.facts.engine,
            engine_version=result.facts.engine_version,
            latency_ms=Figure.of_span(
                result.latency_s, result.ci95_s_by_figure.get("latency"), result.repeats
            ),
            repeats=result.repeats,
            noise=result.noise,
            noise_reasons=result.reasons,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDiffDocument(Described):
    """What `modeldyno profile --against RUN --json` and `modeldyno show RUN --against RUN --json`
    print: what changes from profile A to profile B."""

    schema: Literal["modeldyno.profile-diff/2"] = "modeldyno.profile-diff/2"
    """Name and version of this format."""
    by: By
    """Whether changes are of nodes or of operators."""
    a: DiffSideDocument
    """The profile before."""
    b: DiffSideDocument
    """The profile after."""
    delta_ms: float
    """Latency of B less that of A."""
    verdict: ChangeVerdict
    """Faster or slower where the intervals do not overlap."""
    text: str
    """The same in words."""
    differences: tuple[str, ...]
    """What was not the same in how they were measured."""
    warning: str | None
    """The same in a sentence; null where nothing differs."""
    changes: tuple[ChangeDocument, ...]
    """The largest first."""

    @classmethod
    def of(cls, diff: ProfileDiff) -> ProfileDiffDocument:
        return cls.from_fields(
            diff,
            a=DiffSideDocument.of(diff.a),
            b=DiffSideDocument.of(diff.b),
            delta_ms=diff.delta_s * 1e3,
            text=diff_sentence(diff),
            warning=conditions_warning(diff),
            changes=tuple(ChangeDocument.of(change, diff) for change in diff.changes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSummary(RunnableHead):
    """A line of a list of profiles."""

    model_id: Size
    """Number of its model."""
    summary: SummaryDocument
    """Of its latest run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDetailsDocument(ProfileSummary):
    """A profile: its settings, its latest run, and how far the rows agree with the latency."""

    model_name: str
    """Of its model."""
    modified_at: datetime | None
    """When it was changed."""
    dataset_id: Size | None
    """Number of its dataset."""
    settings: ProfileRequest | None
    """Null if another version wrote them."""
    latest_run: LatestRunSummary | None
    """Null before the first."""
    agreement: AgreementDocument | None
    """Null before a run has rows."""
    command: str
    """Profiles the same in a terminal."""
