"""How the samples of a cell are distributed, also while it is measured."""

from __future__ import annotations

from modeldyno.core.documents.figures import DistributionDocument
from modeldyno.core.errors import NotFound
from modeldyno.core.ids import RunId
from modeldyno.core.sessions import Session
from modeldyno.store.history import History
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolders


class DistributionService:
    def __init__(self, records: Records, history: History, folders: RunFolders) -> None:
        self._records = records
        self._history = history
        self._folders = folders

    def distribution_of_cell(
        self, run_id: RunId, cell: int, most_points: int
    ) -> DistributionDocument:
        """Raises NotFound for a run or a cell without samples."""
        run = self._records.runs.get(run_id)
        sessions: list[Session] = []
        if self._history.folder(run.id).exists():
            units = self._folders.units(run.id, cell)
            sessions = [unit.measured for unit in units if isinstance(unit.measured, Session)]
        timings = [session.samples for session in sessions if session.samples.wall_ns]
        if not timings:
            raise NotFound(
                f"Run {run_id} has no samples of cell {cell}",
                why=f"the {run.of.kind} is {run.state}",
                fix="Wait until it was measured, or choose another cell",
            )
        # Loads numpy, which a server that shows lists does not need.
        from modeldyno.measure.distributions import distribution
        from modeldyno.measure.statistics import seconds_per_call

        seconds = [seconds_per_call(each.wall_ns, each.calls_per_sample) for each in timings]
        return distribution(run_id, cell, seconds, most_points)
