"""What a worker cannot do, and what it still can. Each denial has its control outside."""

import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

import modeldyno
from modeldyno import demo
from modeldyno.core.codec import encode
from modeldyno.core.errors import Cancelled, SandboxUnavailable, TimedOut
from modeldyno.core.sessions import SandboxReport, SandboxSpec, SessionPlan, Target
from modeldyno.inputs.plans import InputPlan
from modeldyno.worker import landlock, sandbox
from modeldyno.worker.launch import PACKAGE_ROOT, Stop, WorkerSetup, launched, require_sandbox
from modeldyno.worker.limits import MOST_FILES
from modeldyno.worker.messages import (
    Inspect,
    Inspected,
    MeasureSession,
    SessionMeasured,
    SessionSpec,
)
from tests.worker import probes
from tests.worker.probes import NOBODY

pytestmark = pytest.mark.usefixtures("starts_processes")

SOON = 30.0
needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or not landlock.kernel_abi(), reason="this kernel has no Landlock"
)
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


@pytest.fixture
def stop():
    stop = Stop()
    yield stop
    stop.close()


def python(code, **environment):
    """Run a snippet in a fresh process; its last line of output is JSON."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"PYTHONPATH": f"{PACKAGE_ROOT}:{Path.cwd()}"} | environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


# ---------------------------------------------------------------- denied inside, done outside


@dataclass(frozen=True)
class Setting:
    """Who tries, and on what kind of system."""

    unprivileged: bool
    walled: bool = True
    landlock_abi: int | None = None  # None: the kernel's own
    namespaces: bool = True


# Tests may run as root, as in CI: then the same is tried as an ordinary user, too.
USERS = (False, True) if os.geteuid() == 0 else (False,)
CONTROLS = [Setting(user, walled=False) for user in USERS]
INSIDE = [
    *(Setting(user, landlock_abi=abi) for user in USERS for abi in (None, 3, 5, 6)),
    Setting(USERS[-1], namespaces=False),
]
# Copying programs go on when a file system has no attributes, and end when they are forbidden.
OTHER_ANSWERS = {"read a file's attributes": errno.errorcode[errno.ENOTSUP]}


@pytest.fixture(scope="module")
def outcomes():
    """What every probe came to, in each setting."""
    return {setting: _probed(setting) for setting in (*CONTROLS, *INSIDE)}


def _probed(setting):
    # Not pytest's own folder: an ordinary user must be able to come here.
    with tempfile.TemporaryDirectory(prefix="modeldyno-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with ExitStack() as stack:
            return _probed_in(folder, setting, stack)


def _probed_in(folder, setting, stack):
    place = _place(folder)
    number = NOBODY if setting.unprivileged else None
    groups: list[int] | None = [] if setting.unprivileged else None

    def victim():
        process = subprocess.Popen(
            ["sleep", "100"], start_new_session=True, user=number, group=number, extra_groups=groups
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        return process

    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    abstract = f"{folder.name}-{os.getpid()}"
    for address in (f"\0{abstract}", str(place["outside"] / "s")):
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(address)
        local.listen()
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    datagrams.bind(str(place["outside"] / "d"))
    if setting.unprivileged:
        for path in folder.rglob("*"):
            os.chown(path, NOBODY, NOBODY)
    shared = _program({"unprivileged": setting.unprivileged, "make": True})
    stack.callback(probes.remove_shared_things, shared)
    targets = {name: victim() for name in probes.SIGNALLED_BY}
    place |= shared | {
        "victim": victim().pid,
        "targets": {name: process.pid for name, process in targets.items()},
        "port": tcp.getsockname()[1],
        "udp_port": udp.getsockname()[1],
        "abstract": abstract,
    }
    spec = SandboxSpec(str(place["scratch"]), (str(place["model"].parent),))
    request = asdict(setting) | {"place": place, "spec": encode(spec) if setting.walled else None}
    found = _program(request)
    return found | {"signalled": {name: _signal_of(one, found) for name, one in targets.items()}}


def _program(request):
    ran = subprocess.run(
        [sys.executable, "-m", "tests.worker.probes"],
        input=json.dumps(request, default=str), capture_output=True, text=True, timeout=60,
        check=False, env=os.environ | {"PYTHONPATH": f"{PACKAGE_ROOT}:{Path.cwd()}"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def _signal_of(process, found):
    """What ended it, or None. Outside, wait until it is delivered; inside, it must never be."""
    if found["report"] is None:
        return -process.wait(timeout=SOON)
    return process.poll()


def _place(folder):
    place = {name: folder / name for name in ("outside", "scratch", "models")}
    for path in place.values():
        path.mkdir()
    for name in ("secret.txt", "to-delete", "to-move", "to-truncate", "to-chmod", "to-touch"):
        (place["outside"] / name).write_text("secret")
    (place["outside"] / "to-mark").write_text("")
    (place["outside"] / "marked").write_text("")
    os.setxattr(place["outside"] / "marked", "user.secret", b"secret")
    (place["outside"] / "runs/other").mkdir(parents=True)
    (place["outside"] / "runs/other/result.json").write_text("{}")
    models = place.pop("models")
    (models / "model.onnx").write_text("weights")
    (models / "to-delete").write_text("weights")
    return place | {"model": models / "model.onnx"}


def _is_older_than(setting):
    return (setting.landlock_abi or 0) > landlock.kernel_abi()


@needs_landlock
@pytest.mark.parametrize("name", probes.PROBES)
def test_a_worker_cannot(name, outcomes):
    # "Another device" is what Landlock says to links and moves between folders.
    expected = {OTHER_ANSWERS[name]} if name in OTHER_ANSWERS else {"EPERM", "EACCES", "EXDEV"}
    answers = {
        setting: outcomes[setting]["outcome"][name]
        for setting in INSIDE
        if not _is_older_than(setting)
    }
    assert {setting: answer for setting, answer in answers.items() if answer not in expected} == {}


@needs_landlock
@pytest.mark.parametrize("setting", INSIDE, ids=str)
def test_a_sandbox_that_holds_is_called_full(setting, outcomes):
    """Without namespaces, too: the filter denies what they would hide."""
    if _is_older_than(setting):
        pytest.skip("this kernel is older still")
    assert outcomes[setting]["report"] == "full"


@needs_landlock
@pytest.mark.parametrize("setting", CONTROLS, ids=str)
@pytest.mark.parametrize("name", probes.PROBES)
def test_outside_the_sandbox_one_can(name, setting, outcomes):
    is_root = os.geteuid() == 0 and not setting.unprivileged
    if name in probes.ROOT_ONLY and not is_root:
        pytest.skip("only root can, and we are not")
    if name in probes.TRACING and not is_root and _yama():
        pytest.skip("Yama keeps ordinary users from tracing")
    answer = outcomes[setting]["outcome"][name]
    if answer == "ENOSYS":
        pytest.skip("this kernel has no such call")
    assert answer == "done"


def _yama():
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return scope.exists() and scope.read_text().strip() != "0"


@needs_landlock
@pytest.mark.parametrize("way", probes.SIGNALLED_BY)
def test_a_worker_ends_no_process_by_way_of_a_descriptor(way, outcomes):
    """Seen from the process that would be signalled; outside, it is."""
    assert {outcomes[setting]["signalled"][way] for setting in CONTROLS} == {signal.SIGIO}
    assert {outcomes[setting]["signalled"][way] for setting in INSIDE} == {None}


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="already an ordinary user")
def test_the_ordinary_user_of_these_tests_has_no_rights_of_root(outcomes):
    for setting in (*CONTROLS, *INSIDE):
        who = outcomes[setting]["who"]
        if setting.unprivileged:
            assert who["Uid"] == who["Gid"] == [str(NOBODY)]
            rights = {
                int(mask, 16) for kind, masks in who.items() if "Cap" in kind for mask in masks
            }
            assert rights == {0}
        else:
            assert who["Uid"] == ["0"]


# ---------------------------------------------------------------- workers that drive a device


@needs_landlock
@pytest.mark.parametrize("drives", [False, True])
def test_only_a_worker_with_a_device_may_open_the_one_socket_that_cuda_needs(tmp_path, drives):
    """And it may name its threads; but it reaches nobody, neither with this socket nor another."""
    found = python(f"""
        import json, os, socket
        from modeldyno.core.sessions import SandboxSpec
        from modeldyno.worker import sandbox

        address = {str(tmp_path / "s")!r}
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind(address)
        listening.listen()

        def tried(do):
            try:
                do()
            except OSError as error:
                return error.errno
            return 0

        def connect():
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(address)

        def name_a_thread():
            with open(f"/proc/self/task/{{os.getpid()}}/comm", "w") as file:
                file.write("x")

        outside = tried(connect)
        os.makedirs({str(tmp_path / "scratch")!r})
        devices = ("/dev/null",) if {drives} else ()
        sandbox.enter(SandboxSpec({str(tmp_path / "scratch")!r}, devices=devices))
        kinds = [
            (socket.AF_UNIX, socket.SOCK_SEQPACKET), (socket.AF_UNIX, socket.SOCK_STREAM),
            (socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_STREAM),
            (socket.AF_NETLINK, socket.SOCK_RAW),
        ]
        sockets = [tried(lambda kind=kind: socket.socket(*kind)) for kind in kinds]
        print(json.dumps([outside, sockets, tried(connect), tried(name_a_thread)]))
    """)
    denied = errno.EPERM
    first, naming = (0, 0) if drives else (denied, errno.EACCES)
    assert found == [0, [first, denied, denied, denied, denied], denied, naming]


# ---------------------------------------------------------------- what still works


ENTER = """
    import json, os, sys
    from modeldyno.core.sessions import SandboxSpec
    from modeldyno.worker import sandbox
    spec = SandboxSpec({scratch!r}, ({readable!r},), ({inspectable!r},))
    report = sandbox.enter(spec, {abi!r})
"""


def entered(tmp_path, then, abi=None):
    """Enter in a fresh process, do ``then``, get ``answer`` back."""
    for name in ("scratch", "readable", "inspectable"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "file").write_text(name)
    paths = {name: str(tmp_path / name) for name in ("scratch", "readable", "inspectable")}
    enter = textwrap.dedent(ENTER).format(**paths, abi=abi)
    return python(enter + textwrap.dedent(then) + "\nprint(json.dumps(answer))")


@needs_landlock
def test_a_worker_reads_its_model_and_writes_its_scratch(tmp_path):
    answer = entered(
        tmp_path,
        f"""
        from pathlib import Path
        base = Path({str(tmp_path)!r})
        (base / "scratch/new").write_text("x")
        (base / "scratch/folder").mkdir()
        (base / "scratch/new").rename(base / "scratch/folder/new")
        (base / "scratch/folder/new").unlink()
        Path("/dev/null").write_text("x")
        answer = (base / "readable/file").read_text()
        """,
    )
    assert answer == "readable"


@needs_landlock
def test_measuring_needs_keep_working(tmp_path):
    """Threads, affinity, clocks, memory peaks, the CPU's facts, signals to oneself."""
    answer = entered(
        tmp_path,
        """
        import resource, signal, threading, time
        from pathlib import Path
        from modeldyno.worker.main import peak_bytes, resident_bytes
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        thread = threading.Thread(target=time.thread_time_ns)
        thread.start(); thread.join()
        Path("/proc/self/clear_refs").write_text("5")
        caught = []
        signal.signal(signal.SIGUSR1, lambda *a: caught.append(1))
        os.kill(os.getpid(), signal.SIGUSR1)
        answer = [
            len(os.sched_getaffinity(0)), len(caught), peak_bytes() > 0, resident_bytes() > 0,
            "processor" in Path("/proc/cpuinfo").read_text(), os.cpu_count() > 0,
            len(os.listdir("/proc/self/task")) > 0, os.getuid(),
            resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        ]
        """,
    )
    assert answer == [1, 1, True, True, True, True, True, os.getuid(), MOST_FILES]


@needs_landlock
def test_the_users_own_files_are_closed_before_an_engine_runs(tmp_path):
    answer = entered(
        tmp_path,
        f"""
        from pathlib import Path
        file = Path({str(tmp_path)!r}) / "inspectable/file"
        before = file.read_text()
        sandbox.close_inspection(spec, report)
        try:
            answer = [before, file.read_text()]
        except PermissionError:
            answer = [before, "denied"]
        """,
    )
    assert answer == ["inspectable", "denied"]


# ---------------------------------------------------------------- less than everything


@needs_landlock
@pytest.mark.parametrize("abi", range(1, 7))
def test_older_kernels_with_landlock_confine_too(tmp_path, abi):
    """What an older Landlock does not know, the system-call filter denies."""
    if abi > landlock.kernel_abi():
        pytest.skip("this kernel is older still")
    answer = entered(
        tmp_path,
        """
        try:
            open("/etc/passwd"); answer = "open"
        except PermissionError:
            answer = [str(report), report.landlock_abi]
        """,
        abi=abi,
    )
    assert answer == ["full", abi]


@needs_linux
def test_without_landlock_the_report_says_so_and_files_are_open(tmp_path):
    answer = entered(tmp_path, "answer = [str(report), open('/etc/passwd').read() != '']", abi=0)
    assert answer == [
        "partial (no landlock: the kernel has none, so it can read and write your files)",
        True,
    ]


@pytest.mark.parametrize(
    ("abi", "landlock_", "network", "seccomp", "said"),
    [
        (7, None, None, None, "full"),
        (1, None, None, None, "full"),
        (7, None, "not permitted", None, "full"),  # the filter denies every socket
        (7, None, None, "no", "partial (no seccomp: no, so it can start programs, use local "
         "sockets, watch your files and slow down your processes)"),
        (5, None, "no", "no", "partial (no seccomp: no, so it can start programs, use local "
         "sockets, watch your files and slow down your processes; no network namespace: no, so "
         "it can use the network and the message queues, semaphores and memory that your "
         "processes share; landlock 5 of 6: it can signal your processes)"),
        (0, "no", None, None, "partial (no landlock: no, so it can read and write your files)"),
        (0, "a", "b", "c", "none (no landlock: a, so it can read and write your files; no "
         "seccomp: c, so it can start programs, use local sockets, watch your files and slow down "
         "your processes; no network namespace: b, so it can use the network and the message "
         "queues, semaphores and memory that your processes share)"),
    ],
)  # fmt: skip
def test_the_report_names_what_is_open(abi, landlock_, network, seccomp, said):
    assert str(sandbox.sandbox_report(abi, landlock_, network, seccomp)) == said


def test_local_sockets_of_a_gpu_worker_need_the_network_namespace():
    assert str(sandbox.sandbox_report(7, None, None, None, listens=True)) == "full"
    assert str(sandbox.sandbox_report(7, None, "denied", None)) == "full"
    told = str(sandbox.sandbox_report(7, None, "denied", None, listens=True))
    assert told == "partial (no network namespace: denied, so it can listen on local sockets)"


def test_holes_found_in_the_sandbox_are_reported():
    leaking = sandbox.sandbox_report(7, None, None, None, leaks=("watch files", "open sockets"))
    assert str(leaking) == (
        "partial (the system-call filter has a hole: it can watch files; the system-call filter "
        "has a hole: it can open sockets)"
    )
    privileged = sandbox.sandbox_report(7, None, None, None, kept_rights="not permitted")
    assert str(privileged) == (
        "partial (capabilities kept: not permitted, so it can use rights of root)"
    )


@needs_landlock
def test_a_worker_tries_forbidden_calls_before_its_sandbox_is_called_full(tmp_path):
    """Outside the sandbox all of it is possible; so inside, its refusal is the sandbox's doing."""
    outside = python(
        """
        import json
        from modeldyno.worker import sandbox
        print(json.dumps([list(sandbox.unblocked_calls(exec_)) for exec_ in (False, True)]))
        """
    )
    assert len(outside[0]) == 17
    assert set(outside[0]) - set(outside[1]) == {"start programs"}
    inside = entered(tmp_path, "answer = [str(report), list(sandbox.unblocked_calls(False))]")
    assert inside == ["full", []]


@needs_landlock
@pytest.mark.parametrize("devices", [(), ("/dev/null",)])
def test_without_namespaces_only_a_gpu_worker_has_something_open(tmp_path, devices):
    told = python(
        f"""
        import json
        from modeldyno.core.sessions import SandboxSpec
        from modeldyno.worker import sandbox
        from tests.worker import probes
        probes.switch_off_namespaces()
        report = sandbox.enter(SandboxSpec({str(tmp_path)!r}, devices={devices!r}))
        print(json.dumps([str(report), report.layers]))
        """
    )
    open_ = " (no network namespace: operation not permitted, so it can listen on local sockets)"
    level = f"partial{open_}" if devices else "full"
    assert told == [level, ["landlock", "seccomp"]]


@needs_linux
def test_open_rights_are_listed_in_the_checkup_and_in_the_result(tmp_path):
    """On a system without Landlock."""
    model = script(tmp_path, latency_us=20)
    told = python(
        f"""
        import json, subprocess, sys
        import modeldyno
        from tests.worker import probes
        probes.switch_off_landlock()
        command = [sys.executable, "-m", "modeldyno", "doctor", "--json"]
        command += ["--workspace", {str(tmp_path / "d")!r}]
        doctor = subprocess.run(command, capture_output=True, text=True, check=True)
        finding = next(f for f in json.loads(doctor.stdout)["findings"] if f["name"] == "sandbox")
        run = modeldyno.bench({str(model)!r}, iterations=5, workspace={str(tmp_path / "w")!r})
        result = json.loads(run.to_json())["cells"][0]["sandbox"]
        print(json.dumps([finding["state"], finding["value"], result]))
        """
    )
    words = "partial (no landlock: the kernel has none, so it can read and write your files)"
    assert told == ["warning", words, words]


def test_switched_off_is_not_called_a_sandbox():
    report = python(
        """
        import json
        from modeldyno.core.codec import encode
        from modeldyno.core.sessions import SandboxSpec
        from modeldyno.worker import sandbox
        print(json.dumps(encode(sandbox.enter(SandboxSpec("/tmp", enabled=False)))))
        """
    )
    assert report == encode(SandboxReport("none", ("switched off",)))


# ---------------------------------------------------------------- real workers


def worker_setup(tmp_path, *readable, **more):
    return WorkerSetup(tmp_path / "scratch", tmp_path / "log.txt", readable=readable, **more)


def script(tmp_path, **content):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"modeldyno": "scripted/1", **content}))
    return path


def measure(model):
    target, inputs = Target("scripted", str(model)), InputPlan((), 1)
    return MeasureSession(SessionSpec(target, inputs, "api"), SessionPlan(), 0, "none")


@needs_landlock
def test_a_worker_says_how_far_it_is_confined(tmp_path, stop):
    model = script(tmp_path, latency_us=10)
    with launched(worker_setup(tmp_path, inspectable=(tmp_path,))) as worker:
        assert worker.sandbox is None
        worker.request(Inspect(str(model)), Inspected, time.monotonic() + SOON, stop)
        assert worker.sandbox is not None
        assert worker.sandbox.level == "full"


@pytest.mark.parametrize("fault", ["hang", "endless-loop"])
def test_a_confined_worker_that_hangs_can_be_killed(tmp_path, stop, fault):
    model = script(tmp_path, faults=[{"call": 0, "do": fault}])
    with launched(worker_setup(tmp_path, tmp_path)) as worker:
        with pytest.raises(TimedOut):
            worker.request(measure(model), SessionMeasured, time.monotonic() + 2.0, stop)
        worker.close()
        assert not Path(f"/proc/{worker.pid}").exists()


def test_a_confined_worker_can_be_cancelled(tmp_path, stop):
    model = script(tmp_path, faults=[{"call": 0, "do": "hang"}])
    stop.request()
    with launched(worker_setup(tmp_path, tmp_path)) as worker, pytest.raises(Cancelled):
        worker.request(measure(model), SessionMeasured, time.monotonic() + SOON, stop)


@needs_linux
def test_a_confined_worker_dies_with_its_parent(tmp_path):
    """Also after the sandbox changed its credentials, which makes kernels forget such wishes."""
    model = script(tmp_path, latency_us=10)
    code = f"""
        import sys, time
        from pathlib import Path
        from modeldyno.worker.launch import Stop, WorkerSetup, launch
        from modeldyno.worker.messages import Inspect, Inspected
        folder = Path({str(tmp_path)!r})
        worker = launch(WorkerSetup(folder / "scratch", folder / "log", inspectable=(folder,)))
        worker.request(Inspect({str(model)!r}), Inspected, time.monotonic() + 30, Stop())
        print(worker.pid, flush=True)
        time.sleep(100)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(PACKAGE_ROOT)},
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        handle = os.pidfd_open(worker)
        parent.send_signal(signal.SIGKILL)
    gone, _, _ = select.select([handle], [], [], 10)  # readable once the process has ended
    os.close(handle)
    assert gone


# ---------------------------------------------------------------- the whole path


@pytest.fixture
def external_model(tmp_path):
    """A model whose weights lie in a file beside it."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    weights = numpy_helper.from_array(np.ones((64, 64), dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 64])], [weights],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "models" / "external.onnx"
    (path.parent / "weights").mkdir(parents=True)
    save(model, path, save_as_external_data=True, location="weights/w.bin", size_threshold=0)
    return path


def test_every_format_loads_runs_and_profiles_inside(tmp_path, external_model):
    import numpy as np

    data = tmp_path / "elsewhere" / "inputs.npz"
    data.parent.mkdir()
    np.savez(data, x=np.zeros((1, 64), dtype=np.float32))
    runs = [
        (demo.model_path(), {}),
        (external_model, {}),
        (external_model, {"data": data}),
        (script(tmp_path, latency_us=20), {}),
    ]
    for model, more in runs:
        result = modeldyno.bench(model, iterations=20, workspace=tmp_path / "w", **more)
        (cell,) = result.cells
        assert cell.status == "done"
        assert cell.facts is not None
        assert cell.facts.precision == "fp32"
        assert cell.sandbox is not None
        assert cell.sandbox.level != "none"


def test_without_the_sandbox_the_result_says_so(tmp_path):
    result = modeldyno.bench(
        script(tmp_path, latency_us=20), iterations=5, sandbox="off", workspace=tmp_path / "w"
    )
    (cell,) = json.loads(result.to_json())["cells"]
    assert cell["sandbox"] == "none (switched off)"


def test_a_required_sandbox_that_cannot_be_had_is_an_error():
    partial = SandboxReport("partial", ("no landlock: the kernel has none",))
    with pytest.raises(SandboxUnavailable, match="no landlock"):
        require_sandbox("required", partial)
    require_sandbox("on", partial)
    require_sandbox("required", SandboxReport("full"))


def test_the_sandbox_can_be_compared_with_none(tmp_path):
    model = script(tmp_path, work=2000)
    result = modeldyno.compare(
        f"{model}@sandbox=off", f"{model}@sandbox=on", pairs=2, workspace=tmp_path / "w"
    )
    assert (result.pairs, result.processes) == (2, 2)
    assert str(result.a.sandbox) == "none (switched off)"
    assert result.b.sandbox != result.a.sandbox
    assert result.parity is not None
    assert result.parity.agrees
