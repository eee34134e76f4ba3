"""Where a project stands, from what was measured: nothing is ranked that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from modeldyno.core.benchmarks import CellFigures, Comparison, MeasuredCell, MeasuredCells
from modeldyno.core.errors import NotFound
from modeldyno.core.figures import counted
from modeldyno.core.hosts import are_machines_different
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.judgements import is_same_place
from modeldyno.core.models import Model
from modeldyno.core.precisions import are_alike, phrase
from modeldyno.core.projects import Best, Happened, NextStep, Project, ProjectStanding
from modeldyno.core.requests.axes import axis_fields, drop_duplicates
from modeldyno.core.results import FEWEST_SESSIONS, Estimate, Objective
from modeldyno.core.runs import LARGEST_PAGE, ListQuery, Run
from modeldyno.core.specs import CellSpec
from modeldyno.engines import catalog
from modeldyno.measure.verdicts import unpaired_ratio
from modeldyno.services.models import ModelService, ModelStatus
from modeldyno.store.records.all import Records

MOST_HAPPENED = 10
MOST_STEPS = 3
_WORDS = {
    "queued": "is queued",
    "running": "is running",
    "done": "is done",
    "failed": "failed",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
}


class ProjectOverviewService:
    def __init__(self, records: Records, models: ModelService) -> None:
        self._records = records
        self._models = models

    def of(self, project_id: ProjectId) -> ProjectStanding:
        """Raises NotFound."""
        records = self._records
        project = records.projects.get(project_id)
        of_project = ListQuery(project_id=project_id, limit=LARGEST_PAGE)
        models = self._models.page(of_project).items
        measured = records.benchmarks.measured_cells(project_id)
        comparisons = records.comparisons.page(of_project).items
        best = find_best(measured.cells, comparisons)
        counts = records.projects.counts(project_id)
        queue = (*records.jobs.waiting(), *records.jobs.running())
        steps = _suggest_steps(project, models, measured, comparisons, best, counts)
        runs = {cell.figures.run_id for by in best for cell in (by.leader, *by.tied) if cell}
        return ProjectStanding(
            best=best,
            activity=self._latest_activity(project_id, [status.model for status in models]),
            next_steps=tuple(islice(steps, MOST_STEPS)),
            counts=counts,
            active=sum(job.project_id == project_id for job in queue),
            model_names={status.model.id: status.model.name for status in models},
            documents={run_id: records.runs.cells(run_id) for run_id in runs},
        )

    def _latest_activity(
        self, project_id: ProjectId, models: Sequence[Model]
    ) -> tuple[Happened, ...]:
        runs = self._records.runs.page(ListQuery(project_id=project_id, limit=MOST_HAPPENED)).items
        imports = (
            Happened(
                at=model.created_at, subject="model", id=model.id, sentence=f"{model.name} added"
            )
            for model in models
        )
        activity = sorted(
            chain(map(self._event_of_run, runs), imports),
            key=lambda happening: happening.at,
            reverse=True,
        )
        return tuple(activity[:MOST_HAPPENED])

    def _event_of_run(self, run: Run) -> Happened:
        failed = f": {run.failure['title']}" if run.failure else ""
        return Happened(
            at=run.finished_at or run.started_at or run.created_at,
            subject=run.of.kind,
            id=run.of.id,
            sentence=f"{run.of.kind.capitalize()} {self._runnable_name(run)} "
            f"{_WORDS[run.state]}{failed}",
            state=run.state,
            run_id=run.id,
        )

    def _runnable_name(self, run: Run) -> str:
        try:
            return str(self._records.of_kind(run.of.kind).get(run.of.id).name)
        except NotFound:  # deleted meanwhile
            return str(run.of.id)


# ---------------------------------------------------------------- the best so far


def find_best(
    measured: Sequence[MeasuredCell], comparisons: Sequence[Comparison]
) -> tuple[Best, Best]:
    lost = [loser for loser in map(_find_loser, comparisons) if loser is not None]
    return _find_best_by(measured, lost, "latency"), _find_best_by(measured, lost, "throughput")


def _find_best_by(
    measured: Sequence[MeasuredCell], lost: Sequence[tuple[ModelId, CellSpec]], by: Objective
) -> Best:
    if not measured:
        return Best(by, None, note="nothing measured yet")
    here = _keep_cells_of_latest_machine(measured)
    sure = [cell for cell in here if _seconds_per_item(cell.figures, by) is not None]
    if not sure:
        few = f"no number rests on {FEWEST_SESSIONS} sessions or more"
        return Best(by, None, note=f"{few}; measure longer")
    usable = [cell for cell in sure if cell.figures.noise != "unusable"]
    if not usable:
        return Best(by, None, note="every number is unusable; measure again on a calmer machine")
    running = usable
    if by == "latency":  # what an alternation compares
        running = [
            cell for cell in usable if not any(_is_same_side(cell, loser) for loser in lost)
        ] or usable
    leader = min(running, key=lambda cell: _require_seconds(cell, by).value)
    tied = [cell for cell in running if cell is not leader and not _is_behind(leader, cell, by)]
    elsewhere, unusable = len(measured) - len(here), len(sure) - len(usable)
    notes = _precision_notes(leader, usable)
    notes += _notes(leader, tied, by, unusable, elsewhere)
    return Best(by, leader, tuple(tied), "; ".join(notes))


def _keep_cells_of_latest_machine(measured: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    """Numbers of two machines are not ranked against each other: the one that was used last counts,
    and whatever may have been measured there."""
    latest = max(measured, key=lambda cell: cell.figures.run_id).figures.machine
    return [cell for cell in measured if not are_machines_different(cell.figures.machine, latest)]


def _precision_notes(leader: MeasuredCell, ranked: Sequence[MeasuredCell]) -> list[str]:
    own, *others = (cell.figures.axes["precision"] for cell in (leader, *ranked))
    other = [each for each in drop_duplicates(others) if each and own and not are_alike(own, each)]
    return [f"it computes {phrase(own)}, others {' or '.join(map(phrase, other))}"] if other else []


def _notes(
    leader: MeasuredCell,
    tied: Sequence[MeasuredCell],
    by: Objective,
    unusable: int,
    elsewhere: int,
) -> list[str]:
    notes = []
    if tied:
        others = counted(len(tied), "other")
        notes.append(f"no clear difference from {others}; compare them in alternation")
    if leader.figures.noise == "contended":
        floor = ": use the floor" if by == "latency" else ""  # throughput has none
        notes.append(f"other programs were running{floor}")
    if unusable:
        verb = "is" if unusable == 1 else "are"
        notes.append(f"{counted(unusable, 'number')} {verb} unusable and left out")
    if elsewhere:
        verb = "was" if elsewhere == 1 else "were"
        notes.append(f"{counted(elsewhere, 'number')} {verb} measured on another machine")
    return notes


def _is_behind(leader: MeasuredCell, other: MeasuredCell, by: Objective) -> bool:
    return unpaired_ratio(_require_seconds(leader, by), _require_seconds(other, by)).low > 1


def _require_seconds(cell: MeasuredCell, by: Objective) -> Estimate:
    """Lower is better: seconds per call, or per item of all that was done."""
    estimate = _seconds_per_item(cell.figures, by)
    assert estimate is not None
    return estimate


def _seconds_per_item(cell: CellFigures, by: Objective) -> Estimate | None:
    if by == "latency":
        return cell.decisive
    return cell.throughput and cell.throughput.inverse


def _find_loser(comparison: Comparison) -> tuple[ModelId, CellSpec] | None:
    """Models that were slower when both were measured in alternation."""
    match comparison.summary.verdict:
        case "slower":
            return comparison.b_model_id, comparison.spec.configurations()[1]
        case "faster":
            return comparison.a_model_id, comparison.spec.configurations()[0]
        case _:
            return None


def _is_same_side(cell: MeasuredCell, side: tuple[ModelId, CellSpec]) -> bool:
    model_id, spec = side
    axes = cell.figures.axes
    is_engine = spec.engine in ("", axes["engine"])
    is_precision = spec.precision in (None, axes["precision"])
    is_place = is_same_place(axes, axis_fields(spec))
    return cell.model_id == model_id and is_place and is_engine and is_precision


# ---------------------------------------------------------------- what to do next


def _suggest_steps(
    project: Project,
    models: Sequence[ModelStatus],
    measured: MeasuredCells,
    comparisons: Sequence[Comparison],
    best: tuple[Best, Best],
    counts: dict[str, int],
) -> Iterator[NextStep]:
    """The most useful first."""
    if not models:
        yield NextStep(sentence="There is no model yet.", action="add-model", label="Add a model")
        return
    yield from _suggest_for_models(models)
    ready = [status.model for status in models if status.state == "ready"]
    if ready and not measured.cells:
        yield NextStep(
            sentence="Nothing measured yet.",
            action="add-benchmark",
            label="Run a first benchmark",
            model_id=ready[-1].id,
        )
        return
    yield from _suggest_for_best(best[0])
    yield from _suggest_for_engines(ready, measured.cells, comparisons)
    if project.baseline_benchmark_id is None and measured.benchmarks > 1:
        yield NextStep(
            sentence="No benchmark is the baseline of the others.",
            action="set-baseline",
            label="Choose a baseline",
            benchmark_id=measured.first,
        )
    if measured.cells and not counts["profile"]:
        yield NextStep(
            sentence="The model has not been profiled yet.",
            action="add-profile",
            label="Profile the model",
            model_id=max(measured.cells, key=lambda cell: cell.benchmark_id).model_id,
        )


def _suggest_for_models(models: Sequence[ModelStatus]) -> Iterator[NextStep]:
    for status in models:
        if status.state == "untrusted":
            yield NextStep(
                sentence=f"{status.model.name} can run code and is not trusted yet.",
                action="trust-model",
                label="Review it",
                model_id=status.model.id,
            )
        elif status.state == "incomplete":
            yield NextStep(
                sentence=f"{status.model.name}: weights files are missing.",
                action="complete-model",
                label="Upload them",
                model_id=status.model.id,
            )


def _suggest_for_best(best: Best) -> Iterator[NextStep]:
    leader = best.leader
    if leader is None:
        return
    if best.tied:
        other = best.tied[0]
        yield NextStep(
            sentence=f"There is no clear difference between {leader.name} and {other.name}.",
            action="compare",
            label="Compare in alternation",
            benchmark_id=leader.benchmark_id,
            other_benchmark_id=other.benchmark_id,
        )
    if leader.figures.noise != "quiet":
        yield NextStep(
            sentence=f"The best number so far is {leader.figures.noise}.",
            action="rerun-benchmark",
            label="Measure it again",
            benchmark_id=leader.benchmark_id,
        )


def _suggest_for_engines(
    ready: Sequence[Model],
    measured: Sequence[MeasuredCell],
    comparisons: Sequence[Comparison],
) -> Iterator[NextStep]:
    used = {cell.figures.axes["engine"] for cell in measured}
    compared = [comparison for comparison in comparisons if comparison.summary.verdict is not None]
    used |= {
        side.cell.engine
        for comparison in compared
        for side in (comparison.spec.a, comparison.spec.b)
    } - {""}
    for model in ready:
        readers = [entry for entry in catalog.entries() if model.format in entry.formats]
        other = next((e for e in readers if e.name not in used and catalog.is_usable(e)), None)
        if other is not None and used:
            title = catalog.title_of(other.name)
            yield NextStep(
                sentence=f"{counted(len(used), 'engine')} measured; {title} can read it, too.",
                action="add-engine",
                label=f"Compare with {title}",
                model_id=model.id,
                engine=other.name,
            )
            return
