"""Things no worker may do. Run as a program: enter the sandbox or not, try all, tell what worked.

Each probe does the forbidden thing for real, so that it succeeds outside the sandbox. The program
can give up root first, and pretend that user namespaces are switched off. Whatever it needs is
imported before that: an ordinary user may not be able to read the Python that runs it.
"""

import contextlib
import ctypes
import encodings.idna  # noqa: F401 - sockets look for it
import errno
import fcntl
import json
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

from modeldyno.core.codec import decode
from modeldyno.core.sessions import SandboxSpec
from modeldyno.worker import landlock, sandbox, seccomp  # noqa: F401 - all that it loads later

ROOT_ONLY = {"mount something", "open a raw socket", "change the root folder"}
NOBODY = 65534
# Where Yama is on, ordinary users may look only into their own children.
TRACING = {
    "trace another process", "open another process's memory", "copy another process's memory",
    "read another process's environment",
}  # fmt: skip

# Numbers on x86_64 and aarch64, written down a second time: probes must not trust what they test.
NUMBERS = {
    "io_uring_setup": (425, 425), "keyctl": (250, 219), "shmget": (29, 194), "shmat": (30, 196),
    "shmctl": (31, 195), "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_unlink": (241, 181),
    "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "sched_setattr": (314, 274), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "open_tree_attr": (467, 467), "file_setattr": (469, 469),
    "getxattr": (191, 8), "get_robust_list": (274, 100),
}  # fmt: skip


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
        # To be signalled: one for each way, since the signal ends them.
        self.targets = told["targets"]
        self.queue, self.semaphores, self.memory = told["queue"], told["semaphores"], told["memory"]
        self.posix_queue = told["posix_queue"]


def call(name, *arguments):
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    return checked(function(*[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]))


def system_call(name, *arguments):
    number = NUMBERS[name][platform.machine() == "aarch64"]
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


# ---------------------------------------------------------------- signals by way of a descriptor

F_SETSIG, F_SETOWN_EX, F_OWNER_PID = 10, 15, 1
FIOSETOWN, SIOCSPGRP, FIOASYNC = 0x8901, 0x8902, 0x5452


def signal_by(name_the_owner, switch_on=None):
    """Make another process the owner of a socket, and have it signalled when data arrives."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        name_the_owner(ours.fileno())
        if switch_on is None:
            flags = fcntl.fcntl(ours, fcntl.F_GETFL)
            fcntl.fcntl(ours, fcntl.F_SETFL, flags | os.O_ASYNC)
        else:
            switch_on(ours.fileno())
        theirs.send(b"x")


def own(pid):
    return lambda fd: fcntl.fcntl(fd, fcntl.F_SETOWN, pid)


def own_extended(pid):
    owner = struct.pack("=ii", F_OWNER_PID, pid)
    return lambda fd: fcntl.fcntl(fd, F_SETOWN_EX, owner)


def own_by_ioctl(command, pid):
    return lambda fd: fcntl.ioctl(fd, command, struct.pack("=i", pid))


def switch_on_by_ioctl(fd):
    fcntl.ioctl(fd, FIOASYNC, struct.pack("=i", 1))


def choose_the_signal():
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w"):
        fcntl.fcntl(reader, F_SETSIG, signal.SIGKILL)


def switch_on_alone():
    """What an owner that somebody else has set would be signalled by."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC)


SIGNALLED_BY = {
    "signal by F_SETOWN": lambda pid: signal_by(own(pid)),
    "signal by F_SETOWN_EX": lambda pid: signal_by(own_extended(pid)),
    "signal by FIOSETOWN": lambda pid: signal_by(own_by_ioctl(FIOSETOWN, pid), switch_on_by_ioctl),
    "signal by SIOCSPGRP": lambda pid: signal_by(own_by_ioctl(SIOCSPGRP, pid)),
}


def signal_target(way):
    return lambda place: SIGNALLED_BY[way](place.targets[way])


def lease(place):
    """Whoever opens the file for writing now waits for us."""
    with (place.scratch / "leased").open("w") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)


# ---------------------------------------------------------------- when and where others run


def reprioritize(pid):
    os.setpriority(os.PRIO_PROCESS, pid, 5)


def reprioritize_group(pid):
    os.setpriority(os.PRIO_PGRP, pid, 6)


def change_io_priority(pid):
    process, idle = 1, 3 << 13
    system_call("ioprio_set", process, pid, idle)


def pin(pid):
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(pid))})


def reschedule(pid):
    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))


def reschedule_by_attributes(pid):
    size, batch = 48, os.SCHED_BATCH
    system_call("sched_setattr", pid, struct.pack("=IIQiIQQQ", size, batch, 0, 7, 0, 0, 0, 0), 0)


def set_parameters(pid):
    os.sched_setparam(pid, os.sched_param(0))


def share_a_core(pid):
    """Core scheduling: EINVAL and ENODEV mean that we were let in, and the CPU has no threads."""
    core, create, one_thread = 62, 1, 0
    with letting(errno.EINVAL, errno.ENODEV):
        call("prctl", core, create, pid, one_thread, 0)


@contextlib.contextmanager
def letting(*numbers):
    """These errors mean that we were let in."""
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise


# ---------------------------------------------------------------- what processes share


def send_message(queue):
    system_call("msgsnd", queue, struct.pack("=q4s", 1, b"evil"), 4, 0)


def take_message(queue):
    buffer = ctypes.create_string_buffer(64)
    system_call("msgrcv", queue, buffer, 32, 0, os.O_NONBLOCK)


def use_semaphore(semaphores, name="semop", *more):
    system_call(name, semaphores, struct.pack("=Hhh", 0, 1, 0), 1, *more)


def attach_memory(memory):
    """With ctypes, a pointer is cut to an int: only an error can be told from it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(memory, None, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    ctypes.memmove(address, b"evil", 4)


REMOVE = 0

# ---------------------------------------------------------------- files, and the rest


def watch(folder):
    descriptor = system_call("inotify_init1", 0)
    try:
        system_call("inotify_add_watch", descriptor, bytes(folder), 0xFFF)
    finally:
        os.close(descriptor)


def watch_by_fanotify():
    os.close(system_call("fanotify_init", 0x200, 0))  # FAN_REPORT_FID: for ordinary users, too


def hold_a_mount(folder):
    os.close(system_call("open_tree_attr", -100, bytes(folder), 0, None, 0))


def set_flags(path):
    """Of a file that the user owns, through a descriptor that only reads."""
    get, put = 0x80086601, 0x40086602
    with path.open("rb") as file, letting(errno.ENOTTY):  # not every file system has flags
        flags = fcntl.ioctl(file, get, b"\0" * 8)
        fcntl.ioctl(file, put, flags)


def set_flags_by_path(path):
    system_call("file_setattr", -100, bytes(path), b"\0" * 24, 24, 0)


def datagram_through_a_pair(address):
    """One end of a pair can send to others than its twin."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        ours.sendto(b"x", address)


def leave_the_group():
    os.setpgid(0, 0)


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
    **{way: signal_target(way) for way in SIGNALLED_BY},
    "choose what signal a pipe sends": lambda p: choose_the_signal(),
    "switch on signals of a socket": lambda p: switch_on_alone(),
    "make others wait for a file": lease,
    "change another process's priority": lambda p: reprioritize(p.victim),
    "change the priority of a process group": lambda p: reprioritize_group(p.victim),
    "change another process's I/O priority": lambda p: change_io_priority(p.victim),
    "pin another process": lambda p: pin(p.victim),
    "reschedule another process": lambda p: reschedule(p.victim),
    "reschedule another process by attributes": lambda p: reschedule_by_attributes(p.victim),
    "set another process's scheduling parameters": lambda p: set_parameters(p.victim),
    "share a core with another process": lambda p: share_a_core(p.victim),
    "migrate another process's memory": lambda p: system_call(
        "migrate_pages", p.victim, 64, struct.pack("=Q", 1), struct.pack("=Q", 1)
    ),
    "look where another process's memory is": lambda p: system_call(
        "move_pages", p.victim, 0, None, None, None, 0
    ),
    "find another process's locks": lambda p: system_call(
        "get_robust_list", p.victim, ctypes.byref(ctypes.c_long()), ctypes.byref(ctypes.c_long())
    ),
    "send to a message queue": lambda p: send_message(p.queue),
    "take from a message queue": lambda p: take_message(p.queue),
    "remove a message queue": lambda p: system_call("msgctl", p.queue, REMOVE, None),
    "change a semaphore": lambda p: use_semaphore(p.semaphores),
    "change a semaphore in time": lambda p: use_semaphore(p.semaphores, "semtimedop", None),
    "remove a semaphore": lambda p: system_call("semctl", p.semaphores, 0, REMOVE, 0),
    "write to shared memory": lambda p: attach_memory(p.memory),
    "remove shared memory": lambda p: system_call("shmctl", p.memory, REMOVE, None),
    "remove a POSIX message queue": lambda p: system_call("mq_unlink", p.posix_queue.encode()),
    "watch a folder of the user": lambda p: watch(p.outside),
    "watch files by fanotify": lambda p: watch_by_fanotify(),
    "get hold of a mount": lambda p: hold_a_mount(p.outside),
    "change a file's flags": lambda p: set_flags(p.model),
    "change a file's flags by its path": lambda p: set_flags_by_path(p.outside / "to-mark"),
    "read a file's attributes": lambda p: os.getxattr(p.outside / "marked", "user.secret"),
    "send a datagram through a pair": lambda p: datagram_through_a_pair(str(p.outside / "d")),
    "leave its process group": lambda p: leave_the_group(),
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


# ---------------------------------------------------------------- who we are


def give_up_root():
    """For good; and be an ordinary process again, whose own /proc is its own."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    set_dumpable = 4
    call("prctl", set_dumpable, 1, 0, 0, 0)


def make_shared_things():
    """A message queue with a message, a semaphore, memory, a POSIX queue: they outlive us."""
    private, mode = 0, 0o600
    queue = call("msgget", private, mode)
    call("msgsnd", queue, struct.pack("=q4s", 1, b"hers"), 4, 0)
    name = f"modeldyno-{os.getpid()}"
    os.close(call("mq_open", f"/{name}".encode(), os.O_CREAT | os.O_RDWR, mode, None))
    semaphores, memory = call("semget", private, 1, mode), call("shmget", private, 4096, mode)
    return {"queue": queue, "semaphores": semaphores, "memory": memory, "posix_queue": name}


def remove_shared_things(made):
    for attempt in (
        lambda: call("msgctl", made["queue"], REMOVE, None),
        lambda: call("semctl", made["semaphores"], 0, REMOVE, 0),
        lambda: call("shmctl", made["memory"], REMOVE, None),
        lambda: call("mq_unlink", f"/{made['posix_queue']}".encode()),
    ):
        with contextlib.suppress(OSError):  # a probe has done it
            attempt()


def credentials():
    wanted = ("Uid", "Gid", "CapPrm", "CapEff", "CapInh", "CapAmb")
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: sorted(set(fields[name].split())) for name in wanted}


def switch_off_namespaces():
    """As systems do by sysctl or AppArmor."""
    switch_off(272 if platform.machine() == "x86_64" else 97, errno.EPERM)  # unshare


def switch_off_landlock():
    """As kernels do that were built without it."""
    switch_off(444, errno.ENOSYS)


def switch_off(number, answer):
    """One system call of this process and its children, by a filter of six instructions."""
    audit, seccomp_call = (0xC000003E, 317) if platform.machine() == "x86_64" else (0xC00000B7, 277)
    load, equal, give = 0x20, 0x15, 0x06
    code = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (load, 0, 0, 4), (equal, 0, 3, audit), (load, 0, 0, 0), (equal, 0, 1, number),
            (give, 0, 0, 0x00050000 | answer), (give, 0, 0, 0x7FFF0000),
        )
    )  # fmt: skip
    held = ctypes.create_string_buffer(code, len(code))
    no_new_privileges = 38
    call("prctl", no_new_privileges, 1, 0, 0, 0)
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    call("syscall", seccomp_call, 1, 0, program)


def main():
    request = json.loads(sys.stdin.read())
    os.umask(0o022)
    if request["unprivileged"]:
        give_up_root()
    if request.get("make"):
        sys.stdout.write(json.dumps(make_shared_things()))
        return
    who = credentials()
    if not request["namespaces"]:
        switch_off_namespaces()
    report = None
    if request["spec"] is not None:
        spec = decode(SandboxSpec, request["spec"])
        report = str(sandbox.enter(spec, request["landlock_abi"]))
    outcome = try_all(Place(request["place"]))
    sys.stdout.write(json.dumps({"who": who, "report": report, "outcome": outcome}))


if __name__ == "__main__":
    main()
