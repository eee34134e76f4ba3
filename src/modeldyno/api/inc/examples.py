"""``examples/…``: models that people can try, and a project around one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from modeldyno.api.errors import join_sentences
from modeldyno.api.inc.broadcast import Broadcast, Status, failure_data
from modeldyno.api.inc.operations import PROCESSING, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.runnables import request_of
from modeldyno.core.dictionaries import framework_of
from modeldyno.core.errors import ExampleNotFound
from modeldyno.core.examples import Example
from modeldyno.core.models import ModelFormat
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import Failure
from modeldyno.services.example_projects import ExampleProject, Step

if TYPE_CHECKING:
    from modeldyno.services.example_projects import ExampleProjects
    from modeldyno.services.examples import ExampleService

USUAL_STEPS = 10
MESSAGES: dict[Step, str] = {
    "download": "Downloading example model.",
    "project": "Adding project for example model.",
    "model": "Adding example model to project.",
    "dataset": "Adding dummy dataset to project.",
    "optimization": "Adding optimization to project.",
    "benchmark": "Adding benchmark to project.",
}


def operations(
    examples: ExampleService, example_projects: ExampleProjects, broadcast: Broadcast
) -> Operations:
    def list_examples(_: Parameters) -> list[dict[str, str]]:
        return [example_row(example) for example in offered_examples(examples)]

    def add(parameters: Parameters) -> dict[str, Any]:
        request_id = request_of(parameters)
        name = parameters.text("name")
        steps = parameters.integer("progress_steps", USUAL_STEPS, least=1, most=100)
        row = {key: parameters.text(key) for key in ("domain", "framework", "model")}
        example = _find_example_like(row, offered_examples(examples))
        example_projects.start(example.slug, name, _ProjectEvents(broadcast, request_id, steps))
        return PROCESSING

    return {"examples/list": list_examples, "list_model_zoo": list_examples, "examples/add": add}


def offered_examples(examples: ExampleService) -> list[Example]:
    """First those of the original, as it had them; then those of ours that are present."""
    return sorted(examples.offered(), key=lambda example: example.kind != "download")


def example_row(example: Example) -> dict[str, str]:
    format = cast("ModelFormat", example.format)
    return {
        "domain": example.domain,
        "framework": framework_of(format, example.framework).name,
        "model": example.name,
    }


def _find_example_like(row: dict[str, str], among: list[Example]) -> Example:
    """Ignores case; raises ExampleNotFound."""
    wanted = [value.strip().lower() for value in row.values()]
    for example in among:
        if [value.lower() for value in example_row(example).values()] == wanted:
            return example
    text = " ".join(f'{key} "{value[:100]}"' for key, value in row.items())
    raise ExampleNotFound(f"There is no example of {text}", fix="examples/list names them")


class _ProjectEvents:
    """Broadcasts the progress of one project."""

    def __init__(self, broadcast: Broadcast, request_id: str, steps: int) -> None:
        self._broadcast = broadcast
        self._request_id = request_id
        self._steps = steps
        self._reported = 0

    def began(self) -> None:
        self._emit("create_example_project_start", message="Creating project from examples.")

    def step(self, step: Step) -> None:
        self._emit("create_example_project_progress", message=MESSAGES[step])

    def downloading(self, address: str) -> None:
        self._emit("download_start", message="started", url=address)

    def arrived(self, done_bytes: int, total_bytes: int | None) -> None:
        """Reports each step once and in order, even if several are reached at once."""
        if total_bytes:
            self._emit_progress(min(self._steps, self._steps * done_bytes // total_bytes))

    def downloaded(self, path: Path) -> None:
        self._emit_progress(self._steps)
        self._emit("download_finish", path=str(path))

    def made(self, ids: ExampleProject) -> None:
        message = "Example project has been added."
        self._emit("create_example_project_finish", message=message, **vars(ids))

    def failed(self, failure: Failure) -> None:
        message = without_folders(join_sentences(failure.title, failure.why, failure.fix))
        details = failure_data(message, failure.code)
        self._emit("create_example_project_finish", "error", **details)

    def _emit_progress(self, steps: int) -> None:
        while self._reported < steps:
            self._reported += 1
            self._emit("download_progress", progress=round(100 * self._reported / self._steps))

    def _emit(self, event: str, status: Status = "success", **details: Any) -> None:
        data = {"request_id": self._request_id, **details}
        first = {key: data.pop(key) for key in ("message", "request_id") if key in data}
        self._broadcast.emit(event, status, first | data)
