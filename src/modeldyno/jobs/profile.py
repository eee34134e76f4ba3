"""Profile one cell: let it run once, then measure repeats with and without the profiler."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.errors import Cancelled, ModeldynoError, StorageFailed, WorkerGarbled
from modeldyno.core.graphs import GraphNode
from modeldyno.core.hosts import tool_version
from modeldyno.core.jobs import Progress, Started, Unit
from modeldyno.core.models import ModelFacts
from modeldyno.core.names import name_of_file
from modeldyno.core.profile_diffs import plain_node
from modeldyno.core.profiles import AGREES, MOST_NODES, NodeTime, ProfilePlan, ProfileRepeat
from modeldyno.core.redaction import without_controls
from modeldyno.core.results import ProfileResult
from modeldyno.core.sessions import SandboxReport, call_note, with_examined_facts
from modeldyno.core.specs import GraphSpec, ProfileSpec
from modeldyno.inputs.model_overrides import refuse_needless_overrides
from modeldyno.jobs.graph import read as read_graph
from modeldyno.jobs.leases import wait_note
from modeldyno.jobs.preparation import Prepared, TrialWorkers
from modeldyno.jobs.protocol import Context
from modeldyno.store.models import check_unchanged
from modeldyno.worker.launch import Worker, WorkerSetup, launched
from modeldyno.worker.messages import ProfileSession, SessionProfiled

MOST_EVENTS = 40_000  # of a repeat: a trace of 30 MB is read in less than a second
FEWEST_CALLS, MOST_CALLS = 5, 2_000
SPINNING_GAP_S = 0.05
ASSUMED_EVENTS = 4  # of each operator, until a trace shows how many there are
LONGEST_NAME = 200
MOST_PARTS = 64
GRAPH_S = 30.0
_MOST_NS = 1 << 62


def run_profile(spec: ProfileSpec, context: Context) -> ProfileResult:
    begin = time.monotonic()
    facts, copy, prepared = _prepare(spec, context)
    measuring = _Repeats(spec, prepared, context, used_s=time.monotonic() - begin)
    from modeldyno.measure import host

    before = host.read_load()
    stopped: ModeldynoError | None = None
    try:
        measuring.measure()
    except (Cancelled, StorageFailed) as error:
        stopped = error
    repeats = measuring.repeats
    if not repeats:
        raise stopped or AssertionError("a profile without repeats")
    check_unchanged(facts, copy)
    from modeldyno.measure.profile import break_down

    meanwhile = host.weather(before, host.read_load())
    with_model_nodes = _with_model_nodes(repeats, _read_model_nodes(spec, facts, context))
    breakdown = break_down(with_model_nodes, meanwhile)
    first = repeats[0]
    result = ProfileResult(
        run_id=context.folder.id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=tool_version(),
        spec=spec,
        model=facts,
        host=context.host(),
        weather=meanwhile,
        facts=with_examined_facts(first.facts, prepared.facts),
        batch_size=prepared.batch_size,
        contract=first.contract,
        latency_s=breakdown.latency_s,
        floor_s=breakdown.floor_s,
        profiled_s=breakdown.profiled_s,
        sum_s=breakdown.sum_s,
        told_s=breakdown.recorded_s,
        outside_s=breakdown.outside_s,
        event_cost_s=breakdown.event_cost_s,
        scale=breakdown.scale,
        coverage=breakdown.coverage,
        rows=breakdown.rows,
        ci95_s_by_op=breakdown.ci95_s_by_op,
        ci95_s_by_figure=breakdown.ci95_s_by_figure,
        unknown_by_op=breakdown.unknown_by_op,
        noise=breakdown.noise,
        reasons=breakdown.reasons,
        repeats=len(repeats),
        calls=sum(repeat.trace.calls for repeat in repeats),
        notes=(*prepared.notes, *filter(None, [measuring.note, wait_note(measuring.waited_s)])),
        sandbox=measuring.sandbox,
        interrupted=stopped is not None,
    )
    return replace(
        result, notes=(*result.notes, *_make_notes(result)), warnings=_make_warnings(result)
    )


# ---------------------------------------------------------------- measuring


def _prepare(spec: ProfileSpec, context: Context) -> tuple[ModelFacts, Path, Prepared]:
    """Read the model and let the cell run once."""
    deadline_s = time.monotonic() + spec.timeout_s
    with closing(TrialWorkers(spec, (spec.cell,), context)) as trials:
        facts, copy = trials.inspect(spec.model)
        refuse_needless_overrides(spec.model, facts)
        context.send(Started(name_of_file(facts.path), spec.repeats, facts.sha256))
        context.send(Progress(0, spec.repeats, f"trying {spec.cell.name}"))
        prepared = trials.prepare(spec.model, facts, copy, spec.cell, "0", deadline_s)
    return facts, copy, prepared


class _Repeats:
    """The repeats measured so far, and how more of them are measured."""

    def __init__(
        self, spec: ProfileSpec, prepared: Prepared, context: Context, used_s: float
    ) -> None:
        self._spec = spec
        self._prepared = prepared
        self._context = context
        self._used_s = used_s  # of the time limit, without waiting for cores
        earlier = (unit.measured for unit in context.earlier)
        self.repeats = [measured for measured in earlier if isinstance(measured, ProfileRepeat)]
        self.sandbox: SandboxReport | None = None
        self.note = ""  # about the cores they were measured on
        self.waited_s = 0.0  # for cores

    def measure(self) -> None:
        """Fresh sessions in one process, which waits while others have the cores."""
        spec, context = self._spec, self._context
        process = 1 + max((unit.process for unit in context.earlier), default=-1)
        with ExitStack() as stack:
            worker: Worker | None = None
            for number in range(len(self.repeats), spec.repeats):
                with context.leases.take(
                    spec.cell.cores, context.stop, self._show_waiting
                ) as lease:
                    self.waited_s += lease.waited_s
                    begin = time.monotonic()
                    worker = worker or stack.enter_context(launched(self._make_worker_setup()))
                    deadline_s = begin + spec.timeout_s - self._used_s
                    command = ProfileSession(
                        session=self._prepared.session(lease.cpus),
                        plan=self._make_plan(),
                        padding_seed=hash((spec.seed, number)),
                    )
                    reply = worker.request(command, SessionProfiled, deadline_s, context.stop)
                    repeat = require_plausible(reply.repeat)
                    self._used_s += time.monotonic() - begin
                    self.sandbox, self.note = worker.sandbox, lease.note
                context.send(Unit(0, process, repeat, number))
                self.repeats.append(repeat)
                context.send(self._make_progress())

    def _show_waiting(self, why: str) -> None:
        self._context.send(Progress(len(self.repeats), self._spec.repeats, why))

    def _make_worker_setup(self) -> WorkerSetup:
        return self._context.worker_setup(
            self._spec,
            cells=(self._spec.cell,),
            threads=self._spec.cell.cores,
            python=self._prepared.python,
        )

    def _make_plan(self) -> ProfilePlan:
        """As many calls as fit into a readable trace, which has an event for each node."""
        most_calls = min(MOST_CALLS, MOST_EVENTS // self._events_per_call())
        return ProfilePlan(
            min_time_s=self._spec.repeat_s,
            fewest_calls=FEWEST_CALLS,
            most_calls=max(FEWEST_CALLS, most_calls),
            gap_s=SPINNING_GAP_S if self._prepared.facts.spinning else 0.0,
        )

    def _events_per_call(self) -> int:
        if not self.repeats:
            facts = self._prepared.facts
            runs = facts.kernels or sum(facts.nodes_by_provider.values())
            return max(1, ASSUMED_EVENTS * runs)
        trace = self.repeats[-1].trace
        return max(1, sum(node.events for node in trace.nodes) // trace.calls)

    def _make_progress(self) -> Progress:
        from statistics import median

        done, planned = len(self.repeats), self._spec.repeats
        return Progress(
            units_done=done,
            units_planned=planned,
            doing="repeats",
            estimate_s=median(median(repeat.plain_ns) / 1e9 for repeat in self.repeats),
            remaining_s=max(0, planned - done) * self._used_s / done,
        )


# ---------------------------------------------------------------- a worker is not trusted


def require_plausible(repeat: ProfileRepeat) -> ProfileRepeat:
    """A worker's repeat with harmless names; raises WorkerGarbled if it contradicts itself."""
    trace = repeat.trace
    counts = [trace.calls, trace.outer, trace.most_event_ns, trace.event_ns or 0, trace.cut_off_ns]
    counts += [repeat.bare_ns or 0, repeat.block_wall_ns, repeat.block_cpu_ns]
    counts += [count for node in trace.nodes for count in _counts_of_node(node)]
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
    nodes = tuple(map(_with_clean_names, trace.nodes))
    return replace(repeat, trace=replace(trace, nodes=nodes))


def _counts_of_node(node: NodeTime) -> tuple[int, ...]:
    return node.self_ns, node.events, node.inner, node.device_ns or 0


def _with_clean_names(node: NodeTime) -> NodeTime:
    return replace(
        node,
        node=_clean_text(node.node) or "(no name)",
        op_type=_clean_text(node.op_type) or "(no name)",
        provider=_clean_text(node.provider),
        operands=node.operands if node.operands and node.operands.are_sane else None,
        parts=tuple(_clean_text(part) for part in node.parts[:MOST_PARTS]),
    )


def _clean_text(text: str) -> str:
    """One line that every terminal and database accepts."""
    line = without_controls(text).encode("utf-8", "replace").decode()
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


# ---------------------------------------------------------------- what no profiler reports


@dataclass(frozen=True)
class _ModelNodes:
    """What the model's file says about its nodes."""

    names: frozenset[str] = frozenset()
    makers: dict[str, str] = field(default_factory=dict)  # by tensor
    windows: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of pooling nodes


def _read_model_nodes(spec: ProfileSpec, facts: ModelFacts, context: Context) -> _ModelNodes:
    """Empty if the graph cannot be read."""
    if facts.format != "onnx":
        return _ModelNodes()
    deadline_s = time.monotonic() + GRAPH_S
    try:
        graph = read_graph(GraphSpec(spec.model), context, deadline_s, infer_shapes=False)
    except Cancelled:
        raise
    except ModeldynoError:
        return _ModelNodes()
    nodes = [node for node in graph.nodes if node.name]
    return _ModelNodes(
        names=frozenset(node.name for node in nodes),
        makers={graph.tensor[out].name: n.name for n in nodes for out in n.outputs if out},
        windows={node.name: window for node in nodes if (window := _window_of(node))},
    )


def _window_of(node: GraphNode) -> tuple[int, ...]:
    if not node.op_type.endswith("Pool"):
        return ()
    shape = next((a.value for a in node.attributes if a.name == "kernel_shape"), None)
    return (
        tuple(size for size in shape if isinstance(size, int)) if isinstance(shape, tuple) else ()
    )


def _with_model_nodes(repeats: list[ProfileRepeat], model: _ModelNodes) -> list[ProfileRepeat]:
    if not model.names:
        return repeats
    completed = []
    for repeat in repeats:
        nodes = tuple(_with_model_node(node, model) for node in repeat.trace.nodes)
        completed.append(replace(repeat, trace=replace(repeat.trace, nodes=nodes)))
    return completed


def _with_model_node(node: NodeTime, model: _ModelNodes) -> NodeTime:
    """ONNX Runtime names a node that it changed after the tensor that it makes."""
    name = plain_node(node.node)
    parts = node.parts
    if not parts and name not in model.names and name in model.makers:
        parts = (model.makers[name],)
    window = next((model.windows[part] for part in (name, *parts) if part in model.windows), ())
    operands = node.operands
    if operands is not None and window and "pool" in node.op_type.lower():
        operands = replace(operands, window=window)
    return replace(node, operands=operands, parts=parts)


# ---------------------------------------------------------------- in words


def _make_notes(result: ProfileResult) -> list[str]:
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


def _make_warnings(result: ProfileResult) -> tuple[str, ...]:
    low, high = AGREES
    warnings = []
    if result.coverage < low:
        warnings.append(
            f"The nodes add up to {result.coverage:.0%} of the latency: the rest is spent outside "
            "them, in calling the engine and waiting for it"
        )
    if result.coverage > high:
        warnings.append(
            f"The nodes add up to {result.coverage:.0%} of the latency: profile it again"
        )
    if result.noise == "contended" and result.scale > high:
        warnings.append(
            f"Other work interrupted most calls: a typical one took {result.scale:.1f} × what its "
            "nodes need; shares of the time hold, single times less so; profile it again when the "
            "machine is quiet"
        )
    elif not low <= result.scale <= high:
        warnings.append(
            f"The machine was {_speed_text(result.scale)} while the profiler looked: shares of the "
            "time hold, single times less so; profile it again when the machine is quiet"
        )
    return tuple(warnings)


def _speed_text(scale: float) -> str:
    return f"{1 / scale - 1:.0%} slower" if scale < 1 else f"{1 - 1 / scale:.0%} quicker"
