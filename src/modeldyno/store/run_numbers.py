"""Numbers of runs: short names to type, counted through a workspace.

``runs.numbers``, beside ``runs/``, has a line for each run: line 12 is the id of run 12. Lines are
only ever added, so a number is never given twice, whatever is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from modeldyno.core.ids import RunId, began_at
from modeldyno.store.durable_files import append_to_file, sync_folder
from modeldyno.store.file_locks import locked


@dataclass(frozen=True)
class _Ledger:
    """The file, as it was at one moment."""

    stamp: tuple[int, int] = (0, 0)
    ids: tuple[str, ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)

    def with_others(self, others: Iterable[str], stamp: tuple[int, int] = (0, 0)) -> _Ledger:
        ids = (*self.ids, *others)
        numbers = {run_id: number for number, run_id in reversed([*enumerate(ids, 1)])}
        return _Ledger(stamp, ids, numbers)


class RunNumbers:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root.with_name(f"{root.name}.numbers")
        self._last_read = _Ledger()

    def of(self, run_ids: Iterable[RunId]) -> dict[RunId, int]:
        """The number of each. If one has none yet, all runs of the workspace without a number get
        theirs now, in order of time."""
        ids = list(run_ids)
        ledger = self._read()
        if any(run_id not in ledger.numbers for run_id in ids):
            try:
                ledger = self._number(ids)
            except OSError:  # it may only be read: whoever may write there will count the same
                ledger = ledger.with_others(self._without_number(ledger, ids))
        return {run_id: ledger.numbers[run_id] for run_id in ids}

    def add(self, run_id: RunId) -> None:
        """On return it has a number, also after a power cut; raises OSError."""
        self._number([run_id])

    def run_id(self, number: int) -> RunId | None:
        """The run with this number, which may be gone; None if none was ever given it."""
        ids = self._read().ids
        return RunId(ids[number - 1]) if 0 < number <= len(ids) else None

    def _number(self, ids: Iterable[RunId]) -> _Ledger:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._path):
            _cut_torn_line(self._path)
            new = self._without_number(self._read(), ids)
            if new:
                append_to_file(self._path, "".join(f"{run_id}\n" for run_id in new).encode())
                sync_folder(self._path.parent)
            return self._read()

    def _without_number(self, ledger: _Ledger, ids: Iterable[RunId]) -> list[RunId]:
        return sorted({*ids, *ids_of_folders(self._root)} - ledger.numbers.keys())

    def _read(self) -> _Ledger:
        """Read again only if it has changed."""
        try:
            status = self._path.stat()
            stamp = (status.st_size, status.st_mtime_ns)
            if stamp != self._last_read.stamp:
                lines = self._path.read_text("ascii", errors="replace").split("\n")
                self._last_read = _Ledger().with_others(lines[:-1], stamp)
        except FileNotFoundError:
            return _Ledger()
        return self._last_read


def ids_of_folders(root: Path) -> list[RunId]:
    """In order of time."""
    if not root.is_dir():
        return []
    return sorted(RunId(path.name) for path in root.iterdir() if began_at(path.name))


def _cut_torn_line(path: Path) -> None:
    """What a killed process wrote in part is no number yet."""
    content = path.read_bytes()
    complete = content.rfind(b"\n") + 1
    if complete < len(content):
        os.truncate(path, complete)
