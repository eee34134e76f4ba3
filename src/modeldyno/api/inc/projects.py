"""``project/…``"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from modeldyno.api.errors import Refusal, Refused
from modeldyno.api.inc.model_shape import NO_MODEL, model_shape
from modeldyno.api.inc.naming import domain_named
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import everything, moment
from modeldyno.core.dictionaries import PRECISIONS, require_named
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import ProjectId
from modeldyno.core.projects import Project
from modeldyno.inputs.shape_texts import shapes_in
from modeldyno.services.projects import NewProject, ProjectDetails

if TYPE_CHECKING:
    from modeldyno.services.projects import ProjectService
    from modeldyno.store.records.all import Records

MOST_NODES = 1000
CUSTOM = "custom"  # what its client offers beside the names of nodes: no name itself
# Its client goes back to its first page at exactly these words.
UNKNOWN = Refusal(500, "NOT_FOUND", "list index out of range", "", "")


def operations(records: Records, projects: ProjectService) -> Operations:
    def listed(_: Parameters) -> dict[str, Any]:
        found = everything(records.projects.page)
        return {"projects": [_row(project) for project in found]}

    def details(asked: Parameters) -> dict[str, Any]:
        number = _id(asked)
        try:
            return _details(projects.get(number))
        except NotFound as error:
            raise Refused(UNKNOWN) from error

    def create(asked: Parameters) -> dict[str, int]:
        made = projects.create(_wanted(asked))
        return {
            "project_id": made.project.id,
            "model_id": made.model.id,
            "dataset_id": made.dataset.id if made.dataset else -1,
        }

    def note(asked: Parameters) -> dict[str, Any]:
        number = _id(asked)
        if "notes" not in asked:
            raise BadValue("Notes not provided.")
        text = asked.value("notes")
        if not isinstance(text, str):
            raise BadValue("notes is no text")
        return {"id": number, "notes": projects.write_notes(number, text)}

    def delete(asked: Parameters) -> dict[str, int | None]:
        if "id" not in asked or "name" not in asked:
            raise BadValue("Missing project id or project name.")
        number = _id(asked)
        return {"id": number if projects.delete(number, asked.text("name")) else None}

    return {
        "project": details,
        "project/list": listed,
        "project/create": create,
        "project/note": note,
        "project/delete": delete,
    }


def _id(asked: Parameters) -> ProjectId:
    if "id" not in asked:
        raise BadValue("Could not find project id.")
    try:
        return ProjectId(asked.id())
    except BadValue as error:
        raise BadValue("Incorrect project id.") from error


def _row(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "name": project.name,
        "created_at": moment(project.created_at),
        "modified_at": moment(project.modified_at),
    }


def _details(shown: ProjectDetails) -> dict[str, Any]:
    project = shown.project
    return {
        "id": project.id,
        "name": project.name,
        "notes": shown.notes,
        "input_model": model_shape(shown.model) if shown.model else NO_MODEL,
        "created_at": moment(project.created_at),
        "modified_at": moment(project.modified_at),
    }


def _wanted(asked: Parameters) -> NewProject:
    model = asked.inside("model")
    domain, precision = model.text("domain", ""), model.text("precision", "")
    return NewProject(
        name=asked.text("name"),
        path=model.text("path"),
        inputs=_nodes(model, "input_nodes"),
        outputs=_nodes(model, "output_nodes"),
        domain=domain_named(domain) if "domain" in model else None,
        precision=require_named(PRECISIONS, precision, "precision").name if precision else None,
        shapes=_shapes(model),
    )


def _nodes(model: Parameters, name: str) -> tuple[str, ...]:
    found = tuple(one for one in model.texts(name) if one != CUSTOM)
    if len(found) > MOST_NODES:
        raise BadValue(f"{name} has {len(found)} names", why=f"up to {MOST_NODES} are taken")
    return found


def _shapes(model: Parameters) -> tuple[tuple[int, ...], ...]:
    """As text, or as a list of sizes or of lists."""
    said = model.said.get("shape")
    is_numbers = isinstance(said, list) and not any(isinstance(one, str) for one in said)
    return shapes_in(json.dumps(said) if is_numbers else model.text("shape", ""))
