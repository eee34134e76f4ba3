"""Workers that try cells before anything is timed: ours, and one in each other Python."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType

from modeldyno.core.sandbox import SandboxReport
from modeldyno.worker.launch import Worker, WorkerSetup, launch


class Trying:
    """Started when they are first needed. Only ours reads the user's own files."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._workers: dict[str, Worker] = {}
        self._lives: dict[str, str] = {}  # what workers have taken on for good
        self._latest: Worker | None = None

    @property
    def ours(self) -> Worker:
        return self.worker(self._setup.python)

    @property
    def sandbox(self) -> SandboxReport | None:
        """Of the one that was asked for last."""
        return self._latest.sandbox if self._latest else None

    def worker(self, python: str, life: str = "") -> Worker:
        """``life``: what its process is committed to (``catalog.process_settings``); a worker
        with others is replaced by a fresh one."""
        if life and self._lives.setdefault(python, life) != life:
            self._workers.pop(python).close()
            self._lives[python] = life
        if python not in self._workers:
            around = self._setup
            if python != around.python:
                around = replace(around, python=python, inspectable=())
            self._workers[python] = launch(around)
        self._latest = self._workers[python]
        return self._latest

    def renew(self) -> None:
        """Whatever went wrong, who comes next gets fresh ones."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._lives.clear()

    def __enter__(self) -> Trying:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.renew()
