"""Files that are replaced in one step and survive a power cut."""

from __future__ import annotations

import os
from pathlib import Path

from modeldyno.core.errors import WorkspaceUnusable


def replace_file(path: Path, text: str) -> None:
    """Readers see the old content or the new; on OSError, the old one stays."""
    temporary = path.with_name(f"{path.name}.new")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def append_to_file(path: Path, data: bytes) -> int:
    """Add to a file and sync it, all or nothing; returns where the data begins."""
    is_new = not path.exists()
    # Unbuffered: a buffer would be written on closing, after the truncation.
    with path.open("ab", buffering=0) as file:
        offset = file.tell()
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(file.fileno(), view) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(offset)
            raise
    if is_new:
        sync_folder(path.parent)
    return offset


def sync_folder(folder: Path) -> None:
    """Until then, a power cut may undo that a file was added or renamed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def workspace_unusable_error(title: str, why: str) -> WorkspaceUnusable:
    fix = "Choose another folder with --workspace or MODELDYNO_WORKSPACE"
    return WorkspaceUnusable(title, why=why, fix=fix)
