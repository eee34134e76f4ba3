"""Files from a worker's scratch folder. It ran an untrusted model, so nothing there is trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from modeldyno.core.errors import EngineFailed, StorageFailed, WorkerGarbled
from modeldyno.store.models import copy_bytes
from modeldyno.store.safe_open import open_below


def copy_out(scratch: Path, names: tuple[str, ...], target: Path) -> None:
    """Copy the file at the path ``names`` in ``scratch`` to where the worker cannot write.

    Links are not followed. Raises EngineFailed if it is missing, WorkerGarbled if it is not a
    file, and StorageFailed.
    """
    folder = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        source = open_below(folder, names, os.O_RDONLY)
    except FileNotFoundError as error:
        raise EngineFailed(
            "The worker made no file",
            why=f"there is no {names[-1]}",
            fix="See the run's log for the reason",
        ) from error
    except OSError as error:
        raise _not_a_file_error(names[-1]) from error
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            raise _not_a_file_error(names[-1])
        with target.open("xb") as writing:
            copy_bytes(source, writing.fileno())
            os.fchmod(writing.fileno(), 0o444)
    except OSError as error:
        raise StorageFailed(
            "What the worker made could not be kept",
            why=error.strerror or str(error),
            fix="Free some space or choose another folder with --workspace",
        ) from error
    finally:
        os.close(source)


def _not_a_file_error(name: str) -> WorkerGarbled:
    return WorkerGarbled(
        "The worker left something that is not a file",
        why=f"{name} is a link, a folder or a device",
        fix="Nothing was kept: do not trust this model",
    )
