"""Workers in which cells run once before anything is timed: ours, and one in each other Python."""

from __future__ import annotations

from dataclasses import replace

from modeldyno.core.sessions import SandboxReport
from modeldyno.worker.launch import Worker, WorkerSetup, launch


class TrialWorkers:
    """Started when they are first needed. Only ours reads the user's own files."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._workers: dict[str, Worker] = {}
        self._commitments: dict[str, str] = {}
        self._latest: Worker | None = None

    @property
    def ours(self) -> Worker:
        return self.worker(self._setup.python)

    @property
    def sandbox(self) -> SandboxReport | None:
        """Of the worker that was used last."""
        return self._latest.sandbox if self._latest else None

    def worker(self, python: str, commitment: str = "") -> Worker:
        """``commitment``: settings that a process cannot change (``catalog.process_settings``); a
        worker with others is replaced by a fresh one."""
        if commitment and self._commitments.setdefault(python, commitment) != commitment:
            self._workers.pop(python).close()
            self._commitments[python] = commitment
        if python not in self._workers:
            setup = self._setup
            if python != setup.python:
                setup = replace(setup, python=python, inspectable=())
            self._workers[python] = launch(setup)
        self._latest = self._workers[python]
        return self._latest

    def close(self) -> None:
        """Whatever went wrong in them, the next cell gets fresh ones."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._commitments.clear()
