"""A private copy of a model, so that no engine can change the user's file."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from modeldyno.core.errors import ModelChanged, ModelNotFound, StorageFailed
from modeldyno.core.models import ModelFacts

CHUNK = 8 << 20


def copy_privately(facts: ModelFacts, folder: Path) -> Path:
    """Copy the model and its external data below ``folder``, read-only, and check the hashes.

    Returns the copy's path. Blocks are shared if the file system supports it.
    """
    source = Path(facts.path)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.name
    files = [(source, target, facts.sha256)]
    files += [
        (source.parent / file.location, folder / file.location, file.sha256)
        for file in facts.external
    ]
    for original, copy, sha256 in files:
        _copy(original, copy)
        if hash_file(copy) != sha256:
            raise ModelChanged(
                f"{original.name} changed while it was being read",
                fix="Let whatever writes it finish, then measure again",
            )
    return target


def check_unchanged(facts: ModelFacts, copy: Path) -> None:
    """Raises ModelChanged if the copy was changed while it was measured."""
    expected = [(copy, facts.sha256)]
    expected += [(copy.parent / file.location, file.sha256) for file in facts.external]
    for path, sha256 in expected:
        if not path.exists() or hash_file(path) != sha256:
            raise ModelChanged(
                "The model file changed while it was being measured",
                why="the engine wrote to its private copy; the original is untouched",
                fix="Numbers of this run may belong to another model: do not use them",
            )


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        reading = source.open("rb")
    except OSError as error:
        raise ModelNotFound(f"Cannot read {source.name}", why=error.strerror or "") from error
    try:
        with reading, target.open("xb") as writing:
            copy_bytes(reading.fileno(), writing.fileno())
    except OSError as error:
        raise StorageFailed(
            "There is no room for a private copy of the model",
            why=error.strerror or str(error),
            fix="Free some space or choose another folder with --workspace",
        ) from error
    target.chmod(0o444)


def copy_bytes(source: int, target: int, at_most: int = sys.maxsize) -> int:
    """How many bytes were copied, from where ``source`` stands; more than ``at_most`` are not.

    ``copy_file_range`` shares blocks where it can; plain reads and writes otherwise.
    """
    if hasattr(os, "copy_file_range"):
        start = os.lseek(source, 0, os.SEEK_CUR)
        try:
            return _repeat_until_copied(
                lambda size: os.copy_file_range(source, target, size), at_most
            )
        except OSError:
            os.lseek(source, start, os.SEEK_SET)
            os.ftruncate(target, 0)
            os.lseek(target, 0, os.SEEK_SET)
    return _repeat_until_copied(lambda size: _write(target, os.read(source, size)), at_most)


def _repeat_until_copied(some: Callable[[int], int], at_most: int) -> int:
    left = at_most
    while left and (done := some(min(CHUNK, left))):
        left -= done
    return at_most - left


def _write(target: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
    return len(data)
