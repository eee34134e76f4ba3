"""TensorFlow's settings of a whole process: its threads, and whether it uses oneDNN.

Its thread pool is created with the first session, and every later session gets the same, whatever
its own settings; oneDNN is switched on or off when TensorFlow is imported. So other settings need
another process.
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
_HELPER_THREADS = 1  # stays beside the pool after the first session: "tf_graph_runner"
_applied: list[AppliedSettings] = []  # at most one
_applying = threading.Lock()


@dataclass(frozen=True)
class ProcessSettings:
    threads: int
    onednn: bool


@dataclass(frozen=True)
class AppliedSettings:
    settings: ProcessSettings
    threads: int | None  # in the pool that TensorFlow has started; None: unknown


def settings_for(target: Target) -> ProcessSettings:
    """Raises BadValue for unknown options."""
    for name in target.options:
        if name not in ("onednn", "outputs"):
            raise BadValue(f"TensorFlow has no option {name!r}")
    onednn = target.options.get("onednn", True)
    if onednn not in (True, False, "on", "off"):
        raise BadValue(f"onednn is on or off, not {onednn!r}")
    return ProcessSettings(target.threads, onednn in (True, "on"))


def import_tensorflow(settings: ProcessSettings | None = None) -> Any:
    """The first import decides whether it uses oneDNN."""
    uses_onednn = settings is None or settings.onednn
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1" if uses_onednn else "0")
    # Errors only, since its stderr goes into the log.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # the CPU alone, whatever the build
    os.environ.update(KERAS_BACKEND="tensorflow")
    # These take a third of the import's time, and only Keras files need Keras.
    with _hide_packages("keras", "sklearn"):
        import tensorflow

    return tensorflow


def import_keras() -> Any:
    """Keras, on top of TensorFlow, without its support of scikit-learn."""
    import_tensorflow()
    with _hide_packages("sklearn"):
        import keras

    return keras


@contextlib.contextmanager
def _hide_packages(*packages: str) -> Iterator[None]:
    """As if these optional packages were not installed, unless they are already imported."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: import fails
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def apply_settings(target: Target) -> AppliedSettings:
    """Make the target's settings those of this process; raises EngineFailed if others are."""
    settings = settings_for(target)
    with _applying:
        if not _applied:
            _applied.append(_apply_to_process(settings))
        applied = _applied[0]
    if applied.settings != settings:
        raise EngineFailed(
            "TensorFlow keeps its first settings as long as a process runs",
            why=f"this one started with {_describe_settings(applied.settings)}, "
            f"not {_describe_settings(settings)}",
            fix="Use a separate process for these settings",
        )
    return applied


def uses_onednn() -> bool:
    """What TensorFlow itself reports after its import."""
    from tensorflow.python.util import _pywrap_util_port

    return bool(_pywrap_util_port.IsMklEnabled())


def _apply_to_process(settings: ProcessSettings) -> AppliedSettings:
    tf = import_tensorflow(settings)
    if uses_onednn() != settings.onednn:
        raise EngineFailed(
            f"TensorFlow cannot {'use' if settings.onednn else 'do without'} oneDNN here",
            why="it was imported with the other setting, or this processor lacks what it needs",
            fix=f"Leave out --option onednn={'on' if settings.onednn else 'off'}, or use it in "
            "a process of its own",
        )
    tf.config.threading.set_intra_op_parallelism_threads(settings.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    threads_before = _list_thread_ids()
    probe = config(tf, settings.threads)
    probe.use_per_session_threads = True  # these end with the session, the pool does not
    with tf.compat.v1.Session(graph=tf.Graph(), config=probe):
        pass
    started = len(_list_thread_ids() - threads_before) - _HELPER_THREADS
    return AppliedSettings(settings, started if started > 0 else None)


def config(tf: Any, threads: int) -> Any:
    """Operators run one after the other in the caller's thread, so that its time is the time of the
    call; ``threads`` work inside an operator."""
    return tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=threads,
        inter_op_parallelism_threads=-1,
        device_count={"GPU": 0},
    )


def _list_thread_ids() -> frozenset[int]:
    with contextlib.suppress(OSError):
        return frozenset(int(task.name) for task in _TASKS.iterdir())
    return frozenset()


def _describe_settings(settings: ProcessSettings) -> str:
    threads = f"{settings.threads} thread{'s' if settings.threads != 1 else ''}"
    return f"{threads} {'with' if settings.onednn else 'without'} oneDNN"
