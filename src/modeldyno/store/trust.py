"""Trusted files: by content and by the code that builds a model from them, so a changed byte,
factory or argument ends the trust."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.errors import UnsafeFormat, WorkspaceUnusable
from modeldyno.core.models import Architecture, ModelFacts
from modeldyno.core.trust import Code, Trusted, architecture_of, needs_trust, warning
from modeldyno.store.durable_files import replace_file
from modeldyno.store.models import hash_file


def find_code(facts: ModelFacts) -> Code | None:
    """The code that runs to load the model, beside the file itself; None if there is none."""
    architecture = architecture_of(facts)
    if architecture is None:
        return None
    return Code(architecture.factory, dict(architecture.arguments), _hash_sources(architecture))


def _hash_sources(architecture: Architecture) -> dict[str, str]:
    """Checksums of the module and the packages around it, but not of what those import."""
    if architecture.folder is None:
        return {}
    names = architecture.factory.partition(":")[0].split(".")
    paths = [Path(architecture.folder, *names[:depth]) for depth in range(1, len(names) + 1)]
    files = [*(path / "__init__.py" for path in paths), paths[-1].with_suffix(".py")]
    return {str(file): hash_file(file) for file in files if file.is_file()}


def find_entry(entries: Iterable[Trusted], sha256: str, code: Code | None) -> Trusted | None:
    return next((entry for entry in entries if _matches(entry, sha256, code)), None)


def _matches(entry: Trusted, sha256: str, code: Code | None) -> bool:
    is_same = entry.code is None if code is None else code.is_same(entry.code)
    return entry.sha256 == sha256 and is_same


def _describe_difference(entries: Iterable[Trusted], sha256: str, code: Code | None) -> str:
    """How the code differs from the trusted one, if only the code differs."""
    same_file = [entry.code for entry in entries if entry.sha256 == sha256]
    if not same_file:
        return ""
    trusted = next(filter(None, same_file), None)
    if trusted is None:
        return "its weights are trusted, but not the code that builds the model"
    if code is not None and replace(code, sources=trusted.sources).is_same(trusted):
        return f"the source of {trusted.factory} is not the trusted one"
    return f"its weights are trusted only with {trusted}"


class Trust:
    """``trust.json`` in the workspace."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> tuple[Trusted, ...]:
        """Oldest first; raises WorkspaceUnusable if the file is damaged."""
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unusable_error(error.strerror or str(error)) from error
        try:
            entries: tuple[Trusted, ...] = decode(tuple[Trusted, ...], json.loads(text))
        except (ValueError, Mismatch, RecursionError) as error:
            raise self._unusable_error(f"it is damaged: {error}"[:200]) from error
        return entries

    def is_trusted(self, sha256: str, code: Code | None = None) -> bool:
        return find_entry(self.all(), sha256, code) is not None

    def require(self, facts: ModelFacts, name: str, fix: str) -> None:
        """Raises UnsafeFormat if the model needs trust and has none."""
        if not needs_trust(facts.format):
            return
        code, entries = find_code(facts), self.all()
        if find_entry(entries, facts.sha256, code) is not None:
            return
        raise UnsafeFormat(
            f"Nobody has trusted {name}",
            why="; ".join(
                filter(None, (warning(facts), _describe_difference(entries, facts.sha256, code)))
            ),
            fix=fix,
        )

    def grant(self, sha256: str, name: str, reason: str = "", code: Code | None = None) -> Trusted:
        """Trust this content and code; replaces an earlier entry for the same."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Trusted(sha256, name, now, reason, code)
        with self._locked():
            self._write((*(e for e in self.all() if not _matches(e, sha256, code)), entry))
        return entry

    def revoke(self, sha256: str) -> bool:
        """With any code; returns whether it was trusted."""
        with self._locked():
            before = self.all()
            kept = tuple(entry for entry in before if entry.sha256 != sha256)
            if len(kept) != len(before):
                self._write(kept)
            return len(kept) != len(before)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Two terminals may change the list at once; neither change is lost."""
        import fcntl

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = self._path.with_suffix(".lock").open("w")
        except OSError as error:
            raise self._unusable_error(error.strerror or str(error)) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, entries: tuple[Trusted, ...]) -> None:
        try:
            replace_file(self._path, json.dumps([asdict(entry) for entry in entries], indent=1))
        except OSError as error:
            raise self._unusable_error(error.strerror or str(error)) from error

    def _unusable_error(self, why: str) -> WorkspaceUnusable:
        return WorkspaceUnusable(
            f"The list of trusted files cannot be used ({self._path})",
            why=why,
            fix="Repair or remove that file, or choose another folder with --workspace",
        )
