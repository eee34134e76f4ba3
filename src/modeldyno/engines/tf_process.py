"""What holds for TensorFlow in a whole process: its threads, and whether oneDNN computes.

Its pool of threads is made with the first session, and every later one gets the same, whatever it
asks for; whether oneDNN is used is settled when it is imported. So a process has one such setting,
and who wants another one needs another process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import Target

_TASKS = Path("/proc/self/task")
_HELPERS = 1  # threads that stay beside the pool, once there was a session: "tf_graph_runner"
_settled: list[Settled] = []  # one, or none yet
_settling = threading.Lock()


@dataclass(frozen=True)
class Setting:
    threads: int
    onednn: bool


@dataclass(frozen=True)
class Settled:
    setting: Setting
    threads: int | None  # that TensorFlow has started to compute; None: cannot be told


def wanted(target: Target) -> Setting:
    """Raises BadValue for options that there are not."""
    for name in target.options:
        if name not in ("onednn", "outputs"):
            raise BadValue(f"TensorFlow has no option {name!r}")
    said = target.options.get("onednn", True)
    if said not in (True, False, "on", "off"):
        raise BadValue(f"onednn is on or off, not {said!r}")
    return Setting(target.threads, said in (True, "on"))


def imported(setting: Setting | None = None) -> Any:
    """TensorFlow; its first import settles what it computes with."""
    use = setting or Setting(1, True)
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1" if use.onednn else "0")
    # Less than its usual words on stderr, which goes into the log; errors stay.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # the CPU alone, whatever build it is
    os.environ.update(KERAS_BACKEND="tensorflow")
    # Both are a third of the time that its import takes, and only Keras files need the one.
    with _absent("keras", "sklearn"):
        import tensorflow

    return tensorflow


def keras() -> Any:
    """Keras, on top of TensorFlow; what it has for scikit-learn is not for us."""
    imported()
    with _absent("sklearn"):
        import keras

    return keras


@contextlib.contextmanager
def _absent(*packages: str) -> Iterator[None]:
    """As if they were not installed, for who can do without; those that are loaded stay."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def settle(target: Target) -> Settled:
    """Make the target's settings those of this process, or raise EngineFailed."""
    setting = wanted(target)
    with _settling:
        if not _settled:
            _settled.append(_made(setting))
        found = _settled[0]
    if found.setting != setting:
        raise EngineFailed(
            "TensorFlow keeps its first settings as long as a process runs",
            why=f"this one began with {_told(found.setting)}, and was asked for {_told(setting)}",
            fix="Ask for it in a process of its own",
        )
    return found


def uses_onednn() -> bool:
    """As TensorFlow itself sees it, after its import."""
    from tensorflow.python.util import _pywrap_util_port

    return bool(_pywrap_util_port.IsMklEnabled())


def _made(setting: Setting) -> Settled:
    tf = imported(setting)
    if uses_onednn() != setting.onednn:
        raise EngineFailed(
            f"TensorFlow cannot {'use' if setting.onednn else 'do without'} oneDNN here",
            why="it was imported with the other setting, or this processor lacks what it needs",
            fix=f"Leave out --option onednn={'on' if setting.onednn else 'off'}, or ask for it in "
            "a process of its own",
        )
    tf.config.threading.set_intra_op_parallelism_threads(setting.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    before = _tasks()
    probe = config(tf, setting.threads)
    probe.use_per_session_threads = True  # those end with the session, the pool does not
    with tf.compat.v1.Session(graph=tf.Graph(), config=probe):
        pass
    started = len(_tasks() - before) - _HELPERS
    return Settled(setting, started if started > 0 else None)


def config(tf: Any, threads: int) -> Any:
    """Operators one after the other, in the caller's own thread: so the time of that thread is the
    time of the call. Inside an operator, so many threads."""
    return tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=threads,
        inter_op_parallelism_threads=-1,
        device_count={"GPU": 0},
    )


def _tasks() -> frozenset[int]:
    """The threads of this process."""
    with contextlib.suppress(OSError):
        return frozenset(int(task.name) for task in _TASKS.iterdir())
    return frozenset()


def _told(setting: Setting) -> str:
    threads = f"{setting.threads} thread{'s' if setting.threads != 1 else ''}"
    return f"{threads} {'with' if setting.onednn else 'without'} oneDNN"
