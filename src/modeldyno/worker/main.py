"""Execute the parent's commands one after the other, until the pipe closes.

Everything here runs with the standard library and one engine, so that it also runs in a foreign
Python environment. It measures and reports raw samples; the parent judges them.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import platform
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, assert_never

from modeldyno.core.errors import (
    BadValue,
    EngineFailed,
    InputUnresolved,
    ModeldynoError,
    OutOfMemory,
    StorageFailed,
)
from modeldyno.core.profiles import ProfileRepeat
from modeldyno.core.sessions import (
    CallContract,
    Memory,
    OtherPython,
    Pair,
    Parity,
    SandboxSpec,
    Session,
    SessionFacts,
    Target,
)
from modeldyno.engines import catalog
from modeldyno.engines.protocol import (
    Engine,
    FillsDevice,
    Prepares,
    Profiles,
    Resumes,
    Tensors,
    TimesDevice,
)
from modeldyno.inputs.plans import InputPlan
from modeldyno.measure import loop
from modeldyno.worker import sandbox
from modeldyno.worker.messages import (
    COMMAND_LIMITS,
    CloseSide,
    Command,
    CommandFailed,
    Convert,
    Converted,
    EngineLoaded,
    Examine,
    Examined,
    GraphRead,
    Inspect,
    Inspected,
    LoadEngine,
    LowerOpset,
    MeasureBlock,
    MeasurePair,
    MeasureSession,
    MeasureWindow,
    OpenSide,
    OpsetLowered,
    PairMeasured,
    ProfileSession,
    ReadGraph,
    Reply,
    SessionMeasured,
    SessionProfiled,
    SessionSpec,
    SideReady,
    WindowMeasured,
    pack,
    read_frame,
    unpack,
    write_all,
)
from modeldyno.worker.system_calls import prctl

_INSPECTIONS = (Inspect, ReadGraph, LowerOpset)  # commands for which no engine is loaded
_SET_PARENT_DEATH_SIGNAL = 1
_DEVICE_TIME_S = 0.2
_FEWEST_DEVICE_CALLS, _MOST_DEVICE_CALLS = 10, 200
_ALLOCATION_FAILED = ("bad_alloc", "bad allocation", "failed to allocate", "out of memory")


def main(arguments: list[str]) -> None:
    commands, replies, parent = (int(argument) for argument in arguments)
    die_with_parent(parent)
    frame = read_frame(commands)
    if frame is None:
        return
    spec: SandboxSpec = unpack(SandboxSpec, frame)
    report = sandbox.enter(spec)
    write_all(replies, pack(report))
    with _OpenSide() as side:
        inspecting = True
        while (body := read_frame(commands)) is not None:
            command: Command = unpack(Command, body, COMMAND_LIMITS)
            if inspecting and not isinstance(command, _INSPECTIONS):
                sandbox.close_inspection(spec, report)
                inspecting = False
            write_all(replies, pack_or_fail(execute_and_reply(command, side)))


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill us when our parent ends, however it ends."""
    if sys.platform == "linux":
        prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we could ask
        os._exit(1)


def execute_and_reply(command: Command, side: _OpenSide | None = None) -> Reply:
    """The outermost frame: any error becomes a reply."""
    try:
        return _execute(command, side or _OpenSide())
    except ModeldynoError as error:
        is_memory = isinstance(error, EngineFailed) and _is_about_memory(error.why)
        return _failed_reply(_out_of_memory_error(error.why) if is_memory else error)
    except MemoryError:
        return _failed_reply(_out_of_memory_error("a Python allocation failed"))
    except Exception as error:  # noqa: BLE001 - an engine may raise anything at all
        traceback.print_exc()
        return _failed_reply(_as_our_error(command, error))


def pack_or_fail(reply: Reply) -> bytes:
    """The reply's frame; a foreign engine may report facts that are not JSON."""
    try:
        return pack(reply)
    except (TypeError, ValueError) as error:
        traceback.print_exc()
        return pack(
            _failed_reply(
                EngineFailed("The engine reported facts that are not JSON", why=str(error))
            )
        )


def _failed_reply(error: ModeldynoError) -> CommandFailed:
    return CommandFailed(error.code, error.title, error.why, error.fix)


def _as_our_error(command: Command, error: Exception) -> ModeldynoError:
    text = f"{type(error).__name__}: {error}".strip()
    if _is_about_memory(text):
        return _out_of_memory_error(text[:600])
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StorageFailed(
            "The worker could not write its files",
            why=error.strerror or text,
            fix="Free some space or choose another folder with --workspace",
        )
    if isinstance(command, LoadEngine):
        return EngineFailed(f"{command.engine} cannot be imported", why=text[:600])
    what = "read" if isinstance(command, _INSPECTIONS) else "load or run"
    return EngineFailed(
        f"The engine could not {what} the model",
        why=text[:600],
        fix="Check the model with `modeldyno inspect`; the run's log has the details",
    )


def _is_about_memory(text: str) -> bool:
    return any(sign in text.lower() for sign in _ALLOCATION_FAILED)


def _out_of_memory_error(why: str) -> OutOfMemory:
    return OutOfMemory(
        "The model needs more memory than it may use",
        why=why,
        fix="Use a smaller batch, or raise --memory-limit",
    )


def _execute(command: Command, side: _OpenSide) -> Reply:
    match command:
        case Inspect():
            return _inspect(command)
        case ReadGraph():
            return _read_graph(command)
        case LowerOpset():
            return _lower_opset(command)
        case LoadEngine():
            return _load_engine(command)
        case Examine():
            return _examine(command)
        case Convert():
            return _convert(command)
        case MeasureSession():
            return SessionMeasured(_measure_session(command))
        case MeasurePair():
            return PairMeasured(_measure_pair(command))
        case ProfileSession():
            return SessionProfiled(_profile(command))
        case OpenSide():
            return side.open(command)
        case MeasureBlock():
            return side.take_turn(command)
        case MeasureWindow():
            return side.measure_window(command)
        case CloseSide():
            return SessionMeasured(side.close_side(command))
        case _:
            assert_never(command)


def _inspect(command: Inspect) -> Inspected:
    from modeldyno.formats import catalog as formats

    return Inspected(formats.read(Path(command.path), command.without_weights, command.signature))


def _read_graph(command: ReadGraph) -> GraphRead:
    from modeldyno.formats import catalog as formats
    from modeldyno.graphs.rows import to_rows
    from modeldyno.graphs.scope_splitting import split_large_groups

    graph = formats.read_graph(Path(command.path), command.infer_shapes, command.signature)
    return GraphRead(to_rows(split_large_groups(graph)))


def _lower_opset(command: LowerOpset) -> OpsetLowered:
    from modeldyno.formats.onnx.opset_lowering import lower_opset

    lowered = Path(command.to)
    lower_opset(Path(command.path), lowered, command.opset, command.ir_version)
    return OpsetLowered(lowered.stat().st_size)


# ---------------------------------------------------------------- examine


def _load_engine(command: LoadEngine) -> EngineLoaded:
    version = catalog.load(command.engine).version()
    importlib.import_module("numpy")  # inputs need it; by name, since this module does not
    return EngineLoaded(version, _numpy_version())


def _examine(command: Examine) -> Examined:
    from modeldyno.engines import outputs as outputs_file

    engine = catalog.load(command.target.engine)
    _check_capable(engine, command)
    pin_thread(command.target)
    refused: list[str] = []
    for number, plan in enumerate(command.ladder):
        tensors, batch, notes = _make_inputs(plan)
        try:
            facts, outputs = engine.examine(command.target, tensors)
        except ModeldynoError:
            raise
        except Exception as error:  # an engine may refuse a guess with any error
            if _is_about_memory(str(error)):
                raise
            refused.append(f"{_shapes(plan)}: {_first_line(error)}")
            if number + 1 == len(command.ladder) and not plan.notes:
                raise  # nothing was guessed: report the engine's own message
            continue
        outputs_file.save(Path(command.reference), outputs)
        parity = _parity_to_saved_outputs(command.against, outputs)
        if parity is not None and not parity.agrees:
            _, again = engine.examine(command.target, tensors)
            if outputs_file.differ(outputs, again):
                parity = None  # the model is random
        return Examined(
            facts=_session_facts(command.target, facts),
            rung=number,
            batch_size=batch,
            notes=(*plan.notes, *notes),
            refused=tuple(refused),
            parity=parity,
            outputs=outputs_file.output_specs(outputs),
            can_compare=outputs_file.can_compare(outputs),
        )
    raise _no_plan_worked_error(command, refused)


def _parity_to_saved_outputs(reference: str | None, outputs: Tensors) -> Parity | None:
    from modeldyno.engines import outputs as outputs_file

    if reference is None:
        return None
    return outputs_file.parity_to(outputs_file.load(Path(reference)), outputs)


def _check_capable(engine: Engine, command: Examine) -> None:
    can, target = engine.capabilities, command.target
    if command.contract not in can.contracts:
        raise BadValue(
            f"{engine.name} has no {command.contract} call",
            why=f"it offers {', '.join(can.contracts)}",
            fix=f"Use --contract {can.contracts[0]}",
        )
    if target.device.partition(":")[0] not in can.devices:
        raise BadValue(
            f"{engine.name} cannot use device {target.device!r}",
            why=f"it runs on {', '.join(can.devices)}",
            fix=f"Use device {can.devices[0]}",
        )
    if target.threads > 1 and not can.pins_threads:
        raise BadValue(
            f"{engine.name} cannot limit the number of cores it uses", fix="Leave --cores out"
        )


def _no_plan_worked_error(command: Examine, refused: list[str]) -> InputUnresolved:
    hints = [note for note in command.ladder[0].notes if "--" in note]
    return InputUnresolved(
        "The model ran with none of the input shapes that were tried",
        why=f"{refused[0]}" + (f" (and {len(refused) - 1} more tries)" if refused[1:] else ""),
        fix="; ".join(hints) or "Give real inputs with --data FILE.npz",
    )


def _shapes(plan: InputPlan) -> str:
    return ", ".join(f"{t.name}{list(t.shape)}" for t in plan.tensors)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _make_inputs(plan: InputPlan) -> tuple[Tensors, int, tuple[str, ...]]:
    from modeldyno.engines.inputs import synthesise

    inputs = synthesise(plan)
    return inputs.tensors, inputs.batch_size, inputs.notes


# ---------------------------------------------------------------- convert


def _convert(command: Convert) -> Converted:
    from modeldyno.engines import conversions

    pin_thread(command.target)
    route = conversions.find_route(command.target.format, command.to)  # type: ignore[arg-type]
    source = conversions.ConversionSource(
        command.target, command.inputs, command.outputs, command.example
    )
    folder = Path(command.folder)
    folder.mkdir()
    notes = conversions.load(route)(source, folder / route.names[0])
    return Converted(route.tool, route.versions(), notes)


# ---------------------------------------------------------------- measure


def _measure_session(command: MeasureSession) -> Session:
    target = command.session.target
    engine, tensors = _prepare_engine(command.session)
    canary_s = loop.canary()
    with padded_heap(command.padding_seed), _opened_session(engine, target) as opened:
        loaded = _LoadedSession(command.session, opened, tensors)
        plan = loop.fit_session(command.plan, loaded.timed_side.call, loaded.opening)
        timed = loop.measure_session(loaded.timed_side.call, plan)
        memory = opened.memory()
        fewest = _FEWEST_DEVICE_CALLS if plan == command.plan else len(timed.samples.wall_ns)
        device_s = _measure_device_times(opened.session, tensors, timed.calibration.call_s, fewest)
        outputs = loaded.run()
        parity = _parity_to_reference(loaded, outputs, Path(command.reference))
        session = loaded.session(timed, outputs, parity, memory)
        return replace(session, canary_s=canary_s, device_s=device_s)


def _prepare_engine(spec: SessionSpec) -> tuple[Engine, Tensors]:
    """The engine is imported here, so that loading the model is timed alone."""
    engine = catalog.load(spec.target.engine)
    if isinstance(engine, Prepares):
        engine.prepare(spec.target)
    engine.version()
    pin_thread(spec.target)
    tensors, _, _ = _make_inputs(spec.inputs)
    return engine, tensors


def _measure_device_times(
    session: Any, tensors: Tensors, call_s: float, fewest: int
) -> tuple[float, ...]:
    """Calls timed by the device's own clock, if it has one."""
    if not isinstance(session, TimesDevice):
        return ()
    calls = max(fewest, min(_MOST_DEVICE_CALLS, int(_DEVICE_TIME_S / call_s)))
    return session.device_times_s(tensors, calls)


def _measure_pair(command: MeasurePair) -> Pair:
    sides = {"a": command.a, "b": command.b}
    order = list(sides)
    randomness = random.Random(command.padding_seed)  # noqa: S311 - an order, not a secret
    randomness.shuffle(order)
    with contextlib.ExitStack() as stack:
        stack.enter_context(padded_heap(command.padding_seed))
        loaded = {name: stack.enter_context(_loaded_session(sides[name])) for name in order}
        a, b = loaded["a"], loaded["b"]
        plan = loop.fit_pair(command.plan, (a.opening, b.opening))
        timed_a, timed_b = loop.measure_pair(a.timed_side, b.timed_side, plan)
        first, second = a.run(), b.run()
        parity = _parity_of_pair(first, second)
        return Pair(a.session(timed_a, first), b.session(timed_b, second), parity)


def _profile(command: ProfileSession) -> ProfileRepeat:
    target = command.session.target
    engine, tensors = _prepare_engine(command.session)
    if not isinstance(engine, Profiles):
        raise BadValue(
            f"{engine.name} has no profiler", fix="Profile the model with another engine"
        )
    with (
        padded_heap(command.padding_seed),
        _opened_session(engine, target) as opened,
        engine.profiled(target, opened.session) as profiled,
    ):
        plain = _bind(opened.session, tensors, command.session.contract)
        recorded = profiled.bind(tensors, plain.contract)
        times = loop.measure_profiled(plain.call, recorded, profiled.recording, command.plan)
        facts = plain.facts(target)
        bare = profiled.bare(plain.contract)
        return ProfileRepeat(
            facts=facts,
            load_s=opened.load_s,
            contract=facts.contract or plain.contract,
            plain_ns=tuple(times.plain_ns),
            profiled_ns=tuple(compress(times.recorded_ns, times.counts)),
            trace=profiled.trace(_select_middle_half(times.recorded_ns, times.counts)),
            bare_ns=None if bare is None else loop.measure_bare(bare),
            block_wall_ns=times.block_wall_ns,
            block_cpu_ns=times.block_cpu_ns,
            steady=times.steady,
        )


@dataclass(frozen=True)
class _BoundCall:
    """A call that has worked once."""

    session: Any
    call: Callable[[], object]
    contract: CallContract  # "api" if a hot call was requested and does not work
    is_fallback: bool
    first_call_s: float

    def facts(self, target: Target) -> SessionFacts:
        facts = _session_facts(target, self.session.facts)
        return replace(facts, contract=self.contract) if self.is_fallback else facts


def _bind(session: Any, tensors: Tensors, contract: CallContract) -> _BoundCall:
    """Bind the call and make it once.

    A hot call needs outputs of known shape: a list, or a rank other than the file declares, is
    refused when the call is bound or first made. Then the ordinary call is used.
    """
    try:
        return _bind_and_call_once(session, tensors, contract)
    except (ModeldynoError, MemoryError):
        raise
    except Exception:
        if contract != "hot":
            raise
        traceback.print_exc()
        return replace(_bind_and_call_once(session, tensors, "api"), is_fallback=True)


def _bind_and_call_once(session: Any, tensors: Tensors, contract: CallContract) -> _BoundCall:
    start = time.perf_counter_ns()
    call = session.bind(tensors, contract)
    call()
    first_call_s = (time.perf_counter_ns() - start) / 1e9
    return _BoundCall(session, call, contract, False, first_call_s)


def _select_middle_half(walls_ns: list[int], counts: list[bool]) -> list[bool]:
    """Calls between the quartiles: their trace explains the median, not the slowest call."""
    ranked = sorted(compress(walls_ns, counts))
    low, high = ranked[len(ranked) // 4], ranked[(3 * len(ranked)) // 4]
    return [is_one and low <= wall <= high for wall, is_one in zip(walls_ns, counts, strict=True)]


@dataclass(frozen=True)
class _OpenSession:
    session: Any
    load_s: float
    engine_bytes: int  # resident before it was loaded
    loaded_bytes: int  # resident after that

    def memory(self) -> Memory | None:
        peak, session = peak_bytes(), self.session
        if peak is None:
            return None
        return Memory(
            engine_bytes=self.engine_bytes,
            loaded_bytes=self.loaded_bytes,
            peak_bytes=max(peak, self.loaded_bytes),
            device_peak_bytes=session.device_peak_bytes()
            if isinstance(session, FillsDevice)
            else None,
        )


@contextlib.contextmanager
def _opened_session(engine: Engine, target: Target) -> Iterator[_OpenSession]:
    reset_peak()
    engine_bytes = resident_bytes()
    start = time.perf_counter_ns()
    with engine.open(target) as session:
        load_s = (time.perf_counter_ns() - start) / 1e9
        yield _OpenSession(session, load_s, engine_bytes, resident_bytes())


class _LoadedSession:
    """Loaded, and called once."""

    def __init__(self, spec: SessionSpec, opened: _OpenSession, tensors: Tensors) -> None:
        self.opened = opened
        self.tensors = tensors
        self._target = spec.target
        self._bound = _bind(opened.session, tensors, spec.contract)
        self.timed_side = loop.TimedSide(
            self._bound.call, _make_turn_start(spec.target, opened.session)
        )

    @property
    def opening(self) -> loop.Opening:
        return loop.Opening(self.opened.load_s, self._bound.first_call_s)

    def run(self) -> Tensors:
        outputs: Tensors = self.opened.session.run(self.tensors)
        return outputs

    def session(
        self,
        timed: loop.TimedSession,
        outputs: Tensors,
        parity: Parity | None = None,
        memory: Memory | None = None,
    ) -> Session:
        from modeldyno.engines.outputs import unusual

        return Session(
            load_s=self.opened.load_s,
            first_call_s=self._bound.first_call_s,
            calibration=timed.calibration,
            warmup=timed.warmup,
            samples=timed.samples,
            facts=self._bound.facts(self._target),
            memory=memory,
            parity=parity,
            unusual_outputs=unusual(outputs),
        )


@contextlib.contextmanager
def _loaded_session(spec: SessionSpec) -> Iterator[_LoadedSession]:
    engine, tensors = _prepare_engine(spec)
    with _opened_session(engine, spec.target) as opened:
        yield _LoadedSession(spec, opened, tensors)


class _OpenSide(contextlib.ExitStack):
    """What is measured together with other workers, kept open between the commands about it."""

    def open(self, command: OpenSide) -> SideReady:
        self.pop_all().close()  # a side that an earlier failure left open
        self.enter_context(padded_heap(command.padding_seed))
        self._side = self.enter_context(_loaded_session(command.session))
        self._side_timer = loop.SideTimer(self._side.timed_side, command.calibration, command.plan)
        self._memory: Memory | None = None
        self.enter_context(loop.paused_garbage_collection())
        return self._side_ready()

    def take_turn(self, command: MeasureBlock) -> SideReady:
        self._side_timer.take_turn(command.block_s)
        return self._side_ready()

    def measure_window(self, command: MeasureWindow) -> WindowMeasured:
        samples = self._side_timer.measure_window(
            command.start_ns, command.stop_ns, command.iterations
        )
        # Read before our reply takes more memory than the model.
        self._memory = self._memory or self._side.opened.memory()
        return WindowMeasured(samples)

    def close_side(self, command: CloseSide) -> Session:
        side = self._side
        memory = self._memory or side.opened.memory()
        outputs, reference = side.run(), Path(command.reference)
        compares = command.is_own or _is_comparable(outputs, reference)
        parity = _parity_to_reference(side, outputs, reference) if compares else None
        session = side.session(self._side_timer.timed_session(), outputs, parity, memory)
        self.pop_all().close()
        return session

    def _side_ready(self) -> SideReady:
        return SideReady(len(self._side_timer.block), self._side_timer.calibration)


def _is_comparable(outputs: Tensors, reference: Path) -> bool:
    from modeldyno.engines import outputs as outputs_file

    return outputs_file.comparable(outputs_file.load(reference), outputs)


def _parity_to_reference(side: _LoadedSession, outputs: Tensors, reference: Path) -> Parity | None:
    """This session's outputs against the reference; None if the model is random, or its outputs
    cannot be compared."""
    from modeldyno.engines import outputs as outputs_file

    parity = outputs_file.parity_to(outputs_file.load(reference), outputs)
    if parity is None or parity.agrees:
        return parity
    return None if outputs_file.differ(outputs, side.run()) else parity


def _parity_of_pair(first: Tensors, second: Tensors) -> Parity | None:
    from modeldyno.engines import outputs

    return outputs.compare(first, second) if outputs.comparable(first, second) else None


def _session_facts(target: Target, facts: SessionFacts) -> SessionFacts:
    """What a session reports; of an engine in another Python, with its versions and with the name
    that the user gave it."""
    if not target.alias:
        return facts
    other = OtherPython(facts.engine, platform.python_version(), _numpy_version())
    return replace(facts, engine=target.alias, other_python=other)


def _numpy_version() -> str | None:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else str(numpy.__version__)


# ---------------------------------------------------------------- the process


def pin_thread(target: Target) -> None:
    """Restrict this thread, and those it will start, to the target's CPUs."""
    if target.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, target.cpus)


def _make_turn_start(target: Target, session: Any) -> Callable[[], None]:
    """Returns what restores the state of a side after the other side's turn."""
    if not isinstance(session, Resumes):
        return lambda: pin_thread(target)

    def apply_for_turn() -> None:
        pin_thread(target)
        session.reapply_settings()

    return apply_for_turn


@contextlib.contextmanager
def padded_heap(seed: int) -> Iterator[None]:
    """Shift the next session's memory; otherwise all sessions share the luck of one placement."""
    randomness = random.Random(seed)  # noqa: S311 - memory layout, not a secret
    padding = [bytearray(randomness.randrange(1, 2 << 20))]
    padding += [bytearray(randomness.randrange(16, 4096)) for _ in range(randomness.randrange(20))]
    yield
    del padding


def resident_bytes() -> int:
    return _read_status_bytes("VmRSS") or 0


def peak_bytes() -> int | None:
    return _read_status_bytes("VmHWM")


def reset_peak() -> None:
    """Let the kernel measure the peak from here on."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _read_status_bytes(field: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
