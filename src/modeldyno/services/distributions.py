"""How the samples of a cell lie, also while it is measured."""

from __future__ import annotations

from modeldyno.core.distributions import Distribution, Point
from modeldyno.core.errors import NotFound
from modeldyno.core.ids import RunId
from modeldyno.core.sessions import Session
from modeldyno.store.history import History
from modeldyno.store.records.all import Records
from modeldyno.store.runs import Runs

PERCENTILES = (0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
SHOWN = 0.995  # of the samples lie in bins: a few stragglers would squeeze all others into one
BINS = 60


class DistributionService:
    def __init__(self, records: Records, history: History, folders: Runs) -> None:
        self._records = records
        self._history = history
        self._folders = folders

    def of(self, run_id: RunId, cell: int, most_points: int) -> Distribution:
        """Raises NotFound for a run or a cell without samples."""
        run = self._records.runs.get(run_id)
        sessions = []
        if self._history.folder(run.id).exists():
            units = self._folders.units(run.id)
            sessions = [
                unit.measured
                for unit in units
                if unit.cell == cell and isinstance(unit.measured, Session)
            ]
        if not sessions:
            raise NotFound(
                f"Run {run_id} has no samples of cell {cell}",
                why=f"the {run.of.kind} is {run.state}",
                fix="Wait until it was measured, or choose another cell",
            )
        return _distribution(sessions, most_points)


def _distribution(sessions: list[Session], most_points: int) -> Distribution:
    import numpy as np  # a server that shows lists needs it not

    from modeldyno.measure.statistics import seconds_per_call
    from modeldyno.measure.tails import quantile_interval

    each = [seconds_per_call(s.samples.wall_ns, s.samples.calls_per_sample) for s in sessions]
    everything = np.concatenate(each)
    last = float(np.quantile(everything, SHOWN))
    inside = everything[everything <= last]
    counts, edges = np.histogram(inside, bins=min(BINS, max(1, inside.size)))
    return Distribution(
        samples=int(everything.size),
        sessions=len(each),
        points=_points([session.tolist() for session in each], most_points),
        edges_s=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        above=int(everything.size - inside.size),
        mean_s=float(everything.mean()),
        min_s=float(everything.min()),
        max_s=float(everything.max()),
        percentiles=tuple(quantile_interval(each, q) for q in PERCENTILES),
    )


def _points(sessions: list[list[float]], most: int) -> tuple[Point, ...]:
    found = [
        Point(number, place, seconds)
        for number, session in enumerate(sessions)
        for place, seconds in enumerate(session)
    ]
    if len(found) <= most:
        return tuple(found)
    return tuple(found[number * len(found) // most] for number in range(most))
