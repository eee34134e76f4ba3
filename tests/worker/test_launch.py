"""Workers as processes: how they start, what they may, and that none is ever left."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from modeldyno.core.errors import (
    Cancelled,
    EngineUnknown,
    OutOfMemory,
    RunFailed,
    TimedOut,
    WorkerCrashed,
    WorkerGarbled,
)
from modeldyno.core.models import InputSpec, ModelFacts, TensorSpec
from modeldyno.core.sessions import SandboxReport, SessionFacts
from modeldyno.formats.file_reading import hash_file
from modeldyno.worker.launch import PACKAGE_ROOT, Stop, WorkerSetup, environment, launch, launched
from modeldyno.worker.messages import CommandFailed as FailedReply
from modeldyno.worker.messages import Examined, Inspect, Inspected, SessionMeasured, pack
from tests import onnx_models
from tests.processes import is_running, living, until
from tests.scripts import examine, fault, measure, script

pytestmark = pytest.mark.usefixtures("starts_processes")

FACTS = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {})
GREETING = pack(SandboxReport("full"))
STOP_S = 5.0  # two seconds is the promise, the rest is for a machine that others use too


@pytest.fixture
def worker_setup(tmp_path):
    return WorkerSetup(scratch=tmp_path, log=tmp_path / "log.txt")  # it may read what lies here


@pytest.fixture
def stop():
    wish = Stop()
    yield wish
    wish.close()


@pytest.fixture
def worker(worker_setup):
    with launched(worker_setup) as started:
        yield started


@pytest.fixture
def reference(tmp_path):
    return tmp_path / "reference.npz"


def soon() -> float:
    return time.monotonic() + 60


# ---------------------------------------------------------------- talking


def test_a_worker_reads_a_model_and_reports_its_content(worker, stop, tmp_path):
    model = script(tmp_path / "m.json")
    assert worker.request(Inspect(str(model)), Inspected, soon(), stop) == Inspected(
        ModelFacts(
            path=str(model),
            format="scripted",
            framework="scripted",
            sha256=hash_file(model),
            size_bytes=model.stat().st_size,
            parameters=0,
            inputs=(InputSpec("x", "float32", ("batch", 4)),),
            outputs=(TensorSpec("y", "float32", ("batch", 1)),),
            producer="modeldyno",
        )
    )


def test_a_worker_answers_one_question_after_the_other(worker, stop, tmp_path, reference):
    model = script(tmp_path / "m.json")
    worker.request(examine(model, reference), Examined, soon(), stop)
    for _ in range(3):
        worker.request(measure(model, reference), SessionMeasured, soon(), stop)


def test_an_error_in_the_worker_is_the_same_error_outside(worker, stop, tmp_path, reference):
    command = examine(script(tmp_path / "m.json"), reference, engine="scriptd")
    with pytest.raises(EngineUnknown) as caught:
        worker.request(command, Examined, soon(), stop)
    assert (caught.value.title, caught.value.fix) == (
        "There is no engine named 'scriptd'",
        "Did you mean 'scripted'?",
    )


def test_an_engines_output_goes_to_the_log_and_harms_no_result(
    worker, worker_setup, stop, tmp_path, reference
):
    model = script(tmp_path / "m.json", faults=[fault("chatter"), fault("chatter", call=-1)])
    worker.request(examine(model, reference), Examined, soon(), stop)
    reply = worker.request(measure(model, reference), SessionMeasured, soon(), stop)
    assert len(reply.session.samples.wall_ns) == 5
    log = worker_setup.log.read_bytes()
    assert b"engine says hello on stdout" in log
    assert b"and on stderr" in log


def test_a_deadline_may_be_centuries_away(worker, stop, tmp_path):
    model = script(tmp_path / "m.json")
    worker.request(Inspect(str(model)), Inspected, time.monotonic() + 1e12, stop)


# ---------------------------------------------------------------- environment


def environment_of(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def test_no_secret_of_ours_reaches_a_worker(monkeypatch, worker_setup):
    monkeypatch.setenv("HF_TOKEN", "a-secret-for-nobody-else")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-for-nobody-else")
    monkeypatch.setenv("MODELDYNO_WORKSPACE", "/a-secret-for-nobody-else")
    with launched(worker_setup) as worker:
        until(lambda: "HOME" in environment_of(worker.pid))
        found = environment_of(worker.pid)
    assert "a-secret-for-nobody-else" not in str(found)


def test_a_worker_gets_what_an_engine_needs_and_a_home_of_its_own(worker_setup):
    ours = {
        "PATH": "/usr/bin",
        "LC_ALL": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "0",
        "HOME": "/home/me",
        "SSH_AUTH_SOCK": "/run/agent",
    }
    theirs = environment(replace(worker_setup, threads=2), ours)
    assert len(theirs.pop("MODELDYNO_PADDING")) < 4096
    assert theirs == {
        "PATH": "/usr/bin",
        "LC_ALL": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "0",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "MKL_NUM_THREADS": "2",
        "VECLIB_MAXIMUM_THREADS": "2",
        "NUMEXPR_NUM_THREADS": "2",
        "HOME": str(worker_setup.scratch),
        "TMPDIR": str(worker_setup.scratch),
        "PYTHONNOUSERSITE": "1",
        "LOGNAME": "modeldyno",
        "USER": "modeldyno",
        "ORT_DISABLE_TELEMETRY": "1",
        "NM_DISABLE_ANALYTICS": "1",
    }


def test_the_environment_has_a_length_of_its_own_each_time(worker_setup):
    lengths = {len(environment(worker_setup, {})["MODELDYNO_PADDING"]) for _ in range(20)}
    assert len(lengths) > 10


def test_a_worker_lives_in_its_scratch_folder_and_in_a_session_of_its_own(worker, worker_setup):
    assert Path(f"/proc/{worker.pid}/cwd").readlink() == worker_setup.scratch
    assert (os.getsid(worker.pid), os.getpgid(worker.pid)) == (worker.pid, worker.pid)


def test_a_worker_has_limits(worker_setup, stop, tmp_path):
    with launched(replace(worker_setup, memory_limit_bytes=3 << 30)) as worker:
        worker.request(Inspect(str(script(tmp_path / "m.json"))), Inspected, soon(), stop)
        lines = Path(f"/proc/{worker.pid}/limits").read_text().splitlines()
    limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
    assert limits["Max core file size"] == ["0", "0"]
    assert limits["Max file size"] == [str(1 << 30)] * 2
    assert limits["Max data size"] == [str(3 << 30)] * 2


def test_a_measuring_worker_stays_on_its_cpus(worker, stop, tmp_path, reference):
    model, cpu = script(tmp_path / "m.json"), max(os.sched_getaffinity(0))
    worker.request(examine(model, reference), Examined, soon(), stop)
    assert os.sched_getaffinity(worker.pid) == os.sched_getaffinity(0)
    worker.request(measure(model, reference, cpus=(cpu,)), SessionMeasured, soon(), stop)
    assert os.sched_getaffinity(worker.pid) == {cpu}


# ---------------------------------------------------------------- the end of a worker


def test_a_closed_worker_is_gone_and_may_be_closed_again(worker_setup):
    worker = launch(worker_setup)
    assert is_running(worker.pid)
    worker.close()
    worker.close()
    assert not is_running(worker.pid)


def test_launching_leaves_no_open_files(worker_setup, stop, tmp_path, reference):
    crash = script(tmp_path / "m.json", faults=[fault("exit", call=-1)])

    def once() -> None:
        with launched(worker_setup) as worker, pytest.raises(WorkerCrashed):
            worker.request(examine(crash, reference), Examined, soon(), stop)
        with pytest.raises(FileNotFoundError):
            launch(replace(worker_setup, python="/no/such/python"))

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    once()
    before = open_files()
    for _ in range(3):
        once()
    assert open_files() == before


def test_what_an_engine_started_ends_with_its_worker(worker_setup, stop, tmp_path, reference):
    model = script(tmp_path / "m.json", faults=[fault("start-helper", call=-1)])
    with launched(replace(worker_setup, sandbox="off")) as worker:
        worker.request(examine(model, reference), Examined, soon(), stop)
        # begun, it has no command line yet for a moment
        until(lambda: "/bin/sleep 3600 " in living(tmp_path))
    until(lambda: not living(tmp_path), "the helper's end")


def test_what_an_engine_started_also_ends_when_the_engine_crashed(
    worker_setup, stop, tmp_path, reference
):
    faults = [fault("start-helper", call=-1), fault("segfault", call=-1)]
    model = script(tmp_path / "m.json", faults=faults)
    with (
        launched(replace(worker_setup, sandbox="off")) as worker,
        pytest.raises(WorkerCrashed),
    ):
        worker.request(examine(model, reference), Examined, soon(), stop)
    until(lambda: not living(tmp_path), "the helper's end")


def suffering(worker_setup: WorkerSetup) -> bool:
    """Whether a script that chatters before it misbehaves has come so far."""
    return b"and on stderr" in worker_setup.log.read_bytes()


@pytest.mark.alone
@pytest.mark.parametrize("what", ["hang", "endless-loop"])
def test_cancelling_stops_an_engine_that_does_not_listen(
    what, worker_setup, stop, tmp_path, reference
):
    faults = [fault("chatter", call=-1), fault(what, call=-1)]
    command = examine(script(tmp_path / "m.json", faults=faults), reference)
    moments: list[float] = []

    def cancel() -> None:
        until(lambda: suffering(worker_setup), "the engine to misbehave")
        moments.append(time.monotonic())
        stop.request()

    canceller = threading.Thread(target=cancel)
    with launched(worker_setup) as worker:
        canceller.start()
        with pytest.raises(Cancelled):
            worker.request(command, Examined, soon(), stop)
    assert time.monotonic() - moments[0] < STOP_S
    assert not is_running(worker.pid)
    canceller.join()


@pytest.mark.parametrize("what", ["hang", "endless-loop"])
def test_a_passed_deadline_stops_an_engine_that_does_not_listen(
    what, worker_setup, stop, tmp_path, reference
):
    model = script(tmp_path / "m.json", faults=[fault(what, call=-1)])
    with launched(worker_setup) as worker:
        deadline = time.monotonic() + 2.0
        with pytest.raises(TimedOut):
            worker.request(examine(model, reference), Examined, deadline, stop)
    assert 0 < time.monotonic() - deadline < STOP_S
    assert not is_running(worker.pid)


def test_a_passed_deadline_stops_an_endless_loop_in_native_code(
    worker_setup, stop, tmp_path, reference
):
    model = onnx_models.saved(endless_loop(), tmp_path / "loop.onnx")
    with launched(worker_setup) as worker:
        deadline = time.monotonic() + 4.0
        with pytest.raises(TimedOut):
            worker.request(
                examine(model, reference, engine="onnxruntime"), Examined, deadline, stop
            )
    assert 0 < time.monotonic() - deadline < STOP_S
    assert not is_running(worker.pid)


def endless_loop():
    """An ONNX Loop whose condition stays true."""
    value, node = onnx_models.value, helper.make_node
    body = helper.make_graph(
        [node("Identity", ["on"], ["still_on"]), node("Add", ["v", "v"], ["w"])],
        "body",
        [value("i", TensorProto.INT64), value("on", TensorProto.BOOL), value("v", shape=None)],
        [value("still_on", TensorProto.BOOL), value("w", shape=None)],
    )
    true = helper.make_tensor("true", TensorProto.BOOL, [], [True])
    shape = [1, 4]
    return onnx_models.model(
        [node("Loop", ["", "true", "x"], ["y"], body=body)],
        [value("x", shape=shape)],
        [value("y", shape=shape)],
        [true],
    )


def test_a_request_to_stop_is_noticed_before_the_next_command(worker, stop, tmp_path):
    stop.request()
    with pytest.raises(Cancelled):
        worker.request(Inspect(str(script(tmp_path / "m.json"))), Inspected, soon(), stop)


def test_a_late_request_to_stop_writes_into_no_other_file(tmp_path):
    wish = Stop()
    wish.close()
    files = [(tmp_path / str(number)).open("wb") for number in range(4)]
    wish.request()
    for file in files:
        file.close()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b""] * 4


# ---------------------------------------------------------------- the end of a parent


PARENT = """
import sys, threading, time
from pathlib import Path
sys.path.insert(0, {root!r})
from modeldyno.worker.launch import Stop, WorkerSetup, launch
from tests.scripts import examine, fault, script

def work():
    folder = Path({folder!r})
    worker = launch(WorkerSetup(folder / "scratch", folder / "log.txt", readable=(folder,)))
    model = script(folder / "m.json", faults=[fault("chatter", call=-1), fault("hang", call=-1)])
    print(worker.pid, flush=True)
    worker.request(examine(model, folder / "r.npz"), object, time.monotonic() + 3600, Stop())

{start}
"""
IN_THE_MAIN_THREAD = "work()"
IN_A_SUPERVISOR = "thread = threading.Thread(target=work); thread.start(); thread.join()"


@pytest.mark.parametrize("start", [IN_THE_MAIN_THREAD, IN_A_SUPERVISOR])
def test_a_worker_dies_with_its_parent_even_when_that_is_killed(start, tmp_path):
    code = PARENT.format(root=str(PACKAGE_ROOT.parent), folder=str(tmp_path), start=start)
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=PACKAGE_ROOT.parent
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    log = tmp_path / "log.txt"
    until(lambda: b"and on stderr" in log.read_bytes(), "the engine to hang")
    assert is_running(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not is_running(pid), "the worker's end")
    assert living(tmp_path) == []


def test_a_worker_whose_parent_was_gone_before_it_began_does_not_stay(tmp_path):
    boot = "from modeldyno.worker.main import die_with_parent; die_with_parent({}); print('alive')"
    ended = subprocess.run([sys.executable, "-c", boot.format(1)], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")


# ---------------------------------------------------------------- obituaries


@pytest.fixture
def impostor(worker_setup, tmp_path):
    """A worker that is a shell script: what it says and how it dies is up to the test.

    ``$7`` is the descriptor for replies, as the real worker gets it.
    """

    def write(shell: str) -> WorkerSetup:
        path = tmp_path / "python"
        path.write_text(f'#!/bin/bash\nsay() {{ printf "$1" >&"$R"; }}\nR=$7\n{shell}\n')
        path.chmod(0o755)
        return WorkerSetup(worker_setup.scratch, worker_setup.log, python=str(path))

    return write


def failure(worker_setup: WorkerSetup, stop: Stop) -> RunFailed:
    with launched(worker_setup) as worker, pytest.raises(RunFailed) as caught:
        worker.request(Inspect("m.onnx"), Inspected, soon(), stop)
    assert not is_running(worker.pid)
    return caught.value


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("SEGV", "it touched memory that is not its own"),
        ("ABRT", "it ended on its own"),
        ("ILL", "it used an instruction that this CPU does not have"),
        ("FPE", "it divided by zero"),
        ("BUS", "a mapped file was cut short or memory is faulty"),
        ("KILL", "another process killed it"),
    ],
)
def test_a_signal_is_explained_in_words(name, why, impostor, stop):
    error = failure(impostor(f"ulimit -c 0; kill -{name} $$"), stop)
    assert (type(error), error.title, error.why, error.fix) == (
        WorkerCrashed,
        f"The engine crashed (SIG{name})",
        why,
        "The run's log shows what the engine printed last",
    )


def test_a_signal_without_a_name_is_reported_by_number(impostor, stop):
    number = signal.SIGRTMIN + 5
    assert failure(impostor(f"kill -{number} $$"), stop).title == (
        f"The engine crashed (signal {number})"
    )


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_silent_exit_is_a_crash_too(code, impostor, stop):
    error = failure(impostor(f"exit {code}"), stop)
    assert (type(error), error.title) == (
        WorkerCrashed,
        f"The engine ended the worker (exit code {code})",
    )


@pytest.mark.parametrize(
    "last_words",
    [
        "echo \"terminate called after throwing 'std::bad_alloc'\"; ulimit -c 0; kill -ABRT $$",
        "echo MemoryError; exit 1",
        "echo 'OpenBLAS error: Memory allocation still failed after 10 retries'; exit 1",
    ],
)
def test_an_engine_that_dies_speaking_of_memory_ran_out_of_it(last_words, impostor, stop):
    assert type(failure(impostor(last_words), stop)) is OutOfMemory


def test_another_workers_memory_messages_do_not_count(impostor, worker_setup, stop):
    worker_setup.log.write_text("std::bad_alloc\n")
    error = failure(impostor("ulimit -c 0; kill -ABRT $$"), stop)
    assert type(error) is WorkerCrashed


@pytest.mark.parametrize(
    "shell",
    [
        r'say "\xff\xff\xff\xffthis is not a message"; sleep 60',
        r'say "\x00\x00\x00\x05hello"; sleep 60',
        r'say "\x00\x00\x00\x02{}"; sleep 60',
    ],
)
def test_garbage_on_the_pipe_is_called_so(shell, impostor, stop):
    error = failure(impostor(shell), stop)
    assert (type(error), error.title) == (
        WorkerGarbled,
        "The worker sent something that is not a message",
    )


def test_half_a_message_and_an_end_is_a_crash(impostor, stop):
    assert type(failure(impostor(r'say "\x00\x00\x00\x05he"; exit 4'), stop)) is WorkerCrashed


def test_the_answer_to_another_question_is_refused(impostor, tmp_path, stop):
    reply = Examined(FACTS, 0, 1, (), ())
    (tmp_path / "reply").write_bytes(GREETING + pack(reply))
    error = failure(impostor(f'cat {tmp_path}/reply >&"$R"; sleep 60'), stop)
    assert (type(error), error.title) == (
        WorkerGarbled,
        "The worker sent a reply to another command",
    )


def test_an_unknown_error_still_fails_the_run(impostor, tmp_path, stop):
    reply = FailedReply("NEVER_HEARD_OF", "Something", "odd", "happened")
    (tmp_path / "reply").write_bytes(GREETING + pack(reply))
    error = failure(impostor(f'cat {tmp_path}/reply >&"$R"; sleep 60'), stop)
    assert (type(error), str(error)) == (RunFailed, "Something. odd. happened")


def test_a_failures_text_can_always_be_stored(impostor, tmp_path, stop):
    reply = FailedReply("ENGINE_FAILED", "caf\udce9", "a\0b\nc é", "x" * 100_000)
    (tmp_path / "reply").write_bytes(GREETING + pack(reply))
    error = failure(impostor(f'cat {tmp_path}/reply >&"$R"; sleep 60'), stop)
    assert (error.title, error.why, len(error.fix)) == ("caf?", "ab\nc é", 4000)


def test_an_engine_that_closes_our_pipe_and_lives_on_is_not_called_crashed(
    worker_setup, stop, tmp_path, reference
):
    model = script(tmp_path / "m.json", faults=[fault("hang-up", call=-1)])
    with launched(worker_setup) as worker, pytest.raises(WorkerGarbled) as caught:
        worker.request(examine(model, reference), Examined, soon(), stop)
    assert caught.value.title == "The worker closed its pipe and went on running"
    assert not is_running(worker.pid)


def test_scripted_disasters_have_their_names(worker_setup, stop, tmp_path, reference):
    titles = {}
    for do in ("segfault", "abort", "exit", "garble"):
        model = script(tmp_path / "m.json", faults=[fault(do, call=-1)])
        with launched(worker_setup) as worker, pytest.raises(RunFailed) as caught:
            worker.request(examine(model, reference), Examined, soon(), stop)
        titles[do] = caught.value.title
    assert titles == {
        "segfault": "The engine crashed (SIGSEGV)",
        "abort": "The engine crashed (SIGABRT)",
        "exit": "The engine ended the worker (exit code 3)",
        "garble": "The worker sent something that is not a message",
    }
