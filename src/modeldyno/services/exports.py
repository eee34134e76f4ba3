"""What came out of a run, for people elsewhere: without any folder of this machine in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from modeldyno.core.codec import Mismatch, encode
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.reports import Report, ReportDocument
from modeldyno.core.errors import NotFound
from modeldyno.core.exports import csv_with_artifacts
from modeldyno.core.ids import JobId, ProjectId, RunId
from modeldyno.core.kinds import KINDS, spec_from
from modeldyno.core.names import file_name_part, shown_name
from modeldyno.core.redaction import without_folders, without_model_places
from modeldyno.core.results import RunResult
from modeldyno.core.roofline import PeaksOf
from modeldyno.core.runs import ACTIVE, Artifact, ListQuery, Run, RunOf, StoredRun
from modeldyno.core.specs import RunSpec
from modeldyno.present.markdown import markdown_of, report_markdown
from modeldyno.present.reports.page import html_report
from modeldyno.present.tables import cells_csv
from modeldyno.store.documents import planned_cells_json
from modeldyno.store.history import History
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolders

Format = Literal["json", "csv", "md", "html"]

_MEDIA: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}


MOST_IN_REPORT = 200  # results; more are no reading


@dataclass(frozen=True)
class ExportedFile:
    name: str
    media_type: str
    text: str


@dataclass(frozen=True)
class RunDetails:
    """A run, and what its folder knows beyond its row."""

    run: Run
    spec: RunSpec | None  # None: of an optimization, or of another version
    job_id: JobId | None
    cells: tuple[str, ...]  # a CellDocument each, as JSON
    units_kept: tuple[int, ...]
    has_result: bool
    artifacts: tuple[Artifact, ...]


class ExportService:
    def __init__(
        self, records: Records, history: History, folders: RunFolders, peaks_of: PeaksOf
    ) -> None:
        self._peaks_of = peaks_of
        self._records = records
        self._history = history
        self._folders = folders

    def details(self, run_id: RunId) -> RunDetails:
        run = self._records.runs.get(run_id)
        job = self._records.jobs.find_of_run(run_id)
        kept = self._find_stored_run(run_id)
        return RunDetails(
            run=run,
            spec=_decode_spec(run),
            job_id=job.id if job else None,
            cells=self._records.runs.cells(run_id)
            or planned_cells_json(self._history.folder(run_id).cells()),
            units_kept=kept.sessions if kept else (),
            has_result=kept is not None and kept.result is not None,
            artifacts=kept.artifacts if kept else (),
        )

    def document(self, run_id: RunId) -> Any:
        """The public one, as the terminal prints it; raises NotFound when there is no result."""
        return self.result(run_id).document(self._peaks_of)

    def record(self, run_id: RunId) -> dict[str, Any]:
        """The result as it is kept."""
        document: dict[str, Any] = encode(self.result(run_id))
        return document

    def file(self, run_id: RunId, format: Format) -> ExportedFile:
        result = self.result(run_id)
        parts = [file_name_part(shown_name(model.path)) for model in result.models()]
        name = "-".join(filter(None, [*dict.fromkeys(parts), run_id]))
        text = self._result_to_text(result, format)
        return ExportedFile(f"{name}.{format}", _MEDIA[format], text)

    def report(self, project_id: ProjectId, format: Format) -> ExportedFile:
        """The latest result of everything in it that was measured."""
        project = self._records.projects.get(project_id)
        results, missing = self._latest_results(project.id)
        parts = [file_name_part(project.name), f"project-{project.id}"]
        text = self._report_to_text(Report(project.name, results, missing), format)
        return ExportedFile(f"{'-'.join(filter(None, parts))}.{format}", _MEDIA[format], text)

    def _latest_results(
        self, project_id: ProjectId
    ) -> tuple[tuple[RunResult, ...], tuple[str, ...]]:
        """Of each thing the newest run with a result; of the others, why they have none."""
        results: dict[RunOf, RunResult] = {}
        without: dict[RunOf, str] = {}
        for run in self._list_runs(project_id):
            if run.of in results:
                continue
            if len(results) == MOST_IN_REPORT:
                without[run.of] = (
                    f"{run.of.kind} {run.of.id}: only the newest {len(results)} are here"
                )
                continue
            try:
                results[run.of] = self.result(run.id)
            except NotFound as error:
                reason = f"{run.of.kind} {run.of.id}: {error.title}, {error.why}"
                without.setdefault(run.of, without_folders(reason))
        order = sorted(results, key=lambda of: (of.kind, of.id))
        left = [without[of] for of in without if of not in results]
        return tuple(results[of] for of in order), tuple(left)

    def _list_runs(self, project_id: ProjectId) -> Iterator[Run]:
        """Newest first; those of optimizations end with models, not with numbers."""
        cursor: str | None = None
        while True:
            wanted = ListQuery(project_id=project_id, limit=200, cursor=cursor)
            page = self._records.runs.page(wanted)
            yield from (run for run in page.items if KINDS[run.of.kind].result is not None)
            if page.next is None:
                return
            cursor = page.next

    def samples(self, run_id: RunId) -> Iterator[str]:
        """CSV, line by line; raises NotFound at once."""
        run = self._records.runs.get(run_id)
        if not self._history.folder(run.id).exists():
            raise NotFound(
                f"Run {run_id} has no samples", why=f"it is {run.state}", fix="Wait until it runs"
            )
        self._history.folder(run.id).require_samples()
        return self._folders.sample_csv_lines(run.id)

    def artifacts(self, run_id: RunId) -> tuple[Artifact, ...]:
        """Files that it left."""
        return self._history.folder(self._records.runs.get(run_id).id).read_artifacts()

    def open_artifact(self, run_id: RunId, name: str) -> tuple[Artifact, int]:
        """With a descriptor, which the caller closes; raises NotFound."""
        for artifact in self.artifacts(run_id):
            if artifact.name == name:
                return artifact, self._history.folder(run_id).open_artifact(artifact)
        raise NotFound(f"Run {run_id} left no file {name!r}", fix="Ask for the list of its files")

    def log_path(self, run_id: RunId) -> Path:
        """Where its workers' words are; the file may not be there yet."""
        return self._history.folder(self._records.runs.get(run_id).id).log

    def result(self, run_id: RunId) -> Any:
        """Of its kind, without any folder of this machine in it; raises NotFound when there is
        none."""
        run = self._records.runs.get(run_id)
        kept = self._find_stored_run(run_id)
        if kept is None or kept.result is None:
            raise _no_result_error(run, kept)
        return without_model_places(kept.result, self._names_by_path(run, kept))

    def _find_stored_run(self, run_id: RunId) -> StoredRun | None:
        """None before it began, and when its files cannot be read."""
        if not self._history.folder(run_id).exists():
            return None
        try:
            return self._history.read(run_id)
        except (OSError, ValueError, KeyError):
            return None

    def _names_by_path(self, run: Run, kept: StoredRun) -> dict[str, str]:
        """Models by their paths: files that we keep are called by their checksums."""
        names = self._records.of_kind(run.of.kind).names(run.of.id)
        paths = [model.path for model in kept.spec.models()]
        return dict(zip(paths, names, strict=True))

    def _result_to_text(self, result: RunResult, format: Format) -> str:
        match format:
            case "json":
                return json_text(result.document(self._peaks_of))
            case "csv":
                return csv_with_artifacts(result.to_csv(), result.artifacts)
            case "md":
                return markdown_of(result, self._peaks_of)
            case "html":
                return html_report([result], peaks_of=self._peaks_of)

    def _report_to_text(self, report: Report, format: Format) -> str:
        match format:
            case "json":
                return json_text(ReportDocument.of(report, self._peaks_of))
            case "csv":
                return cells_csv(report)
            case "md":
                return report_markdown(report, self._peaks_of)
            case "html":
                parts = (report.results, report.title, report.missing)
                return html_report(*parts, self._peaks_of)


def _decode_spec(run: Run) -> RunSpec | None:
    try:
        return spec_from(run.spec)
    except Mismatch:
        return None


def _no_result_error(run: Run, kept: StoredRun | None) -> NotFound:
    if run.state in ACTIVE:
        so_far = f"; {kept.kept} so far" if kept and sum(kept.sessions) else ""
        return NotFound(
            f"Run {run.id} has no result yet",
            why=f"it is {run.state}{so_far}",
            fix="Wait until it has ended",
        )
    reason = run.failure["title"] if run.failure else f"it was {run.state}"
    kept_units = f"; {kept.kept} kept" if kept and sum(kept.sessions) else ""
    return NotFound(
        f"Run {run.id} has no result",
        why=f"{reason}{kept_units}",
        fix="Resume its job, or run it again",
    )
