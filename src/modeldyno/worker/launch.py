"""Start a worker, talk to it, stop it. Only a long-lived thread may launch one: the kernel kills a
worker when the *thread* that started it ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from modeldyno.core.errors import (
    Cancelled,
    OutOfMemory,
    RunFailed,
    SandboxUnavailable,
    TimedOut,
    WorkerCrashed,
    WorkerGarbled,
    error_classes,
)
from modeldyno.core.sessions import Sandboxing, SandboxReport, SandboxSpec
from modeldyno.worker.control_groups import ControlGroup, make_group
from modeldyno.worker.descendants import Descendants
from modeldyno.worker.limits import WorkerLimits
from modeldyno.worker.messages import (
    HEADER,
    Command,
    CommandFailed,
    MeasureSession,
    OpenSide,
    ProfileSession,
    Reply,
    frame_length,
    pack,
    reply_limits,
    unpack,
    write_all,
)
from modeldyno.worker.monitor import ResourceWatch, RunLog, WorkerMonitor, out_of_memory_error

GRACE_S = 1.0  # between SIGTERM and SIGKILL
LONGEST_WAIT_S = 3600.0  # in one system call; a deadline may be centuries away
LONGEST_TEXT = 4000  # of a failure: title, why or fix
PACKAGE_ROOT = Path(__file__).parents[2]
# What an engine may need from our environment: no tokens and no keys.
_KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT", "TZ")
_KEPT_PREFIXES = ("LC_", "CUDA_", "NVIDIA_")
_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from modeldyno.worker.main import main; "
    "main(sys.argv[2:])"
)
# Another Python gets our package, and nothing else that is installed with it.
_BOOT_ELSEWHERE = """
import sys
from importlib.util import module_from_spec, spec_from_file_location
folder = sys.argv[1] + "/modeldyno"
spec = spec_from_file_location(
    "modeldyno", folder + "/__init__.py", submodule_search_locations=[folder]
)
package = sys.modules["modeldyno"] = module_from_spec(spec)
spec.loader.exec_module(package)
from modeldyno.worker.main import main
main(sys.argv[2:])
"""
_OF_OUR_PYTHON = ("PYTHONPATH", "VIRTUAL_ENV")

R = TypeVar("R")


class Stop:
    """A request to stop, which a waiting supervisor notices at once, without polling."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._changing = threading.Lock()  # a closed descriptor's number is soon another file's
        self.requested = False

    def request(self) -> None:
        self.requested = True
        with self._changing, contextlib.suppress(OSError):
            os.write(self._writer, b"x")

    def sleep(self, seconds: float) -> bool:
        """Whether a stop was requested, which ends the sleep at once."""
        with selectors.DefaultSelector() as selector:
            selector.register(self, selectors.EVENT_READ)
            selector.select(max(0.0, seconds))
        return self.requested

    def fileno(self) -> int:
        return self._reader

    def close(self) -> None:
        with self._changing:
            os.close(self._reader)
            os.close(self._writer)
            self._reader = self._writer = -1


@dataclass(frozen=True)
class WorkerSetup:
    """Where a worker lives and what it may use."""

    scratch: Path  # its working directory, home and temporary folder
    log: Path  # receives what it prints
    threads: int = 1
    memory_limit_bytes: int = 0  # 0: none
    python: str = sys.executable  # another one has its own packages and only runs our worker
    readable: tuple[Path, ...] = ()  # models' private copies, data files, architectures
    devices: tuple[Path, ...] = ()  # nodes below /dev that an engine uses
    allow_exec: bool = False  # some engines start a compiler
    inspectable: tuple[Path, ...] = ()  # folders of the user's own files, until an engine loads
    sandbox: Sandboxing = "on"
    limits: WorkerLimits = field(default_factory=WorkerLimits)

    @property
    def is_elsewhere(self) -> bool:
        return self.python != sys.executable

    @property
    def may_fork(self) -> bool:
        return self.allow_exec or self.sandbox == "off"


class Worker:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        to: int,
        reply: int,
        output: int,
        log: RunLog,
        group: ControlGroup | None,
        setup: WorkerSetup,
    ) -> None:
        self._process = process
        self._to = to
        self._from = reply
        self._setup = setup
        self._children = Descendants(process.pid)
        self._group = group
        watch, check_s = self._resource_watch(), setup.limits.check_s
        self._monitor = WorkerMonitor(output, log, watch, check_s, self._kill)
        self._exit = _exit_descriptor(process)
        self._ending = threading.Lock()  # once it is reaped, its pid may be another's
        self._kill_reason: RunFailed | None = None  # why we ended it
        self._oom_kills = _count_oom_kills()
        self.sandbox: SandboxReport | None = None  # known after the first reply
        self.start_s = 0.0  # the same: from its launch until it takes commands
        self._launched_at = time.monotonic()
        self._monitor.start()

    def _resource_watch(self) -> ResourceWatch | None:
        if sys.platform != "linux":
            return None
        group, setup = self._group, self._setup
        return ResourceWatch(
            self.pid,
            setup.scratch,
            setup.limits,
            0 if group and group.bounds_memory else setup.memory_limit_bytes,
            self._children.find_all if setup.may_fork else list,
            counts_threads=not (group and group.bounds_threads),
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, command: Command, reply: type[R], deadline_s: float, stop: Stop) -> R:
        """Send a command and wait for its reply; raises our error if anything goes wrong.

        ``deadline_s`` is on the clock of ``time.monotonic()``.
        """
        self.send(command)
        return self.receive(reply, deadline_s, stop)

    def send(self, command: Command) -> None:
        """Send a command; its reply must be received before the next command."""
        move_threads(self.pid, _cpus_of(command))
        with contextlib.suppress(BrokenPipeError):  # it has ended: receive() says why
            write_all(self._to, pack(command))

    def receive(self, expected: type[R], deadline_s: float, stop: Stop) -> R:
        try:
            self.read_sandbox_report(deadline_s, stop)
            body = self._read_frame(deadline_s, stop)
        except EOFError:
            raise self._reason_it_ended() from None
        reply = unpack(Reply, body, reply_limits(expected))
        if isinstance(reply, CommandFailed):
            kind = error_classes().get(reply.code, RunFailed)
            title, why, fix = map(_to_storable_text, (reply.title, reply.why, reply.fix))
            raise kind(title, why=why, fix=fix)
        if not isinstance(reply, expected):
            raise WorkerGarbled("The worker sent a reply to another command")
        return reply

    def read_sandbox_report(self, deadline_s: float, stop: Stop) -> SandboxReport:
        """How far the worker is confined: its first message."""
        if self.sandbox is None:
            self.sandbox = unpack(SandboxReport, self._read_frame(deadline_s, stop))
            self.start_s = time.monotonic() - self._launched_at
            if self._may_fork:
                self._children.hold_namespace()
            require_sandbox(self._setup.sandbox, self.sandbox)
        return self.sandbox

    def _read_frame(self, deadline_s: float, stop: Stop) -> bytes:
        header = self._read(HEADER.size, deadline_s, stop)
        return self._read(frame_length(header), deadline_s, stop)

    def _read(self, count: int, deadline_s: float, stop: Stop) -> bytes:
        parts = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            selector.register(stop, selectors.EVENT_READ)
            if self._exit is not None:
                selector.register(self._exit, selectors.EVENT_READ)
            while len(parts) < count:
                left_s = deadline_s - time.monotonic()
                ready = selector.select(max(0.0, min(left_s, LONGEST_WAIT_S)))
                if stop.requested:
                    raise Cancelled("Stopped on request")
                if not ready and left_s > LONGEST_WAIT_S:
                    continue
                if not ready:
                    raise TimedOut(
                        "The time limit passed",
                        why="the engine had not answered by then",
                        fix="Raise --timeout, or make the work smaller",
                    )
                # The pipe may outlive the worker: a child of it may hold its end open.
                if all(key.fd != self._from for key, _ in ready) and not _is_readable(self._from):
                    raise EOFError
                part = os.read(self._from, count - len(parts))
                if not part:
                    raise EOFError
                parts += part
        return bytes(parts)

    def _reason_it_ended(self) -> RunFailed:
        ended = self._has_ended_within(GRACE_S)
        self.close()
        code = self._process.returncode
        log = "The run's log shows what the engine printed last"
        if not ended:  # it was close() that ended it
            return WorkerGarbled(
                "The worker closed its pipe and went on running",
                why="the model or its engine closed files that are not its own",
                fix=log,
            )
        if self._kill_reason is not None:
            return self._kill_reason
        if code == -signal.SIGKILL and _count_oom_kills() > self._oom_kills:
            return OutOfMemory("The system killed the worker for memory", fix="Use a smaller batch")
        is_out_of_memory = any(sign in self._monitor.last_output.lower() for sign in _MEMORY_SIGNS)
        if code in (-signal.SIGABRT, 1) and is_out_of_memory:
            return OutOfMemory(
                "The engine ran out of memory and gave up",
                fix="Use a smaller batch, or raise --memory-limit",
            )
        if code < 0:
            name = _signal_name(-code)
            return WorkerCrashed(
                f"The engine crashed ({name})", why=_SIGNALS.get(name, ""), fix=log
            )
        return WorkerCrashed(f"The engine ended the worker (exit code {code})", fix=log)

    def close(self) -> None:
        """End the worker and all that it started, with SIGTERM first if possible. Idempotent."""
        if self._process.returncode is not None:
            return
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        # A worker that ends by itself loses track of what it started; then SIGTERM is skipped.
        if self._group is not None or not self._may_fork:
            self._signal(signal.SIGTERM)
            self._has_ended_within(GRACE_S)
        with self._ending:
            self._kill_all()
            self._process.wait()
        self._children.end_remaining()
        if self._group is not None:
            if self._group.bounds_memory and self._group.killed_for_memory():
                self._kill_reason = out_of_memory_error(self._setup.memory_limit_bytes)
            self._group.remove()
        if self._exit is not None:
            os.close(self._exit)
        self._monitor.finish()

    def _kill(self, reason: RunFailed) -> None:
        """From the monitor's thread: whoever waits for the worker gets ``reason``."""
        with self._ending:
            if self._process.returncode is None:
                self._kill_reason = reason
                self._kill_all()

    def _kill_all(self) -> None:
        """The worker is not reaped yet, so its pid and its group's are still ours."""
        if self._group is not None:
            self._group.kill()
        elif self._may_fork:
            self._children.end_below()
        self._signal(signal.SIGKILL)

    @property
    def _may_fork(self) -> bool:
        """Whether it can have started other processes."""
        is_filtered = self.sandbox is not None and "seccomp" in self.sandbox.layers
        return self._setup.may_fork or not is_filtered

    def _has_ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not _has_ended(self._process):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        return True

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


# What C++, Python and OpenBLAS print, in lower case, before they end for lack of memory.
_MEMORY_SIGNS = (b"bad_alloc", b"memoryerror", b"memory allocation")
_SIGNALS = {
    "SIGSEGV": "it touched memory that is not its own",
    "SIGABRT": "it ended on its own",
    "SIGILL": "it used an instruction that this CPU does not have",
    "SIGFPE": "it divided by zero",
    "SIGBUS": "a mapped file was cut short or memory is faulty",
    "SIGKILL": "another process killed it",
    "SIGXFSZ": "it wrote a file of more than 1 GiB",
}


def _to_storable_text(text: str) -> str:
    """A worker may send any text; files and databases need valid text of limited length."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:LONGEST_TEXT]


@contextlib.contextmanager
def launched(setup: WorkerSetup) -> Iterator[Worker]:
    worker = launch(setup)
    try:
        yield worker
    finally:
        worker.close()


def launch(setup: WorkerSetup) -> Worker:
    """Spawn a fresh worker in its own session and process group."""
    setup.scratch.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        log = ours.enter_context(contextlib.closing(RunLog(setup.log, setup.limits.log_bytes)))
        command_read, command_write = _open_pipe(theirs, ours)
        reply_read, reply_write = _open_pipe(ours, theirs)
        output_read, output_write = _open_pipe(ours, theirs)
        # Before there is a worker: we must be alone in our group to pass on its controllers.
        group = _make_control_group(setup)
        if group is not None:
            ours.callback(group.remove)
        process = _spawn(setup, command_read, reply_write, output_write)
        theirs.close()
        try:
            if group is not None and not _add_to_group(group, process.pid):
                group = None
            worker = Worker(process, command_write, reply_read, output_read, log, group, setup)
        except BaseException:
            process.kill()
            process.wait()
            raise
        ours.pop_all()
    with contextlib.suppress(BrokenPipeError):  # it has ended: the first request says why
        write_all(command_write, pack(_sandbox_spec(setup)))
    return worker


def _open_pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed together with their owners."""
    read, write = os.pipe()
    reader.callback(os.close, read)
    writer.callback(os.close, write)
    return read, write


def _make_control_group(setup: WorkerSetup) -> ControlGroup | None:
    if not setup.limits.cgroups:
        return None
    memory_bytes, threads = setup.memory_limit_bytes, setup.limits.threads
    return make_group(setup.scratch, memory_bytes, threads, setup.may_fork)


def _add_to_group(group: ControlGroup, pid: int) -> bool:
    """The worker still waits for its first message, so it has not started any process yet."""
    try:
        group.add(pid)
    except OSError:
        group.remove()
        return False
    return True


def _exit_descriptor(process: subprocess.Popen[bytes]) -> int | None:
    """A descriptor that becomes readable when the process ends; None if the system has none."""
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return None


def _is_readable(descriptor: int) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(0))


def _sandbox_spec(setup: WorkerSetup) -> SandboxSpec:
    return SandboxSpec(
        scratch=str(setup.scratch),
        readable=(_code_folder(setup), *map(str, setup.readable)),
        inspectable=tuple(map(str, setup.inspectable)),
        devices=tuple(map(str, setup.devices)),
        memory_limit_bytes=setup.memory_limit_bytes,
        allow_exec=setup.allow_exec,
        enabled=setup.sandbox != "off",
    )


def _code_folder(setup: WorkerSetup) -> str:
    return str(PACKAGE_ROOT / "modeldyno" if setup.is_elsewhere else PACKAGE_ROOT)


def require_sandbox(wanted: Sandboxing, report: SandboxReport) -> None:
    """Raises SandboxUnavailable when a worker got less than was required."""
    if wanted == "required" and report.level != "full":
        raise SandboxUnavailable(
            "This system cannot confine a worker as far as you require",
            why=f"the sandbox is {report}",
            fix="Use Linux 5.13 or later with Landlock and seccomp, or leave out --require-sandbox",
        )


def _spawn(setup: WorkerSetup, commands: int, replies: int, output: int) -> subprocess.Popen[bytes]:
    numbers = (commands, replies, os.getpid())
    # -B: another Python may not have compiled our code yet, and must not write beside it.
    boot = ("-I", "-B", "-c", _BOOT_ELSEWHERE) if setup.is_elsewhere else ("-P", "-s", "-c", _BOOT)
    return subprocess.Popen(
        [setup.python, *boot, str(PACKAGE_ROOT), *map(str, numbers)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=setup.scratch,
        env=environment(setup, dict(os.environ)),
        pass_fds=(commands, replies),
        start_new_session=True,
    )


def environment(setup: WorkerSetup, ours: dict[str, str]) -> dict[str, str]:
    """A clean environment of random length, since its size shifts the stack and thus alignment."""
    kept = {
        name: value
        for name, value in ours.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    if "PYTHONPATH" in kept:  # relative to our working directory, not to the worker's
        parts = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(part).absolute()) for part in parts)
    if setup.is_elsewhere:
        kept = {name: value for name, value in kept.items() if name not in _OF_OUR_PYTHON}
    scratch = str(setup.scratch)
    return (
        kept
        | {name: str(setup.threads) for name in _THREAD_COUNTS}
        | {"HOME": scratch, "TMPDIR": scratch, "PYTHONNOUSERSITE": "1"}
        # Some engines ask for the user's name, and the sandbox hides /etc/passwd.
        | {"LOGNAME": "modeldyno", "USER": "modeldyno"}
        # ONNX Runtime sends telemetry from threads that would run during a measurement.
        | {"ORT_DISABLE_TELEMETRY": "1"}
        # DeepSparse looks up where this machine is, and sends analytics.
        | {"NM_DISABLE_ANALYTICS": "1"}
        | {"MODELDYNO_PADDING": "x" * secrets.randbelow(4096)}
    )


def _has_ended(process: subprocess.Popen[Any]) -> bool:
    """Whether it has ended, without reaping it if the system allows that."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, process.pid, options) is not None
    return True


def _count_oom_kills() -> int:
    """How many processes the kernel has killed for lack of memory since boot."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


# ---------------------------------------------------------------- CPUs
#
# A worker's main thread restricts itself before it loads a model, and the threads that it starts
# inherit that. But some engines keep their thread pools from session to session, and the next lease
# may be of other CPUs. A worker cannot move them: its sandbox lets it pin the calling thread only.


def _cpus_of(command: Command) -> tuple[int, ...]:
    """The CPUs for all threads of the worker; none if its sessions differ in them."""
    if isinstance(command, MeasureSession | ProfileSession | OpenSide):
        return command.session.target.cpus
    return ()


def move_threads(pid: int, cpus: Sequence[int]) -> None:
    """Move all threads of a process except its main one, if the system can.

    The main thread restricts itself after it has imported the engine: some engines count the CPUs
    only when they are loaded.
    """
    if not cpus or not hasattr(os, "sched_setaffinity"):
        return
    with contextlib.suppress(OSError):  # it has ended
        for thread in {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()} - {pid}:
            with contextlib.suppress(OSError):  # this one has
                os.sched_setaffinity(thread, cpus)
