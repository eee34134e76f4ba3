"""A real worker, sandbox and all, whose scripted engine knows more ways to misbehave.

Run as a program with the folder of the package and a worker's three arguments.
"""

import contextlib
import ctypes
import mmap
import os
import sys
import threading
import time
from pathlib import Path

MB = 1 << 20
CHUNK = b"x" * MB


def wait_to_be_stopped():
    """Or, where nobody will, for some looks of who watches."""
    time.sleep(0.5 if Path("allowed").exists() else 15.0)


def share_memory(_):
    """Anonymous memory that others could map, too: RLIMIT_DATA does not count it."""
    held = mmap.mmap(-1, 400 * MB)
    for _number in range(400):
        held.write(CHUNK)
    wait_to_be_stopped()


def fill_memory_file(_):
    """Pages of a memory file that nobody maps."""
    file = os.memfd_create("hidden")
    for _number in range(400):
        os.write(file, CHUNK)
    wait_to_be_stopped()


def map_memory_file(_):
    """200 MB, which are in an open file and mapped."""
    file = os.memfd_create("seen")
    os.ftruncate(file, 200 * MB)
    held = mmap.mmap(file, 200 * MB)
    for _number in range(200):
        held.write(CHUNK)
    time.sleep(0.5)


def share_by_fork(_):
    """150 MB that five processes see and nobody has twice."""
    held = bytearray(150 * MB)
    children = [fork(lambda: time.sleep(0.5)) for _ in range(4)]
    for child in children:
        os.waitpid(child, 0)
    del held


def eat_in_a_child(_):
    """Less than allowed in each process, more in all."""

    def eat():
        held = bytearray(150 * MB)
        time.sleep(3600)
        del held

    fork(eat)
    held = bytearray(150 * MB)
    wait_to_be_stopped()
    del held


def fork(do):
    pid = os.fork()
    if pid == 0:
        do()
        os._exit(0)
    return pid


def fill_scratch(_):
    for number in range(40):
        Path(f"part{number}").write_bytes(CHUNK)
    wait_to_be_stopped()


def fill_deleted_file(_):
    file = os.open("gone", os.O_RDWR | os.O_CREAT)
    Path("gone").unlink()
    for _number in range(40):
        os.write(file, CHUNK)
    wait_to_be_stopped()


def make_files(_):
    Path("many").mkdir()
    for number in range(3000):
        os.close(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY))
    wait_to_be_stopped()


def start_threads(_):
    threading.stack_size(64 << 10)
    for _number in range(300):
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    wait_to_be_stopped()


def talk(_):
    """4 MB of it, and then for long enough that everybody has seen it."""
    for _number in range(4):
        os.write(1, CHUNK)
    os.write(2, b"the last words\n")


def start_daemon(target):
    """Away from the parent and the environment, and from the session if nothing refuses that."""
    if os.fork() == 0:
        with contextlib.suppress(PermissionError):  # the system-call filter does
            os.setsid()
        if os.fork() == 0:
            code = "while :; do sleep 1; done"
            os.execve("/bin/sh", ["sh", "-c", code, str(target.model)], {})
        os._exit(0)
    os.wait()


def start_daemon_and_crash(target):
    start_daemon(target)
    ctypes.string_at(0)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    from modeldyno.engines import scripted
    from modeldyno.worker.main import main

    with contextlib.suppress(ImportError):  # before the sandbox closes the folders it is in
        import numpy  # noqa: F401

    mine = {name: do for name, do in list(globals().items()) if callable(do)}
    scripted._FAULTS |= {name.replace("_", "-"): do for name, do in mine.items()}
    main(sys.argv[2:])
