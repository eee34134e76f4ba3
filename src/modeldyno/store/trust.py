"""Which files somebody vouched for: by content, so that a changed byte ends it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.errors import WorkspaceUnusable


@dataclass(frozen=True)
class Trusted:
    sha256: str
    name: str  # of the file when it was vouched for: for people, not for decisions
    at: str  # ISO 8601, UTC
    reason: str = ""


class Trust:
    """``trust.json`` in the workspace. What cannot be read vouches for nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> tuple[Trusted, ...]:
        """Oldest first; raises WorkspaceUnusable when the file is damaged."""
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        try:
            entries: tuple[Trusted, ...] = decode(tuple[Trusted, ...], json.loads(text))
        except (ValueError, Mismatch, RecursionError) as error:
            raise self._unusable(f"it is damaged: {error}"[:200]) from error
        return entries

    def is_trusted(self, sha256: str) -> bool:
        return any(entry.sha256 == sha256 for entry in self.all())

    def grant(self, sha256: str, name: str, reason: str = "") -> Trusted:
        """Vouch for a content; said again, the newest word counts."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Trusted(sha256, name, now, reason)
        with self._locked():
            self._write((*(e for e in self.all() if e.sha256 != sha256), entry))
        return entry

    def revoke(self, sha256: str) -> bool:
        """Whether there was anything to take back."""
        with self._locked():
            before = self.all()
            kept = tuple(entry for entry in before if entry.sha256 != sha256)
            if len(kept) != len(before):
                self._write(kept)
            return len(kept) != len(before)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Two terminals may vouch at once; neither word is lost."""
        import fcntl

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = self._path.with_suffix(".lock").open("w")
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, entries: tuple[Trusted, ...]) -> None:
        """In one step: readers see the old list or the new one."""
        temporary = self._path.with_suffix(".new")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump([asdict(entry) for entry in entries], file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    def _unusable(self, why: str) -> WorkspaceUnusable:
        return WorkspaceUnusable(
            f"The list of trusted files cannot be used ({self._path})",
            why=why,
            fix="Mend or remove that file, or choose another folder with --workspace",
        )
