"""``examples/…``: models that people can try, and a project around one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from modeldyno.api.errors import sentences
from modeldyno.api.inc.broadcast import Broadcast, Status
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
FAILED = 404  # the number that clients know for "it did not work"
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
    def listed(_: Parameters) -> list[dict[str, str]]:
        return [example_row(example) for example in offered(examples)]

    def add(asked: Parameters) -> dict[str, Any]:
        request_id = request_of(asked)
        name = asked.text("name")
        steps = asked.whole("progress_steps", USUAL_STEPS, least=1, most=100)
        wanted = {key: asked.text(key) for key in ("domain", "framework", "model")}
        example = _like(wanted, offered(examples))
        example_projects.start(example.slug, name, _Telling(broadcast, request_id, steps))
        return PROCESSING

    return {"examples/list": listed, "list_model_zoo": listed, "examples/add": add}


def offered(examples: ExampleService) -> list[Example]:
    """Those of the original first, as it had them; of ours, those that are here."""
    return sorted(examples.offered(), key=lambda example: example.kind != "download")


def example_row(example: Example) -> dict[str, str]:
    format = cast("ModelFormat", example.format)
    return {
        "domain": example.domain,
        "framework": framework_of(format, example.framework).name,
        "model": example.name,
    }


def _like(wanted: dict[str, str], among: list[Example]) -> Example:
    """Large or small letters alike; raises ExampleNotFound."""
    asked = [value.strip().lower() for value in wanted.values()]
    for example in among:
        if [value.lower() for value in example_row(example).values()] == asked:
            return example
    said = " ".join(f'{key} "{value[:100]}"' for key, value in wanted.items())
    raise ExampleNotFound(f"There is no example of {said}", fix="examples/list names them")


class _Telling:
    """What the service tells of one project, as events."""

    def __init__(self, broadcast: Broadcast, request_id: str, steps: int) -> None:
        self._broadcast = broadcast
        self._request_id = request_id
        self._steps = steps
        self._told = 0

    def began(self) -> None:
        self._say("create_example_project_start", message="Creating project from examples.")

    def step(self, step: Step) -> None:
        self._say("create_example_project_progress", message=MESSAGES[step])

    def downloading(self, address: str) -> None:
        self._say("download_start", message="started", url=address)

    def arrived(self, done_bytes: int, total_bytes: int | None) -> None:
        """Each step once, in its order, whichever of them came at the same time."""
        if total_bytes:
            self._reached(min(self._steps, self._steps * done_bytes // total_bytes))

    def downloaded(self, path: Path) -> None:
        self._reached(self._steps)
        self._say("download_finish", path=str(path))

    def made(self, ids: ExampleProject) -> None:
        message = "Example project has been added."
        self._say("create_example_project_finish", message=message, **vars(ids))

    def failed(self, failure: Failure) -> None:
        message = without_folders(sentences(failure.title, failure.why, failure.fix))
        said = {"message": message, "code": FAILED, "error_code": failure.code}
        self._say("create_example_project_finish", "error", **said)

    def _reached(self, steps: int) -> None:
        while self._told < steps:
            self._told += 1
            self._say("download_progress", progress=round(100 * self._told / self._steps))

    def _say(self, event: str, status: Status = "success", **said: Any) -> None:
        order = ("message", "request_id")
        data = {"request_id": self._request_id, **said}
        first = {key: data.pop(key) for key in order if key in data}
        self._broadcast.say(event, status, first | data)
