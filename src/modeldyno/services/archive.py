"""Runs of a workspace, in their folders and in the database if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from modeldyno.core.errors import NotFound, WrongState
from modeldyno.core.ids import RunId
from modeldyno.core.notes import Note, Subject, subject_of
from modeldyno.store.history import History
from modeldyno.store.runs import RunFolders

if TYPE_CHECKING:
    from modeldyno.store.records.all import Records  # not loaded without a database


class Archive:
    """``records`` is None if no server was ever started here: then there are only folders."""

    def __init__(self, history: History, folders: RunFolders, records: Records | None) -> None:
        self._history = history
        self._folders = folders
        self._records = records

    def numbers_of(self, run_ids: Iterable[RunId]) -> dict[RunId, int]:
        """Those that people type: ``#12``."""
        return self._history.numbers_of(run_ids)

    def run_numbered(self, number: int) -> RunId | None:
        """The run that was given this number, even if it is gone."""
        return self._history.run_numbered(number)

    def require_not_running(self, run_id: RunId) -> None:
        """Raises WrongState while a run is being measured."""
        if self._history.folder(run_id).is_being_measured():
            raise WrongState(
                f"Cannot remove run {run_id}",
                why="it is being measured",
                fix="Stop it first: Ctrl-C where it runs, or `modeldyno jobs cancel`",
            )

    def active(self) -> frozenset[RunId]:
        """Runs that wait or run, as far as a server knows."""
        if self._records is None:
            return frozenset()
        return frozenset(run.id for run in self._records.runs.active())

    def remove(self, run_id: RunId) -> None:
        """The row first, which leaves a tombstone: no row ever refers to a removed folder."""
        self.require_not_running(run_id)
        if self._records is not None:
            with suppress(NotFound):  # unreadable runs have no row
                self._records.runs.delete(run_id)
        self._folders.remove(run_id)
        if self._records is not None:
            self._records.runs.forget_tombstone(run_id)

    @contextmanager
    def translated_deletion(self) -> Iterator[None]:
        """Rolls deletions back, with WrongState, if one of the deleted runs is being measured: rows
        do not show that a run was resumed in a terminal."""
        records = self._require_records()
        with records.database.writing():
            before = set(records.runs.tombstones())
            yield
            for run_id in records.runs.tombstones():
                if run_id not in before:
                    self.require_not_running(run_id)

    def subject(self, word: str | None) -> Subject:
        """``benchmark/12``, or what the run of that id belongs to."""
        if (named := subject_of(word or "")) is not None:
            return named
        of = self._require_records().runs.get(self._history.id_of(word)).of
        return Subject(of.kind, of.id)

    def note(self, subject: Subject) -> Note:
        return self._require_records().notes.get(subject)

    def write_note(self, subject: Subject, text: str) -> Note:
        return self._require_records().notes.write(subject, text)

    def _require_records(self) -> Records:
        assert self._records is not None, "notes and runnables are in the database"
        return self._records
