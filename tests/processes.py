"""Which processes are there, as the system itself tells."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 30.0  # for what happens soon, on a machine that others use too


def living(mark: Path | str) -> list[str]:
    """Command lines of the processes that carry ``mark`` in their environment or arguments.

    A worker's home is in its run's folder, and whatever it starts inherits that.
    """
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            said = (folder / "cmdline").read_bytes()
            told = (folder / "environ").read_bytes()
        except OSError:  # it ended while we looked, or it is a zombie
            continue
        if str(mark).encode() in said + told:
            found.append(said.replace(b"\0", b" ").decode(errors="replace"))
    return found


def is_running(pid: int) -> bool:
    """Whether there is such a process, and more of it than a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:.0f} s for {what or condition}"
        time.sleep(0.01)
