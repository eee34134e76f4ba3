"""Profile one cell: let it run once, then repeat by repeat with the profiler and without."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.errors import Cancelled, ModeldynoError, StorageFailed, WorkerGarbled
from modeldyno.core.graphs import GraphNode
from modeldyno.core.jobs import Progress, Started, Unit
from modeldyno.core.models import ModelFacts
from modeldyno.core.names import name_of_file
from modeldyno.core.profile_diffs import plain_node
from modeldyno.core.profiles import AGREES
from modeldyno.core.redaction import without_controls
from modeldyno.core.results import ProfileResult
from modeldyno.core.sandbox import SandboxReport
from modeldyno.core.sessions import call_note, examined_as
from modeldyno.core.specs import GraphSpec, ProfileSpec
from modeldyno.core.stated import refuse_needless
from modeldyno.core.traces import MOST_NODES, NodeTime, ProfilePlan, Repeat
from modeldyno.core.versions import tool_version
from modeldyno.jobs.graph import read as read_graph
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.leases import wait_note
from modeldyno.jobs.preparation import Prepared, prepare
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.trying import Trying
from modeldyno.store.models import check_unchanged
from modeldyno.worker.launch import Worker, WorkerSetup, launched
from modeldyno.worker.messages import ProfileSession, SessionProfiled

MOST_EVENTS = 40_000  # of a repeat: a trace of 30 MB, which is read in less than a second
FEWEST_CALLS, MOST_CALLS = 5, 2_000
SPINNING_GAP_S = 0.05
INSIDE = 4  # events of each operator that a call was seen to have
LONGEST_NAME = 200
MOST_PARTS = 64
GRAPH_S = 30.0
_MOST_NS = 1 << 62


@dataclass
class _Found:
    repeats: list[Repeat] = field(default_factory=list)
    used_s: float = 0.0  # of the time limit, waiting for cores not counted
    sandbox: SandboxReport | None = None
    note: str = ""  # about the cores it was measured on
    waited_s: float = 0.0  # for cores


def run_profile(spec: ProfileSpec, context: Context) -> ProfileResult:
    found = _Found([u.measured for u in context.earlier if isinstance(u.measured, Repeat)])
    begin = time.monotonic()
    facts, copy, prepared = _prepare(spec, context)
    found.used_s = time.monotonic() - begin
    from modeldyno.measure import weather

    before = weather.read()
    stopped: ModeldynoError | None = None
    try:
        _measure(spec, prepared, found, context)
    except (Cancelled, StorageFailed) as error:
        stopped = error
    if not found.repeats:
        raise stopped or AssertionError("a profile without repeats")
    check_unchanged(facts, copy)
    from modeldyno.measure.profile import break_down

    broken = break_down(_completed(found.repeats, _known(spec, facts, context)))
    first = found.repeats[0]
    meanwhile = weather.weather(before, weather.read())
    result = ProfileResult(
        run_id=context.folder.id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=tool_version(),
        spec=spec,
        model=facts,
        host=context.host(),
        weather=meanwhile,
        facts=examined_as(first.facts, prepared.facts),
        batch_size=prepared.batch_size,
        contract=first.contract,
        latency_s=broken.latency_s,
        floor_s=broken.floor_s,
        profiled_s=broken.profiled_s,
        sum_s=broken.sum_s,
        told_s=broken.recorded_s,
        outside_s=broken.outside_s,
        event_cost_s=broken.event_cost_s,
        scale=broken.scale,
        coverage=broken.coverage,
        rows=broken.rows,
        ci95_s_by_op=broken.ci95_s_by_op,
        ci95_s_by_figure=broken.ci95_s_by_figure,
        repeats=len(found.repeats),
        calls=sum(repeat.trace.calls for repeat in found.repeats),
        notes=(*prepared.notes, *filter(None, [found.note, wait_note(found.waited_s)])),
        sandbox=found.sandbox,
        interrupted=stopped is not None,
    )
    return replace(result, notes=(*result.notes, *_notes(result)), warnings=_warnings(result))


# ---------------------------------------------------------------- measuring


def _prepare(spec: ProfileSpec, context: Context) -> tuple[ModelFacts, Path, Prepared]:
    """Read the model and let the cell run once."""
    setup = context.worker_setup(
        spec.model,
        cells=(spec.cell,),
        memory_limit_bytes=spec.memory_limit_bytes,
        inspecting=True,
        sandbox=spec.cell.sandbox,
    )
    deadline_s = time.monotonic() + spec.timeout_s
    with Trying(setup) as trying:
        facts = inspect(trying.ours, spec.model, context, spec.timeout_s)
        refuse_needless(spec.model, facts)
        copy = context.copy_privately(spec.model, facts)
        context.say(Started(name_of_file(facts.path), spec.repeats, facts.sha256))
        context.say(Progress(0, spec.repeats, f"trying {spec.cell.name}"))
        prepared = prepare(
            trying, spec.model, facts, copy, spec.cell, "0", spec.seed, context, deadline_s
        )
    return facts, copy, prepared


def _measure(spec: ProfileSpec, prepared: Prepared, found: _Found, context: Context) -> None:
    """Fresh sessions in one process, which waits while others have the cores."""

    def wait(why: str) -> None:
        context.say(Progress(len(found.repeats), spec.repeats, why))

    process = 1 + max((unit.process for unit in context.earlier), default=-1)
    with ExitStack() as stack:
        worker: Worker | None = None
        for number in range(len(found.repeats), spec.repeats):
            with context.leases.take(spec.cell.cores, context.stop, wait) as lease:
                found.waited_s += lease.waited_s
                begin = time.monotonic()
                if worker is None:
                    worker = stack.enter_context(launched(_setup(spec, prepared, context)))
                deadline_s = begin + spec.timeout_s - found.used_s
                command = ProfileSession(
                    target=replace(prepared.target, cpus=lease.cpus),
                    inputs=prepared.inputs,
                    contract=spec.cell.contract,
                    plan=_plan(spec, prepared, found),
                    padding_seed=hash((spec.seed, number)),
                )
                told = worker.request(command, SessionProfiled, deadline_s, context.stop).repeat
                repeat = checked(told)
                found.used_s += time.monotonic() - begin
                found.sandbox, found.note = worker.sandbox, lease.note
            context.say(Unit(0, process, repeat, number))
            found.repeats.append(repeat)
            context.say(_progress(spec, found))


def _setup(spec: ProfileSpec, prepared: Prepared, context: Context) -> WorkerSetup:
    return context.worker_setup(
        spec.model,
        cells=(spec.cell,),
        threads=spec.cell.cores,
        memory_limit_bytes=spec.memory_limit_bytes,
        sandbox=spec.cell.sandbox,
        python=prepared.python,
    )


def _plan(spec: ProfileSpec, prepared: Prepared, found: _Found) -> ProfilePlan:
    """As many calls as fit into a trace that can be read: it has an event for each node."""
    return ProfilePlan(
        min_time_s=spec.repeat_s,
        fewest_calls=FEWEST_CALLS,
        most_calls=max(FEWEST_CALLS, min(MOST_CALLS, MOST_EVENTS // _events(prepared, found))),
        gap_s=SPINNING_GAP_S if prepared.facts.spinning else 0.0,
    )


def _events(prepared: Prepared, found: _Found) -> int:
    """Of one call; before it was seen once, operators are taken to have some more inside."""
    if not found.repeats:
        return max(1, INSIDE * sum(prepared.facts.nodes_by_provider.values()))
    trace = found.repeats[-1].trace
    return max(1, sum(node.events for node in trace.nodes) // trace.calls)


def _progress(spec: ProfileSpec, found: _Found) -> Progress:
    from statistics import median

    done = len(found.repeats)
    latest = [median(repeat.plain_ns) / 1e9 for repeat in found.repeats]
    each_s = found.used_s / done
    return Progress(
        units_done=done,
        units_planned=spec.repeats,
        doing="repeats",
        estimate_s=median(latest),
        remaining_s=max(0, spec.repeats - done) * each_s,
    )


# ---------------------------------------------------------------- a worker is not trusted


def checked(repeat: Repeat) -> Repeat:
    """What a worker sent, with names that harm nobody; raises WorkerGarbled when it cannot be."""
    trace = repeat.trace
    counts = [trace.calls, trace.outer, trace.most_event_ns, repeat.bare_ns or 0]
    counts += [count for node in trace.nodes for count in _counts(node)]
    walls = (*repeat.plain_ns, *repeat.profiled_ns)
    if (
        not repeat.plain_ns
        or not repeat.profiled_ns
        or not trace.nodes
        or not 0 < trace.calls <= len(repeat.profiled_ns)
        or len(trace.nodes) > MOST_NODES
        or min(walls) <= 0
        or max(walls) > _MOST_NS
        or not all(0 <= count <= _MOST_NS for count in counts)
    ):
        raise WorkerGarbled(
            "The worker sent a profile that cannot be one",
            why="its numbers contradict each other" if trace.nodes else "it has no nodes",
            fix="See the run's log",
        )
    return replace(repeat, trace=replace(trace, nodes=tuple(_named(n) for n in trace.nodes)))


def _counts(node: NodeTime) -> tuple[int, ...]:
    return node.self_ns, node.events, node.inner, node.device_ns or 0


def _named(node: NodeTime) -> NodeTime:
    return replace(
        node,
        node=_clean(node.node) or "(no name)",
        op_type=_clean(node.op_type) or "(no name)",
        provider=_clean(node.provider),
        operands=node.operands if node.operands and node.operands.are_sane else None,
        parts=tuple(_clean(part) for part in node.parts[:MOST_PARTS]),
    )


def _clean(text: str) -> str:
    """One line that any terminal and any database takes."""
    line = without_controls(text).encode("utf-8", "replace").decode()
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


# ---------------------------------------------------------------- what no profiler tells


@dataclass(frozen=True)
class _Known:
    """What the model's file says of its nodes."""

    names: frozenset[str] = frozenset()
    makers: dict[str, str] = field(default_factory=dict)  # of tensors
    windows: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of poolings


def _known(spec: ProfileSpec, facts: ModelFacts, context: Context) -> _Known:
    """Nothing where the graph cannot be read."""
    if facts.format != "onnx":
        return _Known()
    deadline_s = time.monotonic() + GRAPH_S
    try:
        graph = read_graph(GraphSpec(spec.model), context, deadline_s, infer_shapes=False)
    except Cancelled:
        raise
    except ModeldynoError:
        return _Known()
    nodes = [node for node in graph.nodes if node.name]
    return _Known(
        names=frozenset(node.name for node in nodes),
        makers={graph.tensor[out].name: n.name for n in nodes for out in n.outputs if out},
        windows={node.name: window for node in nodes if (window := _window(node))},
    )


def _window(node: GraphNode) -> tuple[int, ...]:
    if not node.op_type.endswith("Pool"):
        return ()
    said = next((one.value for one in node.attributes if one.name == "kernel_shape"), None)
    if not isinstance(said, tuple):
        return ()
    return tuple(size for size in said if isinstance(size, int))


def _completed(repeats: list[Repeat], known: _Known) -> list[Repeat]:
    if not known.names:
        return repeats
    found = []
    for repeat in repeats:
        nodes = tuple(_completed_node(node, known) for node in repeat.trace.nodes)
        found.append(replace(repeat, trace=replace(repeat.trace, nodes=nodes)))
    return found


def _completed_node(node: NodeTime, known: _Known) -> NodeTime:
    """ONNX Runtime calls a node that it changed by the name of what it makes."""
    name = plain_node(node.node)
    parts = node.parts
    if not parts and name not in known.names and name in known.makers:
        parts = (known.makers[name],)
    window = next((known.windows[one] for one in (name, *parts) if one in known.windows), ())
    operands = node.operands
    if operands is not None and window and "pool" in node.op_type.lower():
        operands = replace(operands, window=window)
    return replace(node, operands=operands, parts=parts)


# ---------------------------------------------------------------- in words


def _notes(result: ProfileResult) -> list[str]:
    from modeldyno.measure.profile import WORTH_A_NOTE

    notes = []
    if note := call_note(result.spec.cell.contract, result.facts):
        notes.append(note)
    added = result.profiled_s / result.latency_s - 1
    if result.event_cost_s and added > WORTH_A_NOTE:
        notes.append(
            f"the profiler made calls {added:.0%} longer; {result.event_cost_s * 1e6:.2g} µs for "
            "each of its events were taken out"
        )
    if result.repeats < result.spec.repeats:
        done = figures.counted(result.repeats, "repeat")
        notes.append(f"stopped: {done} of {result.spec.repeats}")
    return notes


def _warnings(result: ProfileResult) -> tuple[str, ...]:
    low, high = AGREES
    found = []
    if result.coverage < low:
        found.append(
            f"The nodes add up to {result.coverage:.0%} of the latency: the rest is spent outside "
            "them, in calling the engine and waiting for it"
        )
    if result.coverage > high:
        found.append(f"The nodes add up to {result.coverage:.0%} of the latency: profile it again")
    if not low <= result.scale <= high:
        found.append(
            f"The machine was {_change(result.scale)} while the profiler looked: shares of the "
            "time hold, single times less so; profile it again when the machine is quiet"
        )
    return tuple(found)


def _change(scale: float) -> str:
    return f"{1 / scale - 1:.0%} slower" if scale < 1 else f"{1 - 1 / scale:.0%} quicker"
