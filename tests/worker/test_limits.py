"""What bounds a worker: memory of every kind, files, log, threads, and what it has started."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from modeldyno.core.errors import EngineFailed, OutOfMemory, StorageFailed, WorkerCrashed
from modeldyno.measure.system_files import own_folder
from modeldyno.worker import control_groups, launch
from modeldyno.worker.control_groups import ControlGroup
from modeldyno.worker.descendants import end_orphans
from modeldyno.worker.launch import PACKAGE_ROOT, Stop, WorkerSetup, launched
from modeldyno.worker.limits import WorkerLimits
from modeldyno.worker.messages import Examined, Inspect, Inspected
from modeldyno.worker.monitor import RunLog
from tests.processes import is_running, living, until
from tests.scripts import examine, fault, script

pytestmark = pytest.mark.usefixtures("starts_processes")

HOSTILE = Path(__file__).with_name("hostile.py")
UNIFIED = Path("/sys/fs/cgroup/unified")
MB = 1 << 20


def can_make_groups() -> bool:
    folder = own_folder()
    return folder is not None and os.access(folder, os.W_OK) and (folder / "cgroup.procs").exists()


with_and_without_groups = pytest.mark.parametrize(
    "cgroups",
    [
        pytest.param(
            True,
            marks=pytest.mark.skipif(not can_make_groups(), reason="no control group is ours"),
        ),
        False,
    ],
)


@pytest.fixture
def stop():
    wish = Stop()
    yield wish
    wish.close()


@pytest.fixture
def worker_setup(tmp_path):
    """Of a worker that misbehaves; it may read what lies in the test's folder."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -P -s -B {HOSTILE} "$5" "$6" "$7" "$8"\n')
    python.chmod(0o755)
    scratch = tmp_path / "scratch"
    return WorkerSetup(scratch, tmp_path / "log.txt", python=str(python), readable=(tmp_path,))


def with_limits(worker_setup, **said):
    return replace(worker_setup, limits=WorkerLimits(**{"check_s": 0.05} | said))


def suffer(worker_setup, stop, *faults):
    """Load a model with these faults in a worker."""
    folder = worker_setup.log.parent
    model = script(folder / "m.json", faults=[fault(name, call=-1) for name in faults])
    command = examine(model, worker_setup.scratch / "reference.npz")
    with launched(worker_setup) as worker:
        return worker.request(command, Examined, time.monotonic() + 60, stop)


def allow(worker_setup):
    worker_setup.scratch.mkdir()
    (worker_setup.scratch / "allowed").touch()


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("what", ["share-memory", "fill-memory-file"])
def test_shared_memory_counts_against_the_limit(what, worker_setup, stop):
    limited = replace(with_limits(worker_setup), memory_limit_bytes=300 * MB)
    with pytest.raises(OutOfMemory) as caught:
        suffer(limited, stop, what)
    error = caught.value
    assert error.title == "The worker was stopped: it used more memory than it may"
    assert "are allowed, shared memory included" in error.why
    assert error.fix == "Use a smaller batch, or raise --memory-limit"


def test_without_a_limit_shared_memory_is_not_watched(worker_setup, stop):
    allow(worker_setup)
    assert suffer(with_limits(worker_setup), stop, "share-memory")


def test_pages_of_a_memory_file_that_is_mapped_and_open_count_once(worker_setup, stop):
    limited = replace(with_limits(worker_setup), memory_limit_bytes=350 * MB)
    assert suffer(limited, stop, "map-memory-file")


def test_pages_that_processes_share_by_fork_count_once(worker_setup, stop):
    limited = replace(with_limits(worker_setup), memory_limit_bytes=400 * MB, allow_exec=True)
    assert suffer(limited, stop, "share-by-fork")


def test_memory_of_what_a_worker_started_counts_too(worker_setup, stop):
    limited = replace(with_limits(worker_setup), memory_limit_bytes=300 * MB, allow_exec=True)
    with pytest.raises(OutOfMemory):
        suffer(limited, stop, "eat-in-a-child")


def test_a_worker_is_the_first_to_go_when_the_system_is_out_of_memory(tmp_path, stop):
    with launched(WorkerSetup(tmp_path, tmp_path / "log.txt")) as worker:
        worker.request(
            Inspect(str(script(tmp_path / "m.json"))), Inspected, time.monotonic() + 60, stop
        )
        assert Path(f"/proc/{worker.pid}/oom_score_adj").read_text() == "1000\n"


# ---------------------------------------------------------------- files and threads


@pytest.mark.parametrize("what", ["fill-scratch", "fill-deleted-file"])
def test_a_worker_that_fills_its_scratch_folder_is_stopped(what, worker_setup, stop):
    with pytest.raises(StorageFailed) as caught:
        suffer(with_limits(worker_setup, scratch_bytes=20 * MB), stop, what)
    assert caught.value.title == "The worker filled its scratch folder"
    assert "are allowed" in caught.value.why


def test_a_worker_that_makes_too_many_files_is_stopped(worker_setup, stop):
    with pytest.raises(StorageFailed) as caught:
        suffer(with_limits(worker_setup, scratch_files=2500), stop, "make-files")
    assert caught.value.why == "it held more than 2500 files"


def test_a_worker_that_starts_too_many_threads_is_stopped(worker_setup, stop):
    with pytest.raises(EngineFailed) as caught:
        suffer(with_limits(worker_setup, threads=200), stop, "start-threads")
    assert caught.value.title == "The engine started more threads than a worker may have"


def test_within_its_limits_a_worker_is_left_alone(worker_setup, stop):
    allow(worker_setup)
    assert suffer(with_limits(worker_setup), stop, "make-files", "fill-scratch", "start-threads")


# ---------------------------------------------------------------- the log


def test_a_chatty_engine_keeps_running_and_its_log_is_cut(worker_setup, stop):
    assert suffer(with_limits(worker_setup, log_bytes=MB), stop, "talk")
    log = worker_setup.log.read_bytes()
    assert len(log) == MB
    assert log.endswith(b"x\n[The log ends here: a run may write 1.05 MB]\n")


def test_a_log_within_its_limit_is_complete(worker_setup, stop):
    assert suffer(with_limits(worker_setup), stop, "talk")
    log = worker_setup.log.read_bytes()
    assert log == b"x" * 4 * MB + b"the last words\n"


def test_workers_of_one_run_share_the_room_in_its_log(tmp_path):
    logs = [RunLog(tmp_path / "log.txt", 1000) for _ in range(3)]
    for number in range(100):
        logs[number % 3].add(b"%02d says something\n" % number)
    for log in logs:
        log.close()
    words = (tmp_path / "log.txt").read_bytes()
    assert len(words) == 1000
    assert words.count(b"The log ends here") == 1
    assert words.startswith(b"00 says something\n01 says")


def test_output_after_the_end_of_the_log_still_explains_a_crash(worker_setup, tmp_path, stop):
    python = tmp_path / "python"
    python.write_text("#!/bin/bash\nhead -c 5000 /dev/zero\necho std::bad_alloc\nkill -ABRT $$\n")
    with (
        launched(with_limits(worker_setup, log_bytes=1000)) as worker,
        pytest.raises(OutOfMemory, match="ran out of memory and gave up"),
    ):
        worker.request(Inspect("m"), Inspected, time.monotonic() + 60, stop)


# ---------------------------------------------------------------- what a worker started


@pytest.fixture
def starting(worker_setup, tmp_path):
    """Its daemons have the test's folder in their arguments, and no environment."""
    yield replace(worker_setup, allow_exec=True)
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            is_left = str(tmp_path).encode() in line.read_bytes()
        except OSError:
            continue
        if is_left:
            os.kill(int(line.parent.name), signal.SIGKILL)


@pytest.mark.parametrize("sandbox", ["on", "off"])
def test_a_daemon_leaves_the_session_of_an_unconfined_worker_only(
    sandbox, starting, stop, tmp_path
):
    """Without the second case the next tests would show nothing."""
    model = script(tmp_path / "m.json", faults=[fault("start-daemon", call=-1)])
    with launched(replace(starting, sandbox=sandbox)) as worker:
        command = examine(model, starting.scratch / "reference.npz")
        worker.request(command, Examined, time.monotonic() + 60, stop)
        until(lambda: daemons(tmp_path), "the daemon to start")
        daemon = min(daemons(tmp_path))  # others are on their way to become `sleep`
        assert (os.getsid(daemon) == os.getsid(worker.pid)) == (sandbox == "on")
        assert b"HOME" not in Path(f"/proc/{daemon}/environ").read_bytes()


def daemons(mark: Path) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(b"sh\0-c\0while") and str(mark).encode() in words:
            found.append(int(folder.name))
    return found


@with_and_without_groups
def test_a_daemon_ends_with_its_worker(cgroups, starting, stop, tmp_path):
    suffer(with_limits(starting, cgroups=cgroups), stop, "start-daemon")
    until(lambda: not daemons(tmp_path), "the daemon to end")


@with_and_without_groups
def test_a_daemon_ends_when_its_worker_crashed(cgroups, starting, stop, tmp_path):
    with pytest.raises(WorkerCrashed):
        suffer(with_limits(starting, cgroups=cgroups), stop, "start-daemon-and-crash")
    until(lambda: not daemons(tmp_path), "the daemon to end")


@with_and_without_groups
def test_a_daemon_ends_with_an_unconfined_worker(cgroups, starting, stop, tmp_path):
    unconfined = replace(starting, sandbox="off")
    suffer(with_limits(unconfined, cgroups=cgroups), stop, "start-daemon")
    until(lambda: not daemons(tmp_path), "the daemon to end")


def test_a_worker_leaves_no_group_and_no_descriptor(starting, stop):
    def once() -> None:
        suffer(with_limits(starting), stop, "start-daemon")

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    once()
    before = open_files()
    once()
    assert open_files() == before
    folder = own_folder()
    if folder is not None:
        assert not list(folder.glob(f"{control_groups.prefix_of(starting.scratch)}*"))


PARENT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from dataclasses import replace
from modeldyno.worker.launch import Stop, WorkerSetup, launch
from modeldyno.worker.limits import WorkerLimits
from modeldyno.worker.messages import Examined
from tests.scripts import examine, fault, script
folder = Path({folder!r})
around = WorkerSetup(folder / "scratch", folder / "log.txt", python=str(folder / "python"),
                      readable=(folder,), allow_exec=True, limits=WorkerLimits(cgroups={cgroups}))
worker = launch(around)
model = script(folder / "m.json", faults=[fault({what!r}, call=-1)])
command = examine(model, folder / "scratch" / "r.npz")
worker.request(command, Examined, time.monotonic() + 60, Stop())
print(worker.pid, flush=True)
time.sleep(3600)
"""


@pytest.mark.parametrize(
    ("cgroups", "what"),
    [
        pytest.param(
            True,
            "start-daemon",  # which has no environment
            marks=pytest.mark.skipif(not can_make_groups(), reason="no control group is ours"),
        ),
        (False, "start-helper"),
    ],
)
def test_what_a_killed_parent_left_is_found_and_ended(cgroups, what, starting, tmp_path):
    code = PARENT.format(
        root=str(PACKAGE_ROOT.parent), folder=str(tmp_path), cgroups=cgroups, what=what
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=PACKAGE_ROOT.parent
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not is_running(pid), "the worker's end")
    assert living(tmp_path)
    assert end_orphans(starting.scratch) >= 1
    until(lambda: not living(tmp_path), "the end of what it started")
    assert end_orphans(starting.scratch) == 0


# ---------------------------------------------------------------- control groups


def made(folder: Path, *names: str) -> Path:
    """A group as the kernel makes it; no kernel of ours has the memory controller here."""
    folder.mkdir(parents=True)
    for name in ("cgroup.kill", "cgroup.procs", "cgroup.events", *names):
        (folder / name).write_text("")
    return folder


def test_a_group_gets_its_limits_before_anybody_is_in_it(tmp_path):
    bounds = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "memory.events")
    folder = made(tmp_path / "group", *bounds)
    group = control_groups.make_limited_group(folder, 3 << 30, 4096)
    assert group == ControlGroup(folder, bounds_memory=True, bounds_threads=True)
    said = {name: (folder / name).read_text() for name in bounds}
    assert said == {
        "memory.max": str(3 << 30),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "4096",
        "memory.events": "",
    }
    assert not group.killed_for_memory()
    (folder / "memory.events").write_text("max 0\noom 0\noom_kill 3\n")  # a group above it
    assert not group.killed_for_memory()
    (folder / "memory.events").write_text("max 12\noom 1\noom_kill 3\n")
    assert group.killed_for_memory()
    group.add(4711)
    group.kill()
    assert (folder / "cgroup.procs").read_text() == "4711"
    assert (folder / "cgroup.kill").read_text() == "1"


def test_a_group_is_made_before_its_worker_starts(worker_setup, stop, monkeypatch):
    """Only a process that is alone in its own group can pass controllers on."""
    children: list[list[str]] = []

    def make(*_):
        children.append(Path("/proc/thread-self/children").read_text().split())

    monkeypatch.setattr(launch, "make_group", make)
    before = Path("/proc/thread-self/children").read_text().split()
    assert suffer(worker_setup, stop)
    assert children == [before]


def test_a_group_without_controllers_is_there_to_end_all_at_once(tmp_path):
    folder = made(tmp_path / "group")
    assert control_groups.make_limited_group(folder, 3 << 30, 4096) == ControlGroup(folder)


def test_a_group_without_a_memory_limit_has_none(tmp_path):
    folder = made(tmp_path / "group", "memory.max", "pids.max")
    assert control_groups.make_limited_group(folder, 0, 10) == ControlGroup(
        folder, bounds_threads=True
    )
    assert (folder / "memory.max").read_text() == ""


def test_a_group_of_an_old_kernel_is_not_used(tmp_path):
    (tmp_path / "group").mkdir()
    assert control_groups.make_limited_group(tmp_path / "group", 1, 1) is None
    assert not (tmp_path / "group").exists()


def test_controllers_are_not_taken_from_others_in_the_same_group(tmp_path):
    names = ("cgroup.controllers", "cgroup.subtree_control", "cgroup.type")
    folder = made(tmp_path / "group", *names)
    (folder / "cgroup.controllers").write_text("cpu memory pids")
    (folder / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")
    assert not control_groups.enable_controllers(folder, control_groups.CONTROLLERS)
    assert (folder / "cgroup.subtree_control").read_text() == ""
    (folder / "cgroup.subtree_control").write_text("memory pids")
    assert control_groups.enable_controllers(folder, control_groups.CONTROLLERS)


ALONE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from modeldyno.measure.system_files import own_folder
from modeldyno.measure.system_files import own_folder
from modeldyno.worker import control_groups, launch
folder = own_folder()
print(control_groups.enable_controllers(folder, ("hugetlb",)), own_folder().relative_to(folder))
print((folder / "cgroup.subtree_control").read_text().split())
print(control_groups.enable_controllers(folder, ("hugetlb",)))
"""


def can_bound_below() -> bool:
    words = UNIFIED / "cgroup.controllers"
    if not can_make_groups() or not words.exists() or "hugetlb" not in words.read_text().split():
        return False
    return own_folder() == UNIFIED


@pytest.mark.skipif(not can_bound_below(), reason="no controller is ours to pass on")
def test_alone_in_its_group_a_process_moves_down_and_passes_controllers_on():
    """For real, with the one controller that version 2 has here."""
    control = UNIFIED / "cgroup.subtree_control"
    before = control.read_text().split()
    folder = UNIFIED / f"test-{os.getpid()}"
    control.write_text("+hugetlb")
    folder.mkdir()
    try:
        move = f'echo $$ > {folder}/cgroup.procs; exec "$@"'
        command = ["/bin/sh", "-c", move, "sh", sys.executable, "-c", ALONE, str(PACKAGE_ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    finally:
        for inner in folder.glob("*/"):
            inner.rmdir()
        folder.rmdir()
        if "hugetlb" not in before:
            control.write_text("-hugetlb")
    assert done.stdout.split("\n")[:3] == ["True modeldyno-supervisor", "['hugetlb']", "True"]
