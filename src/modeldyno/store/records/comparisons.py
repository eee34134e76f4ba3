"""Comparisons; their runs are in ``runs.py``."""

from __future__ import annotations

from sqlalchemy import tuple_

from modeldyno.core.benchmarks import Comparison, NewComparison
from modeldyno.core.ids import ModelId, RunId
from modeldyno.store.runnables import RunnableRecords, link_table_alias, select_with_links
from modeldyno.store.tables import RUNNABLES, RUNS

_DONE = (
    select_with_links("comparison")
    .add_columns(RUNS.c.id.label("done_run_id"))
    .join(RUNS, RUNS.c.runnable_id == RUNNABLES.c.id)
    .where(RUNS.c.state == "done")
    .order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())
)


class ComparisonRecords(RunnableRecords[NewComparison, Comparison]):
    kind = "comparison"

    def between(
        self, model_id: ModelId, other_id: ModelId, most: int = 20
    ) -> list[tuple[Comparison, RunId]]:
        """Finished comparisons of two models, in either order, newest first; each with its run."""
        sides = tuple_(link_table_alias("a").c.model_id, link_table_alias("b").c.model_id)
        query = _DONE.where(sides.in_([(model_id, other_id), (other_id, model_id)])).limit(most)
        return [(self._from_row(row), RunId(row.done_run_id)) for row in self._fetch_all(query)]
