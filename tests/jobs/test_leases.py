"""Two processes never measure on one core."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from itertools import combinations
from pathlib import Path

import pytest

from modeldyno.core.errors import Cancelled, LeasesUnusable
from modeldyno.jobs.leases import Leases
from modeldyno.worker.launch import Stop

CORES = ((0,), (1,))
# Takes cores again and again and prints for each lease the CPUs and when it began and ended.
GREEDY = """
import json, sys, time
from pathlib import Path
from modeldyno.jobs.leases import Leases
from modeldyno.worker.launch import Stop
leases = Leases(Path(sys.argv[1]), ((0,), (1,), (2,)))
for turn in range(int(sys.argv[2])):
    with leases.take(1 + turn % 3, Stop(), lambda why: None) as lease:
        began = time.monotonic()
        time.sleep(0.01)
        print(json.dumps([lease.cpus, began, time.monotonic()]))
"""
# Takes every core, says so and never lets go.
HOLDING = """
import sys, time
from pathlib import Path
from modeldyno.jobs.leases import Leases
from modeldyno.worker.launch import Stop
with Leases(Path(sys.argv[1]), ((0,), (1,))).take(2, Stop(), print):
    print("have it", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def stop():
    stop = Stop()
    yield stop
    stop.close()


@pytest.fixture
def holder(tmp_path, starts_processes):
    """Another process that has all the cores."""
    command = [sys.executable, "-c", HOLDING, str(tmp_path / "cores")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment()) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "have it\n"
        yield other
        other.kill()


def _environment():
    source = Path(__file__).parents[2] / "src"
    return os.environ | {"PYTHONPATH": str(source)}


def _greedy(folder, turns):
    command = [sys.executable, "-c", GREEDY, str(folder), str(turns)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment())


def silent(why):
    pass


@pytest.mark.usefixtures("starts_processes")
def test_intervals_of_use_never_overlap_on_one_cpu(tmp_path):
    processes = [_greedy(tmp_path / "cores", 6) for _ in range(3)]
    lines = [
        line for process in processes for line in process.communicate(timeout=60)[0].split("\n")
    ]
    uses = [json.loads(line) for line in lines if line]
    assert len(uses) == 18
    for (cpus, began, ended), (others, other_began, other_ended) in combinations(uses, 2):
        assert not set(cpus) & set(others) or ended <= other_began or other_ended <= began


def test_a_job_without_free_cores_waits_and_names_their_holder(tmp_path, stop, holder):
    said: list[str] = []
    threading.Timer(0.4, holder.kill).start()
    with Leases(tmp_path / "cores", CORES).take(1, stop, said.append) as lease:
        assert lease.waited_s > 0
    assert said == [f"waiting for cores 0-1, used by modeldyno pid {holder.pid}"]


def test_cores_of_other_processes_are_distinguished_from_ours(tmp_path, stop, holder):
    others = dict.fromkeys((0, 1), f"modeldyno pid {holder.pid}")
    assert Leases(tmp_path / "cores", CORES).of_others() == others
    ours = Leases(tmp_path / "ours", CORES)
    with ours.take(1, stop, silent):
        assert len(ours.in_use()) == 1
        assert ours.of_others() == {}


def test_a_crash_frees_the_cores(tmp_path, stop, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with Leases(tmp_path / "cores", CORES).take(2, stop, silent) as lease:
        assert lease.cpus == (0, 1)
        assert lease.waited_s == 0


@pytest.mark.alone
def test_waiting_ends_at_once_when_stopped(tmp_path, stop, holder):
    threading.Timer(0.1, stop.request).start()
    start = time.monotonic()
    with (
        pytest.raises(Cancelled),
        Leases(tmp_path / "cores", CORES).take(1, stop, silent),
    ):
        pytest.fail("nothing was free")
    assert time.monotonic() - start < 2


def test_a_lease_ends_with_its_context(tmp_path, stop):
    leases = Leases(tmp_path / "cores", CORES)
    with contextlib.suppress(ZeroDivisionError), leases.take(2, stop, silent):
        assert set(leases.in_use()) == {0, 1}
        raise ZeroDivisionError
    assert leases.in_use() == {}


def test_all_or_nothing_is_taken(tmp_path, stop):
    leases = Leases(tmp_path / "cores", CORES)
    with leases.take(1, stop, silent) as first:
        with leases.take_now(2) as second:
            assert second is None
            assert set(leases.in_use()) == set(first.cpus)
        with leases.take_now(1) as third:
            assert third is not None
            assert not set(third.cpus) & set(first.cpus)


def test_siblings_are_leased_together_and_used_last(tmp_path, stop):
    leases = Leases(tmp_path / "cores", ((0, 2), (1, 3)))
    with leases.take(1, stop, silent) as lease:
        core = {0: {0, 2}, 1: {1, 3}}[lease.cpus[0] % 2]
        assert set(leases.in_use()) == core
    with leases.take(2, stop, silent) as lease:
        assert {cpu % 2 for cpu in lease.cpus} == {0, 1}
        assert set(leases.in_use()) == {0, 1, 2, 3}


def test_asking_for_more_than_there_is_gives_all(tmp_path, stop):
    with Leases(tmp_path / "cores", CORES).take(64, stop, silent) as lease:
        assert lease.cpus == (0, 1)


def test_the_folder_is_for_all_users_and_only_owners_remove_locks(tmp_path, stop):
    old = os.umask(0o077)
    try:
        with Leases(tmp_path / "cores", CORES).take(1, stop, silent) as lease:
            folder = (tmp_path / "cores").stat()
            lock = (tmp_path / "cores" / f"cpu{lease.cpus[0]}").stat()
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.st_mode) == 0o1777
    assert stat.S_IMODE(lock.st_mode) == 0o666


@pytest.mark.parametrize("plant", ["folder-link", "lock-link", "hard-link", "pipe", "file"])
def test_planted_files_are_refused_and_left_alone(tmp_path, stop, plant):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "cores"
    if plant == "folder-link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    elif plant == "file":
        folder.write_text("")
    else:
        folder.mkdir()
        lock = folder / "cpu0"
        {"lock-link": lock.symlink_to, "hard-link": lock.hardlink_to}.get(
            plant, lambda _: os.mkfifo(lock)
        )(precious)
    with (
        pytest.raises(LeasesUnusable) as refusal,
        Leases(folder, ((0,),)).take(1, stop, silent),
    ):
        pytest.fail("it was taken")
    assert "rm -r" in refusal.value.fix
    assert precious.read_text() == "mine"


def test_a_lock_file_with_nonsense_in_it_names_no_process(tmp_path, stop):
    leases = Leases(tmp_path / "cores", CORES)
    with leases.take(2, stop, silent):
        (tmp_path / "cores" / "cpu0").write_text("\x1b[31mrm -rf / 1 2 3")
        assert leases.in_use()[0] == "another modeldyno"
        assert leases.in_use()[1] == f"modeldyno pid {os.getpid()}"


def test_a_removed_lock_file_does_not_block_for_ever(tmp_path, stop):
    leases = Leases(tmp_path / "cores", ((0,),))
    with leases.take(1, stop, silent):
        (tmp_path / "cores" / "cpu0").unlink()
    with leases.take(1, stop, silent) as lease:
        assert lease.cpus == (0,)
