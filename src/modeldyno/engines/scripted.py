"""An engine whose latencies are written in a file: for tests, self-tests and demonstrations.

    {"modeldyno": "scripted/1", "latency_us": 200}

``latency_us`` is a number or a list that repeats. ``first_us`` replaces the first calls.
``work`` spins that many rounds of arithmetic instead of until a deadline. ``load_ms`` delays
loading. ``output`` is the first element of the output; the others are its multiples. ``faults``
make call number ``call`` (0 is the first inference; -1 is loading) do something terrible: see
``_FAULTS``. A fault may be limited to the ``session`` of that number (0 is the first that a process
opens), or to a ``batch`` size.

``device``, ``precision``, ``threads``, ``input_dtypes``, ``layout`` and ``nodes_by_provider`` are
reported as the facts of the session, whatever was requested.

``nodes`` are what its profiler reports of each call, ``{"node": "a", "op": "Conv", "us": 90}``
each, with ``device_us`` if an accelerator ran it, and the shapes of its operands as ``in`` and
``out``. ``profiler_us`` is how much longer each takes under the profiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from modeldyno.core.errors import EngineFailed
from modeldyno.core.node_work import Operand, Operands
from modeldyno.core.profiles import Trace
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines.node_times import NodeEvent, Tally
from modeldyno.engines.protocol import Capabilities, ProfiledDefaults, Tensors
from modeldyno.engines.threads import require_default_spinning


class Scripted:
    name = "scripted"
    capabilities = Capabilities(formats=("scripted",))

    def version(self) -> str:
        return "1"

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[ScriptedSession]:
        script = json.loads(Path(target.model).read_text())
        time.sleep(script.get("load_ms", 0) / 1e3)
        yield ScriptedSession(script, target)

    @contextlib.contextmanager
    def profiled(self, target: Target, session: ScriptedSession) -> Iterator[ScriptedProfiled]:
        yield ScriptedProfiled(json.loads(Path(target.model).read_text()), session)

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(target) as session:
            outputs = session.run(inputs)
            return session.facts, outputs


_session_numbers = itertools.count()


class ScriptedSession:
    def __init__(self, script: dict[str, Any], target: Target) -> None:
        require_default_spinning("a script", target)
        self._script = script
        self._target = target
        number = next(_session_numbers)
        self._faults = [f for f in script.get("faults", []) if f.get("session", number) == number]
        self._trigger_faults(-1)

    @property
    def facts(self) -> SessionFacts:
        return SessionFacts(
            engine="scripted",
            engine_version="1",
            device=self._script.get("device", "cpu"),
            providers=("script",),
            threads=self._script.get("threads", 1),
            spinning=None,
            input_dtypes=self._script.get("input_dtypes", {}),
            precision=self._script.get("precision", "fp32"),
            nodes_by_provider=self._script.get("nodes_by_provider", {}),
            layout=self._script.get("layout"),
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        spin = self._spin()
        if not self._faults:
            return spin
        counter, batch = itertools.count(), _batch_size(inputs)

        def call() -> None:
            self._trigger_faults(next(counter), batch)
            spin()

        return call

    def run(self, inputs: Tensors) -> Tensors:
        output = self._script.get("output", 1.0)
        fill = output[os.getpid() % len(output)] if isinstance(output, list) else output
        import numpy as np

        places = np.arange(1, _batch_size(inputs) + 1, dtype=np.float32)
        return {"y": np.float32(fill) * places.reshape(-1, 1)}

    def _spin(self) -> Callable[[], object]:
        if "work" in self._script:
            rounds = int(self._script["work"])
            return lambda: _spin_rounds(rounds)
        latency = self._script.get("latency_us", 100)
        latencies_us = latency if isinstance(latency, list) else [latency]
        times_ns = [int(us * 1e3) for us in latencies_us]
        first_ns = [int(us * 1e3) for us in self._script.get("first_us", [])]
        if len(times_ns) == 1 and not first_ns:
            return lambda wait=times_ns[0]: _spin_for(wait)  # type: ignore[misc]  # a bound default
        schedule = itertools.chain(first_ns, itertools.cycle(times_ns))
        return lambda: _spin_for(next(schedule))

    def _trigger_faults(self, call: int, batch: int = 1) -> None:
        for fault in self._faults:
            if fault["call"] == call and fault.get("batch", batch) == batch:
                _FAULTS[fault["do"]](self._target)


class ScriptedProfiled(ProfiledDefaults):
    def __init__(self, script: dict[str, Any], session: ScriptedSession) -> None:
        latency = script.get("latency_us", 100)
        only_node = {
            "node": "all",
            "op": "Script",
            "us": latency[0] if isinstance(latency, list) else latency,
        }
        self._nodes = script.get("nodes", [only_node])
        self._cost_ns = int(script.get("profiler_us", 0) * 1e3)
        self._session = session

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        call, overhead_ns = self._session.bind(inputs, contract), self._cost_ns * len(self._nodes)

        def profiled() -> None:
            call()
            _spin_for(overhead_ns)

        return profiled

    def trace(self, keep: Sequence[bool]) -> Trace:
        tally = Tally(most_event_ns=1_000_000)
        for _ in range(sum(keep)):
            tally.add_call(self._node_events())
        return tally.trace()

    def _node_events(self) -> Iterator[NodeEvent]:
        start_ns = 0
        for node in self._nodes:
            duration_ns = int(node["us"] * 1e3) + self._cost_ns
            device_ns = int(node["device_us"] * 1e3) if "device_us" in node else None
            key = (node["node"], node["op"], "script")
            yield NodeEvent(start_ns, duration_ns, key, device_ns, _read_operands(node))
            start_ns += duration_ns


def _read_operands(node: dict[str, Any]) -> Operands | None:
    if "out" not in node:
        return None
    inputs, outputs = (
        tuple(Operand("float32", tuple(shape)) for shape in node.get(side, ()))
        for side in ("in", "out")
    )
    return Operands(inputs, outputs)


def _batch_size(inputs: Tensors) -> int:
    return next((array.shape[0] for array in inputs.values() if array.ndim), 1)


def _spin_for(wait_ns: int, clock: Callable[[], int] = time.perf_counter_ns) -> None:
    deadline = clock() + wait_ns
    while clock() < deadline:
        pass


def _spin_rounds(rounds: int) -> int:
    total = 0
    # Not over a range: small integers are faster than large ones.
    for _ in itertools.repeat(None, rounds):
        total ^= 1
    return total


def _segfault(_: Target) -> None:
    ctypes.string_at(0)


def _hang(_: Target) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    while True:
        time.sleep(3600)


def _loop_forever(_: Target) -> None:
    while True:
        pass


def _eat_memory(_: Target) -> None:
    hoard = []
    while True:
        hoard.append(bytearray(64 << 20))


def _raise(_: Target) -> None:
    raise EngineFailed("The script says this call fails", fix="Remove the fault from the script")


def _chatter(_: Target) -> None:
    """Native code may print anything; that must not disturb results."""
    os.write(1, b"\x00\x00\x00\x05hello engine says hello on stdout\n")
    sys.stderr.write("and on stderr\n")


_MAX_DESCRIPTORS = 4096  # the pipe has whatever numbers were free in the parent


def _garble_pipe(_: Target) -> None:
    """Write rubbish to every descriptor but the standard three."""
    for descriptor in range(3, _MAX_DESCRIPTORS):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\xff\xff\xff\xffthis is not a message")


def _hang_up(_: Target) -> None:
    """Close every descriptor but the standard three, and keep running."""
    os.closerange(3, _MAX_DESCRIPTORS)
    _loop_forever(_)


def _rewrite_model(target: Target) -> None:
    """Some engines overwrite the model file with an optimised one."""
    model = Path(target.model)
    model.chmod(0o644)
    model.write_text(model.read_text() + "\n")


def _start_helper(_: Target) -> None:
    """A process that the engine leaves behind, for us to end."""
    subprocess.Popen(["/bin/sleep", "3600"])


_NESTED_FOLDERS = 1500


def _nest_folders(_: Target) -> None:
    """Nested folders: deeper than Python's recursion limit and the longest path."""
    at = os.open(".", os.O_RDONLY)
    for _level in range(_NESTED_FOLDERS):
        with contextlib.suppress(FileExistsError):  # created by an earlier session
            os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


_FAULTS: dict[str, Callable[[Target], None]] = {
    "segfault": _segfault,
    "abort": lambda _: os.abort(),
    "exit": lambda _: os._exit(3),
    "hang": _hang,
    "endless-loop": _loop_forever,
    "out-of-memory": _eat_memory,
    "raise": _raise,
    "chatter": _chatter,
    "garble": _garble_pipe,
    "hang-up": _hang_up,
    "rewrite": _rewrite_model,
    "start-helper": _start_helper,
    "nest-folders": _nest_folders,
}
