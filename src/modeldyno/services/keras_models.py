"""Architectures of keras.applications, built with random weights in a process of their own: the
server itself imports no engine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from modeldyno.core.errors import ExampleUnavailable
from modeldyno.store.transfers import Stop, check_stop

LONGEST_S = 600.0
_LOOK_S = 0.1
# The name is one of our catalogue's.
_BUILD = """
import sys
import keras
name, path = sys.argv[1:]
keras.utils.set_random_seed(0)
getattr(keras.applications, name)(weights=None).save(path)
"""
_SETTINGS = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
}


def build(name: str, path: Path, stop: Stop) -> None:
    """``ResNet50`` into a .keras file; raises ExampleUnavailable, and what ``stop`` asks for."""
    command = [sys.executable, "-P", "-s", "-c", _BUILD, name, str(path)]
    log = path.with_suffix(".log")
    with (
        log.open("wb") as said,
        subprocess.Popen(
            command,
            env=os.environ | _SETTINGS | {"HOME": str(path.parent)},
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        try:
            _wait(process, stop)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0 or not path.is_file():
        lines = log.read_text(errors="replace").strip().splitlines()
        raise ExampleUnavailable(
            f"Keras could not build {name}",
            why=lines[-1][:300] if lines else f"it ended with code {process.returncode}",
            fix="Try another example",
        )


def _wait(process: subprocess.Popen[bytes], stop: Stop) -> None:
    deadline = time.monotonic() + LONGEST_S
    while process.poll() is None:
        check_stop(stop)
        if time.monotonic() > deadline:
            raise ExampleUnavailable(
                "Building the model took too long", why=f"{LONGEST_S:.0f} s were not enough"
            )
        time.sleep(_LOOK_S)
