"""Which files somebody vouched for: by content, and by the code that builds a model around it, so
that a changed byte, factory or argument ends it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.errors import UnsafeFormat, WorkspaceUnusable
from modeldyno.core.models import Architecture, ModelFacts
from modeldyno.core.trust import Code, Trusted, architecture_of, needs_trust, warning
from modeldyno.store.models import hash_file


def code_of(facts: ModelFacts) -> Code | None:
    """What would run beside the model's own bytes; None where nothing would."""
    architecture = architecture_of(facts)
    if architecture is None:
        return None
    return Code(architecture.factory, dict(architecture.arguments), _sources(architecture))


def _sources(architecture: Architecture) -> dict[str, str]:
    """Of the module and the packages around it. What those import is not among them."""
    if architecture.folder is None:
        return {}
    names = architecture.factory.partition(":")[0].split(".")
    places = [Path(architecture.folder, *names[:depth]) for depth in range(1, len(names) + 1)]
    files = [*(place / "__init__.py" for place in places), places[-1].with_suffix(".py")]
    return {str(file): hash_file(file) for file in files if file.is_file()}


def entry_of(entries: Iterable[Trusted], sha256: str, code: Code | None) -> Trusted | None:
    return next((entry for entry in entries if _is_of(entry, sha256, code)), None)


def _is_of(entry: Trusted, sha256: str, code: Code | None) -> bool:
    is_same = entry.code is None if code is None else code.is_same(entry.code)
    return entry.sha256 == sha256 and is_same


def _nearly(entries: Iterable[Trusted], sha256: str, code: Code | None) -> str:
    """What somebody did vouch for, where it is only the code that differs."""
    others = [entry.code for entry in entries if entry.sha256 == sha256]
    if not others:
        return ""
    known = next((other for other in others if other is not None), None)
    if known is None:
        return "its weights are trusted, but not the code that builds the model"
    if code is not None and replace(code, sources=known.sources).is_same(known):
        return f"the source of {known.factory} is another than the trusted one"
    return f"its weights are trusted with {known}, and with nothing else"


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

    def is_trusted(self, sha256: str, code: Code | None = None) -> bool:
        return entry_of(self.all(), sha256, code) is not None

    def expect(self, facts: ModelFacts, name: str, fix: str) -> None:
        """Raises UnsafeFormat when the model needs trust and has none."""
        if not needs_trust(facts.format):
            return
        code, entries = code_of(facts), self.all()
        if entry_of(entries, facts.sha256, code) is not None:
            return
        raise UnsafeFormat(
            f"Nobody has vouched for {name}",
            why="; ".join(filter(None, (warning(facts), _nearly(entries, facts.sha256, code)))),
            fix=fix,
        )

    def grant(self, sha256: str, name: str, reason: str = "", code: Code | None = None) -> Trusted:
        """Vouch for a content and its code; said again, the newest word counts."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Trusted(sha256, name, now, reason, code)
        with self._locked():
            self._write((*(e for e in self.all() if not _is_of(e, sha256, code)), entry))
        return entry

    def revoke(self, sha256: str) -> bool:
        """Whatever code goes with it; whether there was anything to take back."""
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
