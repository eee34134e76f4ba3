"""``server.json`` of a workspace: where its server listens, as long as there is one."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

FILE = "server.json"


@dataclass(frozen=True)
class RunningServer:
    """Where the server of a workspace listens; for the terminal, which may want to talk to it."""

    pid: int
    url: str


def running_server(workspace: Path) -> RunningServer | None:
    """The server that has this workspace, if one has and listens."""
    try:
        descriptor = os.open(workspace / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        document = json.loads(os.pread(descriptor, 4096, 0)) if _is_held(descriptor) else None
        return RunningServer(int(document["pid"]), str(document["url"])) if document else None
    except (ValueError, KeyError, TypeError):  # it does not listen yet
        return None
    finally:
        os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    """Whether anybody has the lock: what the file says may be of a server that is gone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
