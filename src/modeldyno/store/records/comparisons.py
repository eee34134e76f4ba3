"""Comparisons; their runs are in ``runs.py``."""

from __future__ import annotations

from sqlalchemy import tuple_

from modeldyno.core.comparisons import Comparison, ComparisonDetails, NewComparison
from modeldyno.core.ids import ComparisonId, ModelId, RunId
from modeldyno.core.specs import ComparisonSpec
from modeldyno.store.runnables import Runnables, find_in, latest_run, link, with_links, with_run
from modeldyno.store.tables import MODELS, RUNNABLES, RUNS

_A, _B = MODELS.alias("a"), MODELS.alias("b")
_DETAILS = with_run(
    with_links("comparison")
    .add_columns(_A.c.name.label("a_name"), _B.c.name.label("b_name"))
    .join(_A, _A.c.id == link("a").c.model_id)
    .join(_B, _B.c.id == link("b").c.model_id),
    "latest",
)
_DONE = (
    with_links("comparison")
    .add_columns(RUNS.c.id.label("done_run_id"))
    .join(RUNS, RUNS.c.runnable_id == RUNNABLES.c.id)
    .where(RUNS.c.state == "done")
    .order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())
)


class Comparisons(Runnables[NewComparison, Comparison]):
    kind = "comparison"

    def details(self, number: ComparisonId) -> ComparisonDetails:
        """All that a page about it shows, in one query."""
        with self._database.reading() as connection:
            row = find_in(connection, self.kind, number, _DETAILS)
        return ComparisonDetails(self._read(row), row.a_name, row.b_name, latest_run(row))

    def edit(
        self,
        number: ComparisonId,
        *,
        name: str | None = None,
        a_model_id: ModelId | None = None,
        b_model_id: ModelId | None = None,
        spec: ComparisonSpec | None = None,
    ) -> Comparison:
        return self._edit(
            number, name=name, a_model_id=a_model_id, b_model_id=b_model_id, spec=spec
        )

    def between(
        self, model_id: ModelId, other_id: ModelId, most: int = 20
    ) -> list[tuple[Comparison, RunId]]:
        """Those of two models that came to a verdict, whichever is A, newest first; with the run
        that did."""
        ways = tuple_(link("a").c.model_id, link("b").c.model_id)
        query = _DONE.where(ways.in_([(model_id, other_id), (other_id, model_id)])).limit(most)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [(self._read(row), RunId(row.done_run_id)) for row in rows]
