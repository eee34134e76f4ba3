"""Things no worker may do. Run as a program: enter the sandbox or not, try all, tell what worked.

Each probe does the forbidden thing for real, so that it succeeds outside the sandbox.
"""

import contextlib
import ctypes
import errno
import json
import os
import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path

from modeldyno.core.codec import decode
from modeldyno.core.sandbox import SandboxSpec
from modeldyno.worker import sandbox
from modeldyno.worker.seccomp import DENIED

ROOT_ONLY = {"mount something", "open a raw socket", "change the root folder"}


class Place:
    """What lies around: ``outside`` belongs to the user, ``scratch`` to the worker."""

    def __init__(self, told):
        self.outside = Path(told["outside"])
        self.scratch = Path(told["scratch"])
        self.model = Path(told["model"])
        self.victim = told["victim"]
        self.port = told["port"]
        self.udp_port = told["udp_port"]
        self.abstract = told["abstract"]
        self.secret = self.outside / "secret.txt"


def call(name, *arguments):
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    return checked(function(*[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]))


def system_call(name, *arguments):
    number = DENIED[name][platform.machine() == "aarch64"]
    return call("syscall", number, *arguments)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def connect(kind, address, family=socket.AF_INET):
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        one.connect(address)


def bind_tcp():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))


def send_udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"hello", ("127.0.0.1", port))


def open_socket(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()


def through_a_link(place):
    link = place.scratch / "link"
    link.symlink_to(place.secret)
    return link.read_text()


def move_out(place):
    (place.scratch / "mine").write_text("x")
    (place.scratch / "mine").rename(place.outside / "moved-out")


def attach(pid):
    seize = 0x4206  # unlike attaching, it does not stop the victim
    call("ptrace", seize, pid, 0, 0)


def read_memory(pid):
    """From nowhere in particular: EFAULT or EINVAL means we were let in."""
    here = ctypes.create_string_buffer(16)
    try:
        call("process_vm_readv", pid, here, 1, here, 1, 0)
    except OSError as error:
        if error.errno == errno.EPERM:
            raise


def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def in_a_child(action):
    """Outside, what would change this very process is done in a child; inside there are none."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise OSError(status, os.strerror(status))


def mount(folder):
    call("mount", b"none", folder, b"tmpfs", 0, None)
    call("umount2", folder, 0)


def limit_another(pid):
    import resource

    resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def outlive_the_parent():
    call("prctl", 1, 0, 0, 0, 0)


def refused_as_nonsense(name, *arguments):
    """Let in, the kernel says that the arguments are nonsense; kept out, EPERM comes first."""
    try:
        system_call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            raise


def exec_nothing():
    """Let in, the kernel says that there is no such program."""
    with contextlib.suppress(FileNotFoundError):
        os.execv("/nonexistent", ["nothing"])


PROBES = {
    "read a system file": lambda p: Path("/etc/passwd").read_text(),
    "read a file of the user": lambda p: p.secret.read_text(),
    "read another run's files": lambda p: (p.outside / "runs/other/result.json").read_text(),
    "list the home folder": lambda p: list(p.outside.iterdir()),
    "list the root folder": lambda p: list(Path("/").iterdir()),
    "list all processes": lambda p: list(Path("/proc").iterdir()),
    "read another process's environment": lambda p: Path(f"/proc/{p.victim}/environ").read_bytes(),
    "read another process's command line": lambda p: Path(f"/proc/{p.victim}/cmdline").read_bytes(),
    "open another process's memory": lambda p: Path(f"/proc/{p.victim}/mem").open("rb").close(),
    "copy another process's memory": lambda p: read_memory(p.victim),
    "reach out through /proc/self/root": lambda p: Path(f"/proc/self/root{p.secret}").read_text(),
    "create a file outside": lambda p: (p.outside / "new").write_text("x"),
    "append to a file outside": lambda p: p.secret.open("a").close(),
    "create a folder outside": lambda p: (p.outside / "folder").mkdir(),
    "truncate a file outside": lambda p: os.truncate(p.outside / "to-truncate", 0),
    "delete a file outside": lambda p: (p.outside / "to-delete").unlink(),
    "move a file out of the scratch": move_out,
    "move a file into the scratch": lambda p: (p.outside / "to-move").rename(p.scratch / "moved"),
    "link a file into the scratch": lambda p: (p.scratch / "hard").hardlink_to(p.secret),
    "follow a link out of the scratch": through_a_link,
    "make a file everybody's": lambda p: (p.outside / "to-chmod").chmod(0o777),
    "change a file's date": lambda p: os.utime(p.outside / "to-touch", (0, 0)),
    "change a file's attributes": lambda p: os.setxattr(p.outside / "to-mark", "user.x", b"x"),
    "write to the model's copy": lambda p: p.model.open("r+b").close(),
    "delete the model's copy": lambda p: (p.model.parent / "to-delete").unlink(),
    "connect over TCP": lambda p: connect(socket.SOCK_STREAM, ("127.0.0.1", p.port)),
    "listen on TCP": lambda p: bind_tcp(),
    "send over UDP": lambda p: send_udp(p.udp_port),
    "connect to an abstract socket": lambda p: connect(
        socket.SOCK_STREAM, f"\0{p.abstract}", socket.AF_UNIX
    ),
    "connect to a socket in a folder": lambda p: connect(
        socket.SOCK_STREAM, str(p.outside / "s"), socket.AF_UNIX
    ),
    "ask the kernel about routes": lambda p: open_socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "open a raw socket": lambda p: open_socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "signal another process": lambda p: os.kill(p.victim, signal.SIGCONT),
    "trace another process": lambda p: attach(p.victim),
    "get hold of another process": lambda p: os.close(os.pidfd_open(p.victim)),
    "limit another process": lambda p: limit_another(p.victim),
    "run a shell": lambda p: subprocess.run(["/bin/sh", "-c", ":"], check=True),
    "become another program": lambda p: exec_nothing(),
    "fork": lambda p: fork(),
    "outlive its parent": lambda p: outlive_the_parent(),
    "mount something": lambda p: mount(bytes(p.scratch)),
    "change the root folder": lambda p: in_a_child(lambda: os.chroot(p.scratch)),
    "enter a new user namespace": lambda p: in_a_child(lambda: call("unshare", 0x10000000)),
    "use io_uring": lambda p: refused_as_nonsense("io_uring_setup", 0, None),
    "use the keyring": lambda p: refused_as_nonsense("keyctl", 10_000, 0),
    "share memory by key": lambda p: refused_as_nonsense("shmget", 0x4D44, 0, 0),
}


def try_all(place):
    outcome = {}
    for name, probe in PROBES.items():
        try:
            probe(place)
        except OSError as error:
            outcome[name] = errno.errorcode[error.errno or 0]
        else:
            outcome[name] = "done"
    return outcome


def main():
    told = json.loads(sys.stdin.read())
    report = None
    if told["spec"] is not None:
        report = str(sandbox.enter(decode(SandboxSpec, told["spec"])))
    sys.stdout.write(json.dumps({"report": report, "outcome": try_all(Place(told["place"]))}))


if __name__ == "__main__":
    main()
