"""What a worker cannot do, and what it still can. Each denial has its control outside."""

import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import modeldyno
from modeldyno import demo
from modeldyno.core.codec import encode
from modeldyno.core.errors import Cancelled, SandboxUnavailable, TimedOut
from modeldyno.core.inputs import InputPlan
from modeldyno.core.sandbox import SandboxReport, SandboxSpec
from modeldyno.core.sessions import SessionPlan, Target
from modeldyno.worker import landlock, sandbox
from modeldyno.worker.launch import PACKAGE_ROOT, Stop, Surroundings, check_sandbox, launched
from modeldyno.worker.messages import Inspect, Inspected, MeasureSession, SessionMeasured
from tests.worker import probes

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


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What every probe came to, without and with the sandbox."""
    return {
        walled: _probed(tmp_path_factory.mktemp("inside" if walled else "outside"), walled)
        for walled in (False, True)
    }


def _probed(folder, walled):
    place = _place(folder)
    with ExitStack() as stack:
        victim = stack.enter_context(subprocess.Popen(["sleep", "100"]))
        stack.callback(victim.kill)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        for address in (f"\0{folder.name}-{os.getpid()}", str(place["outside"] / "s")):
            local = stack.enter_context(socket.socket(socket.AF_UNIX))
            local.bind(address)
            local.listen()
        told = place | {
            "victim": victim.pid,
            "port": tcp.getsockname()[1],
            "udp_port": udp.getsockname()[1],
            "abstract": f"{folder.name}-{os.getpid()}",
        }
        spec = SandboxSpec(str(place["scratch"]), (str(place["model"].parent),))
        request = {"place": told, "spec": encode(spec) if walled else None}
        ran = subprocess.run(
            [sys.executable, "-m", "tests.worker.probes"],
            input=json.dumps(request, default=str), capture_output=True, text=True, timeout=60,
            check=False, env=os.environ | {"PYTHONPATH": f"{PACKAGE_ROOT}:{Path.cwd()}"},
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def _place(folder):
    place = {name: folder / name for name in ("outside", "scratch", "models")}
    for path in place.values():
        path.mkdir()
    for name in ("secret.txt", "to-delete", "to-move", "to-truncate", "to-chmod", "to-touch"):
        (place["outside"] / name).write_text("secret")
    (place["outside"] / "to-mark").write_text("")
    (place["outside"] / "runs/other").mkdir(parents=True)
    (place["outside"] / "runs/other/result.json").write_text("{}")
    models = place.pop("models")
    (models / "model.onnx").write_text("weights")
    (models / "to-delete").write_text("weights")
    return place | {"model": models / "model.onnx"}


@needs_landlock
@pytest.mark.parametrize("name", probes.PROBES)
def test_a_worker_cannot(name, outcomes):
    assert outcomes[True]["report"] == "full"
    # "Another device" is what Landlock says to links and moves between folders.
    assert outcomes[True]["outcome"][name] in ("EPERM", "EACCES", "EXDEV")


@needs_landlock
@pytest.mark.parametrize("name", probes.PROBES)
def test_outside_the_sandbox_one_can(name, outcomes):
    if name in probes.ROOT_ONLY and os.geteuid() != 0:
        pytest.skip("only root can, and we are not")
    assert outcomes[False]["outcome"][name] == "done"


# ---------------------------------------------------------------- workers that drive a device


@needs_landlock
@pytest.mark.parametrize("drives", [False, True])
def test_only_a_worker_with_a_device_may_open_the_one_socket_that_cuda_needs(tmp_path, drives):
    """And it may name its threads; but it reaches nobody, neither with this socket nor another."""
    found = python(f"""
        import json, os, socket
        from modeldyno.core.sandbox import SandboxSpec
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
    from modeldyno.core.sandbox import SandboxSpec
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
    assert answer == [1, 1, True, True, True, True, True, os.getuid(), sandbox.MOST_FILES]


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
def test_without_landlock_the_report_says_so_and_means_it(tmp_path):
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
        (7, None, None, "no", "partial (no seccomp: no, so it can start programs and use local "
         "sockets)"),
        (5, None, "no", "no", "partial (no seccomp: no, so it can start programs and use local "
         "sockets; no network namespace: no, so it can use the network; landlock 5 of 6: it can "
         "signal your processes)"),
        (0, "no", None, None, "partial (no landlock: no, so it can read and write your files)"),
        (0, "a", "b", "c", "none (no landlock: a, so it can read and write your files; no "
         "seccomp: c, so it can start programs and use local sockets; no network namespace: b, "
         "so it can use the network)"),
    ],
)  # fmt: skip
def test_the_report_names_what_is_open(abi, landlock_, network, seccomp, said):
    assert str(sandbox.judge(abi, landlock_, network, seccomp)) == said


def test_local_sockets_of_a_gpu_worker_need_the_network_namespace():
    assert str(sandbox.judge(7, None, None, None, listens=True)) == "full"
    assert str(sandbox.judge(7, None, "denied", None)) == "full"
    told = str(sandbox.judge(7, None, "denied", None, listens=True))
    assert told == "partial (no network namespace: denied, so it can listen on local sockets)"


def test_switched_off_is_not_called_a_sandbox():
    report = python(
        """
        import json
        from modeldyno.core.codec import encode
        from modeldyno.core.sandbox import SandboxSpec
        from modeldyno.worker import sandbox
        print(json.dumps(encode(sandbox.enter(SandboxSpec("/tmp", enabled=False)))))
        """
    )
    assert report == encode(SandboxReport("none", ("switched off",)))


# ---------------------------------------------------------------- real workers


def surroundings(tmp_path, *readable, **more):
    return Surroundings(tmp_path / "scratch", tmp_path / "log.txt", readable=readable, **more)


def script(tmp_path, **content):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"modeldyno": "scripted/1", **content}))
    return path


def measure(model):
    target, inputs = Target("scripted", str(model)), InputPlan((), 1)
    return MeasureSession(target, inputs, "api", SessionPlan(), 0, "none")


@needs_landlock
def test_a_worker_says_how_far_it_is_confined(tmp_path, stop):
    model = script(tmp_path, latency_us=10)
    with launched(surroundings(tmp_path, inspectable=(tmp_path,))) as worker:
        assert worker.sandbox is None
        worker.ask(Inspect(str(model)), Inspected, time.monotonic() + SOON, stop)
        assert worker.sandbox is not None
        assert worker.sandbox.level == "full"


@pytest.mark.parametrize("fault", ["hang", "endless-loop"])
def test_a_confined_worker_that_hangs_can_be_killed(tmp_path, stop, fault):
    model = script(tmp_path, faults=[{"call": 0, "do": fault}])
    with launched(surroundings(tmp_path, tmp_path)) as worker:
        with pytest.raises(TimedOut):
            worker.ask(measure(model), SessionMeasured, time.monotonic() + 2.0, stop)
        worker.close()
        assert not Path(f"/proc/{worker.pid}").exists()


def test_a_confined_worker_can_be_cancelled(tmp_path, stop):
    model = script(tmp_path, faults=[{"call": 0, "do": "hang"}])
    stop.request()
    with launched(surroundings(tmp_path, tmp_path)) as worker, pytest.raises(Cancelled):
        worker.ask(measure(model), SessionMeasured, time.monotonic() + SOON, stop)


@needs_linux
def test_a_confined_worker_dies_with_its_parent(tmp_path):
    """Also after the sandbox changed its credentials, which makes kernels forget such wishes."""
    model = script(tmp_path, latency_us=10)
    code = f"""
        import sys, time
        from pathlib import Path
        from modeldyno.worker.launch import Stop, Surroundings, launch
        from modeldyno.worker.messages import Inspect, Inspected
        folder = Path({str(tmp_path)!r})
        worker = launch(Surroundings(folder / "scratch", folder / "log", inspectable=(folder,)))
        worker.ask(Inspect({str(model)!r}), Inspected, time.monotonic() + 30, Stop())
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
        check_sandbox("required", partial)
    check_sandbox("on", partial)
    check_sandbox("required", SandboxReport("full"))


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
